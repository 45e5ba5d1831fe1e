// `herdlock-lab fleet`: its judges are shown one fault each, and what it refuses. The fleets
// themselves are a soak.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/fleet.hpp"

namespace {

namespace fleet = herdlock::lab::fleet;
using herdlock::lab::judge;
using herdlock_test::broken_of;
using herdlock_test::run_lab;

// Two keys, and all goes well.
struct FleetJudge : ::testing::Test {
  FleetJudge() { how.keys = 2; }

  std::string broken() const {
    return broken_of([&](judge& by) { judge_size(how, seen, by); });
  }

  fleet::terms how;
  fleet::figures seen{.members = 100,
                      .kept_ms = {900, 1500},
                      .a_second = {.received = 4e5, .sent = 5e5, .commands = 900, .scripts = 200},
                      .stopped_ms = 3500,
                      .continued_ms = 900,
                      .killed_ms = 3400};
};

TEST_F(FleetJudge, NothingIsBrokenWhenAllGoesWell) {
  seen.late_lists = 1;
  EXPECT_EQ(broken(), "");
}

TEST_F(FleetJudge, AKeyThatNotAllKeep) {
  seen.kept_ms.pop_back();
  seen.stopped_ms.reset();
  EXPECT_EQ(broken(), "100 members: only 1 of 2 keys were kept by all");
}

TEST_F(FleetJudge, AListThatComesLate) {
  struct fault {
    std::optional<double> fleet::figures::*what;
    char const* did;
  };
  for (auto const& [what, did] : {fault{&fleet::figures::stopped_ms, "was stopped"},
                                  {&fleet::figures::continued_ms, "went on"},
                                  {&fleet::figures::killed_ms, "was killed"}}) {
    auto const before = seen.*what;
    seen.*what = 3501;
    auto const when = std::string(" when the collector ") + did;
    EXPECT_EQ(broken(), "100 members: no list for 3501 ms" + when + ": more than 3500");
    how.times = 0;
    EXPECT_EQ(broken(), "") << "times are not judged";
    seen.*what = std::nullopt;
    EXPECT_EQ(broken(), "100 members: no list" + when);
    how.times = 1;
    EXPECT_EQ(broken(), "100 members: no list" + when);
    seen.*what = before;
  }
}

TEST_F(FleetJudge, AListOfTheStoppedOneThatIsBelieved) {
  seen.believed = 1;
  EXPECT_EQ(broken(), "100 members: 1 believed a list of the stopped collector");
}

TEST_F(FleetJudge, AListOfTheStoppedOneThatNotAllHear) {
  seen.unheard = 3;
  EXPECT_EQ(broken(),
            "100 members: 3 did not hear the list of the stopped collector: it shows nothing");
}

struct FleetGrowth : FleetJudge {
  FleetGrowth() { sizes = {of(200, 2), of(100, 1), of(400, 4)}; }

  fleet::figures of(std::size_t members, double times) const {
    auto one = seen;
    one.members = members;
    one.a_second = one.a_second / (1 / times);
    return one;
  }
  std::string grew() const {
    return broken_of([&](judge& by) { judge_growth(sizes, by); });
  }

  std::vector<fleet::figures> sizes;
};

TEST_F(FleetGrowth, TwiceAsManyMayBringTwiceAsMuch) {
  EXPECT_EQ(grew(), "");
  sizes.clear();
  EXPECT_EQ(grew(), "") << "nothing was measured";
}

TEST_F(FleetGrowth, BytesThatGrowWithTheSquare) {
  sizes[0].a_second.sent *= 2;
  EXPECT_EQ(grew(),
            "200 members bring 1.56 times the bytes and 1.00 times the commands, each of them, "
            "that 100 bring: more than 1.5");
  sizes[0].a_second.sent /= 2;
  sizes[0].a_second.received *= 2.5;
  EXPECT_NE(grew(), "");
}

TEST_F(FleetGrowth, CommandsThatGrowWithTheSquare) {
  sizes[2].a_second.commands *= 4;
  EXPECT_EQ(grew(),
            "400 members bring 1.00 times the bytes and 4.00 times the commands, each of them, "
            "that 100 bring: more than 1.5");
}

TEST_F(FleetGrowth, ASizeThatWasNotMeasuredIsLeftOut) {
  sizes[1].a_second = {};
  EXPECT_EQ(grew(), "");
}

TEST_F(FleetGrowth, ARowHasWhatWasMeasured) {
  seen.killed_ms.reset();
  auto const row = row_of(seen);
  EXPECT_EQ(row.at("members"), 100);
  EXPECT_EQ(row.at("kb_in"), 400);
  EXPECT_EQ(row.at("kb_out"), 500);
  EXPECT_EQ(row.at("kept_p50_ms"), 900);
  EXPECT_EQ(row.at("kept_p99_ms"), 1500);
  EXPECT_EQ(row.at("stopped_ms"), 3500);
  EXPECT_FALSE(row.contains("killed_ms"));
}

TEST(FleetBoard, AKeyIsKeptWhenTheLastProcessKeepsIt) {
  herdlock::lab::shared<fleet::board> seen;
  seen->processes[0].kept_ns[1] = 7;
  EXPECT_EQ(seen->kept_ns(1, 2), 0);
  seen->processes[1].kept_ns[1] = 5;
  EXPECT_EQ(seen->kept_ns(1, 2), 7);
  seen->processes[0].refused = 2;
  seen->processes[19].refused = 3;
  EXPECT_EQ(seen->sum(&fleet::process::refused), 5);
}

TEST(FleetTerms, NoMemberAloneReadsEnoughAndAllTogetherDo) {
  for (std::size_t const members : {3, 20, 100, 400}) {
    fleet::terms how;
    how.members = members;
    EXPECT_LT(how.rate, 0.75 * how.fleet_threshold()) << members;
    EXPECT_GE(how.rate, how.fleet_threshold() / 100) << "it takes part";
    EXPECT_GE(how.rate * static_cast<double>(members), 2 * how.fleet_threshold());
  }
}

TEST(Fleet, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(run_lab({"fleet", "--members", "19"}).code, 64) << "a process has no member";
  EXPECT_EQ(run_lab({"fleet", "--members", "100,2001"}).code, 64);
  EXPECT_EQ(run_lab({"fleet", "--members", "100,many"}).code, 64);
  EXPECT_EQ(run_lab({"fleet", "--members", "100;200"}).code, 64);
  EXPECT_EQ(run_lab({"fleet", "--processes", "2"}).code, 64);
  EXPECT_EQ(run_lab({"fleet", "--keys", "65"}).code, 64);
  EXPECT_EQ(run_lab({"fleet", "--store", "sqlite:x"}).code, 64);
}

}  // namespace
