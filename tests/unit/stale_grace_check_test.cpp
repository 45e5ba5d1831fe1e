// When a cache is told that its grace is shorter than its loads.
#include "algo/stale_grace_check.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

/// What is said while so many loads end, each of which took so long.
std::optional<milliseconds> after(stale_grace_check& check, std::size_t loads, milliseconds time) {
  std::optional<milliseconds> said;
  for (std::size_t i = 0; i < loads; ++i) {
    if (auto const now = check.load_took(time)) said = now;
  }
  return said;
}

TEST(StaleGraceCheck, ItSpeaksOnceWhenLoadsTakeLongerThanTheGrace) {
  stale_grace_check check(100ms);
  EXPECT_FALSE(after(check, stale_grace_check::enough - 1, 101ms)) << "of so few nobody knows";
  EXPECT_EQ(check.load_took(101ms), 101ms);
  EXPECT_FALSE(after(check, 100, 200ms)) << "it has been said";
}

TEST(StaleGraceCheck, LoadsThatTakeAsLongAsTheGraceAreInTime) {
  stale_grace_check check(100ms);
  EXPECT_FALSE(after(check, 100, 100ms));
}

TEST(StaleGraceCheck, AFewSlowLoadsAreNotWhatIsUsual) {
  stale_grace_check check(100ms);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(after(check, 5, 1ms));
    EXPECT_FALSE(after(check, 4, 1h));
  }
}

TEST(StaleGraceCheck, LoadsThatBecomeSlowAreSeen) {
  stale_grace_check check(100ms);
  EXPECT_FALSE(after(check, 1000, 1ms));
  EXPECT_FALSE(after(check, stale_grace_check::window / 2, 300ms));
  EXPECT_EQ(check.load_took(300ms), 300ms);
}

TEST(StaleGraceCheck, WhereNothingIsStaleNothingIsSaid) {
  stale_grace_check check(0ms);
  EXPECT_FALSE(after(check, 100, 1h));
}

}  // namespace
}  // namespace herdlock::algo
