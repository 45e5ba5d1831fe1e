// What a survey reads, without a server: counters of LFU, long lines, replies of HOTKEYS, patterns.
#include <gtest/gtest.h>

#include "stores/redis/hot/glob.hpp"
#include "stores/redis/hot/hotkeys_reply.hpp"
#include "stores/redis/hot/lfu_range.hpp"
#include "stores/redis/hot/line_cutter.hpp"

namespace herdlock::redis {
namespace {

using std::string_literals::operator""s;

TEST(LfuRange, IsByWhatTheServerDoesWithACounter) {
  // 5 + 10 steps, of 1, 11, … 91 uses; the last one is needed again in each minute.
  auto const fifteen = lfu_range_of(15, 10, 1);
  EXPECT_DOUBLE_EQ(fifteen.low, 91.0 / 60);
  EXPECT_DOUBLE_EQ(fifteen.high, 460.0 / 60);
  EXPECT_DOUBLE_EQ(lfu_range_of(15, 10, 10).high, 460.0 / 600);
  EXPECT_DOUBLE_EQ(lfu_range_of(15, 0, 1).high, 10.0 / 60) << "each use is a step";
}

TEST(LfuRange, GrowsWithTheCounter) {
  for (int counter = 6; counter < 255; ++counter) {
    auto const one = lfu_range_of(counter, 10, 1), next = lfu_range_of(counter + 1, 10, 1);
    EXPECT_LE(one.low, one.high) << counter;
    EXPECT_LT(one.low, next.low) << counter;
    EXPECT_LT(one.likely, one.high + 1e-9) << counter;
    EXPECT_LT(one.likely, next.likely) << counter << ": who is used more comes first";
  }
}

TEST(LfuRange, AKeyThatIsNewMayHaveNoUses) {
  EXPECT_EQ(lfu_range_of(5, 10, 1).low, 0);
  EXPECT_DOUBLE_EQ(lfu_range_of(5, 10, 1).high, 1.0 / 60);
  EXPECT_EQ(lfu_range_of(0, 10, 1).low, 0);
}

TEST(LfuRange, TheGreatestCounterHasNoUpperBound) {
  auto const greatest = lfu_range_of(255, 10, 1);
  EXPECT_EQ(greatest.high, 0);
  EXPECT_GT(greatest.low, lfu_range_of(254, 10, 1).low);
  EXPECT_GT(greatest.likely, greatest.low);
}

TEST(LfuRange, WithoutDecayNobodyKnowsWhen) {
  EXPECT_EQ(lfu_range_of(200, 10, 0).low, 0);
  EXPECT_EQ(lfu_range_of(200, 10, 0).high, 0);
}

// All lines that a cutter gives, `~` behind those that are cut.
std::vector<std::string> cut_lines(line_cutter& by, std::string_view bytes) {
  std::vector<std::string> lines;
  by.add(bytes, [&](std::string_view line, line_part is) {
    lines.push_back(std::string(line) + (is == line_part::beginning ? "~" : ""));
  });
  return lines;
}

TEST(LineCutter, LinesComeInPiecesOfAnySize) {
  line_cutter by;
  EXPECT_EQ(cut_lines(by, "+on"), std::vector<std::string>{});
  EXPECT_EQ(cut_lines(by, "e\r"), std::vector<std::string>{});
  EXPECT_EQ(cut_lines(by, "\n+two\r\n\r\n+thr"), (std::vector<std::string>{"+one", "+two", ""}));
  EXPECT_EQ(cut_lines(by, "ee\r\n"), std::vector<std::string>{"+three"});
}

TEST(LineCutter, OfALongLineTheBeginningIsKeptAndTheNextOneIsWhole) {
  line_cutter by;
  std::string const long_line(10 * line_cutter::most_bytes, 'x');
  for (std::size_t at = 0; at < long_line.size(); at += 1000) {
    EXPECT_EQ(cut_lines(by, long_line.substr(at, 1000)), std::vector<std::string>{});
  }
  EXPECT_EQ(cut_lines(by, "\r\nnext\r\n"),
            (std::vector<std::string>{long_line.substr(0, line_cutter::most_bytes) + "~", "next"}));
  std::string const fits(line_cutter::most_bytes - 1, 'y');
  EXPECT_EQ(cut_lines(by, fits + "\r\n"), std::vector<std::string>{fits});
}

TEST(LineCutter, TheWholeWordsOfACutLineAreRead) {
  std::string const line = R"(1.0 [0 1.2.3.4:5] "SET" "k\" \"" "a value that is cu)";
  EXPECT_FALSE(parse_monitor_line(line, 9));
  auto const read = parse_monitor_line(line, 9, line_part::beginning);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->words, (std::vector<std::string>{"SET", "k\" \""}));
  EXPECT_FALSE(parse_monitor_line(R"(1.0 [0 1.2.3.4:5] "SE)", 9, line_part::beginning));
}

TEST(Glob, MatchesTheTextAndNothingElse) {
  EXPECT_EQ(escape_glob("order:42"), "order:42");
  EXPECT_EQ(escape_glob(R"(a*b?c[d]e\f)"), R"(a\*b\?c\[d\]e\\f)");
  EXPECT_EQ(escape_glob("\0\n"s), "\0\n"s);
}

// A reply, node by node: text, numbers, and lists of so many.
class hotkeys_text {
 public:
  hotkeys_text& list(std::size_t size) {
    made_.add(reply_kind::list, size, {});
    return *this;
  }
  hotkeys_text& text(std::string_view what) {
    made_.add(reply_kind::text, 0, what);
    return *this;
  }
  hotkeys_text& number(std::int64_t value) {
    made_.add(reply_kind::number, 0, std::to_string(value));
    return *this;
  }
  // The map of Redis: its names and values.
  hotkeys_text& session(std::int64_t ratio) {
    list(10).text("tracking-active").number(0).text("sample-ratio").number(ratio);
    text("selected-slots").list(1).list(2).number(0).number(16'383);
    text("all-commands-all-slots-us").number(1000);
    return text("by-cpu-time-us").list(4).text("a").number(400).text("b").number(50);
  }
  auto read() const { return read_hotkeys(made_); }

 private:
  reply made_;
};

void expect_shares(std::optional<hotkeys_answer> const& read, double of_a, double of_b) {
  ASSERT_TRUE(read);
  EXPECT_EQ(read->what, hotkeys_answer::measure::share);
  ASSERT_EQ(read->rows.size(), 2u);
  EXPECT_EQ(read->rows[0].key, "a");
  EXPECT_DOUBLE_EQ(read->rows[0].value, of_a);
  EXPECT_EQ(read->rows[1].key, "b");
  EXPECT_DOUBLE_EQ(read->rows[1].value, of_b);
}

TEST(HotkeysReply, OfRedisIsAMapOrAListWithOne) {
  expect_shares(hotkeys_text().session(1).read(), 0.4, 0.05);
  expect_shares(hotkeys_text().list(1).session(1).read(), 0.4, 0.05);
}

TEST(HotkeysReply, OfASampleIsScaledAndNeverMoreThanAll) {
  expect_shares(hotkeys_text().list(1).session(2).read(), 0.8, 0.1);
  expect_shares(hotkeys_text().list(1).session(10).read(), 1, 0.5);
}

TEST(HotkeysReply, OfValkeyIsAListOfKeys) {
  hotkeys_text answer;
  answer.list(2);
  answer.list(6).text("key").text("a").text("db").number(0).text("qps").number(900);
  answer.list(6).text("key").text("b").text("db").number(3).text("qps").number(20);
  auto const read = answer.read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->what, hotkeys_answer::measure::uses);
  ASSERT_EQ(read->rows.size(), 2u);
  EXPECT_EQ(read->rows[0].key, "a");
  EXPECT_EQ(read->rows[0].value, 900);
  EXPECT_EQ(read->rows[1].database, 3);
}

TEST(HotkeysReply, WithoutASessionOrAWindowThereAreNoKeys) {
  reply none;
  none.add(reply_kind::null, 0, {});
  ASSERT_TRUE(read_hotkeys(none));
  EXPECT_TRUE(read_hotkeys(none)->rows.empty());
  ASSERT_TRUE(hotkeys_text().list(0).read());
  EXPECT_TRUE(hotkeys_text().list(0).read()->rows.empty());
}

TEST(HotkeysReply, WhatIsNoneIsNone) {
  EXPECT_FALSE(hotkeys_text().text("OK").read());
  EXPECT_FALSE(hotkeys_text().list(2).text("a").number(1).read());
  EXPECT_FALSE(hotkeys_text().list(1).list(2).text("key").text("a").read()) << "without a number";
  EXPECT_FALSE(hotkeys_text().list(3).list(1'000'000).text("key").read()) << "cut short";
}

}  // namespace
}  // namespace herdlock::redis
