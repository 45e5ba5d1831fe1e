// The events of a cache on their way to its observer: a bounded queue, and the thread that empties
// it. Why: docs/decisions/cache.md#an-observer-has-a-thread-of-its-own
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include <herdlock/cache_events.hpp>

#include "types/quiet_thread.hpp"

namespace herdlock::runtime {

/// The facts of a load, beside its key.
struct load_told {
  clock::duration took{0};
  std::string_view error = {};
};

/// Any thread. The thread is started with the first event; one that the observer ends
/// (pthread_exit) is replaced at the next.
class cache_events {
 public:
  /// Keys are told without so many bytes in front.
  cache_events(observer_options options, std::size_t prefix_bytes);
  ~cache_events() { close(); }
  cache_events(cache_events const&) = delete;
  cache_events& operator=(cache_events const&) = delete;

  /// Counted as dropped when there is no room, or no memory.
  void tell(cache_outcome what, std::string_view full_key, load_told const& load = {}) noexcept {
    tell_own(what, full_key.substr(prefix_bytes_), load);
  }
  /// The same of a key without the prefix.
  void tell_own(cache_outcome what, std::string_view key, load_told const& load = {}) noexcept;
  std::uint64_t dropped() const noexcept;

  /// Waits for the call that runs, unless this is one, and drops the rest. Nothing is told any
  /// more.
  void close();
  /// The same without waiting: the thread ends by itself.
  void abandon();

 private:
  // Shared with the thread, which may outlive this after abandon().
  struct state {
    observer_options options;
    detail::signal_mask signals = detail::signal_mask::of_this_thread();
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<cache_event> waiting;  // mutex_, as all below
    std::thread thread;
    bool closed = false;
    std::atomic<std::uint64_t> dropped{0};
  };
  struct serving;

  static void start(std::shared_ptr<state> const& shared) noexcept;
  static void serve(state& shared);
  std::thread shut();

  std::size_t const prefix_bytes_;
  std::shared_ptr<state> const state_;
};

/// Whether somebody waits for the call of the observer that runs.
enum class events_end { is_waited_for, is_left };

/// Nothing is told any more. Null: there is no observer.
inline void end_events(std::shared_ptr<cache_events> const& events, events_end how) {
  if (!events) return;
  if (how == events_end::is_waited_for) return events->close();
  events->abandon();
}

}  // namespace herdlock::runtime
