// The figures of `herdlock-lab hotkey`: what they count, and what they call broken.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "scenes/hotkey.hpp"

namespace {

using namespace herdlock::lab;
using herdlock_test::broken_of;

constexpr std::int64_t of_a_ms = 1'000'000;

using calls_of = hotkey_process::calls hotkey_process::*;
constexpr calls_of key = &hotkey_process::key;
constexpr calls_of others = &hotkey_process::others;

// Two processes, slices of 10 ms: the key is asked for from 200 ms to 600 ms.
class HotkeyFigures : public ::testing::Test {
 protected:
  HotkeyFigures() { board_.now->began_ns = 1000 * of_a_ms; }

  static std::int64_t at(std::int64_t since_ms) { return (1000 + since_ms) * of_a_ms; }
  call_record* record(std::size_t process, calls_of kind, std::int64_t since_ms) {
    return board_.in_slice(board_.processes[process].*kind, at(since_ms));
  }
  void call(std::size_t process, std::int64_t since_ms, std::int64_t took_ns, unsigned asked = 1,
            calls_of kind = key) {
    auto* const into = record(process, kind, since_ms);
    ASSERT_NE(into, nullptr);
    into->took.note(took_ns);
    into->asked += asked;
  }
  void all_goes_well() {
    for (std::size_t n = 0; n < 2; ++n) {
      auto const later = static_cast<std::int64_t>(n) * 10;
      board_.processes[n].found_ns = at(230 + later);
      board_.processes[n].kept_ns = at(240 + later);
      board_.processes[n].cooled_ns = at(900 + later);
    }
  }
  std::string broken() const {
    return broken_of([&](judge& by) { judge_hotkey(hotkey_figures(board_), by); });
  }

  hotkey_terms how_{.processes = 2, .time = herdlock::milliseconds(1000), .can_keep = true};
  hotkey_board board_{how_, true};
};
using HotkeyJudge = HotkeyFigures;

TEST_F(HotkeyFigures, CallsAreInTheSliceInWhichTheyBegan) {
  EXPECT_EQ(record(0, key, -1), nullptr);
  EXPECT_EQ(record(0, key, 1000), nullptr);
  call(0, 299, of_a_ms);
  call(1, 300, of_a_ms, 0);
  EXPECT_EQ(sum(board_, 29, 30).key.took.count(), 1u);
  EXPECT_EQ(sum(board_, 29, 31).key.took.count(), 2u);
  EXPECT_EQ(sum(board_, 29, 31).key.asked, 1u);
  EXPECT_EQ(sum(board_, 0, 100).others.took.count(), 0u);
}

TEST_F(HotkeyFigures, PercentilesAreThoseOfAllProcesses) {
  for (int i = 0; i < 98; ++i) call(0, 200, of_a_ms);
  call(1, 500, 50 * of_a_ms);
  call(1, 500, 70 * of_a_ms);
  auto const all = sum(board_, 0, 100).key.took;
  EXPECT_NEAR(all.percentile_ms(0.5), 1, 0.1);
  EXPECT_NEAR(all.percentile_ms(0.99), 50, 5);
  EXPECT_DOUBLE_EQ(all.slowest_ms(), 70);
}

TEST_F(HotkeyFigures, OfTheOtherKeysItIsToldWhatWasBeforeMeanwhileAndOnceAllKeptTheKey) {
  all_goes_well();
  call(0, 199, of_a_ms, 0, others);
  call(1, 200, of_a_ms, 0, others);
  call(0, 259, of_a_ms, 0, others);  // in the slice in which the last began to keep it
  call(1, 260, of_a_ms, 0, others);
  call(1, 600, of_a_ms, 0, others);
  hotkey_figures const seen(board_);
  EXPECT_EQ(seen.others_before.took.count(), 1u);
  EXPECT_EQ(seen.others.took.count(), 3u);
  EXPECT_EQ(seen.others_until_kept.took.count(), 2u);
  EXPECT_EQ(seen.others_when_kept.took.count(), 1u);
}

TEST_F(HotkeyFigures, WhatIsAskedOnceAllKeepItIsCountedFromTheNextSliceOn) {
  all_goes_well();
  call(0, 210, of_a_ms);  // before it was kept
  call(1, 310, of_a_ms);
  call(1, 590, of_a_ms);
  call(1, 599, of_a_ms, 0);
  // Two in the 34 slices from 260 ms on.
  EXPECT_NEAR(hotkey_figures(board_).asked_when_kept.value(), 2 / 0.34, 1e-6);
  board_.processes[1].kept_ns = 0;
  EXPECT_FALSE(hotkey_figures(board_).asked_when_kept);
  board_.processes[1].kept_ns = at(595);
  EXPECT_FALSE(hotkey_figures(board_).asked_when_kept) << "there is no whole slice";
}

TEST_F(HotkeyFigures, AMomentIsOfTheFirstAndTheLastProcess) {
  all_goes_well();
  hotkey_figures const seen(board_);
  EXPECT_EQ(seen.found.processes, 2u);
  EXPECT_DOUBLE_EQ(seen.found.first_ms.value(), 230);
  EXPECT_DOUBLE_EQ(seen.found.last_ms.value(), 240);
}

TEST_F(HotkeyJudge, NothingIsBrokenWhenAllFoundKeptAndCooledIt) {
  all_goes_well();
  EXPECT_EQ(broken(), "");
}

TEST_F(HotkeyJudge, EachThingThatDidNotComeAboutIsTold) {
  all_goes_well();
  board_.processes[1].kept_ns = 0;
  EXPECT_EQ(broken(), "1 of 2 processes did not keep it");
  how_.can_keep = false;
  EXPECT_EQ(broken(), "") << "nobody can";
  how_.can_keep = true;
  all_goes_well();
  board_.processes[0].cooled_ns = 0;
  EXPECT_EQ(broken(), "1 of 2 processes did not call it cooled");
  all_goes_well();
  board_.processes[0].found_ns = 0;
  EXPECT_EQ(broken(), "1 of 2 processes did not find the key");
  all_goes_well();
  ++record(0, others, 300)->failed;
  EXPECT_EQ(broken(), "1 calls had no answer");
  ++record(1, key, 300)->failed;
  EXPECT_EQ(broken(), "2 calls had no answer");
}

TEST_F(HotkeyJudge, AMachineThatIsTooSlowIsAllThatIsTold) {
  call(0, 300, of_a_ms);
  record(0, key, 300)->left_out = 1;
  EXPECT_NE(broken().find("2 of 2 processes did not find the key"), std::string::npos);
  record(0, key, 300)->left_out = 2;
  EXPECT_EQ(broken(), "this machine is too slow for that --rate: 2 of 3 requests were left out");
}

}  // namespace
