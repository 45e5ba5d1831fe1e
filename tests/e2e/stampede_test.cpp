// `herdlock demo stampede`, for real.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"
#include "process_tree.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

json play(words options, int code = 0) {
  options.insert(options.begin(), {"demo", "stampede", "--json"});
  auto const played = run_herdlock(options);
  EXPECT_EQ(played.code, code) << played.err << played.out;
  return json::parse(played.out, nullptr, false);
}

json const& mode_of(json const& list, std::string const& mode) {
  for (json const& each : list) {
    if (each.at("mode") == mode) return each;
  }
  throw std::runtime_error("no mode " + mode + " in " + list.dump());
}

void expect_all_answered(json const& list) {
  for (json const& each : list) {
    int const herd = each["processes"].get<int>() * each["requests"].get<int>();
    EXPECT_EQ(each["answers"], herd * each["expiries"].get<int>()) << each;
    EXPECT_EQ(each["errors"], 0) << each;
    EXPECT_GE(each["p99_ms"], each["p50_ms"]) << each;
  }
}

// Somebody waits for each load, and nobody is given what is out of date.
void expect_waits_for_the_new(json const& mode) {
  EXPECT_GE(mode["last_answer_ms"], mode["load_time_ms"]) << mode;
  EXPECT_GE(mode["waited"], mode["loads"]) << mode;
  EXPECT_EQ(mode["stale"], 0) << mode;
}

// Who comes first has the old product as his answer, and the load runs behind it.
void expect_waits_for_nothing(json const& mode) {
  EXPECT_EQ(mode["waited"], 0) << mode;
  EXPECT_GE(mode["stale"], mode["expiries"]) << mode;
}

void expect_one_load_per_expiry(json const& mode) {
  EXPECT_EQ(mode["loads"], mode["expiries"]) << mode;
}

// The promise of the project, on its embedded default. S1: the fleet is guarded, not the machine's
// processes one by one.
TEST(Stampede, OnTheEmbeddedDefaultTheFleetLoadsOncePerExpiry) {
  json const list =
      play({"--processes", "3", "--requests", "30", "--expiries", "3", "--load-time", "200ms"});
  ASSERT_EQ(list.size(), 3u) << list;
  expect_all_answered(list);
  // Nearly all: on a slow machine a request may come when the first load has ended.
  EXPECT_GE(mode_of(list, "naive")["loads"], 3 * 90 * 8 / 10) << list;
  // One for each process; a process that is late by a whole load finds the other's value.
  EXPECT_LE(mode_of(list, "process")["loads"], 3 * 3) << list;
  EXPECT_GE(mode_of(list, "process")["loads"], 3 * 2) << list;
  EXPECT_EQ(mode_of(list, "fleet")["loads"], 3) << list;
  for (json const& each : list) expect_waits_for_the_new(each);
  EXPECT_EQ(mode_of(list, "naive")["waited"], mode_of(list, "naive")["loads"]) << list;
}

// The entry of `early` ends two load times behind the first request, and the load that it begins is
// to end before, also on a slow machine.
void play_the_classical(words options) {
  options.insert(options.end(), {"--processes", "3", "--requests", "30", "--expiries", "2"});
  auto const with = [&](words more) {
    more.insert(more.end(), options.begin(), options.end());
    return play(more);
  };
  json list = with({"--mode", "logical,double-lock,hash", "--load-time", "200ms"});
  list.push_back(with({"--mode", "early", "--load-time", "2500ms"}).at(0));
  ASSERT_EQ(list.size(), 4u) << list;
  expect_all_answered(list);
  for (json const& each : list) expect_one_load_per_expiry(each);
  for (auto const* mode : {"early", "logical"}) expect_waits_for_nothing(mode_of(list, mode));
  for (auto const* mode : {"double-lock", "hash"}) expect_waits_for_the_new(mode_of(list, mode));
}

TEST(Stampede, OnTheEmbeddedDefaultTheClassicalSchemesLoadOncePerExpiryToo) {
  play_the_classical({});
}

