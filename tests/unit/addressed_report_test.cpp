// A report as it goes to the collector of a store: what comes back, and what is refused.
#include "algo/addressed_report.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

addressed_report some_addressed() {
  addressed_report one;
  one.prefix = std::string("p:\0{x}", 6);
  one.thresholds = {.threshold = 10'000,
                    .reads_per_write = 2.5,
                    .cool_time = milliseconds(7500),
                    .most_hot = 1024};
  one.report = {.process = 0x0123456789abcdef, .number = 7, .rest = 3, .keys = {}};
  one.report.keys.push_back({"product:42", 900, 1000, 3, true, 61'000});
  return one;
}

bool is_refused(addressed_report const& one) { return !decode_addressed_report(encode(one)); }

TEST(AddressedReport, ComesBackAsItWasSent) {
  EXPECT_EQ(decode_addressed_report(encode(some_addressed())), some_addressed());
  auto without = some_addressed();
  without.prefix.clear();
  without.report.keys.clear();
  EXPECT_EQ(decode_addressed_report(encode(without)), without);
}

TEST(AddressedReport, OneThatIsCutShortAnywhereIsRefused) {
  auto const text = encode(some_addressed());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode_addressed_report(std::string_view(text).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_addressed_report(text + "x")) << "nor with something behind it";
}

TEST(AddressedReport, NoneIsTakenForAReportToAllNorForAList) {
  auto const one = some_addressed();
  EXPECT_FALSE(decode_report(encode(one)));
  EXPECT_FALSE(decode_fleet_list(encode(one)));
  EXPECT_FALSE(decode_addressed_report(encode(one.report)));
}

TEST(AddressedReport, OptionsHaveOneNumberWhereverTheyAreRead) {
  auto one = some_addressed();
  auto const number = number_of(one.thresholds);
  for (int i = 1; i < 2000; ++i) {
    one.thresholds.reads_per_write = i * 0.00703;
    auto const read = decode_addressed_report(encode(one));
    ASSERT_TRUE(read);
    EXPECT_EQ(number_of(read->thresholds), number_of(one.thresholds)) << i;
  }
  EXPECT_NE(number_of(one.thresholds), number);
  one = some_addressed();
  one.thresholds.threshold += 2;
  EXPECT_NE(number_of(one.thresholds), number);
}

TEST(AddressedReport, WhatNoCacheHasIsRefused) {
  auto one = some_addressed();
  one.thresholds.threshold = 0;
  EXPECT_TRUE(is_refused(one));
  one = some_addressed();
  one.thresholds.threshold = fleet_report::most_uses + 1;
  EXPECT_TRUE(is_refused(one));
  one = some_addressed();
  one.thresholds.most_hot = 0;
  EXPECT_TRUE(is_refused(one));
  one.thresholds.most_hot = 1025;
  EXPECT_TRUE(is_refused(one));
  one = some_addressed();
  one.thresholds.cool_time = std::chrono::hours(25);
  EXPECT_TRUE(is_refused(one));
  one = some_addressed();
  one.prefix.assign(limits::max_name_bytes + 1, 'x');
  EXPECT_TRUE(is_refused(one));
  one.prefix.pop_back();
  EXPECT_FALSE(is_refused(one));
}

}  // namespace
}  // namespace herdlock::algo
