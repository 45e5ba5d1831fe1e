// Which keys are used most, asked of real servers.
#include <algorithm>
#include <functional>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include <herdlock/survey.hpp>
#include <support/free_port.hpp>
#include <tuple>
#include <utility>

#include "redis_ports.hpp"
#include "redis_surveys.hpp"

namespace herdlock_test {
namespace {

constexpr survey_source all_sources[] = {survey_source::clients, survey_source::monitor,
                                         survey_source::lfu, survey_source::server};

TEST_F(redis_survey, WhoMayNotComeInIsToldSoByEachSource) {
  redis_server closed({.users = {"alice on >sesame ~* &* +@all"}});
  for (auto const source : all_sources) {
    expect_no_survey(url_of(closed, "carol"), {.source = source}, errc::access_denied, "WRONGPASS");
    expect_no_survey("redis://127.0.0.1:" + std::to_string(dead_port()) + "?timeout=300ms",
                     {.source = source}, errc::unavailable, "Connection refused");
  }
}

TEST_F(redis_survey, WhatIsOutOfItsRangeIsRefused) {
  auto const url = server.url();
  expect_no_survey(url, {.top = 0}, errc::invalid_value, "top");
  expect_no_survey(url, {.top = 1001}, errc::invalid_value, "1 to 1000");
  expect_no_survey(url, {.lasts = 9ms}, errc::invalid_value, "lasts");
  expect_no_survey(url, {.lasts = 60'001ms}, errc::invalid_value, "60 s");
  expect_no_survey(url, {.most_a_second = 0}, errc::invalid_value, "most_a_second");
  expect_no_survey("redlock://localhost", {}, errc::not_supported, "redlock:");
  expect_no_survey("redlock://localhost", {}, errc::not_supported, "most_read");
}

// ---------------------------------------------------------------------------- clients

TEST_F(redis_survey, ClientsTellWhatTheyReadAndKeep) {
  two_caches const both(server.url());
  survey found;
  EXPECT_TRUE(eventually([&] {
    both.read("k");
    found = survey_store(server.url(), {.with_sizes = true}).value();
    auto const key = key_of(found, "p:k");
    return key.processes == 2u && key.kept_by == 2u && key.bytes;
  }));
  auto const key = key_of(found, "p:k");
  EXPECT_EQ(found.processes, 2u);
  EXPECT_GT(key.rate, 0);
  EXPECT_LE(key.low, key.rate);
  EXPECT_GE(key.high, key.rate);
  EXPECT_TRUE(key.reads && key.writes && key.kept_for);
  EXPECT_NE(found.cost.find("command"), std::string::npos) << found.cost;
  EXPECT_EQ(key_of(survey_store(server.url(), {.prefix = "p:"}).value(), "p:k").key, "p:k");
  EXPECT_TRUE(survey_store(server.url(), {.prefix = "q:"}).value().keys.empty());
}

TEST_F(redis_survey, ClientsTellOfKeysThatAreKeptWithoutBeingHotAndOfThoseThatGo) {
  two_caches const both(server.url());
  both.one.pin("k");
  both.read("k");  // kept before anybody counts it
  auto const kept_by = [&] {
    both.read("k");
    return key_of(survey_store(server.url()).value(), "p:k").kept_by.value_or(99);
  };
  EXPECT_TRUE(eventually([&] { return kept_by() == 2; }));
  change_hot_rules(open_store(server.url()), "p:", [](std::vector<hot_rule>& rules) {
    rules.push_back({.does = hot_rule::action::deny, .key = "k"});
  });
  EXPECT_TRUE(eventually([&] { return kept_by() == 0; }));
}

TEST_F(redis_survey, AKeyOfAnotherKindHidesReportsAndIsNamed) {
  two_caches const both(server.url());
  EXPECT_TRUE(eventually([&] {
    both.read("k");
    return !survey_store(server.url()).value().keys.empty();
  }));
  server.command({"SET", "{herdlock}:herdlock:hot-reports::herdlock:reports:0", "mine"});
  auto const found = survey_store(server.url());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(has_note(*found, "{herdlock}:herdlock:hot-reports::herdlock:reports:0"));
}

TEST_F(redis_survey, WhereNobodyReportsThatIsSaid) {
  auto const found = survey_store(server.url()).value();
  EXPECT_TRUE(found.keys.empty());
  EXPECT_TRUE(has_note(found, "no process has reported")) << found.notes.size();
}

TEST_F(redis_survey, WhoMayNotReadTheReportsIsToldTheRight) {
  redis_server limited({.users = {"alice on >sesame ~p:* ~{p:* &* +@all -pubsub"}});
  auto const why = expect_no_survey(url_of(limited, "alice"), {}, errc::access_denied, "HSCAN");
  EXPECT_NE(why.find("~{herdlock}:herdlock:*"), why.npos) << why;
}

// ---------------------------------------------------------------------------- lfu

TEST_F(redis_survey, LfuFindsTheKeysThatWereUsedMost) {
  redis_server counting({.arguments = {"--maxmemory-policy", "allkeys-lfu"}});
  set_all(counting, "k", 2000);
  counting.command({"SET", "{k}:herdlock:fence", "7"});
  get_often(counting, "{k}:herdlock:fence", 1000);
  for (char const* key : {"k7", "k77", "k777"}) get_often(counting, key, 1000);
  auto const found = survey_store(counting.url(), {.source = survey_source::lfu, .top = 3}).value();
  ASSERT_EQ(found.keys.size(), 3u);
  EXPECT_TRUE(has_note(found, "share one counter")) << "the server has no maxmemory";
  for (char const* key : {"k7", "k77", "k777"}) {
    auto const one = key_of(found, key);
    EXPECT_EQ(one.key, key);
    EXPECT_GT(one.low, 0);
    EXPECT_LT(one.low, one.rate);
    EXPECT_LT(one.rate, one.high);
  }
  EXPECT_NE(found.cost.find("for the counters of "), std::string::npos) << found.cost;
  EXPECT_TRUE(has_note(found, "logarithm"));
}

TEST_F(redis_survey, LfuLooksAtAPrefixAsItIsWritten) {
  redis_server counting({.arguments = {"--maxmemory-policy", "allkeys-lfu"}});
  set_all(counting, "a*b:", 3);
  set_all(counting, "axb:", 3);
  std::string const binary = "a*b:" + std::string(254, '\0') + std::string(254, '\xff');
  counting.command({"SET", binary, "value"});
  auto const found = survey_store(counting.url(), {.source = survey_source::lfu,
                                                   .prefix = "a*b:",
                                                   .most_a_second = 1000,
                                                   .with_sizes = true})
                         .value();
  EXPECT_EQ(found.keys.size(), 4u);
  EXPECT_EQ(key_of(found, binary).key.size(), 512u);
  EXPECT_TRUE(key_of(found, binary).bytes);
  EXPECT_EQ(key_of(found, "axb:1").key, "");
}

TEST_F(redis_survey, LfuAsksForNoMoreKeysASecondThanItMay) {
  redis_server counting({.arguments = {"--maxmemory-policy", "allkeys-lfu"}});
  set_all(counting, "k", 2000);
  auto const began = std::chrono::steady_clock::now();
  ASSERT_TRUE(survey_store(counting.url(), {.source = survey_source::lfu, .most_a_second = 1000})
                  .has_value());
  auto const took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took, 900ms) << "the second thousand begins after a second";
}

TEST_F(redis_survey, WithoutAnLfuPolicyItSaysWhatToSet) {
  survey_request const request{.source = survey_source::lfu};
  auto const why = expect_no_survey(server.url(), request, errc::not_supported, "maxmemory-policy");
  EXPECT_NE(why.find("allkeys-lfu"), why.npos) << why;
  redis_server limited({.users = {"alice on >sesame ~* &* +@all -config"}});
  limited.command({"SET", "k", "v"});
  expect_no_survey(url_of(limited, "alice"), request, errc::not_supported, "allkeys-lfu");
}

TEST_F(redis_survey, LfuNeedsItsRightsAndLeavesOutKeysOfOthers) {
  redis_server counting(
      {.users = {"alice on >sesame ~* &* +@all -object", "bob on >sesame ~mine:* &* +@all -memory"},
       .arguments = {"--maxmemory-policy", "allkeys-lfu"}});
  set_all(counting, "mine:", 2);
  set_all(counting, "other:", 3);
  survey_request const request{.source = survey_source::lfu, .with_sizes = true};
  expect_no_survey(url_of(counting, "alice"), request, errc::access_denied, "OBJECT FREQ");
  auto const found = survey_store(url_of(counting, "bob"), request).value();
  EXPECT_EQ(found.keys.size(), 2u);
  EXPECT_TRUE(has_note(found, "may not read 3 keys"));
  EXPECT_TRUE(has_note(found, "sizes are missing"));
}

// ---------------------------------------------------------------------------- monitor

TEST_F(redis_survey, MonitorCountsTheKeysOfEachCommand) {
  std::string const binary = std::string(256, '\0') + std::string(256, '"');
  auto const commands = [&] {
    for (int i = 0; i < 6; ++i) server.command({"GET", "a"});
    for (int i = 0; i < 2; ++i) server.command({"MGET", "a", "b"});
    for (int i = 0; i < 3; ++i) server.command({"SET", "b", std::string(100'000, 'v')});
    server.command({"EVAL", "return redis.call('GET', KEYS[1])", "1", "c"});
    server.command({"GET", binary});
    server.command({"GET", "{a}:herdlock:claim"});
  };
  auto const found =
      survey_store(server.url(),
                   meanwhile({.source = survey_source::monitor, .lasts = 3s}, commands))
          .value();
  ASSERT_EQ(found.keys.size(), 4u);
  EXPECT_EQ(found.keys[0].key, "a") << "the greatest first";
  auto const a = key_of(found, "a"), b = key_of(found, "b"), c = key_of(found, "c");
  constexpr double uses = 15;
  EXPECT_DOUBLE_EQ(a.share.value(), 8 / uses);
  EXPECT_DOUBLE_EQ(b.share.value(), 5 / uses);
  EXPECT_DOUBLE_EQ(c.share.value(), 1 / uses) << "what the script does is not counted again";
  EXPECT_EQ(a.writes.value(), 0);
  EXPECT_DOUBLE_EQ(b.writes.value() / b.reads.value(), 1.5);
  EXPECT_GE(a.high, a.low);
  EXPECT_EQ(key_of(found, binary.substr(0, 256)).key.size(), 256u);
  EXPECT_TRUE(has_note(found, "3 long commands")) << "of which the keys are counted";
  EXPECT_NE(found.cost.find("halve"), std::string::npos) << found.cost;
}

TEST_F(redis_survey, MonitorCountsOnlyThePrefixAndTheDatabase) {
  auto const commands = [&] {
    server.command({"SET", "p:a", "v"});
    server.command({"SET", "q:a", "v"});
  };
  survey_request request{.source = survey_source::monitor, .prefix = "p:", .lasts = 1s};
  auto const found = survey_store(server.url(), meanwhile(request, commands)).value();
  ASSERT_EQ(found.keys.size(), 1u);
  EXPECT_EQ(found.keys[0].key, "p:a");
  EXPECT_TRUE(survey_store(server.url() + "/1", meanwhile(request, commands)).value().keys.empty());
}

TEST_F(redis_survey, MonitorGivesUpAtMoreThanItMayTake) {
  auto const commands = [&] {
    for (int i = 0; i < 30; ++i) server.command({"GET", "a"});
  };
  auto const found =
      survey_store(server.url(),
                   meanwhile({.source = survey_source::monitor, .lasts = 60s, .most_a_second = 10},
                             commands))
          .value();
  EXPECT_TRUE(has_note(found, "more than 10 commands a second"));
  EXPECT_EQ(key_of(found, "a").key, "a") << "what was found until then";
}

TEST_F(redis_survey, MonitorIsRefusedByABusyServer) {
  server.command({"SET", "a", "v"});
  survey_request request{.source = survey_source::monitor, .lasts = 10ms};
  std::string why;
  EXPECT_TRUE(eventually([&] {
    get_often(server, "a", 200'000);
    auto const found = survey_store(server.url(), request);
    if (!found.has_error()) return false;
    why = found.error().message;
    return found.error() == errc::overloaded;
  }));
  EXPECT_NE(why.find("--yes"), why.npos) << why;
  request.even_if_busy = true;
  EXPECT_TRUE(survey_store(server.url(), request).has_value());
}

TEST_F(redis_survey, MonitorSaysThatTheServerStoppedMeanwhile) {
  redis_server stopped;
  auto const found = survey_store(
      stopped.url() + "?timeout=200ms",
      meanwhile({.source = survey_source::monitor, .lasts = 10ms}, [&] { stopped.pause(); }));
  stopped.resume();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(has_note(*found, "did not answer at the end"));
}

TEST_F(redis_survey, MonitorSaysHowManyKeysItCounts) {
  auto const request = [](std::size_t top) {
    return survey_request{
        .source = survey_source::monitor, .top = top, .lasts = 10ms, .even_if_busy = true};
  };
  EXPECT_TRUE(has_note(survey_store(server.url(), request(257)).value(), "256 keys at most"));
  EXPECT_FALSE(has_note(survey_store(server.url(), request(256)).value(), "256 keys at most"));
}

TEST_F(redis_survey, MonitorNamesTheRightThatIsMissing) {
  redis_server limited(
      {.users = {"alice on >sesame ~* &* +@all -monitor", "bob on >sesame ~* &* +@all -command"}});
  survey_request const request{.source = survey_source::monitor};
  expect_no_survey(url_of(limited, "alice"), request, errc::access_denied, "+monitor");
  expect_no_survey(url_of(limited, "bob"), request, errc::access_denied, "+command");
}

TEST_F(redis_survey, WhatIsThrownMeanwhileLeavesNothingAtTheServer) {
  auto const request = meanwhile({.source = survey_source::monitor},
                                 [] { throw std::runtime_error("from a user"); });
  EXPECT_THROW(std::ignore = survey_store(server.url(), request), std::runtime_error);
  EXPECT_TRUE(eventually([&] {
    return server.command({"CLIENT", "LIST"}).find("cmd=monitor") == std::string::npos;
  }));
}

}  // namespace
}  // namespace herdlock_test
