// Hot keys of a fleet over a real server: what one process finds is hot for all, and what all read
// together.
#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

using texts = cache<std::string>;

struct redis_fleet : testing::Test {
  redis_fleet() { server.flush(); }

  static cache_options options(double threshold, double of_fleet) {
    cache_options how{.prefix = "p:"};
    how.hot.keys = hot_keys_options{.threshold = threshold, .window = 400ms, .min_reads = 10};
    how.hot.fleet_threshold = of_fleet;
    return how;
  }
  /// Two of them are two processes, as far as the server can see.
  texts open(double threshold, double of_fleet) const {
    return texts(open_store(server.url()), options(threshold, of_fleet));
  }
  static void read(texts const& one, std::string const& key, int times = 1) {
    for (int i = 0; i < times; ++i) one.get_or_load(key, [] { return std::string("loaded"); });
  }
  /// Two calls get one object.
  static bool keeps(texts const& one, std::string const& key) {
    auto const load = [] { return std::string("loaded"); };
    auto const first = one.get_or_load_shared(key, load);
    return one.get_or_load_shared(key, load) == first;
  }
  static fleet_hot_key known(texts const& one, std::string const& key) {
    for (auto const& each : one.most_read_by_fleet(100)) {
      if (each.key == key) return each;
    }
    return {};
  }

  redis_server& server = redis_server::shared();
};

constexpr double never = 1e12;

TEST_F(redis_fleet, WhatIsHotInOneProcessIsKeptInAll) {
  auto const one = open(50, 100), two = open(never, 100);
  EXPECT_TRUE(eventually([&] {
    read(one, "k", 20);
    read(two, "own", 20);
    return known(two, "k").hot;
  }));
  EXPECT_GE(two.fleet_stats().heard, 1u);
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    return keeps(two, "k");
  })) << "from its next read on";
}

// A report has 64 keys: the fleet has room for another one, and this process has not.
TEST_F(redis_fleet, WhatWasNamedWhileAllPlacesWereTakenIsHotHereWhenOneIsFree) {
  constexpr std::size_t most = 70;
  std::mutex guard;
  std::set<std::string, std::less<>> told;
  auto const was_told = [&](std::string_view key) {
    std::lock_guard const lock(guard);
    return told.contains(key);
  };
  auto how = options(1, 100);  // which all of them reach on a slow machine, too
  how.hot.keys->min_reads = 1;
  how.hot.keys->window = 4s;
  how.hot.keys->max_hot = most;
  how.hot.keys->on_hot = [&](std::string_view key) {
    std::lock_guard const lock(guard);
    told.emplace(key);
  };
  texts const one(open_store(server.url()), how);
  auto const two = open(50, 100);
  auto const read_own = [&] {
    for (std::size_t i = 0; i < most; ++i) read(one, "own" + std::to_string(i), i < 64 ? 6 : 2);
  };
  ASSERT_TRUE(eventually([&] {
    read_own();
    return one.hot_stats().hot == most;
  }));
  ASSERT_TRUE(eventually([&] {
    read_own();
    read(two, "x", 20);
    return known(one, "x").hot;
  }));
  EXPECT_FALSE(was_told("x")) << "else this shows nothing";
  EXPECT_TRUE(eventually([&] {
    read(two, "x", 20);
    return was_told("x");
  }));
}

TEST_F(redis_fleet, WhatAllReadTogetherIsHotInAll) {
  auto const one = open(never, 100), two = open(never, 100);
  EXPECT_TRUE(eventually([&] {
    read(one, "k", 10);
    read(two, "k", 10);
    bool const hot = one.fleet_stats().hot == 1 && two.fleet_stats().hot == 1;
    return hot && known(one, "k").processes == 2;
  }));
  EXPECT_EQ(one.fleet_stats().processes, 2u);
  EXPECT_GE(known(one, "k").high, known(one, "k").low);
}

// None of them reads a quarter of the threshold, and nobody has reported anything before.
TEST_F(redis_fleet, WhatManyReadALittleIsHotInAll) {
  constexpr int each_a_second = 80;
  std::vector<texts> all;
  for (int i = 0; i < 8; ++i) all.push_back(open(never, 400));
  auto const began = clock::now();
  int reads = 0;
  EXPECT_TRUE(eventually([&] {
    auto const time = std::chrono::duration_cast<milliseconds>(clock::now() - began);
    for (; reads < time.count() * each_a_second / 1000; ++reads) {
      for (auto const& one : all) read(one, "k");
    }
    bool const hot = std::all_of(all.begin(), all.end(),
                                 [](texts const& one) { return one.fleet_stats().hot == 1; });
    return hot && known(all[0], "k").processes == 8;
  }));
}

