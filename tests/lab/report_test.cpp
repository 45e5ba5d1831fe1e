// Figures of a scene: what a program reads of them.
#include <gtest/gtest.h>

#include "stage/report.hpp"

namespace {

using namespace herdlock::lab;

TEST(Report, AFigureHasTheNameThatItsWordsAndItsUnitMake) {
  report out(true, {});
  out.figure("stale answers", 1200);
  out.figure("control, PING: slowest", 1.23456, "ms");
  out.figure("loads / (time / ttl)", 0.5);
  out.figure("used of a processor", 12.0, "%");
  EXPECT_EQ(out.data().dump(),
            R"({"stale_answers":1200,"control_ping_slowest_ms":1.235,"loads_time_ttl":0.5,)"
            R"("used_of_a_processor":12.0})");
}

TEST(Complaint, TheFirstIsKeptWithItsStatus) {
  using herdlock::cli::exit_code;
  complaint why;
  EXPECT_EQ(why.text(), "");
  why.raise(exit_code::usage, "first");
  why.raise(exit_code::internal, "second");
  EXPECT_EQ(why.text(), "first");
  EXPECT_EQ(why.status(), exit_code::usage);
}

TEST(Report, TimesAreTheirPercentilesUnderOneName) {
  latencies seen;
  for (int i = 0; i < 100; ++i) seen.note(1'000'000);
  seen.note(2'500'000);
  latency_sum all;
  all.add(seen);
  report out(true, {});
  out.times("a plain get", all);
  auto const& told = out.data().at("a_plain_get");
  EXPECT_EQ(told.at("count"), 101);
  EXPECT_NEAR(told.at("p50_ms").get<double>(), 1, 0.1);
  EXPECT_NEAR(told.at("p99_ms").get<double>(), 1, 0.1);
  EXPECT_EQ(told.at("p99_9_ms"), 2.5);
  EXPECT_EQ(told.at("slowest_ms"), 2.5);
}

}  // namespace
