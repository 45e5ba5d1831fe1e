// What caches tell each other in memory: its ends, its bounds, and a look at it.
#include <herdlock/survey.hpp>

#include "algo/fleet_report.hpp"
#include "exchange_fixture.hpp"
#include "stores/memory/exchange_table.hpp"
#include "stores/memory/memory_store.hpp"

namespace herdlock_test {
namespace {

store_case const in_memory{"memory", {}, &open_memory};

struct memory_exchange : testing::Test {
  std::size_t kept() const {
    auto const all = table.kept();
    return all.empty() ? 0 : all.begin()->second.size();
  }

  memory::deadlines due;
  memory::usage used{{.max_entries = 2, .max_waiters = 1, .max_bytes = 20}};
  memory::exchange_table table{due, used};
  clock::time_point const start{1000s};
};

TEST_F(memory_exchange, AReportGoesWhenItsProcessHasSaidNothingForItsTime) {
  ASSERT_TRUE(table.report({"t", "p", 1, "x"}, start));
  ASSERT_TRUE(table.report({"t", "q", 1, "x"}, start));
  ASSERT_TRUE(table.report({"t", "q", 2, "y"}, start + 3s));
  due.run(start + report_store::keeps_for - 1ms);
  EXPECT_EQ(kept(), 2u);
  due.run(start + report_store::keeps_for);
  EXPECT_EQ(kept(), 1u);
  due.run(start + 3s + report_store::keeps_for);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(memory_exchange, ReportsAndRulesAreWithinTheBoundsOfTheSpace) {
  ASSERT_TRUE(table.report({"t", "p", 1, "x"}, start));
  EXPECT_TRUE(table.report({"t", "p", 2, std::string(30, 'x')}, start).error() == errc::overloaded);
  EXPECT_EQ(table.kept().at("t"), std::vector<std::string>{"x"}) << "the one before stays";
  auto const version = table.write_rules({"t", 0, "r"}).value();
  EXPECT_TRUE(table.report({"t", "q", 1, "x"}, start).error() == errc::overloaded);
  EXPECT_TRUE(table.write_rules({"other", 0, "r"}).error() == errc::overloaded);
  EXPECT_TRUE(table.write_rules({"t", version, std::string(30, 'r')}).error() == errc::overloaded);
  EXPECT_GT(table.write_rules({"t", version, "s"}).value(), version);
  due.run(start + report_store::keeps_for);
  EXPECT_TRUE(table.report({"t", "q", 1, "x"}, start)) << "what has gone makes room";
}

TEST(MemoryExchange, ARefusalNamesTheStoreAndTheTopic) {
  client c(in_memory, "memory:?max_entries=1");
  ASSERT_TRUE(report(c, "p", 1, "x"));
  auto const refused = report(c, "q", 1, "x");
  ASSERT_TRUE(refused.has_error());
  for (char const* part : {"memory:", "'t'", "max_entries"}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
}

// Its executor may be gone.
TEST(MemoryExchange, AListenerGoesWithTheHandleThroughWhichHeListens) {
  asio::io_context io;
  auto const url = store_url::parse("memory:left").value();
  auto left = open_memory(url, io.get_executor()).value();
  auto const stays = open_memory(url, io.get_executor()).value();
  auto const heard = std::make_shared<heard_reports>();
  left.reports->listen("t", heard);
  left = {};
  stays.reports->report({"t", "p", 1, "x"}, handler<void>([](result<void> const&) {}));
  io.run();
  EXPECT_TRUE(heard->texts.empty());
}

TEST(MemoryExchange, ASurveyTellsWhatTheCachesOfThisProcessReport) {
  std::string const url = "memory:surveyed";
  client c(in_memory, url);
  algo::fleet_report const told{
      .process = 7, .number = 1, .rest = 0, .keys = {{.key = "k", .low = 100, .high = 120}}};
  ASSERT_TRUE(report(c, "7", 1, algo::encode(told), "p:hot-keys"));
  auto const seen = survey_store(url).value();
  ASSERT_EQ(seen.keys.size(), 1u);
  EXPECT_EQ(seen.keys[0].key, "p:k");
  EXPECT_EQ(seen.keys[0].rate, 100);
  EXPECT_EQ(seen.processes, 1u);
  EXPECT_TRUE(survey_store(url, {.prefix = "other:"}).value().keys.empty());
}

TEST(MemoryExchange, ASurveyOfAStoreThatNobodySeesSaysSo) {
  auto const closed = survey_store("memory:nobody-has-it").value();
  EXPECT_TRUE(closed.keys.empty());
  ASSERT_FALSE(closed.notes.empty());
  EXPECT_NE(closed.notes[0].find("not open in this process"), std::string::npos);
  auto const nameless = survey_store("memory:");
  EXPECT_TRUE(nameless.error() == errc::not_supported);
  EXPECT_NE(nameless.error().message.find("memory:NAME"), std::string::npos);
  for (auto const source : {survey_source::monitor, survey_source::lfu, survey_source::server}) {
    auto const refused = survey_store("memory:surveyed", {.source = source});
    EXPECT_TRUE(refused.error() == errc::not_supported);
    EXPECT_NE(refused.error().message.find("clients"), std::string::npos);
  }
}

}  // namespace
}  // namespace herdlock_test
