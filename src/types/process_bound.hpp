// What fork() does to objects that have threads: a child has a copy of the objects, but none of the
// threads, and perhaps a mutex that one of those had locked.
// Why: docs/decisions/library.md#handles-belong-to-their-process
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Grows by one in each child of fork(), and in its children again. Counted from the first call of
/// count_forks() on.
extern std::atomic<unsigned> fork_generation;
void count_forks();

/// An object that is good in the process that made it.
class process_bound {
 public:
  /// In a child of fork(): nothing of the object may be used, nor destroyed.
  bool inherited() const noexcept {
    return made_in_ != fork_generation.load(std::memory_order_relaxed);
  }

 protected:
  process_bound() : made_in_((count_forks(), fork_generation.load(std::memory_order_relaxed))) {}
  ~process_bound() = default;

 private:
  unsigned const made_in_;
};

/// What a child of fork() inherited and lets go of: it is not destroyed, since its sockets, its
/// sessions and what its threads were at are the parent's.
void leave_to_parent(std::shared_ptr<void const> what);

template <class T>
std::atomic<T*>& slot_of_process() {
  static std::atomic<T*> one{[] {
    ::pthread_atfork(nullptr, nullptr, [] {
      auto* const before = slot_of_process<T>().exchange(new T);
      leave_to_parent({before, [](T*) {}});
    });
    return new T;
  }()};
  return one;
}

/// The one T of this process, never destroyed: threads outlive main(). A child of fork() begins
/// with another.
template <class T>
T& per_process() {
  return *slot_of_process<T>().load();
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
