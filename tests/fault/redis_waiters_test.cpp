// A thousand waiters in twenty processes, half of which are killed. B8.
#include <support/child_process.hpp>

#include <algorithm>
#include <random>
#include <sstream>

#include "redis_ports.hpp"
#include "redis_waiting.hpp"

namespace herdlock_test {
namespace {

constexpr int processes = 20;
constexpr int waiters_each = 50;

struct served {
  std::uint64_t fencing;
  std::string owner;
  std::chrono::microseconds at;
  friend auto operator<=>(served const&, served const&) = default;
};

// All that was printed whole.
std::vector<served> grants_in(std::string const& output) {
  std::vector<served> all;
  std::istringstream lines(output.substr(0, output.rfind('\n') + 1));
  std::string word;
  served one{};
  for (long long at = 0; lines >> word >> one.fencing >> one.owner >> at;) {
    one.at = std::chrono::microseconds(at);
    all.push_back(one);
  }
  return all;
}

// `HUB TTL OWNER` of each member, in the queue's order.
std::vector<std::string> owners_in(std::string const& members) {
  std::vector<std::string> all;
  std::istringstream words(members);
  std::string subscriber;
  std::string ttl;
  std::string owner;
  while (words >> subscriber >> ttl >> owner) all.push_back(owner);
  return all;
}

bool belongs_to(std::string const& owner, pid_t pid) {
  return owner.find("/" + std::to_string(pid) + ":") != std::string::npos;
}

// A thousand waiters behind a holder.
class crowd {
 public:
  explicit crowd(std::uint64_t seed) : random_(static_cast<std::minstd_rand::result_type>(seed)) {
    before_ = fence_of(holder_.acquire("r", mine_, 10min));
    for (int i = 0; i < processes; ++i) {
      peers_.emplace_back(
          child_options{.argv = {QUEUE_PEER, server_.url(), "r", std::to_string(waiters_each)}});
    }
    EXPECT_TRUE(eventually(3 * patience, [&] {
      return waiting() == processes * waiters_each && queue().find("\n- ") == std::string::npos;
    }));
    std::shuffle(peers_.begin(), peers_.end(), random_);
  }

  void kill_half(std::vector<pid_t>& dead, std::string& last_words) {
    for (int i = 0; i < processes / 2; ++i) {
      dead.push_back(peers_.back().pid());
      peers_.back().kill();
      last_words += peers_.back().output();
      peers_.pop_back();
    }
  }
  // Without those that belong to the dead.
  std::vector<std::string> owners_but(std::vector<pid_t> const& dead) {
    auto all = owners_in(queue());
    std::erase_if(all, [&](std::string const& owner) {
      return std::any_of(dead.begin(), dead.end(),
                         [&](pid_t pid) { return belongs_to(owner, pid); });
    });
    return all;
  }

