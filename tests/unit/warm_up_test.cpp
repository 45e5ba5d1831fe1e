// When keys are loaded before people need them.
#include "algo/warm_up.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using keys = std::vector<std::string>;
using loading = warm_up::loading;

TEST(WarmUp, WhatIsThereIsLoadedOnce) {
  warm_up all;
  all.want({{"a", 0}, {"b", 0}});
  EXPECT_EQ(all.take_due(100), (keys{"a", "b"}));
  EXPECT_EQ(all.take_due(100), keys{}) << "both are under way";
  EXPECT_EQ(all.next_due(), std::nullopt);
  all.loaded("a", loading::succeeded, 200);
  all.loaded("b", loading::succeeded, 200);
  EXPECT_EQ(all.take_due(1'000'000), keys{});
  EXPECT_EQ(all.next_due(), std::nullopt);
}

TEST(WarmUp, WhatFailedIsTriedAgainAfterAPause) {
  warm_up all;
  all.want({{"a", 0}});
  all.take_due(100);
  all.loaded("a", loading::failed, 200);
  EXPECT_EQ(all.next_due(), 1200u);
  EXPECT_EQ(all.take_due(1199), keys{});
  EXPECT_EQ(all.take_due(1200), keys{"a"});
}

TEST(WarmUp, PausesGrowWhileLoadsFailUpToTheLongest) {
  warm_up all;
  all.want({{"a", 0}});
  std::uint64_t now = 1;
  for (std::uint64_t const pause : {1000, 2000, 4000, 8000, 16'000, 32'000, 60'000, 60'000}) {
    ASSERT_EQ(all.take_due(now), keys{"a"});
    all.loaded("a", loading::failed, now);
    ASSERT_EQ(all.next_due(), now + pause);
    now += pause;
  }
}

TEST(WarmUp, WhatWasLoadedBeforeItsTimeIsLookedAtAgainJustBeforeAndWhenItHasCome) {
  warm_up all;
  all.want({{"sale", 10'100}});
  EXPECT_EQ(all.take_due(100), keys{"sale"});
  all.loaded("sale", loading::succeeded, 150);
  EXPECT_EQ(all.take_due(9'099), keys{});
  EXPECT_EQ(all.take_due(9'100), keys{"sale"});
  all.loaded("sale", loading::succeeded, 9'150);
  EXPECT_EQ(all.next_due(), 10'100u);
  EXPECT_EQ(all.take_due(10'100), keys{"sale"});
  all.loaded("sale", loading::succeeded, 10'101);
  EXPECT_EQ(all.next_due(), std::nullopt);
}

TEST(WarmUp, TheSameWishChangesNothingAndALaterTimeDoes) {
  warm_up all;
  all.want({{"a", 0}});
  all.take_due(100);
  all.loaded("a", loading::succeeded, 100);
  all.want({{"a", 0}});
  EXPECT_EQ(all.take_due(5000), keys{});
  all.want({{"a", 0}, {"a", 9000}});
  EXPECT_EQ(all.take_due(8000), keys{"a"});
}

TEST(WarmUp, WhatNobodyWantsAnyMoreIsForgotten) {
  warm_up all;
  all.want({{"a", 0}});
  all.take_due(100);
  all.want({});
  all.loaded("a", loading::failed, 100);
  EXPECT_EQ(all.take_due(9000), keys{});
}

TEST(WarmUp, AnotherLoaderBeginsAnew) {
  warm_up all;
  all.want({{"a", 0}});
  all.take_due(100);
  all.loaded("a", loading::succeeded, 100);
  all.begin_anew();
  EXPECT_EQ(all.take_due(101), keys{"a"});
}

TEST(WarmUp, OnlySoManyAreUnderWayAtOnce) {
  warm_up all;
  std::vector<warm_up::wish> many;
  for (int i = 0; i < 100; ++i) many.push_back({std::to_string(i), 0});
  all.want(many);
  auto const first = all.take_due(1);
  EXPECT_EQ(first.size(), warm_up::most_under_way);
  EXPECT_EQ(all.next_due(), std::nullopt);
  all.loaded(first.front(), loading::succeeded, 2);
  EXPECT_EQ(all.take_due(2).size(), 1u);
}

TEST(WarmUp, AClockThatWasSetBackDelaysNothing) {
  warm_up all;
  all.want({{"a", 0}});
  all.take_due(10'000'000);
  all.loaded("a", loading::failed, 10'000'000);  // next at 10'001'000
  EXPECT_EQ(all.take_due(5), keys{"a"});
}

}  // namespace
}  // namespace herdlock::algo
