#include "herdlock_command.hpp"

namespace herdlock_test {

child_process start_herdlock(std::vector<std::string> arguments, environment env) {
  return start_program(HERDLOCK_COMMAND, std::move(arguments), std::move(env));
}

command_result run_herdlock(std::vector<std::string> arguments, environment env) {
  return result_of(start_herdlock(std::move(arguments), std::move(env)));
}

}  // namespace herdlock_test