  void begin() { holder_.release("r", mine_); }
  std::vector<served> grants() const {
    std::vector<served> all;
    for (auto const& each : peers_) {
      auto const some = grants_in(each.output());
      all.insert(all.end(), some.begin(), some.end());
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  bool await_grants(std::size_t count, std::vector<served>& got) {
    return eventually(3 * patience, [&] {
      got = grants();
      return got.size() >= count;
    });
  }

  int waiting() const { return std::stoi(server_.cli("ZCARD {r}:herdlock:queue")); }
  std::string queue() const { return "\n" + server_.cli("ZRANGE {r}:herdlock:queue 0 -1"); }
  std::size_t living() const { return peers_.size(); }
  std::uint64_t before() const { return before_; }
  redis_server const& server() const { return server_; }

 private:
  redis_server server_;
  redis_ports holder_{server_.url()};
  owner_token const mine_ = owner_token::generate();
  std::minstd_rand random_;
  std::uint64_t before_ = 0;
  std::vector<child_process> peers_;
};

std::uint64_t fresh_seed() {
  std::random_device source;
  return source();
}

std::chrono::microseconds longest_pause(std::vector<served> const& got) {
  std::chrono::microseconds longest{0};
  for (std::size_t i = 1; i < got.size(); ++i) {
    longest = std::max(longest, got[i].at - got[i - 1].at);
  }
  return longest;
}

// Tokens rise by one, or, at a process that has connected since the counter began, to the server's
// time: a jump of some milliseconds at least.
bool is_next(std::uint64_t from, std::uint64_t to, std::uint64_t turns = 1) {
  return to - from <= turns || to - from > 100;
}

TEST(redis_waiters, TheSurvivorsOfAMassacreAreServedInOrderAndTheDeadNotAtAll) {
  auto const seed = fresh_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  crowd all(seed);
  std::vector<pid_t> dead;
  std::string unused;
  all.kill_half(dead, unused);
  std::string const channels = "return #redis.call('PUBSUB', 'CHANNELS', 'herdlock:grants:*')";
  ASSERT_TRUE(eventually([&] {
    return all.server().command({"EVAL", channels, "0"}) == std::to_string(all.living());
  }));
  auto const expected = all.owners_but(dead);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(processes * waiters_each / 2));

  all.begin();
  std::vector<served> got;
  EXPECT_TRUE(all.await_grants(expected.size(), got)) << got.size();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].owner, expected[i]) << "out of turn at " << i;
    // A turn that was given to the dead would make a gap of 2.
    auto const last = i == 0 ? all.before() : got[i - 1].fencing;
    ASSERT_TRUE(is_next(last, got[i].fencing)) << "a dead waiter was given a turn before " << i;
  }
  std::printf("the longest pause between two of %zu: %.1f ms\n", got.size(),
              static_cast<double>(longest_pause(got).count()) / 1000);
}

// B8: its connections are not the child's, so the server knows that it has gone.
TEST(redis_waiters, ADeadProcessIsSkippedAlthoughAProgramThatItStartedLives) {
  redis_server server;
  redis_ports holder(server.url());
  redis_ports living(server.url());
  auto const mine = owner_token::generate();
  auto const next = owner_token::generate();
  auto const queue = [&] { return "\n" + server.cli("ZRANGE {r}:herdlock:queue 0 -1"); };
  auto const pushed_to = [&](std::string const& waiters) {
    return server.cli("ZCARD {r}:herdlock:queue") == waiters &&
           queue().find("\n- ") == std::string::npos;
  };
  auto const before = fence_of(holder.acquire("r", mine, 10min));
  child_process dead({.argv = {QUEUE_PEER, server.url(), "r", "1", "cat"},
                      .input = process_input::pipe});  // which it reads until the test ends
  ASSERT_TRUE(eventually([&] { return pushed_to("1"); })) << queue();
  dead.signal(SIGUSR1);
  ASSERT_TRUE(eventually([&] { return dead.output().find("started") == 0; })) << dead.output();
  std::optional<result<acquire_reply>> granted;
  living.start<acquire_reply>(granted, [&](auto done) {
    living.leases().acquire({resource("r"), next, 30s, 10min}, std::move(done));
  });
  ASSERT_TRUE(living.wait_for([&] { return pushed_to("2"); })) << queue();
  dead.kill();
  std::string const channels = "return #redis.call('PUBSUB', 'CHANNELS', 'herdlock:grants:*')";
  ASSERT_TRUE(eventually([&] {
    return server.command({"EVAL", channels, "0"}) == "1";
  })) << "the dead process still listens";
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("GET r"), next.str());
  ASSERT_TRUE(living.wait_for([&] { return granted.has_value(); }));
  EXPECT_TRUE(is_next(before, fence_of(*granted))) << "the dead one was given a turn";
}

