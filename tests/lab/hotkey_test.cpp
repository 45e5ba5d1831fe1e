// `herdlock-lab hotkey`: a key that all ask for at once is found, kept and called cooled, and the
// store has nearly nothing of it.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "e2e/process_tree.hpp"
#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

bool tells(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

// Little enough for a machine with other work.
words short_hotkey(words more, char const* time = "2s") {
  words all{"hotkey", "--processes", "3",   "--rate", "1500", "--threshold",
            "250",    "--keys",      "200", "--time", time};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string slow_url(redis_server const& server) { return server.url() + "?timeout=10s"; }

std::int64_t of(json const& run, char const* what) { return run["key"][what].get<std::int64_t>(); }

TEST(LabHotkey, OverRedisTheKeyIsFoundKeptAndCooledAndTheStoreHasNearlyNothingOfIt) {
  redis_server const server;
  auto const run = run_lab(short_hotkey({"--json", "--store", slow_url(server)}, "3s"));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  json const seen = json::parse(run.out);
  EXPECT_EQ(seen["broken"], json::array());
  EXPECT_EQ(seen["can_keep"], true);
  ASSERT_EQ(seen["runs"].size(), 2u);
  json const& without = seen["runs"][0];
  json const& with = seen["runs"][1];
  for (char const* moment : {"found", "kept", "cooled"}) {
    EXPECT_EQ(without[moment]["processes"], 0) << moment;
    EXPECT_EQ(with[moment]["processes"], 3) << moment;
    EXPECT_LE(with[moment]["first_ms"], with[moment]["last_ms"]) << moment;
  }
  EXPECT_GE(with["found"]["first_ms"], seen["load_from_ms"]) << "it was hot before anybody asked";
  EXPECT_GE(with["cooled"]["first_ms"], seen["load_to_ms"]) << "it cooled while all asked";
  EXPECT_GT(of(without, "calls"), 0);
  EXPECT_EQ(of(without, "asked"), of(without, "calls")) << "each call asks the store";
  EXPECT_GT(of(with, "asked"), 0) << "the first ones do";
  EXPECT_LT(of(with, "asked"), of(with, "calls") / 2);
  EXPECT_GE(server.calls("get"), of(without, "asked") + of(with, "asked")) << "as Redis counts";
  EXPECT_GT(with["reports"], 0);
  EXPECT_GT(with["others_before"]["calls"], 0);
  EXPECT_EQ(without["others_when_kept"], nullptr);
  for (char const* kind : {"product:", "offer:"}) {
    EXPECT_FALSE(tells(server.command({"KEYS", "*"}), kind)) << "it takes the entries away";
  }
}

TEST(LabHotkey, TheTimelineAddsUpToTheFigures) {
  auto const run = run_lab(short_hotkey({"--json", "--store", slow_url(redis_server::shared())}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  for (json const& one : json::parse(run.out)["runs"]) {
    std::int64_t calls = 0;
    std::int64_t asked = 0;
    for (json const& slice : one["timeline"]) {
      calls += slice["calls"].get<std::int64_t>();
      asked += slice["asked"].get<std::int64_t>();
      bool const is_quiet = slice["at_ms"] < 400;
      EXPECT_TRUE(!is_quiet || slice["calls"] == 0) << "nobody asks before " << slice;
    }
    EXPECT_EQ(one["timeline"].size(), 100u);
    EXPECT_EQ(of(one, "calls"), calls);
    EXPECT_EQ(of(one, "asked"), asked);
    EXPECT_EQ(of(one, "failed"), 0);
  }
}

TEST(LabHotkey, TheTableAndThePictureShowBothRunsAndWhatCameWhen) {
  temp_dir const folder;
  auto const picture = (folder.path() / "hotkey.svg").string();
  auto const run =
      run_lab(short_hotkey({"--plot", picture, "--store", slow_url(redis_server::shared())}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_EQ(run.err, "") << "no progress without a terminal";
  for (char const* part : {"3 processes", "1,500 times a second", "without hot keys",
                           "with hot keys", "to store", "p99", "found ", "kept ", "cooled ",
                           "in 3 of 3 processes, in the first after", "to the store", "reports",
                           "1.6 s", "without hot keys the store had the requests for the key, too",
                           "until all kept it (", "ms from then on"}) {
    EXPECT_TRUE(tells(run.out, part)) << part << "\n" << run.out;
  }
  EXPECT_FALSE(tells(run.out, "BROKEN")) << run.out;
  std::string const svg = content(picture);
  for (char const* part :
       {"<svg", "without hot keys", "with hot keys", ">found +", ">kept in the first process +",
        ">kept in all +", ">cooled +", ">cooled in all +", "127.0.0.1", "until all kept it (",
        "ms from then on", "</svg>"}) {
    EXPECT_TRUE(tells(svg, part)) << part;
  }
}

// Over the grey area and the lines nobody can read them.
TEST(LabHotkey, WordsInThePictureStandBelowTheFigure) {
  temp_dir const folder;
  auto const picture = (folder.path() / "hotkey.svg").string();
  auto const run =
      run_lab(short_hotkey({"--plot", picture, "--store", slow_url(redis_server::shared())}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  std::string const svg = content(picture);
  auto const each = [&](char const* pattern, auto const& take) {
    std::regex const what(pattern);
    for (std::sregex_iterator at(svg.begin(), svg.end(), what), end; at != end; ++at) take(*at);
  };
  double bottom = 0;
  each("<rect x=\"[^\"]*\" y=\"([^\"]*)\" width=\"[^\"]*\" height=\"([^\"]*)\"[^>]*\"panel\"",
       [&](std::smatch const& field) {
         bottom = std::max(bottom, std::stod(field[1]) + std::stod(field[2]));
       });
  EXPECT_GT(bottom, 0);
  int events = 0;
  each("<text x=\"[^\"]*\" y=\"([^\"]*)\" class=\"event\"", [&](std::smatch const& one) {
    ++events;
    EXPECT_GT(std::stod(one[1]), bottom);
  });
  EXPECT_EQ(events, 5);
}

// SQLite tells nobody of changes.
TEST(LabHotkey, OnTheEmbeddedDefaultTheKeyIsFoundAndNotKeptAndItSaysWhy) {
  auto const run = run_lab(short_hotkey({}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  for (char const* part : {"a temporary SQLite file", "in 3 of 3 processes, in the first after",
                           "kept           nowhere", "pushes no changes", "redis://HOST:PORT"}) {
    EXPECT_TRUE(tells(run.out, part)) << part << "\n" << run.out;
  }
  EXPECT_FALSE(tells(run.out, "once all kept it")) << run.out;
}

TEST(LabHotkey, OnSqliteEachCallAsksTheStoreInBothRuns) {
  temp_dir const folder;
  auto const file = folder.path() / "hotkey.db";
  auto const run = run_lab(short_hotkey({"--json", "--store", "sqlite:" + file.string()}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  json const seen = json::parse(run.out);
  EXPECT_EQ(seen["can_keep"], false);
  for (json const& one : seen["runs"]) {
    EXPECT_EQ(of(one, "asked"), of(one, "calls"));
    EXPECT_EQ(one["kept"]["processes"], 0);
    EXPECT_EQ(one["asked_a_second_when_kept"], nullptr);
  }
  EXPECT_EQ(seen["runs"][1]["found"]["processes"], 3);
  EXPECT_EQ(seen["runs"][1]["cooled"]["processes"], 3);
}

void expect_hotkey_refused(words const& arguments, std::string const& why) {
  words all{"hotkey"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto const run = run_lab(all);
  EXPECT_EQ(run.code, 64) << run.err << run.out;
  EXPECT_TRUE(tells(run.err, why)) << why << "\n" << run.err;
}

TEST(LabHotkey, WhatItCannotDoIsRefusedWithTheWayOut) {
  expect_hotkey_refused({"--processes", "33"}, "--processes 33: must be between 1 and 32");
  expect_hotkey_refused({"--time", "1s"}, "--time 1s: must be between 2s and 2m");
  expect_hotkey_refused({"--keys", "0"}, "--keys 0");
  expect_hotkey_refused({"--rate", "5000"}, "no process would call the key hot; use --rate 15000");
  expect_hotkey_refused({"--rate", "600", "--threshold", "10", "--time", "2s"},
                        "too few requests for --processes 10 in --time 2s; use --rate");
  expect_hotkey_refused({"--rate", "50000", "--threshold", "10", "--time", "2s"},
                        "--threshold 10: too small for --time 2s; use 214 or more");
  expect_hotkey_refused({"--processes", "20"}, "use --rate 30000 or more for --processes 20");
  expect_hotkey_refused({"--store", "memory:"}, "memory: lives in one process");
  expect_hotkey_refused({"--plot", "nowhere/out.svg"}, "--plot nowhere/out.svg");
  expect_hotkey_refused({"--store", "nothing://here"}, "nothing");
  std::string const locks_alone = "redis://127.0.0.1:1?dialect=plain";
  expect_hotkey_refused({"--store", locks_alone}, "127.0.0.1:1");
}

TEST(LabHotkey, AServerThatIsNotThereIsNamedWithoutItsPassword) {
  auto const run = run_lab({"hotkey", "--store", "redis://:secret@127.0.0.1:1"});
  EXPECT_EQ(run.code, 69) << run.err;
  EXPECT_TRUE(tells(run.err, "127.0.0.1:1")) << run.err;
  EXPECT_FALSE(tells(run.err, "secret")) << run.err;
}

TEST(LabHotkey, AServerThatMayNotPushIsNamedWithTheRightThatIsMissing) {
  redis_server const server({.users = {"app on >pw ~* &* +@all -client|tracking -client|caching"}});
  auto const name = "127.0.0.1:" + std::to_string(server.port());
  auto const run = run_lab(short_hotkey({"--store", "redis://app:pw@" + name}));
  EXPECT_EQ(run.code, 64) << run.err << run.out;
  EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
  EXPECT_TRUE(tells(run.err, "+client|tracking")) << run.err;
  EXPECT_TRUE(tells(run.err, name)) << run.err;
}

TEST(LabHotkey, ItEndsWhenNobodyTakesWhatItWrites) {
  child_process shell({.argv = {"bash", "-c",
                                "\"$0\" hotkey --processes 1 --rate 1000 --threshold 250 "
                                "--keys 10 --time 2s > /dev/full",
                                HERDLOCK_LAB}});
  EXPECT_EQ(shell.wait(), (exit_status{.code = 70, .signal = {}}));
}

// Its processes, once it has started them all.
words started_by(child_process& demo) {
  words workers;
  EXPECT_TRUE(eventually([&] {
    workers = children_of(demo.pid());
    return workers.size() == 2;
  })) << demo.errors();
  return workers;
}

words long_hotkey() {
  return {"hotkey",
          "--processes",
          "2",
          "--rate",
          "1000",
          "--threshold",
          "200",
          "--keys",
          "10",
          "--time",
          "2m",
          "--store",
          slow_url(redis_server::shared())};
}

TEST(LabHotkey, InterruptedItEndsItsProcesses) {
  auto demo = start_lab(long_hotkey());
  auto const workers = started_by(demo);
  demo.signal(SIGINT);
  EXPECT_EQ(demo.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
  expect_all_gone(workers);
}

TEST(LabHotkey, AProcessThatDiesEndsItWithOneLine) {
  auto demo = start_lab(long_hotkey());
  auto const workers = started_by(demo);
  ASSERT_EQ(workers.size(), 2u);
  ::kill(std::stoi(workers[1]), SIGKILL);
  EXPECT_EQ(demo.wait(), (exit_status{.code = 69, .signal = {}}));
  EXPECT_EQ(lines_of(demo.errors()).size(), 1u) << demo.errors();
  EXPECT_TRUE(tells(demo.errors(), "process 2 died by itself")) << demo.errors();
  expect_all_gone(workers);
}

}  // namespace
