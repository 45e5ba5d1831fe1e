// What a cache does to a server, and what not: nothing that its options do not name.
#include <algorithm>
#include <atomic>
#include <sstream>
#include <string>
#include <vector>

#include <herdlock/cache.hpp>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include "support/child_process.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

std::vector<std::string> lines_of(std::string const& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

/// MONITOR over a connection of its own.
class monitor {
 public:
  explicit monitor(redis_server const& of)
      : child_({.argv = {"redis-cli", "-p", std::to_string(of.port()), "MONITOR"}}) {
    EXPECT_TRUE(eventually([&] { return child_.output().find("OK") != std::string::npos; }));
  }

  /// Of the commands so far, without those of scripts: `"get" "k"`.
  std::vector<std::string> commands() const {
    std::vector<std::string> all;
    for (auto const& line : lines_of(child_.output())) {
      auto const begin = line.find("] ");
      if (begin != std::string::npos && line.find("lua] ") == std::string::npos) {
        all.push_back(line.substr(begin + 2));
      }
    }
    return all;
  }
  bool saw(std::string const& part) const {
    auto const all = commands();
    return std::any_of(all.begin(), all.end(),
                       [&](auto const& one) { return one.find(part) != std::string::npos; });
  }

 private:
  child_process child_;
};

struct redis_default_cache : testing::Test {
  static std::string load() { return "loaded"; }
  /// Of the library.
  long connections() const {
    auto const clients = lines_of(server.command({"CLIENT", "LIST"}));
    return std::count_if(clients.begin(), clients.end(), [](std::string const& one) {
      return one.find(" name=herdlock ") != std::string::npos;
    });
  }
  bool has_channel(std::string const& part) const {
    return server.command({"PUBSUB", "CHANNELS", "*" + part + "*"}).find(part) != std::string::npos;
  }

  redis_server server;
};

TEST_F(redis_default_cache, AMissIsAReadAClaimAndAFill) {
  auto const opened = open_store(server.url());
  cache<std::string> const warmed(opened, {.prefix = "w:"});
  warmed.get_or_load("k", &load);  // connected, and the scripts are known
  ASSERT_EQ(connections(), 1);
  cache<std::string> const one(opened, {.prefix = "p:"});
  monitor const seen(server);
  EXPECT_EQ(one.get_or_load("k", &load), "loaded");
  server.command({"PING", "end-of-test"});
  ASSERT_TRUE(eventually([&] { return seen.saw("end-of-test"); }));
  auto commands = seen.commands();
  std::erase_if(commands, [](auto const& each) { return each.find("p:k") == std::string::npos; });
  std::string all;
  for (auto const& each : commands) all += each + "\n";
  ASSERT_EQ(commands.size(), 3u) << all;
  EXPECT_EQ(commands[0], "\"GET\" \"p:k\"");
  for (std::size_t i : {1u, 2u}) EXPECT_NE(commands[i].find("EVALSHA"), std::string::npos) << all;
  for (char const* never : {"SUBSCRIBE", "TRACKING", "HGETALL", "PUBSUB", "HELLO"}) {
    EXPECT_FALSE(seen.saw(never)) << all;
  }
  EXPECT_EQ(connections(), 1) << "no second one";
}

TEST_F(redis_default_cache, ManyCachesOfManyCallsAskForNothingElse) {
  auto const opened = open_store(server.url());
  auto const subscribed = server.calls("subscribe");
  auto const tracked = server.calls("client|tracking");
  std::vector<cache<std::string>> all;
  for (int i = 0; i < 50; ++i) {
    all.emplace_back(opened, cache_options{.prefix = std::to_string(i) + ":"});
    for (int k = 0; k < 100; ++k) all.back().get_or_load("k", &load);
  }
  EXPECT_EQ(server.calls("subscribe"), subscribed);
  EXPECT_EQ(server.calls("client|tracking"), tracked);
  EXPECT_EQ(connections(), 1);
  for (auto const& one : all) {
    EXPECT_EQ(one.stats().near_hits, 0u);
    EXPECT_TRUE(one.most_read(10).empty());
    EXPECT_EQ(one.fleet_stats().reported, 0u);
  }
}

TEST_F(redis_default_cache, HotKeysAloneHearNoRules) {
  auto const opened = open_store(server.url());
  cache_options how{.prefix = "p:"};
  how.hot.keys = hot_keys_options{.threshold = 50, .window = 400ms, .min_reads = 10};
  how.hot.fleet_threshold = 0;
  cache<std::string> const one(opened, how);
  ASSERT_TRUE(eventually([&] {
    one.get_or_load("k", &load);
    return one.stats().near_hits > 0;
  }));
  EXPECT_FALSE(has_channel("reports"));
  EXPECT_EQ(connections(), 1) << "and without a fleet nobody reports";
}

TEST_F(redis_default_cache, RulesAreOneSubscription) {
  auto const opened = open_store(server.url());
  cache<std::string> const one(opened, {.prefix = "p:", .hot = {.rules = key_rules::on}});
  EXPECT_FALSE(has_channel("rules")) << "nobody has called it";
  EXPECT_EQ(count_rule_listeners(opened, "p:"), 0u);
  one.get_or_load("k", &load);
  ASSERT_TRUE(eventually([&] { return count_rule_listeners(opened, "p:") == 1u; }));
  EXPECT_FALSE(has_channel("reports"));
  EXPECT_EQ(count_rule_listeners(opened, "other:"), 0u);
  auto const another = open_store(server.url());
  cache<std::string> const two(another, {.prefix = "p:", .hot = {.rules = key_rules::on}});
  cache<std::string> const three(another, {.prefix = "p:", .hot = {.rules = key_rules::on}});
  two.get_or_load("k", &load);
  three.get_or_load("k", &load);
  EXPECT_TRUE(eventually([&] { return count_rule_listeners(opened, "p:") == 2u; }))
      << "two store handles";
}

// Behind a look or a storm of reports nobody else waits.
TEST_F(redis_default_cache, ReportsGoOverAConnectionOfTheirOwn) {
  auto const opened = open_store(server.url());
  cache_options how{.prefix = "p:"};
  how.hot.keys = hot_keys_options{.threshold = 50, .window = 400ms, .min_reads = 10};
  how.hot.fleet_threshold = 100;
  cache<std::string> const one(opened, how);
  ASSERT_TRUE(eventually([&] {
    one.get_or_load("k", &load);
    return one.fleet_stats().reported > 0 && has_channel("reports");
  }));
  EXPECT_LE(connections(), 3) << "with the one for pushes, which a candidate waits for";
  EXPECT_TRUE(eventually([&] {
    one.get_or_load("k", &load);
    // The one that listens, to reports and to lists, is the one that reports.
    auto const now = lines_of(server.command({"CLIENT", "LIST"}));
    return std::any_of(now.begin(), now.end(), [](std::string const& each) {
      bool const listens = each.find(" sub=2 ") != std::string::npos;
      bool const reported = each.find(" cmd=evalsha ") != std::string::npos ||
                            each.find(" cmd=eval ") != std::string::npos ||
                            each.find(" cmd=hgetall ") != std::string::npos;
      return listens && reported;
    });
  }));
}

}  // namespace
}  // namespace herdlock_test
