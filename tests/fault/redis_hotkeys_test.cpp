// Surveys by HOTKEYS, of servers that cannot be had yet: their documented answers, by a peer that
// gives them.
#include <algorithm>
#include <string>

#include "redis_surveys.hpp"
#include "scripted_redis.hpp"

namespace herdlock_test {
namespace {

using namespace std::chrono_literals;

TEST_F(redis_survey, AServerWithoutHotkeysSaysWhoHasThem) {
  expect_no_survey(server.url(), {.source = survey_source::server, .lasts = 10ms},
                   errc::not_supported, "Redis 8.6 and Valkey 9.2");
}

TEST_F(redis_survey, HotkeysOfRedisAreSharesOfTheTimeAndTheSessionIsEnded) {
  std::string said;
  survey found;
  {
    scripted_redis peer([&](scripted_redis::command_words const& words) -> std::string {
      if (words[0] == "INFO") return "$32\r\ninstantaneous_ops_per_sec:2000\r\n\r\n";
      said += words.at(1) + " ";
      if (words[1] != "GET") return "+OK\r\n";
      return "*1\r\n%4\r\n+tracking-active\r\n:0\r\n+sample-ratio\r\n:1\r\n"
             "+all-commands-all-slots-us\r\n:1000\r\n"
             "+by-cpu-time-us\r\n*4\r\n+p:a\r\n:250\r\n+q:b\r\n:100\r\n";
    });
    found =
        survey_store(peer.url(), {.source = survey_source::server, .prefix = "p:", .lasts = 10ms})
            .value();
  }
  ASSERT_EQ(found.keys.size(), 1u);
  EXPECT_EQ(found.keys[0].key, "p:a");
  EXPECT_DOUBLE_EQ(found.keys[0].share.value(), 0.25);
  EXPECT_DOUBLE_EQ(found.keys[0].rate, 500);
  EXPECT_EQ(said, "START STOP GET STOP RESET ");
}

TEST_F(redis_survey, HotkeysWithAPrefixAreFoundBehindHotterOnes) {
  std::size_t asked_for = 0;
  scripted_redis const peer([&](scripted_redis::command_words const& words) -> std::string {
    if (words[0] == "INFO") return "$0\r\n\r\n";
    if (words[1] == "START") asked_for = std::stoul(words.at(6));
    if (words[1] != "GET") return "+OK\r\n";
    // As many as it was asked for of those that it has: the last one is what is looked for.
    std::size_t const told = std::min<std::size_t>(asked_for, 64);
    std::string keys = "*" + std::to_string(2 * told) + "\r\n";
    for (std::size_t i = 1; i <= told; ++i) {
      keys += (i == 64 ? "+p:" : "+q:") + std::to_string(i) + "\r\n:10\r\n";
    }
    return "*1\r\n%4\r\n+tracking-active\r\n:0\r\n+sample-ratio\r\n:1\r\n"
           "+all-commands-all-slots-us\r\n:1000\r\n+by-cpu-time-us\r\n" +
           keys;
  });
  auto const found =
      survey_store(peer.url(), {.source = survey_source::server, .prefix = "p:", .lasts = 10ms});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->keys.size(), 1u);
  EXPECT_EQ(found->keys[0].key, "p:64");
  EXPECT_TRUE(has_note(*found, "64 keys at most, whatever they begin with"));
}

TEST_F(redis_survey, AServerThatGoesMeanwhileIsNotWaitedFor) {
  scripted_redis const peer(
      [](scripted_redis::command_words const&) { return std::string("+OK\r\n\0", 6); });
  double furthest = 0;
  survey_request request{.source = survey_source::server, .lasts = 60s};
  request.on_progress = [&](double done) { furthest = std::max(furthest, done); };
  expect_no_survey(peer.url(), request, errc::unavailable, "closed");
  EXPECT_LT(furthest, 1);
}

TEST_F(redis_survey, HotkeysOfValkeyAreUsesASecond) {
  scripted_redis const peer([](scripted_redis::command_words const& words) -> std::string {
    if (words[0] == "INFO") return "$0\r\n\r\n";
    if (words[1] != "GET") return "-ERR unknown subcommand 'START'. Try HOTKEYS HELP.\r\n";
    return "*2\r\n%3\r\n+key\r\n+a\r\n+db\r\n:0\r\n+qps\r\n:900\r\n"
           "%3\r\n+key\r\n+b\r\n+db\r\n:1\r\n+qps\r\n:20\r\n";
  });
  auto const found =
      survey_store(peer.url(), {.source = survey_source::server, .lasts = 10ms}).value();
  ASSERT_EQ(found.keys.size(), 1u) << "of its own database";
  EXPECT_EQ(found.keys[0].rate, 900);
}

TEST_F(redis_survey, AValkeyThatDoesNotCountIsToldHow) {
  scripted_redis const peer([](scripted_redis::command_words const& words) -> std::string {
    if (words[0] == "INFO") return "$0\r\n\r\n";
    if (words[1] != "GET") return "-ERR unknown subcommand 'START'. Try HOTKEYS HELP.\r\n";
    return "-ERR Hotkey detection is disabled\r\n";
  });
  expect_no_survey(peer.url(), {.source = survey_source::server, .lasts = 10ms},
                   errc::not_supported, "hotkey-top-k");
}

}  // namespace
}  // namespace herdlock_test
