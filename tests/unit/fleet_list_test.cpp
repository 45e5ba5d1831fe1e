// A list as it is published: what comes back, and what is refused.
#include "algo/fleet_list.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace herdlock::algo {
namespace {

fleet_list some_list() {
  std::string const binary("\0\n\xff", 3);
  auto const most = std::numeric_limits<std::uint64_t>::max();
  return {.number = {.term = 0x0123456789abcdef, .counter = 7},
          .processes = 300,
          .pause_ms = 172,
          .keys = {{"product:42", 900, 1000, 3, 299, true, 250, 61'000},
                   {binary, 0, most, most, 1, true, 0, 0},
                   {std::string(fleet_report::most_key_bytes, 'x'), 1, 1, 1, 1, false, 1, 5}}};
}

fleet_list empty_list() { return {.number = {1, 1}, .processes = 0, .pause_ms = 0, .keys = {}}; }

TEST(FleetList, ComesBackAsItWasSent) {
  EXPECT_EQ(decode_fleet_list(encode(some_list())), some_list());
  EXPECT_EQ(decode_fleet_list(encode(empty_list())), empty_list());
}

TEST(FleetList, ItsBytesAreKnownBeforeItIsSent) {
  EXPECT_EQ(encoded_bytes(some_list()), encode(some_list()).size());
  EXPECT_EQ(encoded_bytes(empty_list()), encode(empty_list()).size());
}

TEST(FleetList, OneThatIsCutShortAnywhereIsRefused) {
  auto const text = encode(some_list());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode_fleet_list(std::string_view(text).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_fleet_list(text + "x")) << "nor with something behind it";
}

TEST(FleetList, OfAnyByteThatIsChangedNothingFollowsButAnotherList) {
  auto const text = encode(some_list());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = text;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      auto const list = decode_fleet_list(changed);
      EXPECT_TRUE(!list || is_plausible(*list)) << at;
    }
  }
}

// Both are on one channel when versions are mixed.
TEST(FleetList, IsNoReportAndOfAnotherVersionItIsNothing) {
  EXPECT_FALSE(decode_report(encode(some_list())));
  EXPECT_FALSE(decode_fleet_list(encode(fleet_report{1, 1, 0, {}})));
  auto text = encode(some_list());
  text[4] = '2';
  EXPECT_FALSE(decode_fleet_list(text));
}

TEST(FleetList, ALaterTermIsNewerWhateverItsCounter) {
  EXPECT_LT((list_number{7, 900}), (list_number{8, 1}));
  EXPECT_LT((list_number{8, 1}), (list_number{8, 2}));
}

TEST(FleetList, AsManyKeysAsMayBeHotWithTheLongestNamesHaveRoom) {
  auto list = empty_list();
  for (std::size_t i = 0; i < fleet_list::most_keys; ++i) {
    auto key = std::to_string(i);
    key.resize(fleet_report::most_key_bytes, 'x');
    list.keys.push_back({.key = std::move(key)});
  }
  EXPECT_TRUE(is_plausible(list));
  EXPECT_LE(encoded_bytes(list), fleet_list::most_bytes);
  list.keys.push_back({.key = "one more"});
  EXPECT_FALSE(is_plausible(list));
}

TEST(FleetList, WhatCannotBeIsNotPlausible) {
  EXPECT_TRUE(is_plausible(some_list()));
  auto const refused = [](auto change) {
    auto list = some_list();
    change(list);
    return !is_plausible(list);
  };
  EXPECT_TRUE(refused([](auto& l) { l.number.term = 0; }));
  EXPECT_TRUE(refused([](auto& l) { l.number.counter = 0; }));
  EXPECT_TRUE(refused([](auto& l) { l.processes = fleet_list::most_processes + 1; }));
  EXPECT_TRUE(refused([](auto& l) { l.pause_ms = fleet_list::most_pause_ms + 1; }));
  EXPECT_TRUE(refused([](auto& l) { l.keys[0].low = 1001; })) << "more than at most";
  EXPECT_TRUE(refused([](auto& l) { l.keys[0].processes = 301; })) << "more than report";
  EXPECT_TRUE(refused([](auto& l) { l.keys[0].kept_by = 300; })) << "more than name it";
  EXPECT_TRUE(refused([](auto& l) { l.keys[0].kept_ms = fleet_report::most_kept_ms + 1; }));
  EXPECT_TRUE(refused([](auto& l) { l.keys[0].key.clear(); }));
  EXPECT_TRUE(refused([](auto& l) { l.keys[2].key += 'x'; }));
  EXPECT_TRUE(refused([](auto& l) { l.keys[1].key = l.keys[0].key; })) << "named twice";
}

TEST(FleetList, ASecondIsTheShortestInterval) {
  auto list = some_list();
  EXPECT_EQ(list.interval(), milliseconds(1000));
  list.pause_ms = 3000;
  EXPECT_EQ(list.interval(), milliseconds(3000));
}

}  // namespace
}  // namespace herdlock::algo
