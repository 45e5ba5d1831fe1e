#include "types/process_bound.hpp"

#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {

std::atomic<unsigned> fork_generation{0};

void count_forks() {
  [[maybe_unused]] static int const registered =
      ::pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1); });
}

namespace {

struct left_object {
  std::shared_ptr<void const> what;
  left_object* next;
};

// Without a lock: one could have been held when the process was forked.
std::atomic<left_object*> all_left{nullptr};

}  // namespace

void leave_to_parent(std::shared_ptr<void const> what) {
  auto* const fresh = new left_object{std::move(what), all_left.load()};
  while (!all_left.compare_exchange_weak(fresh->next, fresh)) {
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
