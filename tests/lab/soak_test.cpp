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

TEST(SoakJudge, SaysEachFault) {
  struct fault {
    void (*forge)(soak_board& board);
    std::string sentence;
  };
  for (auto const& [forge, sentence] : std::vector<fault>{
           {[](auto& board) { pass_on(board, 2); }, ""},
           {[](auto& board) {
              board.things[2].enter(1);
              board.things[2].enter(2);
            },
            "two were inside at once, 1 times"},
           {[](auto& board) { ++board.done; }, "1 increments were lost"},
           {[](auto& board) { pass_on(board, 1); }, "a fencing token did not rise, 1 times"},
           {[](auto& board) { ++board.lost_wake_ups; },
            "1 waits ended at their limit although the lock was passed on"},
           {[](auto& board) { ++board.lost_leases; }, "1 leases were lost before their release"},
           {[](auto& board) { ++board.failures; }, "the store failed 1 times"}}) {
    soak_board board;
    pass_on(board, 1);
    forge(board);
    EXPECT_EQ(broken_of([&](auto& by) { judge_soak(board, by); }), sentence);
  }
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
