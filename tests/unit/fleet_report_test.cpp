// A report as it is sent: what comes back, and what is refused.
#include "algo/fleet_report.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

fleet_report some_report() {
  std::string const binary("\0\n\xff", 3);
  return {.process = 0x0123456789abcdef,
          .number = 7,
          .rest = 12,
          .keys = {{"product:42", 900, 1000, 3, true, 61'000},
                   {binary, 0, fleet_report::most_uses, 0, false},
                   {std::string(fleet_report::most_key_bytes, 'x'), 1, 1, 1, false}}};
}

TEST(FleetReport, ComesBackAsItWasSent) {
  EXPECT_EQ(decode_report(encode(some_report())), some_report());
  fleet_report const empty{.process = 1, .number = 1, .rest = 0, .keys = {}};
  EXPECT_EQ(decode_report(encode(empty)), empty);
}

TEST(FleetReport, ItsBytesAreKnownBeforeItIsSent) {
  EXPECT_EQ(encoded_bytes(some_report()), encode(some_report()).size());
  fleet_report const empty{.process = 1, .number = 1, .rest = 0, .keys = {}};
  EXPECT_EQ(encoded_bytes(empty), encode(empty).size());
}

TEST(FleetReport, OneThatIsCutShortAnywhereIsRefused) {
  auto const text = encode(some_report());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode_report(std::string_view(text).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_report(text + "x")) << "nor with something behind it";
}

TEST(FleetReport, OfAnyByteThatIsChangedNothingFollowsButAnotherReport) {
  auto const text = encode(some_report());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = text;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      auto const report = decode_report(changed);
      EXPECT_TRUE(!report || is_plausible(*report)) << at;
    }
  }
}

TEST(FleetReport, OfAnotherVersionIsRefused) {
  auto text = encode(some_report());
  text[3] = '2';
  EXPECT_FALSE(decode_report(text));
}

TEST(FleetReport, WhatCannotBeIsNotPlausible) {
  EXPECT_TRUE(is_plausible(some_report()));
  auto const refused = [](auto change) {
    auto report = some_report();
    change(report);
    return !is_plausible(report);
  };
  EXPECT_TRUE(refused([](auto& r) { r.number = 0; }));
  EXPECT_TRUE(refused([](auto& r) { r.rest = fleet_report::most_uses + 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.keys[0].low = 1001; })) << "more than at most";
  EXPECT_TRUE(refused([](auto& r) { r.keys[0].high = fleet_report::most_uses + 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.keys[0].writes = fleet_report::most_uses + 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.keys[0].kept_ms = fleet_report::most_kept_ms + 1; }));
  EXPECT_TRUE(refused([](auto& r) { r.keys[0].key.clear(); }));
  EXPECT_TRUE(refused([](auto& r) { r.keys[2].key += 'x'; }));
  EXPECT_TRUE(refused([](auto& r) { r.keys[1].key = r.keys[0].key; })) << "named twice";
  EXPECT_TRUE(refused([](auto& r) {
    for (int i = 0; i < 64; ++i) r.keys.push_back({std::to_string(i), 1, 1, 0, false});
  }));
}

}  // namespace
}  // namespace herdlock::algo
