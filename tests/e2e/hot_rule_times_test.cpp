// Times of rules for hot keys: as people type them, in a zone whose clocks are set.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include "hot/rule_times.hpp"
#include "terminal/exit_code.hpp"

namespace {

using namespace herdlock::cli;
using namespace std::chrono_literals;

class RuleTimes : public ::testing::Test {
 protected:
  RuleTimes() { set_zone("CET-1CEST,M3.5.0,M10.5.0/3"); }
  ~RuleTimes() override { set_zone("UTC0"); }

  static void set_zone(char const* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  static std::string utc(std::string const& typed) {
    return utc_text(time_argument("--from", typed));
  }
  static std::string refusal(std::string const& typed) {
    try {
      return "taken as " + utc(typed);
    } catch (command_error const& e) {
      EXPECT_EQ(e.code(), exit_code::usage) << typed;
      return e.what();
    }
  }
};

TEST_F(RuleTimes, AreOfThisZoneUnlessTheySayAnother) {
  EXPECT_EQ(utc("2026-12-01T12:00"), "2026-12-01T11:00:00Z");
  EXPECT_EQ(utc("2026-07-01T12:00"), "2026-07-01T10:00:00Z");
  EXPECT_EQ(utc("2026-12-01 12:00:30"), "2026-12-01T11:00:30Z");
  EXPECT_EQ(utc("2026-12-01"), "2026-11-30T23:00:00Z");
  EXPECT_EQ(utc("2026-12-01T12:00Z"), "2026-12-01T12:00:00Z");
  EXPECT_EQ(utc("2026-12-01T12:00:00.5z"), "2026-12-01T12:00:00.500Z");
  EXPECT_EQ(utc("2026-12-01T12:00:00.123+05:30"), "2026-12-01T06:30:00.123Z");
  EXPECT_EQ(utc("2026-12-01T12:00-0800"), "2026-12-01T20:00:00Z");
  EXPECT_EQ(utc("2028-02-29T00:00Z"), "2028-02-29T00:00:00Z");
  EXPECT_EQ(utc("2261-12-31T23:59:59Z"), "2261-12-31T23:59:59Z");
}

TEST_F(RuleTimes, WhatIsNoTimeIsRefusedWithAnExample) {
  for (char const* text : {"",
                           "noon",
                           "12:00",
                           "2026-12",
                           "2026-13-01",
                           "2026-02-29",
                           "2026-00-10",
                           "2026-12-01T",
                           "2026-12-01T12",
                           "2026-12-01T24:00",
                           "2026-12-01T12:60",
                           "2026-12-01T12:00:60",
                           "2026-12-01T12:00:00.",
                           "2026-12-01T12:00:00.1234",
                           "2026-12-01T12:00+1",
                           "2026-12-01T12:00+24:00",
                           "2026-12-01T12:00ZZ",
                           "2026-12-01T12:00 Z",
                           "2026-12-01Z",
                           "26-12-01T12:00",
                           "2026-12-01T12:00x",
                           "+2026-12-01",
                           "1764590400"}) {
    EXPECT_TRUE(refusal(text).find("is not a time; write it as 2026-12-01T12:00") !=
                std::string::npos)
        << refusal(text);
  }
}

TEST_F(RuleTimes, WhatNoClockHereShowsOrOneShowsTwiceIsRefused) {
  EXPECT_NE(refusal("2026-03-29T02:30").find("does not exist in this machine's zone"),
            std::string::npos)
      << refusal("2026-03-29T02:30");
  EXPECT_NE(refusal("2026-10-25T02:30").find("exists twice in this machine's zone"),
            std::string::npos)
      << refusal("2026-10-25T02:30");
  EXPECT_EQ(utc("2026-10-25T02:30+02:00"), "2026-10-25T00:30:00Z");
  EXPECT_EQ(utc("2026-10-25T02:30+01:00"), "2026-10-25T01:30:00Z");
  EXPECT_EQ(utc("2026-10-25T01:59"), "2026-10-24T23:59:00Z");
  EXPECT_EQ(utc("2026-10-25T03:00"), "2026-10-25T02:00:00Z");
}

TEST_F(RuleTimes, BeyondTheClocksOfRulesTheyAreRefused) {
  EXPECT_NE(refusal("1970-12-31").find("must be from 1971 to 2261"), std::string::npos);
  EXPECT_NE(refusal("2262-01-01").find("must be from 1971 to 2261"), std::string::npos);
}

TEST_F(RuleTimes, AreShownSoThatTheyCanBeTypedAgain) {
  for (char const* text : {"2026-12-01T12:00:00+01:00", "2026-07-01T12:00:00.250+02:00"}) {
    EXPECT_EQ(local_text(time_argument("--from", text)), text);
  }
  set_zone("NST3:30");
  EXPECT_EQ(local_text(time_argument("--from", "2026-12-01T12:00")), "2026-12-01T12:00:00-03:30");
}

}  // namespace
