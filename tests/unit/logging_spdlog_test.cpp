// Events as lines of the user's logger.
#include <herdlock/logging_spdlog.hpp>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <herdlock/lock.hpp>
#include <sstream>

namespace {

using namespace herdlock;

class LoggingSpdlog : public ::testing::Test {
 protected:
  static std::shared_ptr<spdlog::logger> logger_to(std::ostream& out) {
    auto made = std::make_shared<spdlog::logger>(
        "app", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
    made->set_pattern("%l %v");
    made->set_level(spdlog::level::debug);
    return made;
  }
  bool has(std::string const& part) const { return out_.str().find(part) != std::string::npos; }

  std::ostringstream out_;
  std::shared_ptr<spdlog::logger> log_ = logger_to(out_);
};

TEST_F(LoggingSpdlog, ALeaseIsLoggedFromItsGrantToItsEnd) {
  {
    auto const opened = open_store("memory:", {.executor = {}, .on_event = spdlog_events(log_)});
    lock const where(opened, "nightly\n\"job\"");
    auto held = where.try_acquire();
    ASSERT_TRUE(held);
    EXPECT_FALSE(where.try_acquire());
    held->release();
  }
  EXPECT_TRUE(
      has("debug lease event=acquired resource=\"nightly\\x0a\\\"job\\\"\" "
          "store=\"memory:"))
      << out_.str();
  EXPECT_TRUE(has("event=busy")) << out_.str();
  EXPECT_TRUE(has("event=released")) << out_.str();
}

TEST_F(LoggingSpdlog, ALossIsAnErrorAndSaysWhy) {
  resource const name("job");
  std::string const store = "redis://127.0.0.1";
  spdlog_events(log_)({lease_event_kind::lost,
                       name,
                       store,
                       {17},
                       milliseconds(30'021),
                       make_failure(errc::lost, "it was not renewed in time")});
  EXPECT_EQ(out_.str(),
            "error lease event=lost resource=\"job\" store=\"redis://127.0.0.1\" fencing=17 "
            "took_ms=30021 why=\"it was not renewed in time\"\n");
}

TEST_F(LoggingSpdlog, NothingInALineIsForATerminal) {
  resource const name("a\\\xc2\x9b\xff\xed\xa0\x80");
  std::string const store = "memory:";
  spdlog_events(log_)({lease_event_kind::acquired, name, store});
  EXPECT_TRUE(has("resource=\"a\\\\\\xc2\\x9b\\xff\\xed\\xa0\\x80\" ")) << out_.str();
}

TEST_F(LoggingSpdlog, TransitionsOfAnElectionHaveALevelByWhatTheyMean) {
  auto const tell = spdlog_transitions(log_, "job");
  election_transition what{election_state::acquiring,
                           election_event::granted,
                           election_state::working,
                           "start_work",
                           {5}};
  tell(what);
  what.event = election_event::overdue;
  tell(what);
  EXPECT_TRUE(
      has("info election event=granted resource=\"job\" from=acquiring to=working "
          "action=start_work term=5\n"))
      << out_.str();
  EXPECT_TRUE(has("error election event=overdue")) << out_.str();
}

TEST_F(LoggingSpdlog, WhatTheLoggerDoesNotWantIsNotWritten) {
  log_->set_level(spdlog::level::err);
  resource const name("job");
  std::string const store = "memory:";
  spdlog_events(log_)({lease_event_kind::acquired, name, store});
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
