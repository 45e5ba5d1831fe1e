// The queue in the server: who is served when, what is pushed, and what a waiter that died, hangs,
// left, or hears nothing costs the others. B7, B8, B9, B10, B11.
#include <support/child_process.hpp>

#include "redis_waiting.hpp"

namespace herdlock_test {
namespace {

TEST_F(redis_queue, TheReleaseItselfMakesTheFirstWaiterTheOwnerAndPushesItOnce) {
  redis_ports holder(server.url());
  redis_ports first(server.url());
  redis_ports second(server.url());
  auto const before = fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(first);
  auto* const b = enqueue(second);
  auto const members = queue();
  EXPECT_LT(members.find(a->owner.str()), members.find(b->owner.str()));
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("GET r"), a->owner.str()) << "the key was free, or somebody else's";
  EXPECT_LE(std::stol(server.cli("PTTL r")), 2000) << "a heartbeat at first";
  EXPECT_EQ(waiters(), 1);
  ASSERT_TRUE(first.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(a->got().fencing.value, before + 1);
  ASSERT_TRUE(a->got().validity.has_value());
  EXPECT_LE(a->got().validity->ttl, 2s);
  EXPECT_FALSE(b->outcome.has_value());
}

TEST_F(redis_queue, ServesInTheOrderOfArrivalAcrossStores) {
  redis_ports holder(server.url());
  std::vector<std::unique_ptr<redis_ports>> stores;
  for (int i = 0; i < 4; ++i) stores.push_back(std::make_unique<redis_ports>(server.url()));
  fence_of(holder.acquire("r", mine));
  std::vector<redis_wait*> all;
  for (std::size_t i = 0; i < 24; ++i) all.push_back(enqueue(*stores[i * 7 % 4]));
  holder.release("r", mine);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& ports = *stores[i * 7 % 4];
    ASSERT_EQ(server.cli("GET r"), all[i]->owner.str()) << "waiter " << i;
    ASSERT_TRUE(ports.wait_for([&] { return all[i]->granted(); })) << "waiter " << i;
    EXPECT_GT(all[i]->got().fencing.value, last);
    last = all[i]->got().fencing.value;
    EXPECT_EQ(ports.release("r", all[i]->owner).value(), release_reply::released);
  }
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

TEST_F(redis_queue, OneConnectionHearsTheGrantsOfAnyNumberOfResources) {  // B11
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  std::vector<std::optional<result<acquire_reply>>> outcomes(50);
  std::vector<owner_token> owners;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto const name = "many:" + std::to_string(i);
    fence_of(holder.acquire(name, mine));
    owners.push_back(owner_token::generate());
    waiter.start<acquire_reply>(outcomes[i], [&](auto done) {
      waiter.leases().acquire({resource(name), owners[i], 30s, 1min}, std::move(done));
    });
  }
  auto const last = "ZCARD {many:49}:herdlock:queue";
  ASSERT_TRUE(waiter.wait_for([&] { return server.cli(last) == "1"; }));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    holder.release("many:" + std::to_string(i), mine);
    ASSERT_TRUE(waiter.wait_for([&] { return outcomes[i].has_value(); }));
    EXPECT_GT(fence_of(*outcomes[i]), 0u);
  }
  auto const clients = server.cli("CLIENT LIST TYPE pubsub");
  EXPECT_EQ(std::count(clients.begin(), clients.end(), '\n'), 1) << clients;
}

// Two looks are at least a second apart, so a store that is pushed to asks no more than that.
TEST_F(redis_queue, NobodyPollsWhileTheServerPushes) {  // B10
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  enqueue(waiter);
  auto const before = server.calls("evalsha");
  auto const begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(waiter.wait_for([&] { return server.calls("evalsha") >= before + 4; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1500ms) << "four looks, half a second each";
}

TEST_F(redis_queue, AWaiterOfADeadProcessIsSkippedInTheStepOfTheRelease) {  // B8
  redis_ports holder(server.url());
  redis_ports living(server.url());
  auto const before = fence_of(holder.acquire("r", mine));
  child_process dead({.argv = {HERDLOCK_LOCK_HOLDER, server.url(), "r", "30000", "hold"}});
  ASSERT_TRUE(eventually([&] { return waiters() == 1 && !queue().starts_with("- "); }));
  auto* const a = enqueue(living);
  dead.kill();
  ASSERT_TRUE(eventually([&] {
    return std::stol(server.cli("EVAL return(#redis.call('PUBSUB','CHANNELS','herdlock:*')) 0")) ==
           1;
  }));
  holder.release("r", mine);
  EXPECT_EQ(server.cli("GET r"), a->owner.str());
  ASSERT_TRUE(living.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(a->got().fencing.value, before + 1) << "the dead one was given a grant";
}

TEST_F(redis_queue, AProcessThatHangsCostsOneHeartbeatAndIsNotToldOfItsGrantAfterwards) {  // B17
  redis_ports holder(server.url());
  redis_ports living(server.url());
  fence_of(holder.acquire("r", mine));
  child_process hung({.argv = {HERDLOCK_LOCK_HOLDER, server.url(), "r", "30000", "hold"}});
  ASSERT_TRUE(eventually([&] { return waiters() == 1 && !queue().starts_with("- "); }));
  auto* const a = enqueue(living);
  hung.pause();
  holder.release("r", mine);
  EXPECT_NE(server.cli("GET r"), a->owner.str());
  ASSERT_TRUE(living.wait_for([&] { return a->granted(); }));
  auto const given = a->got().fencing.value;
  hung.resume();
  ASSERT_TRUE(eventually([&] { return waiters() == 1; })) << "it waits on, behind the others";
  EXPECT_EQ(hung.output().find("held"), std::string::npos);
  EXPECT_EQ(living.release("r", a->owner).value(), release_reply::released);
  ASSERT_TRUE(eventually([&] { return hung.output().find("held") != std::string::npos; }));
  EXPECT_GT(std::stoull(hung.output().substr(hung.output().find("held ") + 5)), given);
}

TEST_F(redis_queue, TheEndOfADeadHolderIsNoticed) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine, 300ms));
  auto* const a = enqueue(waiter);
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(server.cli("GET r"), a->owner.str());
}

