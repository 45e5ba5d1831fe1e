// `herdlock-lab many`: its judges, and what it refuses. The calls themselves are soaks.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/many.hpp"

namespace {

using namespace herdlock_test;
using namespace herdlock::lab;

// A round in which keys 0 and 2 were asked for, and each was loaded once.
struct round_seen {
  round_seen() {
    for (std::size_t const key : {0, 2}) {
      is->asked[key] = 3;
      is->loaded[key] = 1;
    }
  }
  std::string broken() {
    is->end_round();
    return broken_of([&](judge& by) { judge_counts(many::counts, *is, by); });
  }
  shared<many::board> is;
};

TEST(ManyJudge, AllIsKept) {
  round_seen seen;
  EXPECT_EQ(seen.broken(), "");
  EXPECT_EQ(seen.is->missing, 2u);
  EXPECT_EQ(seen.is->loads, 2u);
  EXPECT_EQ(seen.broken(), "") << "what was counted of the round is gone from the board";
  EXPECT_EQ(seen.is->missing, 2u);
}

TEST(ManyJudge, EachFault) {
  struct fault {
    char const* sentence;
    void (*forge)(many::board& into);
  };
  constexpr fault faults[] = {
      {"a missing key was loaded more than once in the fleet",
       [](many::board& into) { into.loaded[2] = 2; }},
      {"a missing key was never loaded", [](many::board& into) { into.loaded[0] = 0; }},
      {"what was there was loaded", [](many::board& into) { into.needless = 1; }},
      {"the loader of a call was called more than once", [](many::board& into) { into.again = 1; }},
      {"a value was not that of its key", [](many::board& into) { into.wrong = 1; }},
      {"somebody had an error, such as the end of its wait",
       [](many::board& into) { into.errors = 1; }},
      {"a call was not over at its deadline", [](many::board& into) { into.late = 1; }},
  };
  for (auto const& each : faults) {
    round_seen seen;
    each.forge(*seen.is);
    EXPECT_EQ(seen.broken(), each.sentence);
  }
}

TEST(ManyTrips, OneMoreThanIsPromised) {
  many::trips seen{.least = 3, .least_waiting = 4};
  auto const broken = [&] { return broken_of([&](judge& by) { judge_trips(seen, by); }); };
  EXPECT_EQ(broken(), "");
  seen.least = 4;
  EXPECT_EQ(broken(), "read, claim, load, fill: more than three round trips");
  seen.least = 3;
  seen.least_waiting = 5;
  EXPECT_EQ(broken(),
            "read, claim, subscribe, look: more than four round trips behind another's load");
  seen.least_waiting = std::nullopt;
  EXPECT_EQ(broken(), "") << "a cluster is not asked";
  seen.other_loads = 1;
  EXPECT_EQ(broken(), "not one call of the loader, or one behind another's load");
  seen.other_loads = 0;
  seen.wrong = 1;
  EXPECT_EQ(broken(), "a value was not that of its key");
}

TEST(Many, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(run_lab({"many", "--case", "other"}).code, 64);
  EXPECT_EQ(run_lab({"many", "--store", "other"}).code, 64);
  EXPECT_EQ(run_lab({"many", "--keys", "30", "--missing", "30"}).code, 64);
  EXPECT_EQ(run_lab({"many", "--processes", "65"}).code, 64);
}

}  // namespace