// They die while the grants go round, so one of them may have just been given the resource, or a
// part of its turn: that ends with the heartbeat of its grant.
TEST(redis_waiters, AMassacreAmongTheHandOversCostsTheTurnsOfThoseWhoWereGranted) {
  auto const seed = fresh_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  crowd all(seed);
  auto const order = all.owners_but({});
  all.begin();
  std::vector<served> got;
  ASSERT_TRUE(all.await_grants(50, got));
  std::vector<pid_t> dead;
  std::string last_words;
  all.kill_half(dead, last_words);
  // A grant's term at the server is what a turn of the dead can cost.
  long longest_term = 0;
  auto const survivors = static_cast<std::size_t>(processes * waiters_each / 2);
  ASSERT_TRUE(eventually(3 * patience,
                         [&] {
                           longest_term =
                               std::max(longest_term, std::stol(all.server().cli("PTTL r")));
                           got = all.grants();
                           return got.size() >= survivors;
                         }))
      << got.size() << " served, " << all.waiting() << " waiting";
  EXPECT_EQ(got.size(), survivors);
  EXPECT_LE(longest_term, 2000) << "longer than a heartbeat";
  auto const by_the_dead = grants_in(last_words);
  got.insert(got.end(), by_the_dead.begin(), by_the_dead.end());
  std::sort(got.begin(), got.end());
  std::size_t lost_turns = 0;
  auto place = order.begin();
  for (std::size_t i = 0; i < got.size(); ++i) {
    place = std::find(place, order.end(), got[i].owner);
    ASSERT_NE(place, order.end()) << "out of turn at " << i;
    if (i > 0 && !is_next(got[i - 1].fencing, got[i].fencing)) ++lost_turns;
  }
  EXPECT_LE(lost_turns, dead.size()) << "a dead process was given more than one turn";
  std::printf("%zu served, %zu turns of the dead; the longest pause between two: %.1f ms\n",
              got.size(), lost_turns, static_cast<double>(longest_pause(got).count()) / 1000);
}

// B7: a lock and a cache entry of one name share the key.
TEST_F(redis_queue, AWaitForAKeyThatBecameOneOfAnotherTypeLeavesTheQueue) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  ASSERT_EQ(waiters(), 1);
  server.cli("DEL r");
  server.cli("HSET r field value");
  a->cancel.emit(asio::cancellation_type::all);
  ASSERT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); }));
  EXPECT_TRUE(waiter.wait_for([&] { return waiters() == 0; }));
}

TEST_F(redis_queue, AReleaseThatHandedOverAndIsAskedAgainTellsItsFirstAnswer) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  auto* const a = enqueue(waiter);
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("GET {r}:herdlock:last"), mine.str());
  EXPECT_EQ(holder.release("r", mine).value(), release_reply::released) << "a false `lost`";
  EXPECT_EQ(server.cli("GET r"), a->owner.str()) << "taken from the next one";
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
}

// Else it could not look between a grant to one of them and its end, as one that does not hang.
TEST_F(redis_queue, AProcessWhoseWaitersHaveShorterHeartbeatsLooksMoreOften) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine));
  enqueue(waiter, 1min, 200ms);
  server.cli("SET three-seconds x PX 3000");
  auto const before = server.calls("evalsha");
  ASSERT_TRUE(waiter.wait_for([&] { return server.calls("evalsha") >= before + 8; }));
  EXPECT_EQ(server.cli("EXISTS three-seconds"), "1") << "eight looks, half a second each";
}

TEST_F(redis_queue, OneShortWaitDoesNotMakeAProcessBeatFastForAsLongAsAnotherOneWaits) {
  redis_ports holder(server.url());
  redis_ports waiter(server.url());
  fence_of(holder.acquire("r", mine, 10min));
  enqueue(waiter);
  auto* const brief = enqueue(waiter, 1s, 100ms);
  ASSERT_TRUE(waiter.wait_for([&] { return brief->outcome.has_value(); }));
  auto const before = server.calls("publish");
  server.cli("SET two-seconds x PX 2000");
  ASSERT_TRUE(waiter.sees([&] { return server.cli("EXISTS two-seconds") == "0"; }));
  EXPECT_LE(server.calls("publish") - before, 10) << "two a second, not forty";
}

TEST_F(redis_queue, WaitersAreServedWhereTheUserMayNotPing) {
  redis_server closed({.users = {"poor on >secret ~* &* +@all -ping"}});
  auto const url = "redis://poor:secret@127.0.0.1:" + std::to_string(closed.port());
  redis_ports waiter(url);
  auto const before = fence_of(waiter.acquire("r", mine));
  auto* const a = start(waiter);
  auto* const b = start(waiter);
  ASSERT_TRUE(waiter.wait_for([&] { return closed.cli("ZCARD {r}:herdlock:queue") == "2"; }));
  EXPECT_EQ(waiter.release("r", mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return b->granted(); }));
  EXPECT_GT(b->got().fencing.value, before);
}

}  // namespace
}  // namespace herdlock_test
