// What befalls a server while leases are held and waited for: it is wiped, full, forgets the
// scripts, throws its clients out, or lacks a command.
#include <herdlock/herdlock.hpp>

#include "redis_ports.hpp"
#include "stores/redis/redlock/redlock_store.hpp"
#include "support/redis_nodes.hpp"

namespace herdlock_test {
namespace {

struct redis_mishaps : testing::Test {
  redis_mishaps() { server.flush(); }
  ~redis_mishaps() override { server.cli("CONFIG SET maxmemory 0"); }

  void expect_full(failure const& why) {
    EXPECT_EQ(why, errc::unavailable) << why.message;
    EXPECT_NE(why.message.find("out of memory; raise maxmemory"), std::string::npos) << why.message;
  }

  redis_server& server = redis_server::shared();
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

using waited = std::optional<result<acquire_reply>>;

void wait_for_it(redis_ports& ports, waited& outcome, owner_token const& owner) {
  ports.start<acquire_reply>(outcome, [&](auto h) {
    ports.leases().acquire({resource("r"), owner, 30s, 1min}, std::move(h));
  });
}

bool is_granted(waited const& outcome) {
  return outcome && outcome->has_value() && std::holds_alternative<grant>(**outcome);
}

// FLUSHALL, as it is seen from above: the holder is told, who waits is served, tokens rise.
TEST_F(redis_mishaps, AWipedServerEndsTheLeaseAndServesTheNext) {
  lock const where(open_store(server.url()), "r");
  auto first = where.try_acquire({.ttl = 5s});
  ASSERT_TRUE(first);
  acquired second;
  std::thread waiter([&] { second = where.acquire({.ttl = 1min, .wait = patience}); });
  EXPECT_TRUE(eventually([&] { return server.cli("EXISTS {r}:herdlock:queue") == "1"; }));
  server.cli("FLUSHALL");
  EXPECT_TRUE(eventually([&] { return !first->valid(); }));
  EXPECT_EQ(first->lost_reason(), errc::lost);
  waiter.join();
  ASSERT_TRUE(second);
  EXPECT_GT(second->fencing(), first->fencing());
  EXPECT_EQ(first->release(), release_reply::lost);
  EXPECT_EQ(second->release(), release_reply::released);
}

// maxmemory with noeviction: nothing new is granted, and nobody loses what he has.
TEST_F(redis_mishaps, AFullServerGrantsNothingButRenewsAndReleases) {
  for (std::string const options : {"", "?dialect=plain"}) {
    redis_ports ports(server.url() + options);
    ASSERT_TRUE(ports.acquire("r", mine).has_value());
    server.cli("CONFIG SET maxmemory 1");
    expect_full(ports.acquire("s", other).error());
    EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::renewed) << options;
    EXPECT_EQ(ports.release("r", mine).value(), release_reply::released) << options;
    EXPECT_EQ(server.cli("EXISTS r s"), "0");
    server.cli("CONFIG SET maxmemory 0");
    EXPECT_TRUE(std::holds_alternative<grant>(ports.acquire("s", other).value()));
    server.flush();
  }
}

// GETSET, by which it renews, needs memory in the eyes of the server.
TEST_F(redis_mishaps, AFullServerRefusesTheRenewalOfGetsetAndKeepsItsKey) {
  redis_ports ports(server.url() + "?dialect=getset");
  ASSERT_TRUE(ports.acquire("r", mine).has_value());
  auto const before = server.cli("GET r");
  server.cli("CONFIG SET maxmemory 1");
  expect_full(ports.acquire("s", other).error());
  expect_full(ports.renew("r", mine, 60s).error());
  EXPECT_EQ(server.cli("GET r"), before);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

TEST_F(redis_mishaps, AServerThatGetsFullServesThoseWhoWaitAlready) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  waited first;
  wait_for_it(waiter, first, other);
  ASSERT_TRUE(waiter.wait_for([&] { return server.cli("ZCARD {r}:herdlock:queue") == "1"; }));
  server.cli("CONFIG SET maxmemory 1");
  waited late;
  wait_for_it(waiter, late, owner_token::generate());
  ASSERT_TRUE(waiter.wait_for([&] { return late.has_value(); }));
  expect_full(late->error());
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return first.has_value(); }));
  EXPECT_TRUE(is_granted(first)) << (first->has_error() ? first->error().message : "busy");
  EXPECT_EQ(waiter.release("r", other).value(), release_reply::released);
}

