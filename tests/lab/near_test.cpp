// `herdlock-lab near`: who sees a change when, and that nobody serves an old value for too long.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>

#include "e2e/process_tree.hpp"
#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

// A machine with other work may let a server wait for longer than the usual two seconds.
std::string patient_url(redis_server const& server) { return server.url() + "?timeout=10s"; }

// Four processes, two of which are cut off for longer than they trust what they keep.
words short_play(words more) {
  words all{"near",
            "--processes",
            "4",
            "--time",
            "3s",
            "--every",
            "100ms",
            "--freeze",
            "1500ms",
            "--store",
            patient_url(redis_server::shared())};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

// As its line has it.
std::string figure_of(std::string const& text, std::string const& name) {
  for (auto const& line : lines_of(text)) {
    if (line.rfind(name + "  ", 0) == 0) return line.substr(line.rfind(' ') + 1);
  }
  return "none";
}

void expect_served_everywhere(json const& change) {
  EXPECT_EQ(change["served_after_ms"].size(), 4u) << change;
  for (auto const& after : change["served_after_ms"]) EXPECT_TRUE(after.is_number()) << change;
  for (auto const& reader : change["frozen"]) EXPECT_GE(reader, 3) << "the last two: " << change;
}

TEST(LabNear, NoProcessServesAnOldValueForLongerThanPromisedNorBehindAFence) {
  auto& server = redis_server::shared();
  server.flush();
  auto const run = run_lab(short_play({"--json", "--max-staleness", "300ms"}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  json const seen = json::parse(run.out);
  EXPECT_EQ(seen["broken"], json::array()) << run.out;
  EXPECT_EQ(seen["unseen"], 0);
  EXPECT_EQ(seen["stale_behind_fence"], 0);
  EXPECT_GT(seen["fenced_reads"], 0);
  EXPECT_LE(seen["frozen"]["old_for_ms"], 300);
  // The first change behind the freeze comes when it is over: 1.5 s less the time until it came.
  EXPECT_GT(seen["frozen"]["served_after_ms"], 300);
  EXPECT_GT(seen["near_hits"].get<double>(), 0.9 * seen["reads"].get<double>()) << run.out;
  EXPECT_GE(seen["changes"].size(), 4u);
  bool frozen = false;
  for (auto const& change : seen["changes"]) {
    expect_served_everywhere(change);
    frozen = frozen || !change["frozen"].empty();
  }
  EXPECT_TRUE(frozen) << run.out;
  EXPECT_FALSE(has(server.command({"KEYS", "*"}), "herdlock-lab:")) << "it takes the value away";
}

TEST(LabNear, ThePictureTellsWhoServesTheOldValueAndWhoWaits) {
  auto const run = run_lab(short_play({"--max-staleness", "700ms"}));
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_EQ(run.err, "") << "no progress without a terminal";
  for (char const* part : {"4 processes", " change ", "connections of processes 3 to 4 stand still",
                           "    old", "  waits", "connections of processes 3 to 4 go on",
                           "connection good", "connection frozen", "near hits"}) {
    EXPECT_TRUE(has(run.out, part)) << part << "\n" << run.out;
  }
  EXPECT_EQ(figure_of(run.out, "stale behind fence"), "0");
  EXPECT_FALSE(has(run.out, "BROKEN")) << run.out;
}

TEST(LabNear, WithoutAFreezeEveryConnectionIsGood) {
  auto const run =
      run_lab({"near", "--json", "--processes", "1", "--time", "1s", "--every", "100ms", "--freeze",
               "0", "--store", patient_url(redis_server::shared())});
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  json const seen = json::parse(run.out);
  EXPECT_EQ(seen["frozen_processes"], 0);
  ASSERT_FALSE(seen["changes"].empty()) << run.out;
  for (auto const& change : seen["changes"]) EXPECT_TRUE(change["frozen"].empty()) << change;
}

// What is not given fits it.
TEST(LabNear, TheShortestTimeNeedsNothingElse) {
  auto const run = run_lab({"near", "--json", "--processes", "2", "--time", "1s", "--store",
                            patient_url(redis_server::shared())});
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_EQ(json::parse(run.out)["freeze_ms"], 250);
}

// The timeout of a store ends a write, and not the scene.
TEST(LabNear, AWriteThatIsNotAnsweredInTimeIsDoneAgain) {
  redis_server server;
  auto near = start_lab({"near", "--time", "6s", "--processes", "1", "--freeze", "0", "--store",
                         server.url() + "?timeout=3s"});
  ASSERT_TRUE(eventually([&] { return has(near.output(), " change "); })) << near.errors();
  server.command({"CLIENT", "PAUSE", "4500", "WRITE"});
  EXPECT_EQ(near.wait(), (exit_status{.code = 0, .signal = {}})) << near.errors();
  EXPECT_GE(std::stoi(figure_of(near.output(), "failed writes")), 1) << near.output();
  EXPECT_FALSE(has(near.output(), "BROKEN")) << near.output();
}

TEST(LabNear, AValueThatSomebodyRemovesIsNoAnswer) {
  redis_server server;
  auto near = start_lab({"near", "--time", "3s", "--processes", "1", "--every", "100ms", "--freeze",
                         "0", "--store", patient_url(server)});
  ASSERT_TRUE(eventually([&] { return has(near.output(), " change "); })) << near.errors();
  auto const is_told = [&] { return lines_of(near.output()).size() >= 9; };
  EXPECT_TRUE(eventually([&] {
    auto const key = lines_of(server.command({"KEYS", "herdlock-lab:*:near"}));
    if (!key.empty()) server.command({"DEL", key[0]});
    return is_told();
  })) << near.output();
  EXPECT_EQ(near.wait(), (exit_status{.code = 0, .signal = {}})) << near.errors();
  EXPECT_GE(std::stoi(figure_of(near.output(), "gone")), 1) << near.output();
}

// A shell's pipeline waits for all that is in it.
exit_status end_of(std::string const& pipeline) {
  child_process shell({.argv = {"bash", "-c", "set -o pipefail; " + pipeline, HERDLOCK_LAB,
                                patient_url(redis_server::shared())}});
  return shell.wait().value_or(exit_status{});
}

TEST(LabNear, ItEndsWhenNobodyTakesWhatItWrites) {
  exit_status const unwritten{.code = 70, .signal = {}};
  EXPECT_EQ(end_of("\"$0\" near --time 2m --processes 1 --store \"$1\" | head -n 3"), unwritten);
  EXPECT_EQ(end_of("\"$0\" near --time 2m --processes 1 --store \"$1\" > /dev/full"), unwritten);
  EXPECT_EQ(end_of("\"$0\" near --json --time 1s --processes 1 --store \"$1\" > /dev/full"),
            unwritten);
}

void expect_refused(words const& arguments, std::string const& why) {
  words all{"near"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  auto const run = run_lab(all);
  EXPECT_EQ(run.code, 64) << run.err;
  EXPECT_TRUE(has(run.err, why)) << run.err;
}

TEST(LabNear, WhatItCannotDoIsRefusedWithTheWayOut) {
  auto const way_out = "use --store redis://HOST:PORT";
  expect_refused({}, way_out);
  for (char const* url : {"sqlite:near.db", "memory:", "redis+cluster://127.0.0.1:7000",
                          "rediss://127.0.0.1:7000", "redis+unix:/nowhere/redis.sock"}) {
    expect_refused({"--store", url}, way_out);
  }
  std::string const store = "redis://:secret@127.0.0.1:1";
  expect_refused({"--store", store, "--freeze", "6s"}, "--freeze 6s: must be between 0ms and 5s");
  expect_refused({"--store", store, "--time", "5500ms", "--freeze", "2800ms"},
                 "must be between 0ms and 2750ms");
  expect_refused({"--store", store, "--frozen", "9"}, "--frozen 9: must be between 0 and 8");
  expect_refused({"--store", store, "--processes", "65"}, "--processes 65");
  expect_refused({"--store", store, "--every", "1ms"}, "--every 1ms");
  expect_refused({"--store", store, "--time", "1h"}, "--time 1h");
  expect_refused({"--store", "redis://cache.example"}, "getent hosts cache.example");
}

TEST(LabNear, AServerThatIsNotThereIsNamedWithoutItsPassword) {
  auto const run = run_lab({"near", "--store", "redis://:secret@127.0.0.1:1"});
  EXPECT_EQ(run.code, 69) << run.err;
  EXPECT_TRUE(has(run.err, "127.0.0.1:1")) << run.err;
  EXPECT_FALSE(has(run.err, "secret")) << run.err;
}

// The reader knows the server by a port of the scene's relay, the user does not.
TEST(LabNear, AServerThatMayNotPushIsNamedWithTheRightThatIsMissing) {
  redis_server const server({.users = {"app on >pw ~* &* +@all -client|tracking -client|caching"}});
  auto const name = "127.0.0.1:" + std::to_string(server.port());
  auto const run = run_lab({"near", "--processes", "1", "--store", "redis://app:pw@" + name});
  EXPECT_EQ(run.code, 64) << run.err << run.out;
  EXPECT_TRUE(has(run.err, "+client|tracking")) << run.err;
  EXPECT_TRUE(has(run.err, name)) << run.err;
}

TEST(LabNear, InterruptedItEndsItsProcesses) {
  auto near = start_lab(
      {"near", "--time", "2m", "--processes", "2", "--store", patient_url(redis_server::shared())});
  ASSERT_TRUE(eventually([&] { return has(near.output(), " change "); })) << near.errors();
  auto const workers = children_of(near.pid());
  EXPECT_EQ(workers.size(), 4u) << "two are relays, two read";
  near.signal(SIGINT);
  EXPECT_EQ(near.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
  expect_all_gone(workers);
}

TEST(LabNear, AProcessThatDiesEndsItWithOneLine) {
  auto near = start_lab(
      {"near", "--time", "2m", "--processes", "2", "--store", patient_url(redis_server::shared())});
  ASSERT_TRUE(eventually([&] { return has(near.output(), " change "); })) << near.errors();
  auto const workers = children_of(near.pid());
  ASSERT_EQ(workers.size(), 4u);
  ::kill(std::stoi(workers[3]), SIGKILL);
  EXPECT_EQ(near.wait(), (exit_status{.code = 69, .signal = {}}));
  EXPECT_EQ(lines_of(near.errors()).size(), 1u) << near.errors();
  EXPECT_TRUE(has(near.errors(), "process 2 died by itself")) << near.errors();
  expect_all_gone(workers);
}

}  // namespace
