// `herdlock hot add`, `remove` and `list` against a real server.
#include <gtest/gtest.h>

#include <herdlock/cache.hpp>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <support/eventually.hpp>
#include <support/free_port.hpp>
#include <support/redis_server.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using namespace std::chrono_literals;
using herdlock::hot_rule;
using nlohmann::json;
using words = std::vector<std::string>;

bool says(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

// One hour east of Greenwich, in summer two, wherever the test runs.
environment const in_central_europe{{"TZ", "CET-1CEST,M3.5.0,M10.5.0/3"}};

class HotRulesCommand : public ::testing::Test {
 protected:
  HotRulesCommand() { server.flush(); }

  command_result hot(words more) const {
    words all{"hot"};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--cache", "p:", "--store", server.url()});
    return run_herdlock(all, in_central_europe);
  }
  void expect_done(words const& more) const {
    auto const done = hot(more);
    EXPECT_EQ(done.code, 0) << ::testing::PrintToString(more) << done.err;
    EXPECT_EQ(done.err, "");
  }
  std::vector<hot_rule> rules() const {
    return herdlock::read_hot_rules(herdlock::open_store(server.url()), "p:").rules;
  }
  static hot_rule::time unix_time(std::int64_t seconds) {
    return hot_rule::time(std::chrono::seconds(seconds));
  }

  redis_server& server = redis_server::shared();
};

// 2099-12-01T12:00 in central Europe.
constexpr std::int64_t noon = 4'099'806'000;

std::string const nobody_listens =
    "processes that listen: none; a cache does once it is called, if it was made with hot.rules = "
    "on "
    "(cache_options::hot)\n";

TEST_F(HotRulesCommand, AddWritesARuleAndTellsIt) {
  auto const done = hot({"add", "sale", "--from", "2099-12-01T12:00", "--for", "2h"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "added: pin 'sale', from 2099-12-01T12:00:00+01:00 until "
            "2099-12-01T14:00:00+01:00\n" +
                nobody_listens);
  ASSERT_EQ(rules().size(), 1u);
  EXPECT_EQ(rules()[0],
            (hot_rule{.key = "sale", .from = unix_time(noon), .until = unix_time(noon + 7200)}));
}

TEST_F(HotRulesCommand, AddTakesEachKindOfRule) {
  expect_done({"add", "a", "--until", "2099-12-01T11:00:00Z"});
  expect_done({"add", "user:", "--begins", "--deny"});
  expect_done({"add", "b", "--keep", "--at-most", "90s"});
  expect_done({"add", "c", "--keep"});
  auto const all = rules();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], (hot_rule{.key = "a", .until = unix_time(noon)}));
  EXPECT_EQ(
      all[1],
      (hot_rule{.does = hot_rule::action::deny, .by = hot_rule::match::prefix, .key = "user:"}));
  EXPECT_EQ(all[2], (hot_rule{.does = hot_rule::action::keep, .key = "b", .keep_at_most = 90s}));
  EXPECT_EQ(all[3], (hot_rule{.does = hot_rule::action::keep, .key = "c"}));
}

TEST_F(HotRulesCommand, ForCountsFromNowWhereThereIsNoFrom) {
  auto const before = hot_rule::time::clock::now();
  expect_done({"add", "a", "--for", "1h"});
  ASSERT_EQ(rules().size(), 1u);
  auto const until = rules()[0].until.value();
  EXPECT_GE(until, before + 1h - 1ms);
  EXPECT_LE(until, hot_rule::time::clock::now() + 1h);
  EXPECT_FALSE(rules()[0].from);
}

