// `herdlock-lab failover`: its judge, and what it refuses. The failovers themselves are a soak.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/failover_judge.hpp"

namespace {

using namespace herdlock_test;
using herdlock::lab::guarded_thing;
using herdlock::lab::judge_failover;

std::string broken(std::int64_t overlaps, bool safe) {
  guarded_thing::findings const seen{.entries = 100, .overlaps = overlaps, .lost = 3};
  return broken_of([&](auto& by) { judge_failover(seen, safe, by); });
}

TEST(FailoverJudge, AnOverlapInASafeRun) {
  EXPECT_EQ(broken(0, true), "");
  EXPECT_EQ(broken(2, true), "2 grants while another held the resource");
}

TEST(FailoverJudge, AnUnsafeRunWithoutOverlaps) {
  EXPECT_EQ(broken(2, false), "");
  EXPECT_NE(broken(0, false).find("no overlap was seen"), std::string::npos);
}

TEST(Failover, OneOfBothWaysIsToBeNamed) {
  EXPECT_EQ(run_lab({"failover"}).code, 64);
  EXPECT_EQ(run_lab({"failover", "--safe", "--unsafe"}).code, 64);
  EXPECT_EQ(run_lab({"failover", "--safe", "--rounds", "0"}).code, 64);
  EXPECT_EQ(run_lab({"failover", "--safe", "--clients", "1"}).code, 64);
}

}  // namespace
