// What MONITOR says: its lines, whether they are read in time, and which of their words are keys.
#include <gtest/gtest.h>

#include <chrono>

#include "stores/redis/hot/command_keys.hpp"
#include "stores/redis/hot/monitor_lag.hpp"
#include "stores/redis/hot/monitor_line.hpp"

namespace herdlock::redis {
namespace {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

TEST(MonitorLine, HasTheDatabaseAndTheWordsAsTheyWereSent) {
  auto const read = parse_monitor_line(
      R"(1700000000.123456 [3 127.0.0.1:60866] "SET" "a \"b\" \\" "\x00\n\xff")", 9);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->database, 3);
  EXPECT_FALSE(read->by_script);
  EXPECT_EQ(read->words, (words{"SET", "a \"b\" \\", std::string("\0\n\xff", 3)}));
}

TEST(MonitorLine, OfAScriptIsSaidToBe) {
  auto const read = parse_monitor_line(R"(1.0 [0 lua] "GET" "k")", 9);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->by_script);
}

TEST(MonitorLine, OfAUnixSocketIsRead) {
  auto const read = parse_monitor_line(R"(1.0 [0 unix:/run/redis sock] "GET" "k")", 9);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->words, (words{"GET", "k"}));
}

TEST(MonitorLine, WhatIsBehindTheWordsThatAreWantedNeedNotBeWhole) {
  auto const read = parse_monitor_line(R"(1.0 [0 1.2.3.4:5] "SET" "k" "a value that is cut)", 2);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->words, (words{"SET", "k"}));
}

TEST(MonitorLine, WhatIsNoneIsNone) {
  for (char const* text : {"", "OK", "1.0", "1.0 [", "1.0 [0 lua", "1.0 [0 lua]", "1.0 [0 lua] ",
                           "1.0 [x lua] \"GET\"", "1.0 [-1 lua] \"GET\"", "1.0 [0 lua] GET",
                           "1.0 [0 lua] \"GET", "1.0 [0 lua] \"GET\"x", "1.0 [0 lua] \"GET\" ",
                           "1.0 [0 lua] \"\\x0\"", "1.0 [0 lua] \"\\"}) {
    EXPECT_FALSE(parse_monitor_line(text, 9)) << text;
  }
}

TEST(MonitorLine, BeginsWithTheTimeOfItsExecution) {
  auto const read = execution_time(R"(1700000000.123456 [0 127.0.0.1:60866] "GET" "k")");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->count(), 1'700'000'000'123'456);
  EXPECT_TRUE(execution_time("0.000000 ["));
  EXPECT_TRUE(execution_time("100000000000.999999 ["));
}

TEST(MonitorLine, ATimeThatIsNoneIsNone) {
  for (char const* text :
       {"", "OK", "1", "1.", "1.0", "1 [", "x.0 [", "-1.0 [", "1.-1 [", "1.1000000 [",
        "100000000001.0 [", "9223372036854775807.0 [", "99999999999999999999.0 ["}) {
    EXPECT_FALSE(execution_time(text)) << text;
  }
}

class MonitorLag : public ::testing::Test {
 protected:
  // Both since the first line: what the server's clock says, and ours.
  bool is_too_great(std::chrono::microseconds executed, std::chrono::microseconds read) {
    return lag_.is_too_great(1'700'000'000s + executed, 5s + read);
  }
  // From there on each line takes the server a tenth of a second, and us two.
  void expect_to_be_too_late_after_two_seconds(std::chrono::microseconds executed,
                                               std::chrono::microseconds read) {
    for (int line = 0; line <= 20; ++line) {
      EXPECT_FALSE(is_too_great(executed + line * 100ms, read + line * 200ms)) << line;
    }
    EXPECT_TRUE(is_too_great(executed + 2100ms, read + 4200ms));
  }

 private:
  monitor_lag lag_;
};

TEST_F(MonitorLag, LinesThatAreReadAsTheyComeAreInTime) {
  for (int line = 0; line < 100; ++line) EXPECT_FALSE(is_too_great(line * 10s, line * 10s)) << line;
}

TEST_F(MonitorLag, GrowsLineByLine) { expect_to_be_too_late_after_two_seconds(0s, 0s); }

TEST_F(MonitorLag, WhoCatchesUpIsInTimeAgain) {
  EXPECT_FALSE(is_too_great(0s, 0s));
  for (int round = 0; round < 10; ++round) {
    EXPECT_FALSE(is_too_great(round * 10s + 1s, round * 10s + 2500ms)) << "1.5 s late";
    EXPECT_FALSE(is_too_great(round * 10s + 3s, round * 10s + 3s)) << "in time";
  }
}

TEST_F(MonitorLag, AClockThatIsSetBackDoesNotEndTheLook) {
  EXPECT_FALSE(is_too_great(0s, 0s));
  EXPECT_FALSE(is_too_great(-1h, 1ms));
  EXPECT_FALSE(is_too_great(-1h + 1s, 1001ms));
  expect_to_be_too_late_after_two_seconds(-1h + 2s, 2001ms);
}

// Its times grow even so: five seconds of ten are missing.
TEST_F(MonitorLag, AClockThatIsSetBackBetweenLinesThatAreFarApartDoesNotEndTheLook) {
  EXPECT_FALSE(is_too_great(0s, 0s));
  EXPECT_FALSE(is_too_great(5s, 10s));
  EXPECT_FALSE(is_too_great(15s, 20s));
  expect_to_be_too_late_after_two_seconds(16s, 21s);
}

// As where whoever reads is held up again and again.
TEST_F(MonitorLag, OneThatGrowsByJumpsIsTooGreatAtTheSecond) {
  EXPECT_FALSE(is_too_great(0s, 0s));
  EXPECT_FALSE(is_too_great(1ms, 2500ms));
  EXPECT_FALSE(is_too_great(100ms, 2501ms));
  EXPECT_TRUE(is_too_great(101ms, 5000ms));
}

TEST_F(MonitorLag, AClockThatIsSetForwardAndBackAgainDoesNotEndTheLook) {
  EXPECT_FALSE(is_too_great(0s, 0s));
  EXPECT_FALSE(is_too_great(1h, 1ms));
  EXPECT_FALSE(is_too_great(2ms, 2ms));
  expect_to_be_too_late_after_two_seconds(3ms, 3ms);
}

class CommandKeys : public ::testing::Test {
 protected:
  void list(std::size_t size) { answer.add(reply_kind::list, size, {}); }
  void text(std::string_view what) { answer.add(reply_kind::text, 0, what); }
  void number(std::string_view what) { answer.add(reply_kind::number, 0, what); }

