// `herdlock-lab reconnect`: its judge, and what it refuses. The fleet itself is a soak.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/reconnect.hpp"

namespace {

using namespace herdlock_test;
using herdlock::lab::reconnect::judge_leases;

std::string broken(std::uint64_t lost, std::uint64_t lost_by_control) {
  return broken_of([&](auto& by) { judge_leases(lost, lost_by_control, by); });
}

TEST(ReconnectJudge, ALeaseThatIsLostBesideTheFleet) {
  EXPECT_EQ(broken(0, 0), "");
  EXPECT_EQ(broken(1, 0), "a lease was lost when all members of a fleet reconnected");
}

TEST(ReconnectJudge, ARunWhoseControlLosesALeaseDoesNotCount) { EXPECT_EQ(broken(1, 1), ""); }

TEST(Reconnect, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(run_lab({"reconnect", "--processes", "21"}).code, 64);
  EXPECT_EQ(run_lab({"reconnect", "--members", "3", "--processes", "4"}).code, 64);
  EXPECT_EQ(run_lab({"reconnect", "--keys", "65"}).code, 64);
}

}  // namespace