TEST_F(redis_queue, ACancelledWaitAndOneThatIsOverLeaveTheQueue) {  // B7
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  auto* const b = start(waiter, 50ms);
  a->cancel.emit(asio::cancellation_type::all);
  ASSERT_TRUE(waiter.wait_for([&] { return a->outcome && b->outcome; }));
  EXPECT_EQ(a->outcome->error(), errc::canceled);
  ASSERT_TRUE(b->outcome->has_value());
  EXPECT_EQ(std::get<busy>(**b->outcome).holder, mine.label());
  EXPECT_TRUE(waiter.wait_for([&] { return waiters() == 0; }));
}

TEST_F(redis_queue, AGrantThatCrossesTheCancellationIsGivenBack) {  // B7
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  holder.release("r", mine);
  EXPECT_EQ(server.cli("GET r"), a->owner.str());
  a->cancel.emit(asio::cancellation_type::all);
  ASSERT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); }));
  EXPECT_EQ(a->outcome->error(), errc::canceled);
  EXPECT_TRUE(waiter.wait_for([&] { return server.cli("EXISTS r") == "0"; })) << "a ghost";
}

// The deadline, the grant and its push in the order in which a live lease would be given away.
TEST_F(redis_queue, AGrantThatCrossesTheDeadlineIsTakenOrGivenBackButNotBoth) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  for (int i = 0; i < 40; ++i) {
    auto const first = owner_token::generate();
    fence_of(holder.acquire("r", first));
    auto* const a = start(waiter, 30ms + 1ms * (i % 10));
    ASSERT_TRUE(waiter.wait_for([&] { return is_pushed_to(*a) || a->outcome.has_value(); }));
    auto const about_then = std::chrono::steady_clock::now() + 15ms + 1ms * (i % 7);
    waiter.wait_for([&] { return std::chrono::steady_clock::now() > about_then; });
    holder.release("r", first);
    ASSERT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); }));
    if (a->granted()) {
      // All that was under way is over when this has been answered behind it.
      EXPECT_EQ(waiter.renew("r", a->owner, 30s).value(), renew_reply::renewed) << "given away";
      EXPECT_EQ(waiter.renew("r", a->owner, 30s).value(), renew_reply::renewed) << "given away";
      EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
    } else {
      ASSERT_TRUE(waiter.wait_for([&] { return server.cli("EXISTS r") == "0"; })) << "a ghost";
    }
  }
}

TEST_F(redis_queue, AWipedQueueIsEnteredAgainByAllInTheirOrder) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  auto* const b = enqueue(waiter);
  auto const before = queue();
  server.cli("DEL {r}:herdlock:queue");
  ASSERT_TRUE(waiter.wait_for([&] { return queue() == before; })) << queue();
  server.cli("FLUSHALL");
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_FALSE(b->outcome.has_value());
  EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return b->granted(); })) << "asleep for ever";
}

TEST_F(redis_queue, WithoutThePushingConnectionWaitersPollAndComeBackToIt) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  auto* const b = enqueue(waiter);
  server.cli("CLIENT KILL TYPE pubsub");
  ASSERT_TRUE(waiter.wait_for([&] { return !is_pushed_to(*a); })) << "not by the name `-`";
  ASSERT_TRUE(waiter.wait_for([&] { return is_pushed_to(*a) && is_pushed_to(*b); }));
  auto const members = queue();
  EXPECT_LT(members.find(a->owner.str()), members.find(b->owner.str())) << "a place was lost";
  holder.release("r", mine);
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
}

