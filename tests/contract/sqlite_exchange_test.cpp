// What caches tell each other through an SQLite file: its tables, which older files and programs do
// not know, its ends, and what it costs those who lock.
#include <fstream>
#include <herdlock/survey.hpp>

#include "algo/fleet_report.hpp"
#include "exchange_fixture.hpp"
#include "sqlite_fixture.hpp"

namespace herdlock_test {
namespace {

constexpr char exchange_tables[] =
    "sqlite_schema WHERE type = 'table' AND name IN ('herdlock_reports', 'herdlock_rules', "
    "'herdlock_prolonged')";

class sqlite_exchange : public sqlite_store {
 protected:
  static bool hears(client& by, std::string const& text) {
    auto const heard = listen(by);
    return by.run_until([&] { return heard->has(text); });
  }
  static std::string said(result<void> const& outcome) {
    return outcome.has_error() ? outcome.error().message : "";
  }
  static std::string a_report() {
    return algo::encode(
        {.process = 7, .number = 1, .rest = 0, .keys = {{.key = "k", .low = 100, .high = 120}}});
  }
};

TEST_F(sqlite_exchange, WhoTellsNothingHasNoTablesForIt) {
  client c(sqlite, url());
  auto const heard = listen(c);
  EXPECT_EQ(read_rules(c).version, 0u);
  EXPECT_FALSE(prolong(c, key, 10min, 1h));
  EXPECT_EQ(count(exchange_tables), 0);
}

// The tables are made by the first who tells something, beside whoever has the file open.
TEST_F(sqlite_exchange, AFileOfAnOlderBuildGetsThemAndKeepsWhatIsThere) {
  client older(sqlite, url());
  as<grant>(older.acquire(stock, alice));
  ASSERT_TRUE(older.put(key, std::string("kept"), 1min).has_value());
  client c(sqlite, url());
  ASSERT_TRUE(report(c, "p", 1, "x"));
  EXPECT_GT(write_rules(c, 0, "r"), 0u);
  EXPECT_TRUE(prolong(c, key, 10min, 1h));
  EXPECT_EQ(count(exchange_tables), 3);
  EXPECT_EQ(count("herdlock_store WHERE version = 3"), 1) << "builds that know nothing go on";
  EXPECT_EQ(older.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_EQ(text_of(older.look(key)), "kept");
  EXPECT_TRUE(is<claimed>(older.claim(cache_key("other"), alice)));
}

TEST_F(sqlite_exchange, AFullFileRefusesReportsByNameAndLocksGoOn) {
  client c(sqlite, url("?max_bytes=131072"));
  as<grant>(c.acquire(stock, alice));
  int i = 0;
  while (c.put(cache_key("k" + std::to_string(++i)), std::string(3000, 'v'), 1h)) {
  }
  auto const refused = report(c, "p", 1, std::string(20'000, 'x'));
  EXPECT_NE(said(refused).find("max_bytes"), std::string::npos) << said(refused);
  EXPECT_NE(said(refused).find(path()), std::string::npos) << said(refused);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
}

TEST_F(sqlite_exchange, AReportGoesWhenItsProcessHasSaidNothingForItsTime) {
  client c(sqlite, url());
  ASSERT_TRUE(report(c, "p", 1, "old"));
  run("UPDATE herdlock_reports SET told_us = told_us - 5000000");
  ASSERT_TRUE(report(c, "q", 1, "new"));
  EXPECT_EQ(count("herdlock_reports"), 1) << "removed by who reports";
  auto const heard = listen(c);
  ASSERT_TRUE(c.run_until([&] { return heard->has("new"); }));
  EXPECT_FALSE(heard->has("old"));
  ASSERT_TRUE(report(c, "r", 1, "other", "other"));
  run("UPDATE herdlock_reports SET told_us = told_us - 5000000 WHERE process = 'q'");
  auto const late = listen(c), other = listen(c, "other");
  ASSERT_TRUE(c.run_until([&] { return other->has("other"); }));
  EXPECT_TRUE(late->texts.empty()) << "also where nobody has removed it";
}

// Who has heard one asks for those behind it.
TEST_F(sqlite_exchange, AReportStandsBehindAllThatWereToldBefore) {
  client c(sqlite, url());
  ASSERT_TRUE(report(c, "p", 1, "first"));
  run("UPDATE herdlock_reports SET told_us = told_us + 900000");
  auto const heard = listen(c);
  ASSERT_TRUE(c.run_until([&] { return heard->has("first"); }));
  ASSERT_TRUE(report(c, "q", 1, "second"));
  EXPECT_TRUE(c.run_until([&] { return heard->has("second"); }));
}

TEST_F(sqlite_exchange, ReportsGoWithTheBootAndRulesStay) {
  std::uint64_t before = 0;
  {
    client c(sqlite, url());
    ASSERT_TRUE(report(c, "p", 1, "old"));
    before = write_rules(c, 0, "rules");
  }
  run("UPDATE herdlock_store SET boot_id = 'another boot'");
  client c(sqlite, url());
  EXPECT_EQ(count("herdlock_reports"), 0);
  EXPECT_EQ(read_rules(c).version, before);
  EXPECT_EQ(read_rules(c).text, "rules");
  EXPECT_GT(write_rules(c, before, "more"), before);
}

// A build that does not know the table leaves it at a new boot: times from before may be ahead.
TEST_F(sqlite_exchange, AReportFromAheadIsOfAnotherBoot) {
  client c(sqlite, url());
  ASSERT_TRUE(report(c, "p", 9, "ahead"));
  run("UPDATE herdlock_reports SET told_us = told_us + 3600000000");
  auto const heard = listen(c);
  ASSERT_TRUE(report(c, "p", 1, "now"));
  ASSERT_TRUE(c.run_until([&] { return heard->has("now"); }));
  EXPECT_FALSE(heard->has("ahead"));
  EXPECT_EQ(count("herdlock_reports"), 1);
}

TEST_F(sqlite_exchange, RulesOfANewFileAreNewerThanThoseOfTheOldOne) {
  std::uint64_t before = 0;
  {
    client c(sqlite, url());
    before = write_rules(c, 0, "rules");
  }
  std::filesystem::remove(path());
  client c(sqlite, url());
  EXPECT_EQ(read_rules(c).version, 0u);
  EXPECT_GT(write_rules(c, 0, "rules"), before);
}

// A report that waits is in front of leases.
TEST_F(sqlite_exchange, AReportDoesNotWaitForAWriterThatHangs) {
  client c(sqlite, url("?timeout=1h"));
  ASSERT_TRUE(report(c, "p", 1, "x"));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  auto const refused = report(c, "p", 2, "y");
  EXPECT_TRUE(refused.has_error() && refused.error() == errc::timed_out) << said(refused);
  EXPECT_NE(said(refused).find(path()), std::string::npos) << said(refused);
  EXPECT_NE(said(refused).find("'t'"), std::string::npos) << said(refused);
  auto const wanted = c.start_acquire({stock, alice, 1min});
  sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(other);
  EXPECT_TRUE(is<grant>(c.get(wanted)));
  EXPECT_TRUE(report(c, "p", 3, "z"));
}

// As long as somebody listens its executor has work; then it has none.
TEST_F(sqlite_exchange, TheFileIsAskedOnlyWhileSomebodyListens) {
  asio::io_context io;
  auto const store = open_sqlite(store_url::parse(url()).value(), io.get_executor()).value();
  auto to = std::make_shared<heard_reports>();
  auto rules = std::make_shared<heard_rules>();
  store.reports->listen("t", to);
  store.rules->listen_for_rules("t", rules);
  for (int handlers = 0; handlers < 5; ++handlers) EXPECT_EQ(io.run_one_for(patience), 1u);
  EXPECT_FALSE(io.stopped());
  to.reset();
  rules.reset();
  io.run_for(patience);
  EXPECT_TRUE(io.stopped());
}

TEST_F(sqlite_exchange, WhatAnOlderBuildWritesBeginsAnew) {
  client c(sqlite, url());
  ASSERT_TRUE(c.put(key, std::string("v"), 1min).has_value());
  ASSERT_TRUE(prolong(c, key, 10min, 1min));
  ASSERT_FALSE(prolong(c, key, 10min, 1min));
  run("UPDATE herdlock_entries SET expires_us = expires_us - 60000000");
  EXPECT_TRUE(prolong(c, key, 10min, 1min)) << "it ends at another time";
}

TEST_F(sqlite_exchange, ASurveyTellsWhatIsReportedAndItsSizes) {
  client c(sqlite, url());
  ASSERT_TRUE(report(c, "7", 1, a_report(), "p:hot-keys"));
  ASSERT_TRUE(report(c, "8", 1, "not one", "p:hot-keys"));
  ASSERT_TRUE(report(c, "7", 1, a_report(), "no topic of a cache"));
  ASSERT_TRUE(c.put(cache_key("p:k"), std::string(123, 'v')).has_value());
  auto const seen = survey_store(url(), {.with_sizes = true}).value();
  ASSERT_EQ(seen.keys.size(), 1u);
  EXPECT_EQ(seen.keys[0].key, "p:k");
  EXPECT_EQ(seen.keys[0].low, 100);
  EXPECT_EQ(seen.keys[0].high, 120);
  EXPECT_EQ(seen.keys[0].bytes, 123u);
  EXPECT_EQ(seen.processes, 1u);
  ASSERT_EQ(seen.notes.size(), 1u);
  EXPECT_NE(seen.notes[0].find("1 report could not be taken"), std::string::npos);
  EXPECT_NE(seen.cost.find("1 cache"), std::string::npos) << seen.cost;
  EXPECT_TRUE(survey_store(url(), {.prefix = "q:"}).value().keys.empty());
}

TEST_F(sqlite_exchange, ASurveyMakesNoFileAndChangesNone) {
  auto const none = survey_store(url()).value();
  ASSERT_FALSE(none.notes.empty());
  EXPECT_NE(none.notes[0].find("does not exist"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path()));
  run("CREATE TABLE theirs(x)");
  auto const content = [&] {
    std::ifstream file(path());
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  auto const before = content();
  EXPECT_TRUE(survey_store(url()).value().keys.empty());
  EXPECT_EQ(content(), before) << "nor the mode of its journal";
  client(sqlite, url()).close();
  ASSERT_TRUE(eventually([&] { return !std::filesystem::exists(path() + "-wal"); }));
  EXPECT_TRUE(survey_store(url()).value().keys.empty());
  for (auto const* const beside : {"-wal", "-shm"}) {
    EXPECT_FALSE(std::filesystem::exists(path() + beside)) << "the owner could not write to it";
  }
  for (auto const source : {survey_source::monitor, survey_source::lfu, survey_source::server}) {
    auto const refused = survey_store(url(), {.source = source});
    ASSERT_TRUE(refused.has_error());
    EXPECT_TRUE(refused.error() == errc::not_supported) << refused.error().message;
    EXPECT_NE(refused.error().message.find("Redis"), std::string::npos);
  }
}

}  // namespace
}  // namespace herdlock_test
