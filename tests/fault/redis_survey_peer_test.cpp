// Surveys of a peer that does what no real server can be brought to do in a test.
#include <algorithm>
#include <string>

#include "redis_surveys.hpp"
#include "scripted_redis.hpp"

namespace herdlock_test {
namespace {

using namespace std::chrono_literals;

// What a server that knows only GET answers to COMMAND.
constexpr char const* only_get =
    "*1\r\n*10\r\n+get\r\n:2\r\n*0\r\n:1\r\n:1\r\n:1\r\n*0\r\n*0\r\n"
    "*1\r\n*6\r\n+flags\r\n*1\r\n+RO\r\n"
    "+begin_search\r\n*4\r\n+type\r\n+index\r\n+spec\r\n*2\r\n+index\r\n:1\r\n"
    "+find_keys\r\n*4\r\n+type\r\n+range\r\n+spec\r\n"
    "*6\r\n+lastkey\r\n:0\r\n+keystep\r\n:1\r\n+limit\r\n:0\r\n"
    "*0\r\n";

// Each of them a second further behind our clock than the one before.
std::string later_and_later(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += "+" + std::to_string(1'700'000'000 - i) + ".000000 [0 127.0.0.1:9] \"GET\" \"k\"\r\n";
  }
  return text;
}

TEST_F(redis_survey, MonitorIsGivenUpWhenCommandsComeFasterThanTheyCanBeRead) {
  scripted_redis const peer([](scripted_redis::command_words const& words) -> std::string {
    if (words[0] == "INFO") return "$0\r\n\r\n";
    if (words[0] == "COMMAND") return only_get;
    return "+OK\r\n" + later_and_later(10);
  });
  double furthest = 0;
  survey_request request{.source = survey_source::monitor, .lasts = 60s};
  request.on_progress = [&](double done) {
    if (done < 1) furthest = std::max(furthest, done);
  };
  auto const found = survey_store(peer.url(), request);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(has_note(*found, "commands came faster than they could be read"));
  EXPECT_EQ(key_of(*found, "k").key, "k") << "what was found until then";
  EXPECT_LT(furthest, 0.5) << "it does not listen to its end";
}

}  // namespace
}  // namespace herdlock_test