TEST_F(redis_queue, AUserWhoMayNotListenIsServedByPolling) {
  redis_server closed({.users = {"poor on >secret ~* resetchannels +@all"}});
  auto const url = "redis://poor:secret@127.0.0.1:" + std::to_string(closed.port());
  redis_ports holder(url);
  redis_ports waiter(url);
  fence_of(holder.acquire("r", mine));
  auto* const a = start(waiter);
  auto* const b = start(waiter);
  ASSERT_TRUE(waiter.wait_for([&] { return closed.cli("ZCARD {r}:herdlock:queue") == "2"; }));
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return b->granted(); }));
}

// A push that was stuck in the network for longer than it is worth.
TEST_F(redis_queue, AnOldPushIsNotTakenForAFreshGrant) {  // B17
  redis_ports holder(server.url());
  relay slow(server.port());
  redis_ports waiter(relay_url(slow));
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  slow.stop_forwarding();
  holder.release("r", mine);
  ASSERT_EQ(server.cli("GET r"), a->owner.str());
  ASSERT_TRUE(eventually([&] { return server.cli("EXISTS r") == "0"; }));  // its heartbeat is over
  fence_of(holder.acquire("r", mine));
  slow.resume_forwarding();
  ASSERT_TRUE(waiter.wait_for([&] { return a->outcome || waiters() == 1; }));
  EXPECT_FALSE(a->granted()) << "two holders";
  EXPECT_EQ(server.cli("GET r"), mine.str());
}

TEST_F(redis_queue, ATryDoesNotOvertakeThoseWhoWait) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  server.cli("DEL r");  // as if it had expired
  auto const tried = holder.acquire("r", owner_token::generate()).value();
  EXPECT_TRUE(std::holds_alternative<busy>(tried));
  EXPECT_EQ(server.cli("GET r"), a->owner.str());
}

TEST_F(redis_queue, InspectTellsWhoWaitsInOrder) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  auto* const b = enqueue(waiter);
  auto const info = holder
                        .get<std::optional<lease_info>>([&](auto done) {
                          holder.leases().inspect(resource("r"), std::move(done));
                        })
                        .value();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->waiting, 2u);
  std::vector<std::string> const labels{std::string(a->owner.label()),
                                        std::string(b->owner.label())};
  EXPECT_EQ(info->waiters, labels);
}

TEST_F(redis_queue, TheQueueHasABoundThatIsNamed) {
  redis_ports holder(server.url());
  fence_of(holder.acquire("r", mine));
  server.command({"EVAL", "for i = 1, 99999 do redis.call('ZADD', KEYS[1], i, i) end", "1",
                  "{r}:herdlock:queue"});
  start(holder);
  ASSERT_TRUE(holder.wait_for([&] { return waiters() == 100'000; }));
  auto* const b = start(holder);
  ASSERT_TRUE(holder.wait_for([&] { return b->outcome.has_value(); }));
  ASSERT_TRUE(b->outcome->has_error());
  EXPECT_EQ(b->outcome->error(), errc::overloaded) << b->outcome->error().message;
  EXPECT_NE(b->outcome->error().message.find("'r'"), std::string::npos);
}

// B8, B10: the server would go on knowing one by the name of those who hear no push.
TEST_F(redis_queue, WaitersWhoseReturnToThePushesIsCutReturnLater) {
  relay through(server.port());
  redis_ports holder(server.url());
  redis_ports waiter(relay_url(through));
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  auto* const b = enqueue(waiter);
  int cuts = 0;
  for (std::size_t n = 0; n < 4000; n += 100) {
    server.cli("CLIENT KILL TYPE pubsub");
    through.cut_after_bytes(direction::to_server, n);
    ASSERT_TRUE(waiter.wait_for([&] { return !through.cut_pending() || !is_pushed_to(*b); }));
    ASSERT_TRUE(waiter.wait_for([&] { return is_pushed_to(*a) && is_pushed_to(*b); })) << n;
    cuts += through.cut_pending() ? 0 : 1;
    through.disarm();
  }
  EXPECT_GT(cuts, 5);
}

// Exactly once: the request is cut after every byte, and the reply.
TEST_F(redis_queue, AReleaseAskedAgainAfterALostReplyTellsItsFirstAnswer) {
  for (auto way : {direction::to_server, direction::to_client}) {
    relay through(server.port());
    redis_ports ports(relay_url(through));
    fence_of(ports.acquire("warm", mine));
    ports.release("warm", mine);
    for (std::size_t n = 0; n <= 400; ++n) {
      auto const owner = owner_token::generate();
      fence_of(ports.acquire("r", owner));
      through.cut_after_bytes(way, n);
      auto reply = ports.release("r", owner);
      bool const was_cut = !through.cut_pending();
      through.disarm();
      if (reply.has_error()) reply = ports.release("r", owner);
      ASSERT_TRUE(reply.has_value()) << reply.error().message;
      ASSERT_EQ(*reply, release_reply::released) << "a false `lost` after " << n << " bytes";
      ASSERT_EQ(server.cli("EXISTS r"), "0");
      if (!was_cut) break;
    }
  }
}

}  // namespace
}  // namespace herdlock_test
