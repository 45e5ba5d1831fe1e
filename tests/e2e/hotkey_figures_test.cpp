// The figures of `herdlock demo hotkey`: what they count, and what they call broken.
#include <gtest/gtest.h>

#include "scenes/hotkey_figures.hpp"

namespace {

using herdlock::cli::count;
using herdlock::cli::hotkey_board;
using herdlock::cli::hotkey_keeping;
using herdlock::cli::hotkey_kind;
using herdlock::cli::hotkey_span;
using herdlock::cli::shortcomings;
using herdlock::cli::sum;
namespace latency_bins = herdlock::cli::latency_bins;

constexpr std::int64_t of_a_ms = 1'000'000;

// Two processes, ten slices of 100 ms; the key is asked for in the slices from 2 to 5.
class HotkeyFigures : public ::testing::Test {
 protected:
  void SetUp() override { board_.begin(1000 * of_a_ms); }

  static std::int64_t at(std::int64_t since_ms) { return (1000 + since_ms) * of_a_ms; }
  void call(std::size_t process, std::int64_t since_ms, std::int64_t took_ns, unsigned asked = 1) {
    auto* const into = board_.at(process, hotkey_kind::key, at(since_ms));
    ASSERT_NE(into, nullptr);
    ++into->calls;
    into->asked += asked;
    ++into->took[latency_bins::of(took_ns)];
    into->slowest_ns = std::max(into->slowest_ns.load(), took_ns);
  }
  void all_goes_well() {
    for (std::size_t n = 0; n < 2; ++n) {
      auto const later = static_cast<std::int64_t>(n) * 10;
      board_.process(n).found_ns = at(230 + later);
      board_.process(n).kept_ns = at(240 + later);
      board_.process(n).cooled_ns = at(900 + later);
    }
  }

  hotkey_board board_{2, 10, 100 * of_a_ms};
  hotkey_span const loaded_{.first = 2, .behind = 6, .slice_ms = 100};
};

TEST_F(HotkeyFigures, ATimeIsInABinThatHoldsItAndIsNoMoreThanATenthWide) {
  for (std::int64_t ns = 64; ns < 60'000 * of_a_ms; ns = ns * 11 / 10 + 1) {
    auto const bin = latency_bins::of(ns);
    EXPECT_GE(latency_bins::upper_ns(bin) * 1.000001, static_cast<double>(ns));
    EXPECT_LE(latency_bins::upper_ns(bin), static_cast<double>(ns) * 1.1);
  }
  EXPECT_EQ(latency_bins::of(0), 0u);
  EXPECT_EQ(latency_bins::of(1'000'000'000 * of_a_ms), latency_bins::size - 1);
}

TEST_F(HotkeyFigures, CallsAreInTheSliceInWhichTheyBegan) {
  EXPECT_EQ(board_.at(0, hotkey_kind::key, at(-1)), nullptr);
  EXPECT_EQ(board_.at(0, hotkey_kind::key, at(1000)), nullptr);
  call(0, 299, of_a_ms);
  call(1, 300, of_a_ms, 0);
  EXPECT_EQ(sum(board_, hotkey_kind::key, 2, 3).calls, 1u);
  EXPECT_EQ(sum(board_, hotkey_kind::key, 2, 4).calls, 2u);
  EXPECT_EQ(sum(board_, hotkey_kind::key, 2, 4).asked, 1u);
  EXPECT_EQ(sum(board_, hotkey_kind::others, 0, 10).calls, 0u);
}

TEST_F(HotkeyFigures, PercentilesAreThoseOfAllProcesses) {
  for (int i = 0; i < 98; ++i) call(0, 200, of_a_ms);
  call(1, 500, 50 * of_a_ms);
  call(1, 500, 70 * of_a_ms);
  auto const all = sum(board_, hotkey_kind::key, 0, 10);
  EXPECT_NEAR(all.p50_ms, 1, 0.1);
  EXPECT_NEAR(all.p99_ms, 50, 5);
  EXPECT_DOUBLE_EQ(all.slowest_ms, 70);
  auto const none = sum(board_, hotkey_kind::others, 0, 10);
  EXPECT_EQ(none.p99_ms, 0);
}

TEST_F(HotkeyFigures, WhatIsAskedOnceAllKeepItIsCountedFromTheNextSliceOn) {
  all_goes_well();
  call(0, 210, of_a_ms);  // before it was kept
  call(1, 310, of_a_ms);
  call(1, 590, of_a_ms);
  call(1, 599, of_a_ms, 0);
  // Two in the slices 3, 4 and 5, of 0.1 s each.
  EXPECT_NEAR(count(board_, loaded_).asked_a_second_when_kept.value(), 2 / 0.3, 1e-6);
  board_.process(1).kept_ns = 0;
  EXPECT_FALSE(count(board_, loaded_).asked_a_second_when_kept);
  board_.process(1).kept_ns = at(520);
  EXPECT_FALSE(count(board_, loaded_).asked_a_second_when_kept) << "there is no whole slice";
}

TEST_F(HotkeyFigures, AMomentIsOfTheFirstAndTheLastProcess) {
  all_goes_well();
  auto const seen = count(board_, loaded_);
  EXPECT_EQ(seen.found.processes, 2u);
  EXPECT_DOUBLE_EQ(seen.found.first_ms.value(), 230);
  EXPECT_DOUBLE_EQ(seen.found.last_ms.value(), 240);
}

TEST_F(HotkeyFigures, NothingIsBrokenWhenAllFoundKeptAndCooledIt) {
  all_goes_well();
  EXPECT_TRUE(shortcomings(count(board_, loaded_), 2, hotkey_keeping::can).empty());
}

TEST_F(HotkeyFigures, EachThingThatDidNotComeAboutIsTold) {
  auto const broken = [&](hotkey_keeping keeping) {
    auto const all = shortcomings(count(board_, loaded_), 2, keeping);
    return all.size() == 1 ? all[0] : std::to_string(all.size());
  };
  all_goes_well();
  board_.process(1).kept_ns = 0;
  EXPECT_EQ(broken(hotkey_keeping::can), "1 of 2 processes did not keep it");
  EXPECT_EQ(broken(hotkey_keeping::cannot), "0") << "nobody can";
  all_goes_well();
  board_.process(0).cooled_ns = 0;
  EXPECT_EQ(broken(hotkey_keeping::can), "1 of 2 processes did not call it cooled");
  all_goes_well();
  board_.process(0).found_ns = 0;
  EXPECT_EQ(broken(hotkey_keeping::can), "1 of 2 processes did not find the key");
  all_goes_well();
  ++board_.at(0, hotkey_kind::others, at(300))->failed;
  EXPECT_EQ(broken(hotkey_keeping::can), "1 calls had no answer");
}

}  // namespace
