// What `herdlock hot` shows, for a width and a height.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hot/hot_table.hpp"

namespace {

using namespace herdlock;
using namespace herdlock::cli;
using lines = std::vector<std::string>;

// Of what the tests show each character but `…`, `ü` and the Chinese ones is a byte.
std::size_t columns_in(std::string const& line) {
  std::size_t sum = 0;
  for (unsigned char const c : line) {
    sum += c < 0x80 || c >= 0xc0;
    sum += c == 0xe4 || c == 0xe5;  // those that begin so are two columns wide
  }
  return sum;
}

std::size_t widest_of(lines const& all) {
  std::size_t most = 0;
  for (auto const& one : all) most = std::max(most, columns_in(one));
  return most;
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

surveyed_key a_key(std::string name, double rate) {
  surveyed_key one;
  one.key = std::move(name);
  one.rate = rate;
  return one;
}

surveyed_key all_of_a_key(std::string name) {
  surveyed_key one = a_key(std::move(name), 12'345);
  one.low = 11'900;
  one.high = 12'800;
  one.share = 0.253;
  one.reads = 12'000;
  one.writes = 345;
  one.bytes = 4'321;
  one.processes = 7;
  one.kept_by = 3;
  one.kept_for = milliseconds{12'000};
  return one;
}

TEST(HotTable, NumbersAreReadable) {
  EXPECT_EQ(readable(0), "0");
  EXPECT_EQ(readable(0.04), "<0.1");
  EXPECT_EQ(readable(0.06), "0.1");
  EXPECT_EQ(readable(7.44), "7.4");
  EXPECT_EQ(readable(9.97), "10");
  EXPECT_EQ(readable(950), "950");
  EXPECT_EQ(readable(999.7), "1.0 k");
  EXPECT_EQ(readable(12'345), "12.3 k");
  EXPECT_EQ(readable(123'456), "123 k");
  EXPECT_EQ(readable(999'900), "1.0 M");
  EXPECT_EQ(readable(4'500'000), "4.5 M");
  EXPECT_EQ(readable(1e16), "10000 T");
}

TEST(HotTable, AllThatIsKnownHasItsColumn) {
  survey seen;
  seen.keys = {all_of_a_key("p:hot")};
  seen.keys[0].reporters = 10;
  auto const shown = hot_table(seen, any_width);
  EXPECT_EQ(shown, (lines{"KEY    RATE/S            BOUNDS   SHARE  READS/S  WRITES/S    SIZE  "
                          "         KEPT  SEEN IN",
                          "p:hot  12.3 k  11.9 k to 12.8 k  25.3 %   12.0 k       345  4.3 KB  "
                          "3 of 10, 12 s        7"}));
}

TEST(HotTable, AColumnOfWhichNothingIsKnownIsLeftOut) {
  survey seen;
  seen.keys = {a_key("a", 20), a_key("b", 10)};
  EXPECT_EQ(hot_table(seen, any_width), (lines{"KEY  RATE/S", "a        20", "b        10"}));
  seen.keys[1].reads = 9;
  EXPECT_EQ(hot_table(seen, any_width),
            (lines{"KEY  RATE/S  READS/S", "a        20        -", "b        10      9.0"}));
}

TEST(HotTable, ABoundThatNobodyKnowsIsLeftOpen) {
  survey seen;
  seen.keys = {a_key("a", 20)};
  seen.keys[0].low = 15;
  EXPECT_TRUE(has(hot_table(seen, any_width)[1], "15 or more"));
}

TEST(HotTable, WhatNobodyKeepsHasNoTime) {
  survey seen;
  seen.keys = {a_key("a", 20)};
  seen.keys[0].reporters = 4;
  seen.keys[0].kept_by = 0;
  EXPECT_TRUE(hot_table(seen, any_width)[1].ends_with("  0 of 4"));
}

TEST(HotTable, KeysDoNothingToATerminal) {
  survey seen;
  seen.keys = {a_key("\x1b[2J\n\xff", 20)};
  EXPECT_TRUE(hot_table(seen, any_width)[1].starts_with("\\x1b[2J\\x0a\\xff  "));
}

TEST(HotTable, LongKeysAreCutInTheMiddleToTheWidth) {
  survey seen;
  seen.keys = {all_of_a_key(std::string(100, 'a') + std::string(100, 'z')), all_of_a_key("short")};
  for (std::size_t const width : {40u, 60u, 80u, 100u, 140u, 200u}) {
    auto const shown = hot_table(seen, width);
    EXPECT_EQ(widest_of(shown), width);
    EXPECT_TRUE(shown[1].starts_with("aaaaaaa")) << shown[1];
    EXPECT_TRUE(has(shown[1], "a…z")) << shown[1];
    EXPECT_TRUE(has(shown[1], "12.3 k")) << "its rate stays";
    EXPECT_TRUE(shown[2].starts_with("short ")) << shown[2];
  }
  EXPECT_FALSE(has(hot_table(seen, 40)[0], "SEEN IN")) << "keys go before the last columns";
}

TEST(HotTable, NoWidthIsTooSmall) {
  survey seen;
  seen.keys = {all_of_a_key(std::string(100, 'a'))};
  for (std::size_t width = 0; width < 30; ++width) EXPECT_EQ(hot_table(seen, width).size(), 2u);
}

TEST(HotTable, WideCharactersAreCountedAsWide) {
  EXPECT_EQ(cut_in_the_middle("商品商品", 8), "商品商品");
  EXPECT_EQ(cut_in_the_middle("商品商品", 7), "商…品") << "half a character is none";
  EXPECT_EQ(cut_in_the_middle("grün", 4), "grün");
  EXPECT_EQ(cut_in_the_middle("grün", 3), "g…n");
  EXPECT_EQ(cut_in_the_middle("abc", 1), "…");
  EXPECT_EQ(cut_in_the_middle("abc", 0), "");
  survey seen;
  seen.keys = {a_key("商品", 20), a_key("ab", 10)};
  auto const shown = hot_table(seen, any_width);
  EXPECT_EQ(columns_in(shown[1]), columns_in(shown[2]));
}

TEST(HotTable, JsonHasNullForWhatIsNotKnown) {
  survey seen;
  seen.keys = {a_key("k", 20)};
  auto const list = hot_json(seen, survey_source::lfu);
  EXPECT_EQ(list.dump(), R"([{"key":"k","rate":20.0,"low":0.0,"high":null,"reads":null,)"
                         R"("writes":null,"source":"lfu"}])");
  seen.keys = {all_of_a_key("k")};
  auto const one = hot_json(seen, survey_source::clients)[0];
  EXPECT_EQ(one["high"], 12'800);
  EXPECT_EQ(one["writes"], 345);
  EXPECT_EQ(one["share"], 0.253);
  EXPECT_EQ(one["bytes"], 4'321);
  EXPECT_EQ(one["processes"], 7);
  EXPECT_EQ(one["kept_by"], 3);
  EXPECT_EQ(one["kept_for_ms"], 12'000);
}

TEST(HotTable, ALineHasFiveWordsWhateverTheKeyHolds) {
  auto one = all_of_a_key("a key\n");
  EXPECT_EQ(hot_line(one, milliseconds{1'204}), "1.204 a\\x20key\\x0a 12345.0 11900.0 12800.0");
  one.high = 0;
  one.key.clear();
  EXPECT_EQ(hot_line(one, milliseconds{0}), "0.000 \"\" 12345.0 11900.0 -");
}

TEST(HotTable, NoTwoKeysLookAlikeInALine) {
  auto const line = [](char const* key) { return hot_line(all_of_a_key(key), milliseconds{0}); };
  EXPECT_NE(line("sp ace"), line("sp\\x20ace"));
  EXPECT_TRUE(has(line("\xe2\x80\xae"
                       "gpj"),
                  "\\xe2\\x80\\xaegpj"))
      << "it turns the row around";
}

TEST(HotTable, WhatMayHaveBeenCutHasAMark) {
  survey seen;
  seen.keys = {a_key("abc", 20)};
  seen.keys[0].cut = true;
  EXPECT_TRUE(has(hot_table(seen, any_width)[1], "abc…"));
  EXPECT_TRUE(has(hot_line(seen.keys[0], milliseconds{0}), " abc… "));
  EXPECT_EQ(hot_json(seen, survey_source::clients)[0]["key_cut"], true);
  seen.keys[0].cut = false;
  EXPECT_FALSE(hot_json(seen, survey_source::clients)[0].contains("key_cut"));
}

TEST(HotTable, JsonHasTheBytesOfAKeyThatIsNoText) {
  survey seen;
  seen.keys = {a_key("a\xff\\", 20), a_key("plain", 10)};
  auto const list = hot_json(seen, survey_source::lfu);
  EXPECT_EQ(list[0]["key_escaped"], "a\\xff\\\\");
  EXPECT_FALSE(list[1].contains("key_escaped"));
}

TEST(HotTable, EachSourceSaysWhereElseToLook) {
  for (auto const source : {survey_source::clients, survey_source::monitor, survey_source::lfu,
                            survey_source::server}) {
    auto const said = nothing_found(source);
    EXPECT_FALSE(said.empty());
    EXPECT_LE(widest_of(said), 80u);
  }
}

// ------------------------------------------------------------------------- the live screen

class HotScreenLines : public ::testing::Test {
 protected:
  HotScreenLines() {
    now.store = "redis://cache.example:6379";
    now.elapsed = milliseconds{12'000};
    now.seen.emplace();
    now.seen->processes = 10;
    now.seen->cost = "2 commands";
    for (int i = 0; i < 100; ++i) now.seen->keys.push_back(all_of_a_key("key" + std::to_string(i)));
  }

  hot_view now;
};

TEST_F(HotScreenLines, TheFirstTellsWhatIsLookedAt) {
  auto const shown = hot_screen_lines(now, {.columns = 100, .rows = 30});
  EXPECT_EQ(shown[0], "redis://cache.example:6379, clients, 12 s, 10 processes; q quits");
  EXPECT_EQ(shown[1], "2 commands");
  EXPECT_TRUE(shown[3].starts_with("KEY ")) << shown[3];
}

TEST_F(HotScreenLines, AreNoMoreThanFit) {
  now.seen->notes = {std::string(300, 'n'), "second", "third", "fourth"};
  for (std::size_t const columns : {1u, 5u, 20u, 80u, 200u}) {
    for (std::size_t const rows : {1u, 2u, 5u, 24u, 60u}) {
      auto const shown = hot_screen_lines(now, {.columns = columns, .rows = rows});
      EXPECT_EQ(shown.size(), rows);
      EXPECT_LE(widest_of(shown), columns);
    }
  }
}

TEST_F(HotScreenLines, ALookThatFailedIsToldAndTheLastAnswerStays) {
  now.trouble = "redis://cache.example:6379: gone\x1b";
  auto const shown = hot_screen_lines(now, {.columns = 100, .rows = 30});
  EXPECT_EQ(shown[1], "failed, tried again: redis://cache.example:6379: gone\\x1b");
  EXPECT_TRUE(shown[3].starts_with("KEY ")) << shown[3];
}

TEST_F(HotScreenLines, TellThatALookIsUnderWayOrEnding) {
  now.source = survey_source::monitor;
  now.percent = 40;
  EXPECT_TRUE(has(hot_screen_lines(now, {}).front(), "looking, 40 %"));
  now.ending = true;
  auto const ending = hot_screen_lines(now, {.columns = 100, .rows = 30}).front();
  EXPECT_TRUE(ending.ends_with(": ending; again to end at once")) << ending;
  hot_view first;
  first.store = "redis://h";
  EXPECT_EQ(hot_screen_lines(first, {}), lines{"redis://h, clients, 0 ms: looking; q quits"});
}

TEST_F(HotScreenLines, TellThatNothingWasFound) {
  now.seen->keys.clear();
  EXPECT_TRUE(has(hot_screen_lines(now, {})[3], "no process reports"));
}

}  // namespace