TEST_F(redis_mishaps, ForgottenScriptsAndKilledClientsDoNotDisturbTheQueue) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  auto last = fence_of(holder.acquire("r", mine));
  waited first, second;
  auto const next = owner_token::generate();
  wait_for_it(waiter, first, other);
  ASSERT_TRUE(waiter.wait_for([&] { return server.cli("ZCARD {r}:herdlock:queue") == "1"; }));
  wait_for_it(waiter, second, next);
  ASSERT_TRUE(waiter.wait_for([&] { return server.cli("ZCARD {r}:herdlock:queue") == "2"; }));
  server.cli("SCRIPT FLUSH");
  server.cli("CLIENT KILL TYPE normal");
  server.cli("CLIENT KILL TYPE pubsub");
  auto released = holder.release("r", mine);
  if (released.has_error()) released = holder.release("r", mine);
  ASSERT_TRUE(released.has_value()) << released.error().message;
  EXPECT_EQ(*released, release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return is_granted(first); })) << "asleep for ever";
  EXPECT_FALSE(second.has_value()) << "out of turn";
  EXPECT_GT(fence_of(*first), last);
  last = fence_of(*first);
  EXPECT_EQ(waiter.renew("r", other, 30s).value(), renew_reply::renewed);
  server.cli("SCRIPT FLUSH");
  EXPECT_EQ(waiter.release("r", other).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return is_granted(second); }));
  EXPECT_GT(fence_of(*second), last);
}

// ---------------------------------------------------------------------------------- commands

struct missing {
  std::string command;
  std::string options;
  std::string said;
};

// Redis 5 and older do not know HELLO. Inside a script the server does not say which it was.
TEST(RedisWithoutACommand, IsRefusedAsSuch) {
  std::string const advice = "Redis 6.2 or newer";
  for (auto const& [command, options, said] :
       {missing{"HELLO", "", "does not know HELLO"}, missing{"EVAL", "", "'EVAL'"},
        missing{"INCR", "", "lacks a command"}, missing{"SET", "", "lacks a command"},
        missing{"EVALSHA", "?dialect=plain", "'EVALSHA'"},
        missing{"GETSET", "?dialect=getset", "'GETSET'"}}) {
    redis_server server({.arguments = {"--rename-command", command, ""}});
    if (command == "GETSET") server.cli("SET r 1");
    auto const text = expect_refused(server.url() + options, errc::not_supported, said);
    EXPECT_NE(text.find(advice), std::string::npos) << command << ": " << text;
    EXPECT_EQ(server.cli("EXISTS r"), command == "GETSET" ? "1" : "0") << command;
  }
}

TEST(RedisWithoutACommand, IsNamedAmongTheNodesOfRedlock) {
  redis_nodes nodes(3, {.arguments = {"--rename-command", "EVALSHA", ""}});
  auto const text = expect_refused(nodes.url(), errc::not_supported, "'EVALSHA'", &open_redlock);
  EXPECT_NE(text.find("127.0.0.1:" + std::to_string(nodes[0].port())), std::string::npos) << text;
}

// What others have left at a majority, without an end: theirs until somebody takes it away.
TEST(RedlockLeftovers, AKeyWithoutTtlAtAMajorityIsBusyUntilItIsForcedAway) {
  redis_nodes nodes(3);
  redis_ports ports(nodes.url(), &open_redlock);
  auto const mine = owner_token::generate();
  for (std::size_t i : {0, 2}) nodes[i].cli("SET r theirs");
  auto const reply = ports.acquire("r", mine).value();
  ASSERT_TRUE(std::holds_alternative<busy>(reply));
  EXPECT_EQ(std::get<busy>(reply).holder, "another client");
  EXPECT_EQ(std::get<busy>(reply).remaining, 0ms);
  EXPECT_EQ(nodes.count("GET r", "theirs"), 2u);
  auto const forced = ports.get<release_reply>(
      [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); });
  EXPECT_EQ(forced.value(), release_reply::released);
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
}

}  // namespace
}  // namespace herdlock_test
