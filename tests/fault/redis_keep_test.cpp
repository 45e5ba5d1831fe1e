// The rule `keep` over a real server: the time to live of what other programs have written is
// lengthened while it is hot, within its bound whoever asks, and never shortened.
#include <algorithm>
#include <atomic>
#include <herdlock/cache.hpp>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include <herdlock/rules_store.hpp>

#include "cluster_ports.hpp"
#include "redis_ports.hpp"
#include "stores/redis/scripts/fleet_scripts.hpp"

namespace herdlock_test {
namespace {

struct redis_keep : testing::Test {
  redis_keep() { server.flush(); }

  static bool prolong(redis_ports& by, milliseconds to, milliseconds at_most) {
    auto const said = by.get<bool>([&](auto h) {
      by.ports().rules->prolong({cache_key("k"), to, at_most}, std::move(h));
    });
    EXPECT_TRUE(said.has_value()) << said.error().message;
    return said.has_value() && *said;
  }
  std::int64_t number(std::vector<std::string> const& command) const {
    return std::stoll(server.command(command));
  }
  std::int64_t left() const { return number({"PTTL", "k"}); }
  std::int64_t ends() const { return number({"PEXPIRETIME", "k"}); }
  /// As another program does. When it ends.
  std::int64_t fill(milliseconds ttl) const {
    server.command({"SET", "k", "theirs", "PX", std::to_string(ttl.count())});
    return ends();
  }
  bool is_marked() const { return server.command({"EXISTS", "{k}:herdlock:keep"}) == "1"; }

