// Waits that end while the server cannot be told: nobody is left in the queue who waits no more.
// B7, B8. And processes that hang with many waiters. B17.
#include <support/child_process.hpp>

#include <boost/asio/strand.hpp>
#include <sstream>

#include "redis_wait.hpp"

namespace herdlock_test {
namespace {

struct redis_pending_leaves : testing::Test {
  redis_wait* start(redis_ports& ports) {
    auto* const one = kept.emplace_back(std::make_unique<redis_wait>()).get();
    one->start(ports, resource("r"), 5min);
    return one;
  }
  // As many as wait in all when it returns.
  redis_wait* enqueue(redis_ports& ports) {
    auto const before = waiting();
    auto* const one = start(ports);
    EXPECT_TRUE(ports.wait_for([&] { return waiting() == before + 1; }));
    return one;
  }
  void cancel_all(redis_ports& ports) {
    for (auto const& each : kept) each->cancel.emit(asio::cancellation_type::all);
    ASSERT_TRUE(ports.wait_for([&] {
      return std::ranges::all_of(kept, [](auto const& each) { return each->outcome.has_value(); });
    }));
  }
  redis_wait* enqueue_heard(redis_ports& ports) {
    auto* const one = enqueue(ports);
    EXPECT_TRUE(ports.wait_for([&] { return all_are_heard(); }));
    return one;
  }
  void expect_next_is_served_at_once() {
    auto* const next = enqueue(other);
    EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
    EXPECT_EQ(server.cli("GET r"), next->owner.str());
    EXPECT_TRUE(other.wait_for([&] { return next->granted(); }));
  }
  // Under the name of a subscriber that hears the push.
  bool all_are_heard() const {
    return ("\n" + server.cli("ZRANGE {r}:herdlock:queue 0 -1")).find("\n- ") == std::string::npos;
  }
  void move_to_front(std::vector<redis_wait*> const& those) const {
    auto const members = server.cli("ZRANGE {r}:herdlock:queue 0 -1") + "\n";
    double score = 0.1;
    for (auto const* one : those) {
      auto const owner = members.find(one->owner.str());
      ASSERT_NE(owner, std::string::npos);
      auto const begin = owner == 0 ? 0 : members.rfind('\n', owner) + 1;
      auto const member = members.substr(begin, members.find('\n', owner) - begin);
      server.command({"ZADD", "{r}:herdlock:queue", std::to_string(score), member});
      score += 0.1;
    }
  }
  long waiting() const { return std::stol(server.cli("ZCOUNT {r}:herdlock:queue 0 +inf")); }
  long refusals() const {
    auto const text = server.cli("INFO errorstats");
    auto const at = text.find("errorstat_NOREPLICAS:count=");
    return at == std::string::npos ? 0 : std::stol(text.substr(text.find('=', at) + 1));
  }

