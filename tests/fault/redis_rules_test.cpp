// Rules for hot keys over a real server, beyond what every store promises: servers that lose them,
// users without rights; and caches that obey.
#include <atomic>
#include <herdlock/cache.hpp>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include <herdlock/rules_store.hpp>
#include <herdlock/survey.hpp>
#include <thread>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

struct heard_rules final : rules_listener {
  store_rules last;

  void on_rules(store_rules const& told) override {
    if (told.version > last.version) last = told;
  }
};

struct redis_rules : testing::Test {
  redis_rules() { server.flush(); }

  static std::uint64_t write(redis_ports& by, std::uint64_t expected, std::string text) {
    auto const written = by.get<std::uint64_t>([&](auto h) {
      by.ports().rules->write_rules({"t", expected, std::move(text)}, std::move(h));
    });
    EXPECT_TRUE(written.has_value()) << written.error().message;
    return written.has_value() ? *written : 0;
  }
  static store_rules read(redis_ports& by) {
    auto const found =
        by.get<store_rules>([&](auto h) { by.ports().rules->read_rules("t", std::move(h)); });
    EXPECT_TRUE(found.has_value()) << found.error().message;
    return found.has_value() ? *found : store_rules();
  }
  static std::shared_ptr<heard_rules> listen(redis_ports& by) {
    auto const to = std::make_shared<heard_rules>();
    by.ports().rules->listen_for_rules("t", to);
    return to;
  }
  bool is_subscribed(redis_ports& by) const {
    return by.sees([&] {
      return server.command({"PUBSUB", "NUMSUB", "{t}:herdlock:events:0:rules"}).ends_with("1");
    });
  }

  redis_server& server = redis_server::shared();
  redis_ports one{server.url()}, two{server.url()};
};

TEST_F(redis_rules, DoNotGoByThemselves) {
  write(one, 0, "");
  EXPECT_EQ(server.command({"PTTL", "{t}:herdlock:rules"}), "-1");
}

TEST_F(redis_rules, WhenTheServerHasLostThemTheNextOnesAreNewerAllTheSame) {
  auto const heard = listen(one);
  ASSERT_TRUE(is_subscribed(one));
  auto const before = write(two, write(two, 0, "a"), "b");
  ASSERT_TRUE(one.wait_for([&] { return heard->last.version == before; }));
  server.flush();
  EXPECT_EQ(read(two).version, 0u);
  auto const after = write(two, 0, "c");
  EXPECT_GT(after, before);
  EXPECT_TRUE(one.wait_for([&] { return heard->last.text == "c"; }));
}

TEST_F(redis_rules, WhoWasCutOffIsToldThem) {
  relay wire(server.port());
  redis_ports cut(relay_url(wire));
  auto const heard = listen(cut);
  auto const before = write(one, 0, "a");
  ASSERT_TRUE(cut.wait_for([&] { return heard->last.version == before; }));
  wire.cut_all();
  auto const after = write(one, before, "b");
  EXPECT_TRUE(cut.wait_for([&] { return heard->last.version == after; }));
}

