// When a key becomes hot, and when it cools.
#include "algo/hot_key_state.hpp"

#include <limits>
#include <utility>

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using herdlock::algo::hot_key_state;
using herdlock::algo::hot_thresholds;
using herdlock::algo::hot_uses;
using namespace std::chrono_literals;
using duration = herdlock::clock::duration;

constexpr duration one_tick = 10ms;
constexpr int ticks_per_half = 50;

class key_over_time {
 public:
  hot_thresholds thresholds{.threshold = 1000,
                            .min_reads = 32,
                            .reads_per_write = 20,
                            .half = one_tick * ticks_per_half,
                            .min_hot_time = 0ms};

  /// One tick; true when the key became hot by it.
  bool used(hot_uses uses, duration took = one_tick) {
    state_.used(uses, took, thresholds);
    half_took_ += took;
    if (!state_.deserves(thresholds)) return false;
    state_.make_hot(thresholds);
    return true;
  }
  bool read(std::uint64_t reads, duration took = one_tick) { return used({reads, 0}, took); }
  void used_at_times_unknown(hot_uses uses) { state_.used_at_times_unknown(uses); }
  /// True when the key has cooled by it.
  bool end_half() { return state_.end_half(std::exchange(half_took_, 0ms), thresholds); }

  /// A whole half of such ticks; how often the key became hot or cooled.
  int half_of(hot_uses each) {
    int changes = 0;
    for (int i = 0; i < ticks_per_half; ++i) changes += used(each);
    return changes + end_half();
  }
  bool hot() const { return state_.hot(); }
  hot_key_state const* operator->() const { return &state_; }

 private:
  hot_key_state state_;
  duration half_took_{0};
};

TEST(HotKeyState, ABurstIsHotAtOnceWhenItHadEnoughReads) {
  key_over_time key;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(key.read(0));
  EXPECT_TRUE(key.read(200));
  EXPECT_TRUE(key.hot());
}

TEST(HotKeyState, AKeyAtTheThresholdIsHotWithItsFirstReadsThatAreEnough) {
  key_over_time key;
  EXPECT_FALSE(key.read(10));
  EXPECT_FALSE(key.read(10));
  EXPECT_FALSE(key.read(10));
  EXPECT_TRUE(key.read(10));
}

TEST(HotKeyState, FewReadsAreNotHotHoweverQuick) {
  key_over_time key;
  EXPECT_FALSE(key.read(31));
  EXPECT_FALSE(key.read(0));
  EXPECT_FALSE(key.read(0));
  EXPECT_FALSE(key.read(0));
  EXPECT_FALSE(key.read(31));
}

TEST(HotKeyState, AKeyBelowTheThresholdIsNeverHot) {
  key_over_time key;
  for (int half = 0; half < 20; ++half) EXPECT_EQ(key.half_of({9, 0}), 0);
}