  redis_server server;
  std::vector<std::unique_ptr<redis_wait>> kept;  // until the stores are closed
  redis_ports holder{server.url()};
  redis_ports other{server.url()};
  owner_token mine = owner_token::generate();
};

TEST_F(redis_pending_leaves,
       AThousandWaitsThatEndWhileTheServerRefusesWritesLeaveTheQueueAfterwards) {
  constexpr long many = 1000;
  redis_ports waiter(server.url() + "?timeout=20s");
  fence_of(waiter.acquire("warm", mine));
  fence_of(holder.acquire("r", mine, 10min));
  for (long i = 0; i < many; ++i) start(waiter);
  ASSERT_TRUE(waiter.sees([&] { return waiting() == many; })) << waiting();
  server.cli("CONFIG SET min-replicas-to-write 1");
  cancel_all(waiter);
  // Each has been tried, and some of them again.
  ASSERT_TRUE(waiter.sees([&] { return refusals() > many; })) << refusals();
  EXPECT_EQ(waiting(), many);
  server.cli("CONFIG SET min-replicas-to-write 0");
  ASSERT_TRUE(waiter.sees([&] { return waiting() == 0; })) << waiting() << " ghosts";
  expect_next_is_served_at_once();
}

TEST_F(redis_pending_leaves,
       WaitsThatEndWhileTheConnectionIsFrozenAndThenCutLeaveTheQueueAfterwards) {
  relay through(server.port());
  redis_ports waiter(relay_url(through, "?timeout=200ms"));
  fence_of(holder.acquire("r", mine, 10min));
  for (int i = 0; i < 6; ++i) enqueue(waiter);
  through.stop_forwarding();
  cancel_all(waiter);
  // Each attempt to connect takes as long as a command may.
  auto const before = through.connections_ever();
  ASSERT_TRUE(waiter.wait_for([&] { return through.connections_ever() >= before + 8; }));
  through.cut_all();
  through.resume_forwarding();
  ASSERT_TRUE(waiter.wait_for([&] { return waiting() == 0; })) << waiting() << " ghosts";
  expect_next_is_served_at_once();
}

// Its turn comes before it could say that it has gone.
TEST_F(redis_pending_leaves, AGrantToOneWhoseLeaveIsPendingIsGivenBackAtOnce) {
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine, 10min));
  auto* const gone = enqueue(waiter);
  auto* const next = enqueue(other);
  ASSERT_TRUE(waiter.wait_for(
      [&] { return server.cli("ZRANGE {r}:herdlock:queue 0 0").substr(0, 2) != "- "; }));
  server.cli("CONFIG SET min-replicas-to-write 1");
  gone->cancel.emit(asio::cancellation_type::all);
  // More than one or two at once: tries with pauses between them.
  ASSERT_TRUE(waiter.wait_for([&] { return refusals() >= 4; }));
  server.cli("CONFIG SET min-replicas-to-write 0");
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return server.cli("GET r") == next->owner.str(); }));
  EXPECT_TRUE(other.wait_for([&] { return next->granted(); }));
}

// What it costs shows in the tokens: one grant, however many of its waiters are queued.
TEST_F(redis_pending_leaves,
       AProcessThatHangsWithManyWaitersCostsOneHeartbeatAndEntersAgainWhenItResumes) {
  // Whoever connects later has a later time of the server as its least token.
  fence_of(other.acquire("warm", mine));
  auto const before = fence_of(holder.acquire("r", mine, 10min));
  child_process hung({.argv = {QUEUE_PEER, server.url(), "r", "5"}});
  ASSERT_TRUE(eventually([&] { return waiting() == 5 && all_are_heard(); }));
  auto* const first = enqueue(other);
  auto* const second = enqueue(other);
  hung.pause();
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(other.wait_for([&] { return first->granted(); }));
  EXPECT_EQ(first->got().fencing.value, before + 2) << "more than one turn was given to the hung";
  EXPECT_EQ(other.release("r", first->owner).value(), release_reply::released);
  ASSERT_TRUE(other.wait_for([&] { return second->granted(); }));
  hung.resume();
  ASSERT_TRUE(eventually([&] { return waiting() == 5; })) << "somebody waits for ever";
  EXPECT_EQ(hung.output().find("got"), std::string::npos);
  EXPECT_EQ(other.release("r", second->owner).value(), release_reply::released);
  ASSERT_TRUE(eventually([&] {
    auto const told = hung.output();
    return std::ranges::count(told, '\n') == 5 && told.find("none") == std::string::npos;
  })) << hung.output();
}

// Wherever they stand: its waiters and those of another process take turns.
TEST_F(redis_pending_leaves,
       AProcessThatHangsCostsOneHeartbeatAlthoughOthersStandBetweenItsWaiters) {
  fence_of(other.acquire("warm", mine));
  fence_of(holder.acquire("r", mine, 10min));
  child_process hung({.argv = {QUEUE_PEER, server.url(), "r", "3"}});
  ASSERT_TRUE(eventually([&] { return waiting() == 3 && all_are_heard(); }));
  auto const last = server.cli("ZRANGE {r}:herdlock:queue 2 2");
  auto const middle = server.cli("ZRANGE {r}:herdlock:queue 1 1");
  auto* const first = enqueue_heard(other);
  auto* const second = enqueue_heard(other);
  server.command({"ZADD", "{r}:herdlock:queue", "100", middle});
  move_to_front({first});
  server.command(
      {"ZADD", "{r}:herdlock:queue", "0.05", server.cli("ZRANGEBYSCORE {r}:herdlock:queue 1 1")});
  server.command({"ZADD", "{r}:herdlock:queue", "101", last});
  hung.pause();
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(other.wait_for([&] { return first->granted(); }));
  EXPECT_EQ(waiting(), 1) << "somebody of it is queued still";
  EXPECT_EQ(other.release("r", first->owner).value(), release_reply::released);
  ASSERT_TRUE(other.wait_for([&] { return second->granted(); }));
  EXPECT_EQ(second->got().fencing.value, first->got().fencing.value + 1);
  hung.resume();
  ASSERT_TRUE(eventually([&] { return waiting() == 3; })) << "somebody waits for ever";
}