TEST_F(HotRulesCommand, TheSameRuleIsReplacedAndTold) {
  expect_done({"add", "sale", "--from", "2099-12-01T12:00"});
  expect_done({"add", "sale", "--deny"});
  expect_done({"add", "sale", "--begins"});
  auto const done = hot({"add", "sale", "--until", "2099-12-01T12:00"});
  EXPECT_EQ(done.out,
            "replaced: pin 'sale', from 2099-12-01T12:00:00+01:00\n"
            "added: pin 'sale', until 2099-12-01T12:00:00+01:00\n" +
                nobody_listens);
  EXPECT_EQ(rules().size(), 3u) << "the others are other rules";
  auto const told = json::parse(hot({"add", "sale", "--json"}).out);
  EXPECT_EQ(told["replaced"]["until"], "2099-12-01T11:00:00Z");
  EXPECT_EQ(told["added"]["until"], nullptr);
  EXPECT_EQ(json::parse(hot({"add", "new", "--json"}).out)["replaced"], nullptr);
}

TEST_F(HotRulesCommand, RemoveTakesTheRulesForTheKeyAway) {
  for (words const& each : {words{"add", "sale"},
                            {"add", "sale", "--deny"},
                            {"add", "sale", "--begins"},
                            {"add", "sales"}}) {
    expect_done(each);
  }
  auto const one = hot({"remove", "sale", "--deny"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, "removed: deny 'sale'\n");
  auto const other = hot({"remove", "sale"});
  EXPECT_EQ(other.out, "removed: pin 'sale'\n");
  ASSERT_EQ(rules().size(), 2u);
  auto const told = json::parse(hot({"remove", "sale", "--begins", "--json"}).out);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["match"], "begins");
  EXPECT_EQ(rules().at(0).key, "sales");
}

