// The processes that a demo forks, and how it waits for them.
#pragma once

#include <functional>
#include <herdlock/types.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_board.hpp"
#include "common/forked_process.hpp"
#include "demo/complaint.hpp"

namespace herdlock::cli {

/// Those that are left are killed with it.
class demo_processes {
 public:
  enum class may_end { no, yes };

  /// What the processes complain of; it outlives this.
  explicit demo_processes(complaint const& why) : why_(why) {}

  /// From a process without threads. `name` is for messages.
  void start(std::string name, std::function<void()> const& work);
  /// Throws command_error when one has failed, or has ended before it may: what was complained of,
  /// else that it died.
  void look(may_end now);
  bool all_ended() const { return running_.empty(); }

 private:
  struct member {
    std::string name;
    forked_process process;
  };

  [[noreturn]] void raise_death(std::string_view who) const;

  complaint const& why_;
  std::vector<member> running_;
};

/// Works until the condition holds; false when it has not for so long.
template <class Condition, class Work>
bool work_until(Condition holds, Work work, milliseconds patience) {
  auto const end = steady_ns() + patience.count() * 1'000'000;
  while (!holds()) {
    if (steady_ns() > end) return false;
    work();
  }
  return true;
}

}  // namespace herdlock::cli