// Members of the queue, one for each entering; a slow answer is no sign of having been skipped.
TEST_F(redis_pending_leaves, OneLooksForAllAlsoOverASlowConnection) {
  relay through(server.port());
  redis_ports waiter(relay_url(through));
  fence_of(holder.acquire("r", mine, 10min));
  for (int i = 0; i < 4; ++i) {
    kept.push_back(std::make_unique<redis_wait>());
    kept.back()->start(waiter, resource("r"), 5min, 300ms);
    ASSERT_TRUE(waiter.wait_for([&] { return waiting() == i + 1; }));
  }
  ASSERT_TRUE(waiter.wait_for([&] { return all_are_heard(); }));
  auto const oldest = server.cli("ZRANGE {r}:herdlock:queue 0 0");
  through.set_delay(400ms);
  child_process monitor({.argv = {"redis-cli", "-p", std::to_string(server.port()), "MONITOR"}});
  auto const enterings = [&] {
    std::istringstream lines(monitor.output());
    std::vector<std::string> found;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"EVALSHA\"") != std::string::npos) found.push_back(line);
    }
    return found;
  };
  ASSERT_TRUE(waiter.wait_for([&] { return enterings().size() >= 6; }));
  for (auto const& line : enterings()) EXPECT_NE(line.find(oldest), std::string::npos) << line;
}

// The push of its grant is too old when it is heard, and its own look comes after it.
TEST_F(redis_pending_leaves, OneThatMissedItsGrantEntersAgainAndThoseBehindItToo) {
  fence_of(holder.acquire("r", mine, 10min));
  child_process hung({.argv = {QUEUE_PEER, server.url(), "r", "3"}});
  ASSERT_TRUE(eventually([&] { return waiting() == 3 && all_are_heard(); }));
  auto* const next = enqueue_heard(other);
  // The oldest goes to the end.
  server.command({"ZADD", "{r}:herdlock:queue", "90", server.cli("ZRANGE {r}:herdlock:queue 0 0")});
  hung.pause();
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(other.wait_for([&] { return next->granted(); }));
  EXPECT_EQ(waiting(), 0) << "somebody was not skipped";
  hung.resume();
  ASSERT_TRUE(eventually([&] { return waiting() == 3; })) << "somebody waits for ever";
}

// It looks at what it waits for, so it does not hang.
TEST_F(redis_pending_leaves, ALivingProcessWhoseLeaseExpiredKeepsThePositionsOfItsOtherWaiters) {
  fence_of(holder.acquire("r", mine, 10min));
  redis_ports waiter(server.url());
  auto* const first = enqueue_heard(waiter);
  auto* const second = enqueue_heard(waiter);
  auto* const third = enqueue_heard(other);
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return first->granted(); }));
  auto const before = server.calls("evalsha");
  ASSERT_TRUE(waiter.wait_for([&] { return server.calls("evalsha") >= before + 1; }));
  EXPECT_EQ(server.cli("GET r"), first->owner.str());
  // Only the other one looks from here on.
  auto heir = first->owner.str();
  ASSERT_TRUE(other.wait_for([&] {
    heir = server.cli("GET r");
    return heir != first->owner.str() && heir != "(nil)";
  }));
  EXPECT_EQ(heir, second->owner.str());
  EXPECT_FALSE(third->granted());
}

