// A change of master that nobody told of, sentinels that are wrong, and two servers behind one
// name.
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <support/redis_sentinels.hpp>

#include "near_reading.hpp"
#include "owners.hpp"
#include "redis_ports.hpp"
#include "scripted_redis.hpp"

namespace herdlock_test {
namespace {

// ------------------------------------------------------------------------- a switch that was
// missed

enum class absence { hangs, hangs_and_is_killed };

std::string word_for(testing::TestParamInfo<absence> const& of) {
  return of.param == absence::hangs ? "Hangs" : "HangsAndIsKilled";
}

// A handle listens to the first sentinel, which is away while the others make another server the
// master. The old one goes on as a master, and nobody cuts its clients off.
class RedisSentinelMissed : public ::testing::TestWithParam<absence> {
 protected:
  static bool listens(redis_server const& sentinel) {
    return sentinel.cli("CLIENT LIST").find(" sub=1 ") != std::string::npos;
  }
  void switch_masters() {
    auto const old = group_.master().port();
    group_.hang_sentinel(0);
    group_.lock_sentinels_out_of_the_master();
    group_.failover();
    ASSERT_NE(group_.master().port(), old);
    group_.await_calm();  // it has been told to everybody who listened
    if (GetParam() == absence::hangs_and_is_killed) group_.sentinel(0).kill();
  }

  redis_sentinels group_{{.down_after = never_down}};
  int tries_ = 0;
};

// B35
TEST_P(RedisSentinelMissed, AChangeOfTheMasterIsAskedForAndFollowed) {
  std::optional<result<acquire_reply>> outcome;  // told at the latest when the store is closed
  redis_ports ports(group_.url());
  fence_of(ports.acquire("before", mine));
  ASSERT_TRUE(ports.sees([&] { return listens(group_.sentinel(0)); }));
  auto& old = group_.master();
  switch_masters();
  EXPECT_EQ(old.cli("ROLE").substr(0, 6), "master") << "the test's old master was demoted";
  EXPECT_TRUE(ports.sees([&] {
    auto const name = "later" + std::to_string(tries_++);
    return ports.acquire(name, mine).has_value() && group_.master().cli("EXISTS " + name) == "1";
  })) << "the handle stays at the old master";
  // What is pushed comes from the new one, too: a waiter here is served by a release elsewhere.
  redis_ports fresh(group_.url());
  fence_of(fresh.acquire("w", other));
  ports.start<acquire_reply>(outcome, [&](auto h) {
    ports.leases().acquire({resource("w"), mine, 30s, patience}, std::move(h));
  });
  EXPECT_TRUE(ports.sees([&] { return group_.master().cli("EXISTS {w}:herdlock:queue") == "1"; }));
  EXPECT_EQ(fresh.release("w", other).value(), release_reply::released);
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_GT(fence_of(*outcome), 0u);
}

// What is kept in the process is of the old master until then, and of the new one from then on.
TEST_P(RedisSentinelMissed, NothingThatTheOldMasterSaidIsServedOnceTheHandleHasMoved) {
  auto const url = group_.url();
  cache<std::string> here(
      open_store(url),
      {.prefix = "p:", .ttl = 1h, .ttl_jitter = 0, .near = {.mode = near_cache::all}});
  here.put("k", "old");
  read_until_kept(here, "k");
  ASSERT_TRUE(eventually([&] { return listens(group_.sentinel(0)); }));
  group_.await_replicas(2);
  switch_masters();
  cache<std::string> elsewhere(open_store(url), {.prefix = "p:", .ttl = 1h});
  elsewhere.put("k", "new");
  EXPECT_TRUE(eventually([&] { return first_answer(here, "k") == "new"; }));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(first_answer(here, "k"), "new");
  EXPECT_EQ(answer_behind_fence(here, "k"), "new");
}

INSTANTIATE_TEST_SUITE_P(absences, RedisSentinelMissed,
                         testing::Values(absence::hangs, absence::hangs_and_is_killed), word_for);

// ------------------------------------------------------------------------------- wrong sentinels

std::string sentinel_url(std::vector<std::uint16_t> const& ports) {
  std::string text = "redis+sentinel://";
  for (auto const port : ports) {
    if (!text.ends_with('/')) text += ',';
    text += "127.0.0.1:" + std::to_string(port);
  }
  return text + "/mymaster";
}

// Left over from an earlier set-up, or cut off from the others: it answers at once, with an address
// where nobody is.
class alone {
 public:
  alone() {
    redis_options how;
    how.program = redis_program::sentinel;
    server_.emplace(std::move(how));
    EXPECT_EQ(server_->cli("SENTINEL MONITOR mymaster 127.0.0.1 " + std::to_string(dead_) + " 1"),
              "OK");
  }
  std::uint16_t port() const { return server_->port(); }
  std::uint16_t names() const { return dead_; }

