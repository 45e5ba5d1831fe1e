// `herdlock bench soak`: that it runs, and that its judge is not asleep.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>

#include "scenes/soak_judge.hpp"
#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using herdlock::cli::soak_judge;
using nlohmann::json;

void expect_clean(json const& figures, int hand_overs) {
  EXPECT_EQ(figures["hand_overs"], hand_overs) << figures;
  for (char const* what : {"overlaps", "lost_increments", "fencing_steps_back", "lost_wake_ups",
                           "lost_leases", "failures"}) {
    EXPECT_EQ(figures[what], 0) << figures;
  }
}

TEST(Soak, PassesTheLockAroundOnRedisAndOnTheEmbeddedDefault) {
  for (std::string const& url : {redis_server::shared().url(), std::string()}) {
    auto const run = run_herdlock({"bench", "soak", "--json", "--hand-overs", "400", "--processes",
                                   "3", "--threads", "3", "--resources", "2"},
                                  {{"HERDLOCK_STORE", url}});
    ASSERT_EQ(run.code, 0) << run.err << run.out;
    expect_clean(json::parse(run.out), 400);
  }
}

TEST(Soak, AStoreWithoutFencingTokensIsJudgedByTheRest) {
  auto const run =
      run_herdlock({"bench", "soak", "--json", "--hand-overs", "50", "--processes", "2"},
                   {{"HERDLOCK_STORE", redis_server::shared().url() + "?dialect=plain"}});
  ASSERT_EQ(run.code, 0) << run.err << run.out;
  expect_clean(json::parse(run.out), 50);
}

TEST(Soak, WithoutAServerItSaysSo) {
  auto const run = run_herdlock({"bench", "soak", "--hand-overs", "10"},
                                {{"HERDLOCK_STORE", "redis://127.0.0.1:1?timeout=100ms"}});
  EXPECT_EQ(run.code, 69);
  EXPECT_NE(run.err.find("127.0.0.1:1"), std::string::npos) << run.err;
}

TEST(Soak, BadNumbersAndAStoreOfOneProcessAreRefused) {
  EXPECT_EQ(run_herdlock({"bench", "soak", "--threads", "0"}).code, 64);
  EXPECT_EQ(run_herdlock({"bench", "soak", "--resources", "65"}).code, 64);
  EXPECT_EQ(run_herdlock({"bench", "soak", "--store", "memory:"}).code, 64);
}

TEST(Soak, TheJudgeSeesTwoInsideATokenThatFallsAndAStall) {
  soak_judge judge;
  judge.guarded_work(0, 5);
  EXPECT_EQ(judge.overlaps, 0);
  EXPECT_EQ(judge.fencing_steps_back, 0);
  judge.guarded_work(0, 5);
  EXPECT_EQ(judge.fencing_steps_back, 1);
  EXPECT_EQ(judge.guarded_increments(), 2);
  judge.enter(2, 1);
  judge.enter(2, 2);
  EXPECT_EQ(judge.overlaps, 1);
  judge.note_release(1, 1'000'000);
  judge.note_grant(1, 1'500'000, 900'000);
  EXPECT_EQ(judge.stalls, 0);
  judge.note_grant(1, 2'500'000, 900'000);
  EXPECT_EQ(judge.stalls, 1);
  EXPECT_EQ(judge.longest_wait_us, 1'600'000);
}

}  // namespace