// A thousand dead are skipped in one step; whoever goes on must not take what was given back for
// what expired. The process that has the waiters sends no look meanwhile: that would go on, too.
TEST_F(redis_pending_leaves, AReleaseThatFindsNoHeirDoesNotMakeItsProcessOneThatHangs) {
  fence_of(holder.acquire("r", mine, 10min));
  relay through(server.port());
  redis_ports waiter(relay_url(through));
  auto* const first = enqueue_heard(waiter);
  auto* const second = enqueue_heard(waiter);
  enqueue_heard(other);
  // The look from before the channel was open: a later one would take the mark away.
  auto const before = server.calls("evalsha");
  ASSERT_TRUE(waiter.wait_for([&] { return server.calls("evalsha") > before; }));
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return first->granted(); }));
  through.stop_forwarding();
  server.command({"EVAL",
                  "for i = 1, 1001 do redis.call('ZADD', KEYS[1], i / 2000, 'dead 9 ' .. i) end",
                  "1", "{r}:herdlock:queue"});
  EXPECT_EQ(holder.release("r", first->owner).value(), release_reply::released);
  EXPECT_EQ(server.cli("EXISTS r"), "0");
  auto const tried = holder.acquire("r", mine).value();
  EXPECT_TRUE(std::holds_alternative<busy>(tried));
  EXPECT_EQ(server.cli("GET r"), second->owner.str());
  through.resume_forwarding();
}

// It asks, so it lives, whatever became of its last grant.
TEST_F(redis_pending_leaves, AProcessThatLetsItsLeasesExpireGoesOnInTheOrderOfArrival) {
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine, 10min));
  std::vector<redis_wait*> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(kept.emplace_back(std::make_unique<redis_wait>()).get());
    all.back()->start(waiter, resource("r"), 5min, 1s);
    ASSERT_TRUE(waiter.wait_for([&] { return waiting() == i + 1; }));
  }
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  std::uint64_t last = 0;
  for (auto* one : all) {
    ASSERT_TRUE(waiter.wait_for([&] { return one->granted(); }));
    EXPECT_GT(one->got().fencing.value, last);
    last = one->got().fencing.value;
  }
}

struct thrown {};

// On a strand, which lets what a handler throws through to whoever called it.
class throwing_ports {
 public:
  explicit throwing_ports(std::string const& url)
      : ports_(open_redis(store_url::parse(url).value(), strand_).value()) {}
  ~throwing_ports() {
    ports_ = {};
    until([this] { return io_.poll() == 0 && io_.stopped(); });
  }
  throwing_ports(throwing_ports const&) = delete;
  throwing_ports& operator=(throwing_ports const&) = delete;

  void wait_in_line(owner_token const& owner) {
    asio::post(strand_, [this, owner] {
      ports_.leases->acquire({resource("r"), owner, 30s, 5min},
                             handler<acquire_reply>([this](result<acquire_reply> const&) {
                               ++told;
                               throw thrown{};
                             }));
    });
  }
  bool until(std::function<bool()> const& condition) {
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      try {
        io_.restart();
        io_.run_one_for(5ms);
      } catch (thrown const&) {
        ++caught;
      }
    }
    return true;
  }

  int told = 0;
  int caught = 0;

 private:
  asio::io_context io_;
  asio::strand<asio::io_context::executor_type> strand_ = asio::make_strand(io_);
  backend ports_;
};

// A waiter that finds its grant by looking asks the server once more.
TEST_F(redis_pending_leaves, AfterAHandlerThatThrewTheOthersAreStillPushedTo) {
  throwing_ports waiter(server.url());
  fence_of(holder.acquire("r", mine, 10min));
  auto const first_is_heard = [&] {
    return waiting() == 1 && server.cli("ZRANGE {r}:herdlock:queue 0 0").substr(0, 2) != "- ";
  };
  constexpr int turns = 20;
  auto last = mine;
  long looks = 0;
  for (int turn = 0; turn < turns; ++turn) {
    auto const next = owner_token::generate();
    waiter.wait_in_line(next);
    ASSERT_TRUE(waiter.until(first_is_heard)) << "turn " << turn;
    EXPECT_EQ(holder.release("r", last).value(), release_reply::released);
    auto const before = server.calls("evalsha");
    ASSERT_TRUE(waiter.until([&] { return waiter.told == turn + 1; })) << "turn " << turn;
    looks += server.calls("evalsha") - before;
    last = next;
  }
  EXPECT_TRUE(waiter.until([&] { return waiter.caught == turns; }));
  EXPECT_LT(looks, turns / 2) << "the pushing connection is deaf";
}

}  // namespace
}  // namespace herdlock_test