 private:
  kept_ports ports_;
  std::uint16_t dead_ = ports_.add();
  std::optional<redis_server> server_;
};

// A sentinel that names what it is told to, and tells each listener that it was made the master.
class liar {
 public:
  explicit liar(std::uint16_t names)
      : server_([this, names](scripted_redis::command_words const& words) {
          return says(words, std::to_string(names));
        }) {}
  std::uint16_t port() const { return server_.port(); }
  /// How often it was asked for the master, since somebody was told of a switch.
  int questions() const { return questions_; }

 private:
  std::string says(scripted_redis::command_words const& words, std::string const& names) {
    if (words[0] == "SUBSCRIBE") {
      told_ = true;
      auto const text = "mymaster 127.0.0.1 1 127.0.0.1 " + names;
      return ">3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"
             ">3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$" +
             std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    if (words[1] == "MASTER") return "-NOPERM it may not be asked for the epoch\r\n";
    if (told_) ++questions_;
    return "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(names.size()) + "\r\n" + names + "\r\n";
  }

  bool told_ = false;  // one call at a time
  std::atomic<int> questions_ = 0;
  scripted_redis server_;
};

// B36
TEST(RedisSentinelWrong, OneThatIsAloneIsOutvotedByTwo) {
  redis_sentinels group({.down_after = never_down});
  alone const wrong;
  redis_ports ports(
      sentinel_url({wrong.port(), group.sentinel(1).port(), group.sentinel(2).port()}));
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
}

TEST(RedisSentinelWrong, OneThatNamesAReplicaIsOutvotedByTwo) {
  redis_sentinels group({.down_after = never_down});
  liar const wrong(group.replicas().front()->port());
  redis_ports ports(
      sentinel_url({wrong.port(), group.sentinel(1).port(), group.sentinel(2).port()}));
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
}

TEST(RedisSentinelWrong, OneThatWasWrongStandsBehindAnEqualOne) {
  redis_sentinels group({.down_after = never_down});
  alone const refused;
  redis_ports ports(sentinel_url({refused.port(), group.sentinel(1).port()}));
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  liar const names_a_replica(group.replicas().front()->port());
  redis_ports more(sentinel_url({names_a_replica.port(), group.sentinel(1).port()}));
  EXPECT_TRUE(more.acquire("r", other).has_value());
}

// It made another server the master of its own accord; the others do not know of it.
TEST(RedisSentinelWrong, ASwitchThatItAloneTellsOfIsNotFollowed) {
  redis_sentinels group({.down_after = never_down});
  redis_server const stranger;
  liar const wrong(stranger.port());
  redis_ports ports(
      sentinel_url({wrong.port(), group.sentinel(1).port(), group.sentinel(2).port()}));
  fence_of(ports.acquire("r", mine));
  // Who is heard depends on which sentinel has answered first.
  auto const hears = [&](std::size_t sentinel) {
    return group.sentinel(sentinel).cli("CLIENT LIST").find(" sub=1 ") != std::string::npos;
  };
  EXPECT_TRUE(ports.wait_for([&] { return wrong.questions() > 2 || hears(1) || hears(2); }));
  EXPECT_TRUE(ports.renew("r", mine, 30s).has_value());
  EXPECT_EQ(stranger.calls("hello"), 0) << "it was connected to";
}

// One of two is cut off from the other, and names the old master, which goes on as one.
TEST(RedisSentinelWrong, OneThatKnowsNoSwitchDoesNotKeepTheHandleAtTheOldMaster) {
  redis_sentinels group({.down_after = never_down});
  liar const late(group.master().port());
  redis_ports ports(sentinel_url({late.port(), group.sentinel(1).port()}));
  fence_of(ports.acquire("before", mine));
  group.lock_sentinels_out_of_the_master();
  group.failover();
  int tries = 0;
  EXPECT_TRUE(ports.sees([&] {
    auto const name = "later" + std::to_string(tries++);
    return ports.acquire(name, mine).has_value() && group.master().cli("EXISTS " + name) == "1";
  })) << "the handle stays at the old master";
}

TEST(RedisSentinelWrong, IsNamedWhenThereIsNoOther) {
  alone const wrong;
  expect_refused(sentinel_url({wrong.port()}), errc::unavailable,
                 "(the sentinel at 127.0.0.1:" + std::to_string(wrong.port()) + " names it)");
  redis_sentinels group({.down_after = never_down});
  liar const names_a_replica(group.replicas().front()->port());
  expect_refused(
      sentinel_url({names_a_replica.port()}), errc::unavailable,
      "(the sentinel at 127.0.0.1:" + std::to_string(names_a_replica.port()) + " names it)");
}

// ------------------------------------------------------------------- two servers behind one name

// Replicas of the first; a relay stands for a name, a proxy or a virtual address.
class RedisConfirmedElsewhere : public ::testing::Test {
 protected:
  static redis_options replica_of(redis_server const& master) {
    return {.arguments = {"--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1",
                          std::to_string(master.port())}};
  }
  static void await_replicas(redis_server const& master, std::string const& count) {
    ASSERT_TRUE(eventually([&] {
      std::string const info = master.cli("INFO replication");
      std::size_t online = 0;
      for (auto at = info.find("state=online"); at != info.npos;
           at = info.find("state=online", at + 1)) {
        ++online;
      }
      return std::to_string(online) == count;
    }));
  }
  void SetUp() override { await_replicas(old_, "2"); }