// A tick that was held up brings the reads of all that time.
TEST(HotKeyState, ATickThatWasHeldUpMakesNoKeyHot) {
  key_over_time key;
  EXPECT_FALSE(key.read(9));
  EXPECT_FALSE(key.read(900, 1s));
  EXPECT_FALSE(key.read(90'000, 100s));
  EXPECT_TRUE(key.read(1'100, 1s));
}

TEST(HotKeyState, ReadsOfNoTimeBelongToTheNextTick) {
  key_over_time key;
  EXPECT_FALSE(key.read(900, 0ms));
  EXPECT_FALSE(key.read(0, 1s));
  EXPECT_FALSE(key.read(900, 0ms));
  EXPECT_TRUE(key.read(200, 1s));
}

TEST(HotKeyState, ReadsAtTimesUnknownMakeNoKeyHotAndHaveNoRate) {
  key_over_time key;
  key.used_at_times_unknown({1'000'000, 0});
  EXPECT_FALSE(key.read(5));
  EXPECT_EQ(key->in_window().reads, 1'000'005u);
  EXPECT_EQ(key->timed_reads(), 5u);
}

// What was far ahead half a window ago says nothing of now.
TEST(HotKeyState, AnOldBurstDoesNotMakeAKeyHotLater) {
  key_over_time key;
  key.used({100'000, 100'000});  // written too often
  for (int half = 0; half < 3; ++half) EXPECT_EQ(key.half_of({1, 0}), 0);
}

TEST(HotKeyState, AKeyThatIsNotReadAnyMoreCoolsWithinTwoWindows) {
  for (int stops_at = 1; stops_at <= ticks_per_half; ++stops_at) {
    key_over_time key;
    EXPECT_EQ(key.half_of({100, 0}), 1);
    for (int i = 0; i < stops_at; ++i) key.read(100);
    int ticks = 0;
    bool cooled = stops_at == ticks_per_half && key.end_half();
    while (!cooled && ticks < 1000) {
      key.read(0);
      ++ticks;
      cooled = (stops_at + ticks) % ticks_per_half == 0 && key.end_half();
    }
    EXPECT_LE(ticks, 4 * ticks_per_half) << stops_at;
    EXPECT_GE(ticks, 3 * ticks_per_half - stops_at) << stops_at;
    EXPECT_FALSE(key.hot());
  }
}

TEST(HotKeyState, AKeyBetweenHalfTheThresholdAndTheThresholdStaysAsItIs) {
  key_over_time hot;
  EXPECT_EQ(hot.half_of({20, 0}), 1);
  for (int half = 0; half < 20; ++half) EXPECT_EQ(hot.half_of({6, 0}), 0);
  EXPECT_TRUE(hot.hot());
  key_over_time cold;
  for (int half = 0; half < 20; ++half) EXPECT_EQ(cold.half_of({6, 0}), 0);
  EXPECT_FALSE(cold.hot());
}

TEST(HotKeyState, TwoHalvesWithoutReadsDoNotCoolIt) {
  key_over_time key;
  EXPECT_EQ(key.half_of({100, 0}), 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(key.half_of({0, 0}), 0);
    EXPECT_EQ(key.half_of({0, 0}), 0);
    EXPECT_EQ(key.half_of({100, 0}), 0);
  }
  EXPECT_TRUE(key.hot());
}

TEST(HotKeyState, AHotKeyDoesNotCoolBeforeItsMinimumTime) {
  key_over_time key;
  key.thresholds.min_hot_time = 10 * key.thresholds.half;
  EXPECT_EQ(key.half_of({100, 0}), 1);
  for (int half = 1; half < 10; ++half) EXPECT_EQ(key.half_of({0, 0}), 0) << half;
  EXPECT_EQ(key.half_of({0, 0}), 1);
}

TEST(HotKeyState, AKeyThatIsWrittenTooOftenIsNotHot) {
  key_over_time key;
  for (int half = 0; half < 4; ++half) EXPECT_EQ(key.half_of({100, 20}), 0);
  EXPECT_EQ(key.half_of({100, 0}), 0);  // the half before is in the window
  EXPECT_EQ(key.half_of({100, 5}), 1);
}

TEST(HotKeyState, AHotKeyThatIsWrittenTooOftenCools) {
  key_over_time key;
  EXPECT_EQ(key.half_of({100, 0}), 1);
  for (int half = 0; half < 5; ++half) EXPECT_EQ(key.half_of({100, 9}), 0);
  EXPECT_EQ(key.half_of({100, 11}), 0);
  EXPECT_EQ(key.half_of({100, 11}), 0);
  EXPECT_EQ(key.half_of({100, 11}), 1);
}

TEST(HotKeyState, WritesInBurstsDoNotMakeItComeAndGo) {
  for (int written = 1; written <= 12; ++written) {
    for (int calm = 1; calm <= 2; ++calm) {
      key_over_time key;
      int changes = key.half_of({100, 0});
      for (int round = 0; round < 20; ++round) {
        for (int half = 0; half < written; ++half) changes += key.half_of({100, 100});
        for (int half = 0; half < calm; ++half) changes += key.half_of({100, 0});
      }
      EXPECT_LE(changes, 2) << written << " written, " << calm << " calm";
    }
  }
}

TEST(HotKeyState, AKeyThatWasWrittenTooOftenIsHotAgainWhenItWasCalmForThreeHalves) {
  key_over_time key;
  EXPECT_EQ(key.half_of({100, 0}), 1);
  for (int half = 0; half < 3; ++half) key.half_of({100, 100});
  EXPECT_FALSE(key.hot());
  for (int half = 0; half < 3; ++half) EXPECT_EQ(key.half_of({100, 0}), 0) << half;
  EXPECT_EQ(key.half_of({100, 0}), 1);
}

// Others write it, and only who keeps it sees that.
TEST(HotKeyState, WhatIsWrittenWheneverItIsKeptComesBackMoreAndMoreSeldom) {
  key_over_time key;
  int became_hot = 0;
  for (int half = 0; half < 400; ++half) {
    bool const was_hot = key.hot();
    key.half_of({100, was_hot ? 20u : 0u});
    became_hot += !was_hot && key.hot();
  }
  EXPECT_LE(became_hot, 8);
  EXPECT_GE(became_hot, 5) << "it may have become calm";
}

TEST(HotKeyState, AKeyThatWasCalmForLongIsJudgedAnew) {
  key_over_time key;
  auto const cool_by_writes = [&] {
    key.half_of({100, 0});
    for (int half = 0; half < 3; ++half) key.half_of({100, 100});
    EXPECT_FALSE(key.hot());
  };
  auto const halves_until_hot = [&] {
    int halves = 0;
    while (!key.hot() && halves < 500) halves += key.half_of({100, 0}) == 0;
    return halves;
  };
  cool_by_writes();
  EXPECT_EQ(halves_until_hot(), 3);
  cool_by_writes();
  EXPECT_EQ(halves_until_hot(), 6);
  for (int half = 0; half < 20; ++half) key.half_of({100, 0});
  cool_by_writes();
  EXPECT_EQ(halves_until_hot(), 3);
  // However it has cooled.
  cool_by_writes();
  EXPECT_EQ(halves_until_hot(), 6);
  for (int half = 0; half < 20; ++half) key.half_of({100, 0});
  for (int half = 0; half < 3; ++half) key.half_of({0, 0});
  EXPECT_EQ(halves_until_hot(), 0);
  cool_by_writes();
  EXPECT_EQ(halves_until_hot(), 3);
}

// The first load of a key is a write: it must not hold up a burst behind it.
TEST(HotKeyState, OneWriteAndFewReadsDoNotHoldUpABurst) {
  key_over_time key;
  key.used({3, 1});
  key.end_half();
  EXPECT_TRUE(key.read(100));
}

TEST(HotKeyState, WritesDoNotMatterWithoutARatio) {
  key_over_time key;
  key.thresholds.reads_per_write = 0;
  EXPECT_EQ(key.half_of({100, 1000}), 1);
  for (int half = 0; half < 10; ++half) EXPECT_EQ(key.half_of({100, 1000}), 0);
}

TEST(HotKeyState, TheEndOfTheNumbersIsNoHarm) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  hot_thresholds const thresholds = key_over_time().thresholds;
  hot_key_state state;
  state.used({most, 0}, one_tick, thresholds);
  EXPECT_TRUE(state.deserves(thresholds));
  state.make_hot(thresholds);
  for (int i = 0; i < 2; ++i) state.used({most, 0}, duration::max(), thresholds);
  EXPECT_EQ(state.in_window().reads, most);
  EXPECT_EQ(state.timed_reads(), most);
  EXPECT_FALSE(state.end_half(one_tick, thresholds));
  for (int i = 0; i < 2; ++i) state.used_at_times_unknown({most, most});
  EXPECT_EQ(state.in_window(), (hot_uses{most, most}));
  EXPECT_TRUE(state.end_half(duration::max(), thresholds));
}

}  // namespace
}  // namespace herdlock_test
