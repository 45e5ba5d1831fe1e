// What the tests of surveys have in common.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include <herdlock/survey.hpp>
#include <string>
#include <string_view>
#include <support/redis_server.hpp>
#include <utility>

namespace herdlock_test {

using namespace herdlock;

inline bool has_note(survey const& found, std::string_view text) {
  return std::any_of(found.notes.begin(), found.notes.end(),
                     [&](std::string const& note) { return note.find(text) != std::string::npos; });
}

inline surveyed_key key_of(survey const& found, std::string const& key) {
  for (auto const& one : found.keys) {
    if (one.key == key) return one;
  }
  return {};
}

inline std::string expect_no_survey(std::string const& url, survey_request const& request,
                                    errc code, std::string_view said) {
  auto const found = survey_store(url, request);
  EXPECT_TRUE(found.has_error());
  if (!found.has_error()) return {};
  auto const text = found.error().message;
  EXPECT_EQ(found.error(), code) << text;
  EXPECT_NE(text.find(said), text.npos) << text;
  EXPECT_EQ(text.find("sesame"), text.npos) << text;
  return text;
}

/// Does that when the survey has begun, once; whatever the tests before have left the server busy
/// with.
inline survey_request meanwhile(survey_request request, std::function<void()> what) {
  request.even_if_busy = true;
  request.on_progress = [what = std::move(what), done = false](double how_far) mutable {
    if (how_far > 0 && !std::exchange(done, true)) what();
  };
  return request;
}

/// Each of them is a process, as far as the store can see.
struct two_caches {
  explicit two_caches(std::string const& url, std::string const& prefix = "p:")
      : one(open(url, prefix)), two(open(url, prefix)) {}

  static cache<std::string> open(std::string const& url, std::string const& prefix) {
    cache_options how{.prefix = prefix};
    how.hot.keys = hot_keys_options{.threshold = 50, .window = milliseconds{400}, .min_reads = 10};
    how.hot.fleet_threshold = 100;
    how.hot.rules = key_rules::on;
    return cache<std::string>(open_store(url), how);
  }
  void read(std::string const& key) const {
    for (int i = 0; i < 20; ++i) {
      one.get_or_load(key, [] { return std::string("loaded"); });
      two.get_or_load(key, [] { return std::string("loaded"); });
    }
  }

  cache<std::string> one, two;
};

struct redis_survey : testing::Test {
  redis_survey() { server.flush(); }

  static std::string url_of(redis_server const& at, std::string const& user) {
    return "redis://" + user + ":sesame@127.0.0.1:" + std::to_string(at.port());
  }
  static void set_all(redis_server const& at, std::string const& prefix, int keys) {
    at.command({"EVAL",
                "for i = 1, tonumber(ARGV[2]) do redis.call('SET', ARGV[1] .. i, 'value') end", "0",
                prefix, std::to_string(keys)});
  }
  static void get_often(redis_server const& at, std::string const& key, int times) {
    at.command({"EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('GET', KEYS[1]) end", "1", key,
                std::to_string(times)});
  }

  redis_server& server = redis_server::shared();
};

}  // namespace herdlock_test
