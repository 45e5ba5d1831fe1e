// What `herdlock doctor --json` said.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "herdlock_command.hpp"

namespace herdlock_test {

struct doctor_report {
  int code;
  std::string text;
  nlohmann::json told;

  /// `severity check`, in the order they were told.
  std::vector<std::string> findings() const {
    std::vector<std::string> all;
    for (auto const& one : told["findings"]) {
      for (char const* part : {"found", "consequence", "fix"}) {
        EXPECT_FALSE(one[part].get<std::string>().empty()) << one;
      }
      all.push_back(one["severity"].get<std::string>() + " " + one["check"].get<std::string>());
    }
    return all;
  }
  bool has(std::string const& finding) const {
    auto const all = findings();
    return std::find(all.begin(), all.end(), finding) != all.end();
  }
  std::vector<std::string> passed() const { return told["passed"]; }
  std::size_t skipped() const { return told["skipped"].size(); }
};

inline doctor_report read_report(command_result const& ended) {
  auto told = nlohmann::json::parse(ended.out, nullptr, false);
  EXPECT_TRUE(told.is_object()) << ended.out << ended.err;
  if (!told.is_object()) told = {{"findings", nlohmann::json::array()}};
  return {ended.code, ended.out + ended.err, std::move(told)};
}

inline doctor_report examined(std::string const& url) {
  return read_report(run_herdlock({"doctor", "--json", "--store", url}));
}

}  // namespace herdlock_test
