// Whose loader runs for a flight: does what algo::load_callers says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include <herdlock/detail/cache_core.hpp>

#include "algo/flight_table.hpp"
#include "algo/load_callers.hpp"

namespace herdlock::runtime {

class cache_callers;
struct load_services;

/// The callers that wait in flights. All members on the executor.
class callers_of_flight {
 public:
  virtual ~callers_of_flight() = default;

  virtual load_services& services() = 0;
  virtual cache_callers& callers() = 0;
  virtual std::size_t waiting(algo::flight_id id) const = 0;
  /// The first of them for which this holds, or null. Valid until the next call.
  virtual detail::caller_ptr const* first_of(
      algo::flight_id id, std::function<bool(detail::caller_ptr const&)> const& holds) = 0;
  /// The caller leaves the flight, and waits on.
  virtual void take_out(detail::cache_caller& caller) = 0;
  /// Callers go on as calls that have just come: all of the flight, or this one.
  virtual void look_again(algo::flight_id id) = 0;
  virtual void look_again(detail::caller_ptr caller) = 0;
};

/// The load of which a loader is told.
struct load_subject {
  cache_key key;  ///< without the prefix
  fencing_token fencing;
  detail::load_state given;
};

/// All members on the executor of the value store.
class flight_callers {
 public:
  /// Takes the outcome of a loader back to the flight, from any thread: with the number of the run,
  /// and the call whose loader it was, which is to be answered even if the flight has gone.
  using deliver_type =
      std::function<void(std::uint64_t run, detail::caller_ptr const&, detail::load_outcome)>;

  flight_callers(algo::flight_id id, algo::loader_settings settings)
      : id_(id), machine_(settings) {}

  /// Called when choose() has said no, and may say yes now.
  void when_able(std::function<void()> call) { later_ = std::move(call); }
  /// Whether there is a caller who can load, or the cache can.
  bool choose(callers_of_flight& home);
  /// The same of one caller of the flight.
  bool choose(detail::caller_ptr const& caller);
  /// The load does not begin now.
  void decided();
  /// The load begins when a slot is free.
  void queued();

  /// Begins a loader; false when there is nobody to load any more.
  bool begin(callers_of_flight& home, load_subject const& of, deliver_type const& deliver);
  bool running() const noexcept { return machine_.running(); }
  /// The number of the loader that runs, or ran last.
  std::uint64_t run() const noexcept { return run_; }

  /// The call whose loader runs is over.
  void caller_ended(callers_of_flight& home) { obey(home, machine_.caller_ended(waiting(home))); }
  void others_left(callers_of_flight& home) { obey(home, machine_.others_left()); }
  void stop(callers_of_flight& home, algo::stop_reason why) { obey(home, machine_.stop(why)); }

  /// The loader is over. Answers its call, if that has no part in the answer of the load.
  algo::load_end ended(callers_of_flight& home, detail::load_outcome const& outcome);
  /// The call that shares the answer of the load; once.
  detail::caller_ptr take_sharer() { return std::exchange(sharer_, nullptr); }
  /// The cache has gone meanwhile: the call is answered where the loader ended.
  static void end_call(detail::caller_ptr const& caller, detail::load_outcome&& outcome);
  /// The same for the call whose loader it was, if it was a call's.
  void end_loading(detail::load_outcome&& outcome) {
    if (auto const caller = std::exchange(loading_, nullptr)) end_call(caller, std::move(outcome));
  }

 private:
  void obey(callers_of_flight& home, algo::callers_plan plan);
  std::size_t waiting(callers_of_flight& home) const;
  detail::caller_ptr const* first_who_loads(callers_of_flight& home) const;

  algo::flight_id id_;
  algo::load_callers machine_;
  std::function<void()> later_;
  detail::caller_ptr chosen_;   // the caller that is to load, and has not begun
  detail::caller_ptr loading_;  // the caller whose loader runs
  detail::caller_ptr sharer_;   // the caller whose loader came to the answer of the load
  std::stop_source stop_{std::nostopstate};
  std::uint64_t run_ = 0;
};

}  // namespace herdlock::runtime
