// `herdlock-lab stampede --mode`: what is played where, and what is particular to hash and near.
#include <signal.h>

#include <support/redis_server.hpp>

#include "stampede_play.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

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
  json const list = play_stampede({"--mode", "near", "--store", redis.url(), "--processes", "3",
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
  json const list = play_stampede({"--mode", "all", "--store", redis.url(), "--processes", "1",
                                   "--requests", "5", "--expiries", "1", "--load-time", "10ms"});
  EXPECT_EQ(mode_of(list, "near")["loads"], 1) << list;
}

TEST_F(Stampede, AllPlaysEveryModeInTheOrderOfTheHelp) {
  json const list = play_stampede(on_a_file({"--mode", "all", "--processes", "2", "--requests", "5",
                                             "--expiries", "1", "--load-time", "10ms"}));
  words names;
  for (json const& each : list) names.push_back(each["mode"]);
  EXPECT_EQ(names, (words{"naive", "process", "fleet", "early", "logical", "double-lock", "hash"}));
}

}  // namespace