  // One of our connections at the old master; `waits`: the one that confirms.
  void cut(bool waits) {
    std::istringstream clients(old_.cli("CLIENT LIST"));
    int cuts = 0;
    for (std::string line; std::getline(clients, line);) {
      bool const ours = line.find(" name=herdlock ") != line.npos;
      bool const confirms = line.find(" cmd=wait ") != line.npos;
      if (!ours || confirms != waits) continue;
      old_.cli("CLIENT KILL ID " + line.substr(3, line.find(' ') - 3));
      ++cuts;
    }
    ASSERT_GT(cuts, 0);
  }
  // One replica is enough to confirm it, and the next master may be the other one.
  void promote() {
    ASSERT_TRUE(eventually([&] { return next_.cli("GET r") == old_.cli("GET r"); }));
    ASSERT_EQ(next_.cli("REPLICAOF NO ONE"), "OK");
  }
  static std::int64_t left(redis_server const& at) { return std::stoll(at.cli("PTTL r")); }

  redis_server old_{{.arguments = {"--repl-diskless-sync-delay", "0"}}};
  redis_server next_{replica_of(old_)};
  redis_server third_{replica_of(old_)};
  relay name_{old_.port()};
};

// B34: the confirming connection is made anew, and the other one stays at the old master.
TEST_F(RedisConfirmedElsewhere, ARenewalCountsOnlyWithItsWholeTimeAtTheServerThatConfirmsIt) {
  redis_ports ports(relay_url(name_, "?wait_replicas=1"));
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine, 30s).has_value(); }));
  promote();
  ASSERT_EQ(third_.cli("REPLICAOF 127.0.0.1 " + std::to_string(next_.port())), "OK");
  await_replicas(next_, "1");
  name_.lead_to(next_.port());
  cut(true);
  EXPECT_TRUE(ports.wait_for([&] {
    auto const renewed = ports.renew("r", mine, 1h);
    if (!renewed.has_value()) return false;
    EXPECT_GT(left(next_), 3'600'000 - patience.count()) << "the new master grants it earlier";
    return true;
  }));
  EXPECT_GT(left(next_), 3'600'000 - patience.count()) << "the handle stays at the old master";
}

// The other way round: who renewed it has no replica.
TEST_F(RedisConfirmedElsewhere, ReplicasOfAnotherServerThanTheOneThatRenewedItDoNotCount) {
  redis_ports ports(relay_url(name_, "?wait_replicas=1&wait_timeout=100ms"));
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine, 1h).has_value(); }));
  promote();
  await_replicas(old_, "1");
  name_.lead_to(next_.port());
  cut(false);
  std::string last;
  EXPECT_TRUE(ports.wait_for([&] {
    auto const renewed = ports.renew("r", mine, 1h);
    EXPECT_FALSE(renewed.has_value()) << "counts with the other server's replicas, or was lost";
    if (renewed.has_value()) return true;
    last = renewed.error().message;
    return last.find("0 of 1 replicas") != last.npos;
  })) << last;
}

// The server is the master, a replica of another, and the master again, while nobody asks it.
TEST_F(RedisConfirmedElsewhere, AMasterThatWasAReplicaMeanwhileIsInQuarantine) {
  // Known as the master for long.
  auto const fact = [&](std::string const& name) {
    std::string const info = old_.cli("INFO everything");
    auto const at = info.find("\n" + name + ":") + name.size() + 2;
    return info.substr(at, info.find('\r', at) - at);
  };
  old_.command(
      {"SET", "herdlock:incarnation", fact("run_id") + ":" + fact("master_replid") + " 1"});
  redis_ports ports(relay_url(name_, "?quarantine=on&quarantine_ttl=1m"));
  fence_of(ports.acquire("r", mine, 30s));
  await_replicas(old_, "2");
  promote();
  ASSERT_EQ(old_.cli("REPLICAOF 127.0.0.1 " + std::to_string(next_.port())), "OK");
  await_replicas(next_, "1");
  ASSERT_EQ(old_.cli("REPLICAOF NO ONE"), "OK");
  std::string last;
  EXPECT_TRUE(ports.wait_for([&] {
    auto const again = ports.acquire("free", other, 30s);
    EXPECT_TRUE(again.has_error()) << "granted by a server that may lack leases";
    last = again.has_error() ? again.error().message : "granted";
    return last.find("quarantine") != last.npos;
  })) << last;
}

}  // namespace
}  // namespace herdlock_test
