// `herdlock-lab stampede`, played for real, and what is expected of its figures.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <support/temp_dir.hpp>
#include <utility>
#include <vector>

#include "lab_command.hpp"

namespace herdlock_test {

inline nlohmann::json play_stampede(std::vector<std::string> options, int code = 0) {
  options.insert(options.begin(), "stampede");
  return json_of_lab(std::move(options), code);
}

// On a SQLite file, whether or not a server could be started.
class Stampede : public ::testing::Test {
 protected:
  std::vector<std::string> on_a_file(std::vector<std::string> options) const {
    options.insert(options.end(), {"--store", file_});
    return options;
  }

  temp_dir folder_;
  std::string const file_ = "sqlite:" + (folder_ / "store.db").string();
};

inline nlohmann::json const& mode_of(nlohmann::json const& list, std::string const& mode) {
  for (nlohmann::json const& each : list) {
    if (each.at("mode") == mode) return each;
  }
  throw std::runtime_error("no mode " + mode + " in " + list.dump());
}

inline void expect_all_answered(nlohmann::json const& list) {
  for (nlohmann::json const& each : list) {
    int const herd = each["processes"].get<int>() * each["requests"].get<int>();
    EXPECT_EQ(each["answers"], herd * each["expiries"].get<int>()) << each;
    EXPECT_EQ(each["errors"], 0) << each;
    EXPECT_GE(each["p99_ms"], each["p50_ms"]) << each;
  }
}

// Somebody waits for each load, and nobody is given what is out of date.
inline void expect_waits_for_the_new(nlohmann::json const& mode) {
  EXPECT_GE(mode["last_answer_ms"], mode["load_time_ms"]) << mode;
  EXPECT_GE(mode["waited"], mode["loads"]) << mode;
  EXPECT_EQ(mode["stale"], 0) << mode;
}

inline void expect_one_load_per_expiry(nlohmann::json const& mode) {
  EXPECT_EQ(mode["loads"], mode["expiries"]) << mode;
}

}  // namespace herdlock_test
