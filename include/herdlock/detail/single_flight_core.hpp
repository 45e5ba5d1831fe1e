// The part of single_flight that has nothing to do with T: who joins which flight, who left, who is
// told. Outcomes pass through as shared pointers to an unknown type. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>

#include <herdlock/detail/awaited.hpp>
#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

struct single_flight_bounds {
  std::size_t max_flights;
  std::size_t max_callers;
};

enum class abandoned_flight { goes_on, is_stopped };

using erased_outcome = std::shared_ptr<void const>;

/// One caller that waits for a flight.
class flight_joiner {
 public:
  virtual ~flight_joiner() = default;
  /// How many calls the outcome went to, this one included. REQUIRES: the flight has ended.
  std::size_t callers() const noexcept { return callers_; }
  /// Whether it is this call's operation that ran.
  bool leads() const noexcept { return leads_; }
  /// Called at most once, without any lock.
  virtual void settle(erased_outcome outcome) = 0;
  /// The same for one whose call ended by this while its operation ran: the outcome is his if it is
  /// a value.
  virtual void settle_ended(erased_outcome outcome, failure const& /*why*/) {
    settle(std::move(outcome));
  }

 private:
  friend class single_flight_core;
  enum class stage { before, in_flight, left };
  stage stage_ = stage::before;  // this and what follows: guarded by the core's mutex
  bool leads_ = false;
  std::size_t callers_ = 1;
  failure ended_;
  std::uint64_t flight_ = 0;
  std::uint32_t slot_ = 0;
  std::uint32_t visit_ = 0;
};

/// A joiner that is a blocked thread.
class thread_joiner final : public flight_joiner {
 public:
  void settle(erased_outcome outcome) override { outcome_.bring(std::move(outcome)); }
  /// Null when the deadline passed first.
  erased_outcome wait(std::optional<clock::time_point> deadline) { return outcome_.wait(deadline); }

 private:
  awaited<erased_outcome> outcome_;
};

struct flight_entry {
  enum class role {
    leads,    ///< run the operation, then call finish(flight, …)
    joined,   ///< settle() will be called, unless leave() takes the joiner out before
    refused,  ///< a bound; `why` says which
    left,     ///< left before it was in; nothing to do
  };
  role what = role::left;
  std::uint64_t flight = 0;
  std::stop_token abandoned;
  failure why;
};

class single_flight_core {
 public:
  single_flight_core(single_flight_bounds bounds, abandoned_flight policy);
  single_flight_core(single_flight_core const&) = delete;
  single_flight_core& operator=(single_flight_core const&) = delete;
  ~single_flight_core();

  flight_entry join(std::string_view key, std::shared_ptr<flight_joiner> joiner);
  /// The call has ended by this. True when the joiner will not be settled: the caller answers it.
  /// One whose operation runs, and may use what the call was given, is settled when that has ended.
  bool leave(flight_joiner& joiner, failure why);
  /// Settles all joiners in join order. A second call for the same flight does nothing.
  void finish(std::uint64_t flight, erased_outcome outcome);
  bool forget(std::string_view key);
  std::size_t waiting(std::string_view key) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