TEST_F(redis_fleet, WhatACallbackThrowsIsCountedAndTheNextKeyIsToldAllTheSame) {
  auto how = options(never, 100);
  std::atomic<int> told = 0;
  how.hot.keys->on_hot = [&](std::string_view) {
    ++told;
    throw std::runtime_error("from a user");
  };
  boost::asio::io_context io;
  auto const work = boost::asio::make_work_guard(io);
  std::thread runs([&] { io.run(); });  // what left on_hot would end the process here
  {
    texts const one(open_store(server.url(), {.executor = io.get_executor()}), how);
    auto const two = open(50, 100);
    EXPECT_TRUE(eventually([&] {
      read(two, "a", 20);
      read(two, "b", 20);
      read(one, "own", 20);
      return told >= 2 && one.fleet_stats().hot >= 2;
    }));
    EXPECT_GE(one.hot_stats().failed_callbacks, 2u);
  }
  io.stop();
  runs.join();
}

TEST_F(redis_fleet, WhoComesLaterHearsOfItToo) {
  auto const one = open(50, 100);
  ASSERT_TRUE(eventually([&] {
    read(one, "k", 20);
    return one.fleet_stats().hot == 1;
  }));
  auto const late = open(never, 100);
  EXPECT_TRUE(eventually([&] {
    read(one, "k", 20);
    read(late, "own", 20);
    return known(late, "k").hot;
  }));
}

TEST_F(redis_fleet, WhatIsNoReportIsRefusedAndCounted) {
  auto const one = open(50, 100);
  ASSERT_TRUE(eventually([&] {
    read(one, "k", 20);
    return one.fleet_stats().reported > 0;
  }));
  std::string const lists = "{herdlock}:herdlock:hot-list:p:::herdlock:events:0:reports";
  EXPECT_TRUE(eventually([&] {
    server.command({"PUBLISH", lists, "1 hlst1 cut short"});
    server.command({"PUBLISH", lists, "no number"});
    return one.fleet_stats().refused > 0;
  }));
  auto const refused = one.fleet_stats().refused;
  EXPECT_TRUE(eventually([&] {
    server.command(
        {"PUBLISH", "{herdlock}:herdlock:hot-reports::herdlock:events:0:reports", "1 hrep1 cut"});
    read(one, "k");
    return one.fleet_stats().refused > refused;
  })) << "by the collector, which it is";
}

TEST_F(redis_fleet, WhoReadsLittleAsksTheServerForNothing) {
  auto const one = open(never, 1e9);
  // A report would come with the second tick at which the key is known.
  auto const begun = clock::now();
  EXPECT_TRUE(eventually([&] {
    read(one, "k", 20);
    return one.hot_stats().known == 1 && clock::now() - begun > 400ms;
  }));
  EXPECT_EQ(one.fleet_stats().reported, 0u);
  EXPECT_EQ(one.fleet_stats().processes, 0u);
  EXPECT_EQ(server.command({"KEYS", "*{herdlock}*"}), "");
}

TEST_F(redis_fleet, SwitchedOffNobodyReports) {
  auto const one = open(50, 0);
  ASSERT_TRUE(eventually([&] {
    read(one, "k", 20);
    return one.hot_stats().hot == 1;
  }));
  EXPECT_EQ(one.fleet_stats().reported, 0u);
}

// Losing it leaves what each finds by itself.
TEST_F(redis_fleet, WhereReportsAreRefusedEachGoesByItsOwnCounts) {
  redis_server refusing({.users = {"alice on >sesame ~p:* ~{p:k* &* +@all"}});
  texts const one(open_store("redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port())),
                  options(50, 100));
  EXPECT_TRUE(eventually([&] {
    read(one, "k", 20);
    return one.hot_stats().hot == 1 && one.fleet_stats().report_errors > 0;
  }));
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    return one.stats().near_hits > 10;
  }));
}

TEST_F(redis_fleet, WhenReportsAreTakenAgainTheFleetGoesOn) {
  redis_server moody({.users = {"alice on >sesame ~* &* +@all"}});
  auto const url = "redis://alice:sesame@127.0.0.1:" + std::to_string(moody.port());
  texts const one(open_store(url), options(50, 100)), two(open_store(url), options(never, 100));
  auto const heard = [&](std::size_t processes, std::uint64_t errors = 0) {
    return eventually(2 * patience, [&] {
      read(one, "k", 20);
      read(two, "own", 20);
      bool const hot = one.hot_stats().hot == 1 && one.fleet_stats().report_errors >= errors;
      return hot && one.fleet_stats().processes == processes &&
             two.fleet_stats().processes == processes;
    });
  };
  ASSERT_TRUE(heard(2));
  moody.command({"ACL", "SETUSER", "alice", "resetkeys", "~p:*", "~{p:k*", "~{p:o*"});
  ASSERT_TRUE(heard(0, 1)) << "and it is hot by its own counts";
  auto const hits = one.stats().near_hits;
  EXPECT_TRUE(eventually([&] {
    read(one, "k", 10);
    return one.stats().near_hits > hits;
  }));
  moody.command({"ACL", "SETUSER", "alice", "allkeys"});
  EXPECT_TRUE(heard(2));
}

}  // namespace
}  // namespace herdlock_test
