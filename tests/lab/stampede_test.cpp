// `herdlock-lab stampede`, for real.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "e2e/process_tree.hpp"
#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

json play(words options, int code = 0) {
  options.insert(options.begin(), "stampede");
  return json_of_lab(std::move(options), code);
}

// On a SQLite file, whether or not a server could be started.
class Stampede : public ::testing::Test {
 protected:
  words on_a_file(words options) const {
    options.insert(options.end(), {"--store", file_});
    return options;
  }

  temp_dir folder_;
  std::string const file_ = "sqlite:" + (folder_ / "store.db").string();
};

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
TEST_F(Stampede, OnTheEmbeddedDefaultTheFleetLoadsOncePerExpiry) {
  json const list = play(on_a_file(
      {"--processes", "3", "--requests", "30", "--expiries", "3", "--load-time", "200ms"}));
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

TEST_F(Stampede, OnTheEmbeddedDefaultTheClassicalSchemesLoadOncePerExpiryToo) {
  play_the_classical(on_a_file({}));
}

TEST_F(Stampede, OnRedisWithLocksInMariaDbTheClassicalSchemesLoadOncePerExpiryToo) {
  auto& redis = redis_server::shared();
  auto& database = mariadb_server::shared();
  redis.flush();
  play_the_classical(
      {"--store", redis.url(), "--locks", database.url("locks"), "--origin", database.url("demo")});
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

TEST_F(Stampede, WithHashOtherProgramsReadTheEntryFieldByField) {
  auto& redis = redis_server::shared();
  redis.flush();
  auto played = start_lab({"stampede", "--store", redis.url(), "--mode", "hash", "--processes", "2",
                           "--expiries", "10000"});
  auto const name_is_there = [&] {
    auto const key = lines_of(redis.command({"KEYS", "*product:42"}));
    return key.size() == 1 &&
           redis.command({"HGET", key[0], "name"}).find("Espresso machine") != std::string::npos;
  };
  EXPECT_TRUE(eventually(name_is_there)) << redis.command({"KEYS", "*"});
  played.signal(SIGINT);
  EXPECT_EQ(played.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
}

// What is kept of the old product is dropped with its expiry; of the new one each process answers
// what comes once more, but for the read that it is kept from.
TEST_F(Stampede, OnRedisNearLoadsOncePerExpiryAndThenAnswersFromTheProcess) {
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
  options.insert(options.begin(), {"stampede", "--mode", "fleet,near"});
  auto const refused = run_lab(options);
  EXPECT_EQ(refused.code, 64) << refused.err;
  for (std::string const& part : {std::string("mode near"), store, std::string("redis://")}) {
    EXPECT_NE(refused.err.find(part), std::string::npos) << part << "\n" << refused.err;
  }
}

TEST_F(Stampede, NearIsRefusedWhereNobodyPushesChanges) {
  expect_near_is_refused({"--store", file_}, "sqlite:");
  expect_near_is_refused({"--store", "memory:", "--processes", "1"}, "memory:");
}

TEST_F(Stampede, NearTellsWhyNothingIsKept) {
  redis_server const server({.users = {"app on >pw ~* &* +@all -client|tracking -client|caching"}});
  auto const run = run_lab({"stampede", "--mode", "near", "--processes", "2", "--requests", "2",
                            "--expiries", "1", "--load-time", "10ms", "--store",
                            "redis://app:pw@127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(run.code, 0) << run.err;
  auto const lines = lines_of(run.err);
  ASSERT_EQ(lines.size(), 1u) << run.err;
  EXPECT_NE(lines[0].find("client|tracking"), std::string::npos) << lines[0];
}

TEST_F(Stampede, OnRedisAllPlaysNear) {
  auto& redis = redis_server::shared();
  redis.flush();
  json const list = play({"--mode", "all", "--store", redis.url(), "--processes", "1", "--requests",
                          "5", "--expiries", "1", "--load-time", "10ms"});
  EXPECT_EQ(mode_of(list, "near")["loads"], 1) << list;
}

TEST_F(Stampede, AllPlaysEveryModeInTheOrderOfTheHelp) {
  json const list = play(on_a_file({"--mode", "all", "--processes", "2", "--requests", "5",
                                    "--expiries", "1", "--load-time", "10ms"}));
  words names;
  for (json const& each : list) names.push_back(each["mode"]);
  EXPECT_EQ(names, (words{"naive", "process", "fleet", "early", "logical", "double-lock", "hash"}));
}

TEST_F(Stampede, OnRedisAndMariaDbTheFleetLoadsOncePerExpiryAndTheDatabaseSaysSo) {
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
  // The scene takes its entry away: no key of a value is left.
  EXPECT_EQ(redis.command({"GET", "herdlock-demo"}), "(nil)");
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

TEST_F(Stampede, InOneProcessTheMemoryStoreWillDo) {
  json const list = play({"--store", "memory:", "--processes", "1", "--requests", "200",
                          "--expiries", "2", "--mode", "fleet"});
  ASSERT_EQ(list.size(), 1u) << list;
  expect_all_answered(list);
  EXPECT_EQ(list[0]["loads"], 2);
}

TEST_F(Stampede, JsonHasExactlyTheDocumentedKeys) {
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

TEST_F(Stampede, TheTableHasOneLinePerModeAndNoFilesStayBehind) {
  auto const shown =
      run_lab({"stampede", "--processes", "2", "--requests", "10", "--expiries", "1"},
              {{"TMPDIR", folder_.path().string()}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.err, "") << "no progress without a terminal";
  for (char const* part : {"loads/expiry", "waited for a load", "stale", "\nnaive ", "\nprocess ",
                           "\nfleet ", "p99 ms"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
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

TEST_F(Stampede, ThePlotIsASelfContainedPictureOfEveryMode) {
  auto const file = folder_ / "plot.svg";
  auto const shown = run_lab({"stampede", "--processes", "2", "--requests", "10", "--expiries", "1",
                              "--plot", file.string()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::string const svg = content(file);
  expect_well_formed(svg);
  for (char const* part : {"<svg xmlns=\"http://www.w3.org/2000/svg\"", ">naive<", ">process<",
                           ">fleet<", ">1 load<", "class=\"bad\"", "class=\"good\""}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("href"), std::string::npos) << "needs nothing from elsewhere";
}

// Four abreast: the fifth begins a line. What is stale has a colour, an expiry to come a line.
TEST_F(Stampede, ThePlotOfAllModesShowsWhoWasGivenTheOldProduct) {
  auto const file = folder_ / "plot.svg";
  auto const shown = run_lab({"stampede", "--mode", "all", "--processes", "2", "--requests", "10",
                              "--expiries", "1", "--plot", file.string()});
  ASSERT_EQ(shown.code, 0) << shown.err;
  std::string const svg = content(file);
  expect_well_formed(svg);
  for (char const* part : {">early<", ">logical<", ">double-lock<", ">hash<", "class=\"old\"",
                           "class=\"mark\"", "viewBox=\"0 0 1508 "}) {
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

TEST_F(Stampede, AKilledLoaderIsReplacedByExactlyOneOnSqlite) { kill_the_loader(on_a_file({})); }

TEST_F(Stampede, AKilledLoaderIsReplacedByExactlyOneOnRedis) {
  kill_the_loader({"--store", redis_server::shared().url()});
}

TEST_F(Stampede, TellsOfTheKilledLoaderBelowTheTable) {
  auto const shown =
      run_lab({"stampede", "--mode", "fleet", "--kill-loader", "--processes", "2", "--requests",
               "5", "--expiries", "1", "--load-time", "1s", "--claim-ttl", "2s"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("was killed (SIGKILL)"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("from 1 new load"), std::string::npos) << shown.out;
}

// So long that it is met while it plays. The store's server is one of its processes, if it has one.
class LongStampede : public Stampede {
 protected:
  child_process start(words options) const {
    options.insert(options.begin(),
                   {"stampede", "--mode", "fleet", "--processes", "3", "--expiries", "10000"});
    return start_lab(options, {{"TMPDIR", folder_.path().string()}});
  }
  static std::vector<std::string> processes_of(child_process& played, std::size_t count) {
    EXPECT_TRUE(eventually([&] { return children_of(played.pid()).size() == count; }))
        << played.errors();
    return children_of(played.pid());
  }
};

// B23: a command that ends leaves no process behind.
TEST_F(LongStampede, InterruptedItEndsItsProcessesAndItsServerAndRemovesItsFiles) {
  auto played = start({});
  auto const processes = processes_of(played, 4);
  played.signal(SIGINT);
  EXPECT_EQ(played.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
  expect_all_gone(processes);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(LongStampede, KilledItTakesItsProcessesAndItsServerAlong) {
  auto played = start({});
  auto const processes = processes_of(played, 4);
  played.kill();
  expect_all_gone(processes);
}

TEST_F(LongStampede, AProcessThatDiesUnexpectedlyIsReportedInOneLine) {
  auto played = start(on_a_file({}));
  auto const processes = processes_of(played, 3);
  ::kill(std::stoi(processes[1]), SIGKILL);
  EXPECT_EQ(played.wait(), (exit_status{.code = 69, .signal = {}}));
  EXPECT_EQ(lines_of(played.errors()).size(), 1u) << played.errors();
  EXPECT_NE(played.errors().find("process 2 (fleet) died"), std::string::npos) << played.errors();
  expect_all_gone(processes);
}

// --------------------------------------------------------------------------- who names no store

words short_play() {
  return {"stampede", "--mode", "fleet", "--processes", "2", "--requests", "5", "--expiries", "1"};
}

TEST_F(Stampede, WithoutAStoreItStartsAServerOfItsOwn) {
  auto const shown = run_lab(short_play());
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("the cache is in a Redis server of its own."), std::string::npos)
      << shown.out;
}

TEST_F(Stampede, WhereNoServerIsInstalledItTakesAFileAndSaysWhatThatMeans) {
  auto const shown = run_lab(short_play(), {{"PATH", "/nowhere"}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (char const* part :
       {"the cache is in a temporary SQLite file.", "No redis-server", "in steps"}) {
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  }
}

// ------------------------------------------------------- a database that does not do what it says

// Each forged fault is a trigger of the database: the scene cannot know of it.
class ForgedOrigin : public Stampede {
 protected:
  // The tables are there, and empty of this test's loads.
  std::string forge(std::string const& name, std::string const& trigger) {
    auto& database = mariadb_server::shared();
    auto const url = database.url(name);
    play({"--origin", url, "--mode", "naive", "--processes", "1", "--requests", "1", "--expiries",
          "1"});
    database.sql("CREATE TRIGGER " + name + ".forged BEFORE " + trigger);
    return url;
  }
  static words with(std::string const& url, std::string const& modes) {
    return {"--origin",   url, "--mode",     modes, "--processes", "2",
            "--requests", "3", "--expiries", "1",   "--load-time", "10ms"};
  }
};

TEST_F(ForgedOrigin, WithAnswersOfTheRevisionBeforeIsToldInEachModeAndEndsWithOne) {
  auto& redis = redis_server::shared();
  redis.flush();
  auto const url =
      forge("wrong", "UPDATE ON wrong.Product FOR EACH ROW SET NEW.revision = NEW.revision - 1");
  auto options = with(url, "naive,fleet,logical,near");
  options.insert(options.end(), {"--store", redis.url()});
  json const list = play(options, 1);
  for (char const* mode : {"naive", "fleet"}) EXPECT_EQ(mode_of(list, mode)["errors"], 6) << list;
  // Each process goes on asking for the new one, and is given the wrong one once.
  EXPECT_GE(mode_of(list, "logical")["errors"], 2) << list;
  // The requests that come once more are judged, too.
  EXPECT_EQ(mode_of(list, "near")["errors"], 12) << list;

  options = with(url, "naive");
  options.insert(options.begin(), "stampede");
  auto const shown = run_lab(options);
  EXPECT_EQ(shown.code, 1) << shown.err;
  EXPECT_NE(shown.out.find("\nBROKEN  naive: 6 without a right answer; the first: wrong answer: "
                           "revision 0 instead of 1\n"),
            std::string::npos)
      << shown.out;
}

TEST_F(ForgedOrigin, WithLoadsThatFailIsToldAndEndsWithOne) {
  auto options = with(forge("failing",
                            "INSERT ON failing.herdlock_demo_load FOR EACH ROW "
                            "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'forged'"),
                      "naive");
  options.insert(options.begin(), "stampede");
  auto const shown = run_lab(options);
  EXPECT_EQ(shown.code, 1) << shown.err;
  EXPECT_NE(shown.out.find("BROKEN  naive: 6 without a right answer; the first: origin "),
            std::string::npos)
      << shown.out;
  EXPECT_NE(shown.out.find("forged"), std::string::npos) << shown.out;
}

}  // namespace
