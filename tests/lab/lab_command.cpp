#include "lab_command.hpp"

#include <nlohmann/json.hpp>

namespace herdlock_test {

child_process start_lab(std::vector<std::string> arguments, environment env) {
  return start_program(HERDLOCK_LAB, std::move(arguments), std::move(env));
}

command_result run_lab(std::vector<std::string> arguments, environment env) {
  return result_of(start_lab(std::move(arguments), std::move(env)));
}

nlohmann::json json_of_lab(std::vector<std::string> arguments, int code, environment env) {
  arguments.push_back("--json");
  auto const played = run_lab(std::move(arguments), std::move(env));
  EXPECT_EQ(played.code, code) << played.err << played.out;
  return nlohmann::json::parse(played.out, nullptr, false);
}

}  // namespace herdlock_test
