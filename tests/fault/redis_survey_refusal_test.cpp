// Surveys of servers on which an administrator has renamed or disabled a command: no right brings
// it back, so the message says what it is, and what to do instead.
#include <herdlock/survey.hpp>

#include "redis_ports.hpp"
#include "redis_surveys.hpp"

namespace herdlock_test {
namespace {

// With LFU counters, so that each source gets as far as the command.
redis_options counting_without(std::string const& command) {
  return {.arguments = {"--maxmemory-policy", "allkeys-lfu", "--rename-command", command, ""}};
}

struct disabled_command {
  std::string name;
  survey_source source;
  std::string said;
  std::string instead;
};

TEST_F(redis_survey, ACommandThatTheServerDoesNotKnowIsNamedWithWhatToAskInstead) {
  for (auto const& [name, source, said, instead] :
       {disabled_command{"MONITOR", survey_source::monitor, "no command MONITOR", "clients, lfu"},
        disabled_command{"COMMAND", survey_source::monitor, "no command COMMAND", "clients, lfu"},
        disabled_command{"OBJECT", survey_source::lfu, "no command OBJECT FREQ",
                         "clients, monitor"},
        disabled_command{"SCAN", survey_source::lfu, "no command SCAN", "clients, monitor"},
        disabled_command{"HSCAN", survey_source::clients, "no command HSCAN", "lfu, monitor"}}) {
    redis_server const limited(counting_without(name));
    // Its error repeats the words of the command, so what the key is called must not matter.
    limited.command({"SET", "p:LFU", "value"});
    auto const why = expect_no_survey(limited.url(), {.source = source, .prefix = "p:"},
                                      errc::not_supported, said);
    EXPECT_NE(why.find("renamed or disabled it"), why.npos) << why;
    EXPECT_NE(why.find("ask another source: " + instead), why.npos) << why;
    EXPECT_EQ(why.find("ACL SETUSER"), why.npos) << "no right helps: " << why;
  }
}

// By HELLO: a server that lacks AUTH repeats its words, the password among them.
TEST_F(redis_survey, MonitorLogsInAsAllConnectionsDo) {
  redis_server const limited(
      {.users = {"alice on >sesame ~* &* +@all"}, .arguments = {"--rename-command", "AUTH", ""}});
  auto const url = "redis://alice:sesame@127.0.0.1:" + std::to_string(limited.port());
  auto const found = survey_store(url, {.source = survey_source::monitor, .lasts = 10ms});
  EXPECT_TRUE(found.has_value()) << found.error().message;
  auto const wrong = "redis://alice:s3cret@127.0.0.1:" + std::to_string(limited.port());
  auto const refused = survey_store(wrong, {.source = survey_source::monitor, .lasts = 10ms});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message.find("s3cret"), std::string::npos) << refused.error().message;
}

TEST_F(redis_survey, WithoutConfigTheCountersAreReadByTheDefaults) {
  redis_server const limited(counting_without("CONFIG"));
  set_all(limited, "k", 2);
  auto const found = survey_store(limited.url(), {.source = survey_source::lfu}).value();
  EXPECT_EQ(found.keys.size(), 2u);
  EXPECT_TRUE(has_note(found, "CONFIG GET is refused ('ERR unknown command"));
  EXPECT_TRUE(has_note(found, "10 and 1, as by default"));

  redis_server const other({.arguments = {"--rename-command", "CONFIG", ""}});
  other.command({"SET", "k", "value"});
  expect_no_survey(other.url(), {.source = survey_source::lfu}, errc::not_supported,
                   "in the server's configuration");
}

TEST_F(redis_survey, WithoutMemoryOnlyTheSizesAreMissing) {
  redis_server const limited(counting_without("MEMORY"));
  set_all(limited, "k", 2);
  auto const found =
      survey_store(limited.url(), {.source = survey_source::lfu, .with_sizes = true}).value();
  EXPECT_EQ(found.keys.size(), 2u);
  EXPECT_TRUE(has_note(found, "knows no command MEMORY USAGE"));
}

// Which words of a command are keys only the server can say, so monitor does not guess.
TEST_F(redis_survey, OnlyMonitorNeedsCommand) {
  redis_server const limited(counting_without("COMMAND"));
  set_all(limited, "k", 2);
  EXPECT_EQ(survey_store(limited.url(), {.source = survey_source::lfu}).value().keys.size(), 2u);
  EXPECT_TRUE(has_note(survey_store(limited.url()).value(), "no process has reported"));
}

TEST_F(redis_survey, ClientsLfuAndMonitorDoWithoutClient) {
  redis_server const limited(counting_without("CLIENT"));
  two_caches const both(limited.url());
  survey found;
  EXPECT_TRUE(eventually([&] {
    both.read("k");
    found = survey_store(limited.url()).value();
    return key_of(found, "p:k").processes == 2u;
  }));
  EXPECT_EQ(key_of(found, "p:k").kept_by, 0u) << "without CLIENT TRACKING nobody keeps it";
  auto const lfu = survey_store(limited.url(), {.source = survey_source::lfu}).value();
  EXPECT_EQ(key_of(lfu, "p:k").key, "p:k");
  auto const commands = [&] { limited.command({"GET", "p:k"}); };
  auto const listened =
      survey_store(limited.url(),
                   meanwhile({.source = survey_source::monitor, .lasts = 1s}, commands))
          .value();
  EXPECT_EQ(key_of(listened, "p:k").key, "p:k");
}

}  // namespace
}  // namespace herdlock_test