TEST(Stampede, OnRedisWithLocksInMariaDbTheClassicalSchemesLoadOncePerExpiryToo) {
  auto& redis = redis_server::shared();
  auto& database = mariadb_server::shared();
  redis.flush();
  play_the_classical(
      {"--store", redis.url(), "--locks", database.url("locks"), "--origin", database.url("demo")});
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

TEST(Stampede, WithHashOtherProgramsReadTheEntryFieldByField) {
  auto& redis = redis_server::shared();
  redis.flush();
  auto demo = start_herdlock({"demo", "stampede", "--store", redis.url(), "--mode", "hash",
                              "--processes", "2", "--expiries", "10000"});
  auto const name_is_there = [&] {
    auto const key = lines_of(redis.command({"KEYS", "*product:42"}));
    return key.size() == 1 &&
           redis.command({"HGET", key[0], "name"}).find("Espresso machine") != std::string::npos;
  };
  EXPECT_TRUE(eventually(name_is_there)) << redis.command({"KEYS", "*"});
  demo.signal(SIGINT);
  EXPECT_EQ(demo.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
}

// What is kept of the old product is dropped with its expiry; of the new one each process answers
// what comes once more, but for the read that it is kept from.
TEST(Stampede, OnRedisNearLoadsOncePerExpiryAndThenAnswersFromTheProcess) {
  auto& redis = redis_server::shared();
  redis.flush();
  json const list = play({"--mode", "near", "--store", redis.url(), "--processes", "3",
                          "--requests", "30", "--expiries", "3", "--load-time", "200ms"});
  ASSERT_EQ(list.size(), 1u) << list;
  expect_all_answered(list);
  expect_one_load_per_expiry(list[0]);
  expect_waits_for_the_new(list[0]);
  EXPECT_GE(list[0]["near_hits"], 3 * 3 * 30 / 2) << list;
  EXPECT_LE(list[0]["near_hits"], 3 * 3 * 30) << list;
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

void expect_near_is_refused(words options, std::string const& store) {
  options.insert(options.begin(), {"demo", "stampede", "--mode", "fleet,near"});
  auto const refused = run_herdlock(options);
  EXPECT_EQ(refused.code, 64) << refused.err;
  for (std::string const& part : {std::string("mode near"), store, std::string("redis://")}) {
    EXPECT_NE(refused.err.find(part), std::string::npos) << part << "\n" << refused.err;
  }
}

TEST(Stampede, NearIsRefusedWhereNobodyPushesChanges) {
  expect_near_is_refused({}, "sqlite:");
  expect_near_is_refused({"--store", "memory:", "--processes", "1"}, "memory:");
}

TEST(Stampede, NearTellsWhyNothingIsKept) {
  redis_server const server({.users = {"app on >pw ~* &* +@all -client|tracking -client|caching"}});
  auto const run =
      run_herdlock({"demo", "stampede", "--mode", "near", "--processes", "2", "--requests", "2",
                    "--expiries", "1", "--load-time", "10ms", "--store",
                    "redis://app:pw@127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(run.code, 0) << run.err;
  auto const lines = lines_of(run.err);
  ASSERT_EQ(lines.size(), 1u) << run.err;
  EXPECT_NE(lines[0].find("client|tracking"), std::string::npos) << lines[0];
}

TEST(Stampede, OnRedisAllPlaysNear) {
  auto& redis = redis_server::shared();
  redis.flush();
  json const list = play({"--mode", "all", "--store", redis.url(), "--processes", "1", "--requests",
                          "5", "--expiries", "1", "--load-time", "10ms"});
  EXPECT_EQ(mode_of(list, "near")["loads"], 1) << list;
}

TEST(Stampede, AllPlaysEveryModeInTheOrderOfTheHelp) {
  json const list = play({"--mode", "all", "--processes", "2", "--requests", "5", "--expiries", "1",
                          "--load-time", "10ms"});
  words names;
  for (json const& each : list) names.push_back(each["mode"]);
  EXPECT_EQ(names, (words{"naive", "process", "fleet", "early", "logical", "double-lock", "hash"}));
}

TEST(Stampede, OnRedisAndMariaDbTheFleetLoadsOncePerExpiryAndTheDatabaseSaysSo) {
  auto& redis = redis_server::shared();
  auto& database = mariadb_server::shared();
  redis.flush();
  json const list = play({"--store", redis.url(), "--origin", database.url("demo"), "--processes",
                          "3", "--requests", "40", "--expiries", "4", "--load-time", "100ms"});
  ASSERT_EQ(list.size(), 3u) << list;
  expect_all_answered(list);
  EXPECT_GE(mode_of(list, "naive")["loads"], 4 * 120 * 8 / 10) << list;
  EXPECT_LE(mode_of(list, "process")["loads"], 4 * 3) << list;
  EXPECT_EQ(mode_of(list, "fleet")["loads"], 4) << list;
  // The log is in the database for everybody to read.
  EXPECT_EQ(database.sql("SELECT COUNT(*) FROM demo.herdlock_demo_load WHERE mode = 'fleet'"),
            "4\n");
  // The demo takes its entry away: no key of a value is left.
  EXPECT_EQ(redis.command({"GET", "herdlock-demo"}), "(nil)");
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

TEST(Stampede, InOneProcessTheMemoryStoreWillDo) {
  json const list = play({"--store", "memory:", "--processes", "1", "--requests", "200",
                          "--expiries", "2", "--mode", "fleet"});
  ASSERT_EQ(list.size(), 1u) << list;
  expect_all_answered(list);
  EXPECT_EQ(list[0]["loads"], 2);
}

TEST(Stampede, JsonHasExactlyTheDocumentedKeys) {
  json const list =
      play({"--mode", "fleet", "--processes", "2", "--requests", "5", "--expiries", "1"});
  ASSERT_TRUE(list.is_array());
  ASSERT_EQ(list.size(), 1u);
  std::vector<std::string> keys;
  for (auto const& [key, value] : list[0].items()) {
    keys.push_back(key);
    EXPECT_EQ(value.is_number(), key != "mode") << key;
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (words{"answers", "errors", "expiries", "last_answer_ms", "load_time_ms", "loads",
                         "mode", "near_hits", "p50_ms", "p99_ms", "processes", "requests", "stale",
                         "waited"}));
}

TEST(Stampede, TheTableHasOneLinePerModeAndNoFilesStayBehind) {
  temp_dir folder;
  auto const shown =
      run_herdlock({"demo", "stampede", "--processes", "2", "--requests", "10", "--expiries", "1"},
                   {{"TMPDIR", folder.path().string()}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.err, "") << "no progress without a terminal";
  for (char const* part : {"loads/expiry", "waited for a load", "stale", "\nnaive ", "\nprocess ",
                           "\nfleet ", "p99 ms"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Tags are balanced, attributes are quoted: enough to catch a broken picture.
void expect_well_formed(std::string const& xml) {
  std::vector<std::string> open;
  for (auto at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    auto const end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string const tag = xml.substr(at + 1, end - at - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    std::string const name = tag.substr(0, tag.find_first_of(" \n/", 1));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ("/" + open.back(), tag);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Stampede, ThePlotIsASelfContainedPictureOfEveryMode) {
  temp_dir folder;
  auto const file = folder / "plot.svg";
  auto const shown = run_herdlock({"demo", "stampede", "--processes", "2", "--requests", "10",
                                   "--expiries", "1", "--plot", file.string()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::string const svg = text.str();
  expect_well_formed(svg);
  for (char const* part : {"<svg xmlns=\"http://www.w3.org/2000/svg\"", ">naive<", ">process<",
                           ">fleet<", ">1 load<", "class=\"load\"", "class=\"answer\""}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("href"), std::string::npos) << "needs nothing from elsewhere";
}

// Four abreast: the fifth begins a line. What is stale has a colour, an expiry to come a line.
TEST(Stampede, ThePlotOfAllModesShowsWhoWasGivenTheOldProduct) {
  temp_dir folder;
  auto const file = folder / "plot.svg";
  auto const shown = run_herdlock({"demo", "stampede", "--mode", "all", "--processes", "2",
                                   "--requests", "10", "--expiries", "1", "--plot", file.string()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::string const svg = content(file);
  expect_well_formed(svg);
  for (char const* part : {">early<", ">logical<", ">double-lock<", ">hash<", "class=\"stale\"",
                           "class=\"expiry\"", "viewBox=\"0 0 1508 "}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
}

// S2: a dead loader does not block the key; S5: and its waiters do not load one by one.
void kill_the_loader(words options) {
  options.insert(options.end(),
                 {"--mode", "fleet", "--kill-loader", "--processes", "3", "--requests", "20",
                  "--expiries", "2", "--load-time", "1s", "--claim-ttl", "3s"});
  json const list = play(options);
  ASSERT_EQ(list.size(), 1u) << list;
  // First expiry: 2 processes of 3 are left, and the killed load and one more; then as ever.
  EXPECT_EQ(list[0]["answers"], 2 * 20 + 3 * 20) << list;
  EXPECT_EQ(list[0]["errors"], 0) << list;
  EXPECT_EQ(list[0]["loads"], 2 + 1) << list;
}

TEST(Stampede, AKilledLoaderIsReplacedByExactlyOneOnSqlite) { kill_the_loader({}); }

TEST(Stampede, AKilledLoaderIsReplacedByExactlyOneOnRedis) {
  kill_the_loader({"--store", redis_server::shared().url()});
}

TEST(Stampede, TellsOfTheKilledLoaderBelowTheTable) {
  auto const shown = run_herdlock({"demo", "stampede", "--mode", "fleet", "--kill-loader",
                                   "--processes", "2", "--requests", "5", "--expiries", "1",
                                   "--load-time", "1s", "--claim-ttl", "2s"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("was killed (SIGKILL)"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("from 1 new load"), std::string::npos) << shown.out;
}

child_process long_demo(temp_dir const& folder) {
  return start_herdlock(
      {"demo", "stampede", "--mode", "fleet", "--processes", "3", "--expiries", "10000"},
      {{"TMPDIR", folder.path().string()}});
}

// B23: a command that ends leaves no process behind.
TEST(Stampede, InterruptedItEndsItsProcessesAndRemovesItsFiles) {
  temp_dir folder;
  auto demo = long_demo(folder);
  ASSERT_TRUE(eventually([&] { return children_of(demo.pid()).size() == 3; })) << demo.errors();
  auto const workers = children_of(demo.pid());
  demo.signal(SIGINT);
  EXPECT_EQ(demo.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
  expect_all_gone(workers);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Stampede, KilledItTakesItsProcessesAlong) {
  temp_dir folder;
  auto demo = long_demo(folder);
  ASSERT_TRUE(eventually([&] { return children_of(demo.pid()).size() == 3; })) << demo.errors();
  auto const workers = children_of(demo.pid());
  demo.kill();
  expect_all_gone(workers);
}

TEST(Stampede, AProcessThatDiesUnexpectedlyIsReportedInOneLine) {
  temp_dir folder;
  auto demo = long_demo(folder);
  ASSERT_TRUE(eventually([&] { return children_of(demo.pid()).size() == 3; })) << demo.errors();
  auto const workers = children_of(demo.pid());
  ::kill(std::stoi(workers[1]), SIGKILL);
  EXPECT_EQ(demo.wait(), (exit_status{.code = 70, .signal = {}}));
  EXPECT_EQ(lines_of(demo.errors()).size(), 1u) << demo.errors();
  EXPECT_NE(demo.errors().find("worker process " + workers[1]), std::string::npos) << demo.errors();
  expect_all_gone(workers);
}

}  // namespace