  redis_server& server = redis_server::shared();
  redis_ports one{server.url()}, two{server.url()};
};

TEST_F(redis_keep, LeavesNoSuchThingAlone) {
  // As caches write it, in both layouts.
  for (char const* write : {"redis.call('SET', KEYS[1], '\\0herdlock:absent')",
                            "redis.call('HSET', KEYS[1], '\\0herdlock:absent', '')"}) {
    server.flush();
    server.command(
        {"EVAL", std::string(write) + " redis.call('PEXPIRE', KEYS[1], 2000)", "1", "k"});
    ASSERT_GT(left(), 0);
    EXPECT_FALSE(prolong(one, 30s, 5min));
    EXPECT_LE(left(), 2'000);
    EXPECT_FALSE(is_marked());
  }
}

TEST_F(redis_keep, NeverShortens) {
  auto const end = fill(60s);
  EXPECT_FALSE(prolong(one, 30s, 5min));
  EXPECT_EQ(ends(), end);
  EXPECT_FALSE(is_marked());
}

TEST_F(redis_keep, GoesToTheBoundBeyondTheFirstExpiryAndNoFurther) {
  auto const first = fill(20s);
  EXPECT_TRUE(prolong(one, 5min, 50s));
  EXPECT_EQ(ends(), first + 50'000);
  EXPECT_FALSE(prolong(one, 5min, 50s));
  EXPECT_FALSE(prolong(two, 5min, 50s)) << "who comes later knows the first expiry, too";
  EXPECT_EQ(ends(), first + 50'000);
}

// A server of 7.0 reads its clock for each command: the time that is left when the script has
// looked is not the time that is left when it writes.
TEST_F(redis_keep, AScriptThatIsHeldUpBehindItsLookKeepsToTheBound) {
  auto const slow = R"lua(
    local real = redis
    local redis = {call = function(name, ...)
      local said = real.call(name, ...)
      if name == 'PTTL' then for _ = 1, 3000000 do end end
      return said
    end}
  )lua" + std::string(redis::fleet_scripts().prolong.source);
  auto const first = fill(20s);
  ASSERT_EQ(server.command({"EVAL", slow, "2", "k", "{k}:herdlock:keep", "300000", "50000", "-"}),
            "1");
  EXPECT_EQ(ends(), first + 50'000);
  EXPECT_EQ(number({"PEXPIRETIME", "{k}:herdlock:keep"}), first + 50'000);
}

// Each asks for more than the one before, so none has to wait until little is left.
TEST_F(redis_keep, ManyProcessesTogetherKeepToTheBound) {
  auto const first = fill(20s);
  auto last = first;
  for (auto const to : {1min, 2min, 4min, 8min, 16min, 32min}) {
    for (auto* by : {&one, &two}) {
      prolong(*by, to, 5min);
      auto const now = ends();
      EXPECT_GE(now, last) << "none shortens it";
      EXPECT_LE(now, first + 300'000);
      last = now;
    }
  }
  EXPECT_EQ(last, first + 300'000);
}

TEST_F(redis_keep, OfManyProcessesThatAskForTheSameTimeOneIsObeyed) {
  fill(20s);
  EXPECT_TRUE(prolong(one, 5min, 1h));
  auto const end = ends();
  EXPECT_FALSE(prolong(two, 5min, 1h)) << "more than three quarters are left";
  EXPECT_FALSE(prolong(one, 5min, 1h));
  EXPECT_EQ(ends(), end);
}

TEST_F(redis_keep, ATimeThatSomebodyElseGivesItIsTheFirstAgain) {
  fill(20s);
  ASSERT_TRUE(prolong(one, 5min, 20s));
  server.command({"PEXPIRE", "k", "15000"});
  auto const given = ends();
  EXPECT_TRUE(prolong(one, 5min, 10s));
  EXPECT_EQ(ends(), given + 10'000);
}

TEST_F(redis_keep, WithoutAnExpiryItIsLeftAlone) {
  server.command({"SET", "k", "theirs"});
  EXPECT_FALSE(prolong(one, 30s, 5min));
  EXPECT_EQ(left(), -1);
  EXPECT_FALSE(is_marked());
}

TEST_F(redis_keep, WhatHasGoneStaysGone) {
  EXPECT_FALSE(prolong(one, 30s, 5min));
  EXPECT_EQ(server.command({"DBSIZE"}), "0");
}

TEST_F(redis_keep, TheMarkEndsWithTheEntry) {
  fill(20s);
  ASSERT_TRUE(prolong(one, 5min, 1h));
  EXPECT_EQ(number({"PEXPIRETIME", "{k}:herdlock:keep"}), ends());
}

TEST_F(redis_keep, AFullServerKeepsToTheBoundAsWell) {
  redis_server full;
  redis_ports by(full.url());
  full.command({"SET", "k", "theirs", "PX", "20000"});
  auto const ends = [&] { return std::stoll(full.command({"PEXPIRETIME", "k"})); };
  auto const first = ends();
  full.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_TRUE(prolong(by, 5min, 50s));
  EXPECT_FALSE(prolong(by, 5min, 50s));
  EXPECT_EQ(ends(), first + 50'000);
}

TEST_F(redis_keep, AfterALostReplyItIsAskedAgainAndKeepsToTheBound) {
  relay wire(server.port());
  redis_ports cut(relay_url(wire, "?timeout=1s"));
  fill(20s);
  auto const ask = [&] {
    return cut.get<bool>([&](auto h) {
      cut.ports().rules->prolong({cache_key("k"), 5min, 50s}, std::move(h));
    });
  };
  ASSERT_TRUE(ask().has_value());
  auto const first = fill(20s);
  wire.cut_after_bytes(direction::to_client, 0);
  EXPECT_TRUE(ask().has_error());
  EXPECT_TRUE(cut.wait_for([&] { return ask().has_value(); }));
  EXPECT_EQ(ends(), first + 50'000);
}

TEST(redis_keep_in_a_cluster, TheNodeOfTheEntryHasTheMark) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const key = cluster.name_at(2);
  cluster_ports by(cluster.url());
  auto const ask = [&] {
    auto const said = by.get<bool>([&](auto h) {
      by.ports().rules->prolong({cache_key(key), 5min, 10s}, std::move(h));
    });
    EXPECT_TRUE(said.has_value()) << said.error().message;
    return said.has_value() && *said;
  };
  cluster.node(2).command({"SET", key, "theirs", "PX", "20000"});
  auto const ends = [&] { return std::stoll(cluster.node(2).command({"PEXPIRETIME", key})); };
  auto const first = ends();
  EXPECT_TRUE(ask());
  EXPECT_EQ(ends(), first + 10'000);
  EXPECT_EQ(cluster.node(2).command({"EXISTS", "{" + key + "}:herdlock:keep"}), "1");
}

// ------------------------------------------------------------------------------ public, and caches

struct redis_keep_in_caches : testing::Test {
  redis_keep_in_caches() { server.flush(); }
  ~redis_keep_in_caches() override { server.flush(); }

  static cache<std::string> open(std::string const& url, std::function<void()> on_cooled = {}) {
    cache_options how{.prefix = "p:"};
    how.hot.keys = hot_keys_options{.threshold = 50, .window = 400ms, .min_reads = 10};
    if (on_cooled) how.hot.keys->on_cooled = [on_cooled](std::string_view) { on_cooled(); };
    how.hot.rules = key_rules::on;
    how.hot.fleet_threshold = 0;
    return cache<std::string>(open_store(url), how);
  }
  void rule(milliseconds at_most) const {
    change_hot_rules(by, "p:", [&](std::vector<hot_rule>& all) {
      all = {{.does = hot_rule::action::keep, .key = "k", .keep_at_most = at_most}};
    });
  }
  std::int64_t number(std::vector<std::string> const& command) const {
    return std::stoll(server.command(command));
  }
  std::int64_t ends() const { return number({"PEXPIRETIME", "p:k"}); }
  std::int64_t fill(milliseconds ttl) const {
    server.command({"SET", "p:k", "theirs", "PX", std::to_string(ttl.count())});
    return ends();
  }
  static void read(cache<std::string> const& one) {
    for (int i = 0; i < 20; ++i) one.get("k");
  }

  redis_server& server = redis_server::shared();
  store const by = open_store(server.url());
};

TEST_F(redis_keep_in_caches, WhatIsHotOutlivesItsExpiryByTheBoundThoughNobodyLoadsIt) {
  auto const one = open(server.url()), two = open(server.url());
  rule(6s);
  auto const first = fill(4s);
  auto const bound = first + 6'000;
  auto last = first;
  auto const read_both = [&] {
    read(one);
    read(two);
    last = std::max(last, ends());
  };
  EXPECT_TRUE(eventually([&] {
    read_both();
    return last >= bound;
  }));
  auto const asked = server.calls("evalsha");
  EXPECT_TRUE(eventually([&] {
    read_both();
    return server.calls("evalsha") > asked;
  })) << "it is asked for again as long as it is hot";
  EXPECT_EQ(last, bound);
  server.command({"DEL", "p:k"});
  EXPECT_TRUE(eventually([&] { return !one.get("k"); })) << "and gone it stays gone";
  EXPECT_EQ(ends(), -2);
}

TEST_F(redis_keep_in_caches, WhatIsNotHotEndsAtItsTime) {
  auto const one = open(server.url());
  rule(1min);
  auto const first = fill(1s);
  EXPECT_EQ(*one.get("k"), "theirs");
  auto last = first;
  EXPECT_TRUE(eventually([&] {
    auto const now = ends();
    last = std::max(last, now);
    return now < 0;
  }));
  EXPECT_EQ(last, first);
}

TEST_F(redis_keep_in_caches, WhatHasCooledIsNotAskedForAgain) {
  auto const cooled = std::make_shared<std::atomic<bool>>(false);
  auto const one = open(server.url(), [cooled] { *cooled = true; });
  rule(2s);
  fill(2s);
  auto const has_mark = [&] { return server.command({"EXISTS", "{p:k}:herdlock:keep"}) == "1"; };
  ASSERT_TRUE(eventually([&] {
    read(one);
    return has_mark();
  }));
  ASSERT_TRUE(eventually([&] { return cooled->load(); }));
  auto const asked = server.calls("evalsha");
  fill(1s);
  EXPECT_TRUE(eventually([&] { return ends() < 0; }));
  EXPECT_EQ(server.calls("evalsha"), asked);
}

TEST_F(redis_keep_in_caches, WhereTheRightIsMissingItIsAWarningWithoutThePassword) {
  redis_server refusing({.users = {"alice on >sesame ~* &* +@all -pexpireat"}});
  auto const url = "redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port());
  auto const hers = open_store(url);
  cache_options how{.prefix = "p:"};
  how.hot.keys = hot_keys_options{.threshold = 50, .window = 400ms, .min_reads = 10};
  how.hot.rules = key_rules::on;
  cache<std::string> const one(hers, how);
  change_hot_rules(hers, "p:", [](std::vector<hot_rule>& all) {
    all = {{.does = hot_rule::action::keep, .key = "k"}};
  });
  refusing.command({"SET", "p:k", "theirs", "PX", "20000"});
  auto const warned = [&] {
    auto const all = hers.warnings();
    return std::find_if(all.begin(), all.end(), [](std::string const& text) {
             return text.find("not kept as their rules say") != std::string::npos;
           }) != all.end();
  };
  EXPECT_TRUE(eventually([&] {
    read(one);
    return warned();
  }));
  for (auto const& text : hers.warnings()) EXPECT_EQ(text.find("sesame"), std::string::npos);
  EXPECT_EQ(*one.get("k"), "theirs");
}

}  // namespace
}  // namespace herdlock_test
