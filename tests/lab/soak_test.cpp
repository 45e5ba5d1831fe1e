// `herdlock-lab soak`: that it runs, and that its judge is not asleep.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/soak_judge.hpp"

namespace {

using namespace herdlock_test;
using herdlock::lab::soak_board;
using nlohmann::json;

void expect_clean(json const& figures, int hand_overs) {
  EXPECT_EQ(figures["hand_overs"], hand_overs) << figures;
  for (char const* what : {"overlaps", "lost_increments", "fencing_steps_back", "lost_wake_ups",
                           "lost_leases", "failures"}) {
    EXPECT_EQ(figures[what], 0) << figures;
  }
  EXPECT_GT(figures["per_second"].get<double>(), 0) << figures;
  EXPECT_GT(figures["longest_wait_ms"].get<double>(), 0) << figures;
  EXPECT_TRUE(figures.contains("stalls_over_1s")) << figures;
}

TEST(Soak, PassesTheLockAroundOnRedisAndOnTheEmbeddedDefault) {
  for (std::string const& url : {redis_server::shared().url(), std::string()}) {
    expect_clean(json_of_lab({"soak", "--hand-overs", "400", "--processes", "3", "--threads", "3",
                              "--resources", "2"},
                             0, {{"HERDLOCK_STORE", url}}),
                 400);
  }
}

TEST(Soak, AStoreWithoutFencingTokensIsJudgedByTheRest) {
  auto const url = redis_server::shared().url() + "?dialect=plain";
  expect_clean(
      json_of_lab({"soak", "--hand-overs", "50", "--processes", "2"}, 0, {{"HERDLOCK_STORE", url}}),
      50);
}

TEST(Soak, WithoutAServerItSaysSo) {
  auto const run = run_lab({"soak", "--hand-overs", "10"},
                           {{"HERDLOCK_STORE", "redis://127.0.0.1:1?timeout=100ms"}});
  EXPECT_EQ(run.code, 69);
  EXPECT_NE(run.err.find("127.0.0.1:1"), std::string::npos) << run.err;
}

TEST(Soak, BadNumbersAndAStoreOfOneProcessAreRefused) {
  EXPECT_EQ(run_lab({"soak", "--threads", "0"}).code, 64);
  EXPECT_EQ(run_lab({"soak", "--resources", "65"}).code, 64);
  EXPECT_EQ(run_lab({"soak", "--store", "memory:"}).code, 64);
}

// One hand-over that is done as it should be.
void pass_on(soak_board& board, std::uint64_t token) {
  auto const spot = board.things[0].enter(token);
  board.things[0].increment();
  board.things[0].leave(spot);
  ++board.done;
}

class SoakJudge : public testing::Test {
 protected:
  SoakJudge() { pass_on(board_, 1); }
  std::string broken() const {
    return broken_of([this](auto& by) { judge_soak(board_, by); });
  }

  soak_board board_;
};

TEST_F(SoakJudge, NothingIsBroken) {
  pass_on(board_, 2);
  EXPECT_EQ(broken(), "");
}

TEST_F(SoakJudge, TwoInsideAtOnce) {
  board_.things[2].enter(1);
  board_.things[2].enter(2);
  EXPECT_EQ(broken(), "two were inside at once, 1 times");
}

TEST_F(SoakJudge, ALostIncrement) {
  ++board_.done;
  EXPECT_EQ(broken(), "1 increments were lost");
}

TEST_F(SoakJudge, ATokenThatDidNotRise) {
  pass_on(board_, 1);
  EXPECT_EQ(broken(), "a fencing token did not rise, 1 times");
}

TEST_F(SoakJudge, AWaitThatNobodyEnded) {
  ++board_.lost_wake_ups;
  EXPECT_EQ(broken(), "1 waits ended at their limit although the lock was passed on");
}

TEST_F(SoakJudge, ALeaseLostBeforeItsRelease) {
  ++board_.lost_leases;
  EXPECT_EQ(broken(), "1 leases were lost before their release");
}

TEST_F(SoakJudge, AFailureOfTheStore) {
  ++board_.failures;
  EXPECT_EQ(broken(), "the store failed 1 times");
}

TEST(SoakBoard, AStallIsCountedFromTheLaterOfReleaseAndAsking) {
  constexpr std::int64_t ms = 1'000'000;
  soak_board board;
  board.note_release(1, 1'000 * ms);
  board.note_grant(1, 1'500 * ms, 900 * ms);
  EXPECT_EQ(board.stalls, 0);
  board.note_grant(1, 2'500 * ms, 900 * ms);
  EXPECT_EQ(board.stalls, 1);
  EXPECT_EQ(board.longest_wait_ns, 1'600 * ms);
  board.note_grant(1, 9'500 * ms, 9'000 * ms);
  EXPECT_EQ(board.stalls, 1) << "it lay free, and nobody asked";
}

TEST(SoakBoard, TurnsAreUsedUp) {
  soak_board board;
  board.turns_left = 2;
  EXPECT_TRUE(board.take_turn());
  EXPECT_TRUE(board.take_turn());
  EXPECT_FALSE(board.take_turn());
}

}  // namespace