TEST_F(HotRulesCommand, RemoveOfWhatIsNotThereSaysSoByItsExitStatusToo) {
  auto const none = hot({"remove", "sale"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.out, "there is no such rule for 'sale', of caches with the prefix 'p:'\n");
  EXPECT_EQ(none.err, "");
  expect_done({"add", "sale"});
  EXPECT_EQ(hot({"remove", "sale", "--begins"}).code, 1);
  EXPECT_EQ(hot({"remove", "sale", "--keep"}).code, 1);
  auto const for_programs = hot({"remove", "other", "--json"});
  EXPECT_EQ(for_programs.code, 1);
  EXPECT_EQ(json::parse(for_programs.out), json::array());
}

TEST_F(HotRulesCommand, ListIsATableByKey) {
  EXPECT_EQ(hot({"list"}).out, "there are no rules for caches with the prefix 'p:'\n");
  expect_done({"add", "user:", "--begins", "--deny"});
  expect_done({"add", "sale", "--from", "2099-12-01T12:00"});
  expect_done({"add", "a b", "--keep"});
  auto const shown = hot({"list"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.out,
            "ACTION   KEY      MATCH   FROM                       UNTIL  IN FORCE\n"
            "keep 5m  'a b'    exact   -                          -      yes\n"
            "pin      'sale'   exact   2099-12-01T12:00:00+01:00  -      not yet\n"
            "deny     'user:'  begins  -                          -      yes\n");
}

TEST_F(HotRulesCommand, ListHasTheDocumentedJson) {
  EXPECT_EQ(json::parse(hot({"list", "--json"}).out), json::array());
  herdlock::change_hot_rules(herdlock::open_store(server.url()),
                             "p:", [](std::vector<hot_rule>& all) {
                               all = {{.key = "over", .until = unix_time(1)},
                                      {.does = hot_rule::action::keep, .key = "k"}};
                             });
  auto const list = json::parse(hot({"list", "--json"}).out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], (json{{"action", "keep"},
                           {"key", "k"},
                           {"match", "exact"},
                           {"from", nullptr},
                           {"until", nullptr},
                           {"in_force", true},
                           {"keep_at_most_ms", 300'000}}));
  EXPECT_EQ(list[1], (json{{"action", "pin"},
                           {"key", "over"},
                           {"match", "exact"},
                           {"from", nullptr},
                           {"until", "1970-01-01T00:00:01Z"},
                           {"in_force", false}}));
  EXPECT_TRUE(says(hot({"list"}).out, " over\n"));
}

TEST_F(HotRulesCommand, ACacheObeysWhatWasAdded) {
  herdlock::cache_options const how{.prefix = "p:", .hot = {.rules = herdlock::key_rules::on}};
  herdlock::cache<std::string> const cache(herdlock::open_store(server.url()), how);
  auto const is_kept = [&] {
    auto const load = [] { return std::string("loaded"); };
    auto const first = cache.get_or_load_shared("sale", load);
    return cache.get_or_load_shared("sale", load) == first;
  };
  EXPECT_FALSE(is_kept());
  expect_done({"add", "sale"});
  EXPECT_TRUE(eventually(is_kept));
  expect_done({"remove", "sale"});
  EXPECT_TRUE(eventually([&] { return !is_kept(); }));
}

TEST_F(HotRulesCommand, AddTellsHowManyProcessesListen) {
  EXPECT_EQ(json::parse(hot({"add", "k", "--json"}).out)["listeners"], 0);
  herdlock::cache_options const how{.prefix = "p:", .hot = {.rules = herdlock::key_rules::on}};
  herdlock::cache<std::string> const one(herdlock::open_store(server.url()), how);
  herdlock::cache<std::string> const two(herdlock::open_store(server.url()), how);
  herdlock::cache<std::string> const deaf(herdlock::open_store(server.url()), {.prefix = "p:"});
  for (auto const* each : {&one, &two, &deaf}) each->get("k");
  EXPECT_TRUE(eventually([&] {
    return json::parse(hot({"add", "k", "--json"}).out)["listeners"] == 2;
  }));
  EXPECT_TRUE(says(hot({"add", "k"}).out, "processes that listen: 2\n"));
}

TEST_F(HotRulesCommand, WhereTheServerDoesNotTellWhoListensTheRuleIsAddedAllTheSame) {
  redis_server const silent({.arguments = {"--rename-command", "PUBSUB", ""}});
  words const add{"hot", "add", "k", "--cache", "p:", "--store", silent.url()};
  auto const done = run_herdlock(add);
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(says(done.out, "added: pin 'k'")) << done.out;
  EXPECT_TRUE(says(done.out, "processes that listen: not known")) << done.out;
  auto with_json = add;
  with_json.emplace_back("--json");
  EXPECT_EQ(json::parse(run_herdlock(with_json).out)["listeners"], nullptr);
}

TEST_F(HotRulesCommand, AKeyMayBeCalledAsACommandIsOrAnOption) {
  for (char const* key : {"list", "add", "run", "hot"}) expect_done({"add", key});
  expect_done({"remove", "add"});
  EXPECT_EQ(rules().size(), 3u);
  auto const dashed =
      run_herdlock({"hot", "add", "--cache", "p:", "--store", server.url(), "--", "--deny"});
  EXPECT_EQ(dashed.code, 0) << dashed.err;
  EXPECT_EQ(rules().back().key, "--deny");
}

TEST_F(HotRulesCommand, AKeyIsShownWithoutItsControlCharacters) {
  expect_done({"add", "a\x1b[2Jb\xe2\x80\xae"});
  for (words const& form : {words{"list"}, words{"list", "--json"}}) {
    EXPECT_FALSE(says(hot(form).out, "\xe2\x80\xae")) << "it turns the row around";
  }
  EXPECT_FALSE(says(hot({"list"}).out, "\x1b"));
  EXPECT_FALSE(says(hot({"list", "--json"}).out, "\x1b"));
}

TEST_F(HotRulesCommand, ListTellsRulesApartAndHasTheBytesThatRemoveTakes) {
  std::string const alike(120, 'k');
  expect_done({"add", alike + "1"});
  expect_done({"add", alike + "2"});
  for (char const* end : {"1'", "2'"}) EXPECT_TRUE(says(hot({"list"}).out, alike + end));
  std::string const binary = "z\xff\\";
  expect_done({"add", binary});
  EXPECT_EQ(json::parse(hot({"list", "--json"}).out).back()["key_escaped"], "z\\xff\\\\");
  expect_done({"remove", binary});
  EXPECT_EQ(rules().size(), 2u);
}

TEST_F(HotRulesCommand, TheStoreMayStandInFrontAndACacheMayHaveNoPrefix) {
  auto const added = run_herdlock({"hot", "--store", server.url(), "add", "k", "--cache", ""});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(herdlock::read_hot_rules(herdlock::open_store(server.url()), "").rules.size(), 1u);
  auto const listed = run_herdlock({"hot", "list", "--store", server.url(), "--cache", "none"});
  EXPECT_TRUE(says(listed.out, "no rules for caches with the prefix 'none'")) << listed.out;
}

TEST(HotRulesBadInput, IsOneLineAndTheRightCode) {
  auto const refused = [](words arguments, int code, std::string const& part) {
    arguments.insert(arguments.begin(), "hot");
    auto const ended = run_herdlock(arguments, in_central_europe);
    auto const what = ::testing::PrintToString(arguments);
    EXPECT_EQ(ended.code, code) << what << ended.err;
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << what << ended.err;
    EXPECT_TRUE(says(ended.err, part)) << what << ended.err;
    EXPECT_FALSE(says(ended.err, "s3cret")) << ended.err;
    EXPECT_EQ(ended.out, "") << what;
  };
  auto const adding = [&](words more, std::string const& part) {
    more.insert(more.begin(), {"add", "k", "--cache", "p:"});
    refused(more, 64, part);
  };
  refused({"add", "k"}, 64, "--cache");
  refused({"add", "--cache", "p:"}, 64, "KEY");
  refused({"add", "", "--cache", "p:"}, 64, "KEY");
  refused({"list"}, 64, "--cache");
  refused({"--top", "5", "list", "--cache", "p:"}, 64, "--top");
  refused({"lst", "--cache", "p:"}, 64, "hot lst: there is no such command");
  adding({"--from", "noon"}, "--from 'noon': is not a time; write it as 2026-12-01T12:00");
  adding({"--from", "2099-02-30T12:00"}, "is not a time");
  adding({"--until", "2000-01-01T00:00Z"}, "over already");
  adding({"--from", "2099-12-01", "--until", "2099-11-01"}, "must be behind --from");
  adding({"--until", "2099-12-01", "--for", "1h"}, "--for");
  adding({"--for", "soon"}, "--for");
  adding({"--for", "2"}, "--for");
  adding({"--deny", "--keep"}, "--keep");
  adding({"--at-most", "5m"}, "--at-most is for --keep");
  adding({"--keep", "--at-most", "2d"}, "--at-most");
  adding({"--keep", "--at-most", "999ms"}, "--at-most");
  adding({"--store", "memory:"}, "memory:");
  auto const plain = redis_server::shared().url() + "?dialect=plain&prefix=lease:";
  adding({"--store", plain}, "it keeps no rules");
  auto const gone = "redis://:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "?timeout=200ms";
  refused({"list", "--cache", "p:", "--store", gone}, 69, "127.0.0.1");
}

TEST(HotRulesHelp, IsInTheManualOfTheCommandAndItsGroup) {
  for (char const* command : {"add", "remove", "list"}) {
    auto const help = run_herdlock({"hot", command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    for (char const* part : {"--cache", "Exit status", "64", "69"}) {
      EXPECT_TRUE(says(help.out, part)) << command << part << help.out;
    }
  }
  auto const man = run_herdlock({"help", "--man"}).out;
  for (char const* section : {"herdlock hot", "herdlock hot add", "herdlock hot remove",
                              "herdlock hot list", "herdlock help"}) {
    EXPECT_TRUE(says(man, ".SS \"" + std::string(section) + "\"\n")) << section;
  }
  EXPECT_FALSE(says(man, ".SS \"herdlock\"\n")) << "it only lists its commands";
}

TEST(NamesOfCommands, AreNamesBehindACommand) {
  auto const shown =
      run_herdlock({"show", "run", "show", "--store",
                    "redis://127.0.0.1:" + std::to_string(redis_server::shared().port())});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(says(shown.out, "'run': free")) << shown.out;
  EXPECT_TRUE(says(shown.out, "'show': free")) << shown.out;
}

}  // namespace