  // A command with its one specification.
  void command(std::string_view name, std::string_view flag, std::vector<std::string> begin,
               std::vector<std::string> find) {
    list(10);
    text(name);
    number("-2");
    list(0);
    number("1");
    number("1");
    number("1");
    list(0);
    list(0);
    list(1);  // specifications
    list(6);
    text("flags");
    list(2);
    text(flag);
    text("access");
    text("begin_search");
    part(std::move(begin));
    text("find_keys");
    part(std::move(find));
    list(0);  // subcommands
  }
  // A type, and the names and numbers of its specification.
  void part(std::vector<std::string> const& what) {
    list(4);
    text("type");
    text(what[0]);
    text("spec");
    list(what.size() - 1);
    for (std::size_t i = 1; i < what.size(); ++i) {
      bool const is_number = what[i].find_first_not_of("-0123456789") == std::string::npos;
      if (is_number) {
        number(what[i]);
      } else {
        text(what[i]);
      }
    }
  }
  std::vector<used_key> keys_of(words const& of) {
    auto const known = command_keys::read(answer);
    if (!known) return {};
    kept = of;  // what is found refers to it
    return known->of(kept);
  }
  static used_key reads(std::string_view key) { return {key, false}; }
  static used_key writes(std::string_view key) { return {key, true}; }

  reply answer;
  words kept;
};

TEST_F(CommandKeys, OfOneKeyAndOfARange) {
  list(3);
  command("get", "RO", {"index", "index", "1"},
          {"range", "lastkey", "0", "keystep", "1", "limit", "0"});
  command("mset", "OW", {"index", "index", "1"},
          {"range", "lastkey", "-1", "keystep", "2", "limit", "0"});
  command("mget", "RO", {"index", "index", "1"},
          {"range", "lastkey", "-1", "keystep", "1", "limit", "0"});
  EXPECT_EQ(keys_of({"GET", "k"}), (std::vector{reads("k")}));
  EXPECT_EQ(keys_of({"MGet", "a", "b"}), (std::vector{reads("a"), reads("b")}));
  EXPECT_EQ(keys_of({"mset", "a", "1", "b", "2"}), (std::vector{writes("a"), writes("b")}));
}

TEST_F(CommandKeys, OfANumberOfThem) {
  list(1);
  command("eval", "RW", {"index", "index", "2"},
          {"keynum", "keynumidx", "0", "firstkey", "1", "keystep", "1"});
  EXPECT_EQ(keys_of({"EVAL", "return 1", "2", "a", "b", "c"}),
            (std::vector{writes("a"), writes("b")}));
  EXPECT_EQ(keys_of({"EVAL", "return 1", "0", "a"}), std::vector<used_key>{});
  EXPECT_EQ(keys_of({"EVAL", "return 1", "7", "a"}), std::vector<used_key>{}) << "too few words";
  EXPECT_EQ(keys_of({"EVAL", "return 1", "x", "a"}), std::vector<used_key>{});
}

TEST_F(CommandKeys, BehindAKeyword) {
  list(1);
  command("xread", "RO", {"keyword", "keyword", "STREAMS", "startfrom", "1"},
          {"range", "lastkey", "-1", "keystep", "1", "limit", "2"});
  EXPECT_EQ(keys_of({"XREAD", "COUNT", "2", "streams", "a", "b", "0", "0"}),
            (std::vector{reads("a"), reads("b")}));
  EXPECT_EQ(keys_of({"XREAD", "COUNT", "2"}), std::vector<used_key>{});
}

TEST_F(CommandKeys, OfWhatIsNotKnownThereAreNone) {
  list(1);
  command("odd", "RO", {"unknown"}, {"unknown"});
  EXPECT_EQ(keys_of({"ODD", "k"}), std::vector<used_key>{});
  EXPECT_EQ(keys_of({"OTHER", "k"}), std::vector<used_key>{});
  EXPECT_EQ(keys_of({"GET"}), std::vector<used_key>{});
}

TEST(CommandKeysRead, WhatIsNoAnswerIsNone) {
  reply empty;
  EXPECT_FALSE(command_keys::read(empty));
}

}  // namespace
}  // namespace herdlock::redis