TEST_F(redis_rules, WhoMayNotPublishOrSubscribeReadsAndWritesThem) {
  redis_server refusing({.users = {"alice on >sesame ~* +@all resetchannels"}});
  redis_ports alice("redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port()));
  auto const hers = listen(alice);
  auto const version = write(alice, 0, "a");
  EXPECT_GT(version, 0u);
  EXPECT_EQ(read(alice).version, version);
}

TEST_F(redis_rules, AKeyOfAnotherKindIsAnErrorThatNamesItAndNotThePassword) {
  server.command({"SET", "{t}:herdlock:rules", "mine"});
  auto const found =
      one.get<store_rules>([&](auto h) { one.ports().rules->read_rules("t", std::move(h)); });
  ASSERT_TRUE(found.has_error());
  EXPECT_EQ(found.error(), errc::wrong_type) << found.error().message;
  EXPECT_NE(found.error().message.find("'t'"), std::string::npos) << found.error().message;
}

// ------------------------------------------------------------------------------ public, and caches

struct redis_rules_in_caches : testing::Test {
  redis_rules_in_caches() { server.flush(); }

  static cache_options terms(double threshold) {
    cache_options how{.prefix = "p:"};
    how.hot.keys = hot_keys_options{.threshold = threshold, .window = 400ms, .min_reads = 10};
    how.hot.rules = key_rules::on;
    return how;
  }
  cache<std::string> open(double threshold) const {
    return cache<std::string>(open_store(server.url()), terms(threshold));
  }
  static bool keeps(cache<std::string> const& one, std::string const& key) {
    auto const load = [] { return std::string("loaded"); };
    auto const first = one.get_or_load_shared(key, load);
    return one.get_or_load_shared(key, load) == first;
  }
  static hot_rules_edit adding(hot_rule one) {
    return [one = std::move(one)](std::vector<hot_rule>& all) { all.push_back(one); };
  }

  redis_server& server = redis_server::shared();
  store const by = open_store(server.url());
};

TEST_F(redis_rules_in_caches, TwoWritersAtOnceLoseNothing) {
  constexpr int each = 5;  // fewer than the tries of a change, so nobody gives up
  auto const write = [&](std::string const& name) {
    auto const own = open_store(server.url());
    for (int i = 0; i < each; ++i) {
      change_hot_rules(own, "p:", adding({.key = name + std::to_string(i)}));
    }
  };
  std::thread other([&] { write("a"); });
  write("b");
  other.join();
  EXPECT_EQ(read_hot_rules(by, "p:").rules.size(), 2u * each);
  EXPECT_TRUE(read_hot_rules(by, "other:").rules.empty());
}

TEST_F(redis_rules_in_caches, APinnedKeyIsKeptInAllProcesses) {
  auto const one = open(1e12), two = open(1e12);
  EXPECT_FALSE(keeps(one, "k"));
  change_hot_rules(by, "p:", adding({.key = "k"}));
  EXPECT_TRUE(eventually([&] { return keeps(one, "k") && keeps(two, "k"); }));
  EXPECT_FALSE(keeps(one, "other"));
}

TEST_F(redis_rules_in_caches, DenyDropsAHotKey) {
  auto const one = open(50);
  auto const is_kept_when_it_is_read_often = [&] {
    for (int i = 0; i < 20; ++i) keeps(one, "k");
    return keeps(one, "k");
  };
  ASSERT_TRUE(eventually(is_kept_when_it_is_read_often));
  change_hot_rules(by, "p:", adding({.does = hot_rule::action::deny, .key = "k"}));
  EXPECT_TRUE(eventually([&] { return !keeps(one, "k"); }));
  EXPECT_FALSE(is_kept_when_it_is_read_often());
}

TEST_F(redis_rules_in_caches, WhatIsDeniedIsReportedAsKeptByNobodyAndThenBeginsAnew) {
  auto const one = open(50);
  surveyed_key seen;
  auto const reports = [&](auto is_so) {
    return eventually([&] {
      for (int i = 0; i < 100; ++i) keeps(one, "k");
      auto const found = survey_store(server.url()).value();
      seen = found.keys.empty() ? surveyed_key() : found.keys.front();
      return seen.key == "p:k" && is_so();
    });
  };
  ASSERT_TRUE(reports([&] { return seen.kept_for > 2s; }));
  change_hot_rules(by, "p:", adding({.does = hot_rule::action::deny, .key = "k"}));
  ASSERT_TRUE(reports([&] { return seen.kept_by == 0u; })) << "it is hot, and not kept";
  auto const since = clock::now();
  change_hot_rules(by, "p:", [](std::vector<hot_rule>& all) { all.clear(); });
  ASSERT_TRUE(reports([&] { return seen.kept_by == 1u; }));
  EXPECT_LE(*seen.kept_for, clock::now() - since) << "since it was kept again";
}

TEST_F(redis_rules_in_caches, ARuleEndsAtItsTime) {
  auto const one = open(1e12);
  auto const end = hot_rule::time::clock::now() + 3s;
  change_hot_rules(by, "p:", adding({.key = "k", .until = end}));
  ASSERT_TRUE(eventually([&] { return keeps(one, "k"); }));
  EXPECT_TRUE(eventually([&] { return !keeps(one, "k"); }));
}

TEST_F(redis_rules_in_caches, TheFleetLoadsAPinnedKeyOnceBeforeItsTime) {
  auto const runs = std::make_shared<std::atomic<int>>(0);
  auto const load = [runs](load_context const& of) {
    ++*runs;
    return "early " + of.key().str();
  };
  cache<std::string> const one(open_store(server.url()), terms(1e12), load);
  cache<std::string> const two(open_store(server.url()), terms(1e12), load);
  auto const noon = hot_rule::time::clock::now() + 5s;
  change_hot_rules(by, "p:", adding({.key = "sale", .from = noon}));
  // (A look loads nothing.)
  auto const is_near = [](cache<std::string> const& in) {
    return in.get("sale") && in.stats().near_hits > 0;
  };
  EXPECT_TRUE(eventually([&] { return is_near(one) && is_near(two); }));
  EXPECT_EQ(*runs, 1);
  EXPECT_EQ(*one.get("sale"), "early sale");
}

}  // namespace
}  // namespace herdlock_test
