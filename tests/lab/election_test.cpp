// `herdlock-lab election`: it ends by itself, and tells who took over from whom.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <support/free_port.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "lab_command.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;

std::vector<json> events_of(command_result const& run) {
  std::vector<json> all;
  for (auto const& line : lines_of(run.out)) all.push_back(json::parse(line));
  return all;
}

TEST(LabElection, EachWayOfStoppingALeaderHasASuccessor) {
  auto const run = run_lab({"election", "--json", "--ttl", "2s"});
  ASSERT_EQ(run.code, 0) << run.err;
  std::vector<std::string> stops;
  std::vector<std::string> told;
  std::uint64_t term = 0;
  int renewals = 0;
  for (auto const& event : events_of(run)) {
    if (event["event"] == "taken_over") {
      stops.push_back(event["stop"]);
      EXPECT_NE(event["from"], event["to"]) << event;
      EXPECT_GT(event["took_ms"], 0) << event;
    }
    if (event["event"] == "stop" || event["event"] == "continue") told.push_back(event["event"]);
    if (event["event"] == "renews") ++renewals;
    if (event["event"] != "leads") continue;
    EXPECT_GT(event["term"], term) << "each term has a number greater than all before";
    term = event["term"];
  }
  EXPECT_EQ(stops, (std::vector<std::string>{"graceful", "freeze", "kill"}));
  EXPECT_EQ(told, (std::vector<std::string>{"stop", "stop", "continue", "stop"}));
  EXPECT_GE(renewals, 4);
}

// Nothing is left behind: who waits goes, and the term is given back.
TEST(LabElection, RunsOnAServerAndLeavesNothing) {
  auto& server = redis_server::shared();
  server.flush();
  auto const run = run_lab({"election", "--stop", "graceful", "--workers", "2", "--ttl", "2s"},
                           {{"HERDLOCK_STORE", server.url()}});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("graceful: worker 2 took over from worker 1"), std::string::npos)
      << run.out;
  // The lease is at the resource's own key; the counter of its terms may stay.
  auto const leases = server.command({"KEYS", "herdlock-lab:*"});
  EXPECT_EQ(leases.find("herdlock-lab:"), std::string::npos) << leases;
}

// As behind `herdlock-lab election | head -1`.
TEST(LabElection, AReaderThatGoesLeavesNoTemporaryFolder) {
  temp_dir scratch;
  std::string const piped = "setsid \"$0\" election --stop graceful --ttl 2s | true";
  child_process shell({.argv = {"sh", "-c", piped, HERDLOCK_LAB},
                       .env = {{"HERDLOCK_STORE", ""}, {"TMPDIR", scratch.path().string()}}});
  ASSERT_TRUE(shell.wait(std::chrono::minutes(2)));
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(LabElection, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(run_lab({"election", "--workers", "1"}).code, 64);
  EXPECT_EQ(run_lab({"election", "--workers", "17"}).code, 64);
  EXPECT_EQ(run_lab({"election", "--stop", "softly"}).code, 64);
  EXPECT_EQ(run_lab({"election", "--ttl", "1h"}).code, 64);
  EXPECT_EQ(run_lab({"election", "--store", "memory:"}).code, 64);
  EXPECT_EQ(run_lab({"election", "--store", "nonsense:"}).code, 64);
}

TEST(LabElection, AStoreThatCannotBeReachedEndsItInOneLine) {
  auto const address = "127.0.0.1:" + std::to_string(dead_port());
  auto const run = run_lab({"election", "--store", "redis://:secret@" + address});
  EXPECT_EQ(run.code, 69);
  EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
  EXPECT_NE(run.err.find(address), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("secret"), std::string::npos) << run.err;
  EXPECT_EQ(run.out, "");
}

TEST(LabElection, AStoreThatGoesAwayEndsItInOneLine) {
  redis_server server;
  auto lab = start_lab({"election", "--ttl", "2s", "--store", server.url()});
  ASSERT_TRUE(eventually([&] { return lab.output().find("WORKS") != std::string::npos; }))
      << lab.errors();
  server.kill();
  auto const run = result_of(std::move(lab));
  EXPECT_EQ(run.code, 69);
  EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
  EXPECT_NE(run.out.find("trouble"), std::string::npos) << run.out;
}

}  // namespace
