// Whose loader runs for a load, when it is asked to stop, and what becomes of its call.
//
// A call's own loader is used only while the call runs. So it runs while that call waits, and the
// call is answered when it has ended; a loader that may run behind an answer is the cache's own.
//
//   next ──┬─ a call's ── begun ──> it runs ──┬─ value ──> everyone's answer, and stored
//          │            └ missed ─> next      ├─ error ──> everyone's, shared with other processes
//          └─ the cache's ─ begun ──^         └─ error after it was asked to stop: it did not end;
//                                                another who waits loads under the same claim
//
// A call that ends while its loader runs (its time, its cancellation, the closing of the cache) is
// answered behind that: with the value, if one came. Meanwhile the loader goes on for the others
// who wait in this process, and is asked to stop when there are none.
//
// Pure: the runtime knows the callers and their order, and says of them what is asked here.
// Why: docs/decisions/cache.md#a-calls-loader-runs-while-the-call-does
#pragma once

#include <cstddef>

namespace herdlock::algo {

/// The first of those who wait for the load.
enum class first_caller {
  none,
  has_loader,  ///< of its own
  has_none,    ///< it asks for what the cache's own loader gives
};

enum class loader_of { nobody, call, cache };

/// Why a loader is asked to stop.
enum class stop_reason {
  voided,      ///< put, invalidate, expire or the end of a tag voided its claim, here or elsewhere
  claim_lost,  ///< otherwise: it could not be renewed, or the loader ran for max_load_time
  closing,
};

/// How a loader came back.
enum class loader_end {
  value,       ///< or "there is no such thing"
  error,       ///< it threw
  not_begun,   ///< it had been asked to stop when its turn came
  unfinished,  ///< it was destroyed, or could not begin
};

/// The meaning of a loader's end for the load.
enum class load_end {
  result,   ///< its value or its error is the load's
  next,     ///< it is no end: the next caller loads, under the same claim
  nothing,  ///< it is no end, and nobody else is there: nothing is shared, the claim is given back
};

/// The answer to the call whose loader ended.
enum class own_answer {
  none,         ///< it was the cache's loader
  shared,       ///< the answer of the load, as all others
  what_it_has,  ///< the old value, if it has one at hand; else the error that ended the call
  error,        ///< the old value, if it has one at hand; else why its loader did not end
  looks_again,  ///< it goes on as a call that has just come, and may load again
  what_it_has_or_looks_again,  ///< the old value, if it has one at hand; else as looks_again
};

struct callers_plan {
  bool ask_to_stop = false;
  bool others_look_again = false;  ///< all who wait, but the one whose loader runs
};

struct loader_verdict {
  load_end load = load_end::result;
  own_answer call = own_answer::shared;
};

/// The loaders that a load can use.
struct loader_settings {
  bool has_owned = false;      ///< the cache has a loader of its own
  bool behind_answer = false;  ///< the load is behind an answer, or may be
};

/// See the top of this file. One for each load; several loaders may run in it one after the other.
class load_callers {
 public:
  explicit load_callers(loader_settings settings) noexcept : settings_(settings) {}

  /// The load is to begin. Whose loader runs: that of the first who waits, or the cache's own. One
  /// who has gone by the time that he is asked is taken out, and this is called again.
  loader_of next(first_caller first) const noexcept;
  void begun(loader_of whose) noexcept;

  /// The call whose loader runs has ended for another reason. It is answered by ended().
  callers_plan caller_ended(std::size_t others_waiting) noexcept;
  /// The last of the others has left.
  callers_plan others_left() noexcept;
  callers_plan stop(stop_reason why) noexcept;
  /// The loader came back, with so many who wait for it.
  loader_verdict ended(loader_end how, std::size_t others_waiting) noexcept;

  bool running() const noexcept { return running_ != loader_of::nobody; }

 private:
  callers_plan ask(callers_plan plan) noexcept;
  own_answer answer_without_end(loader_end how) const noexcept;

  loader_settings settings_;
  loader_of running_ = loader_of::nobody;
  bool caller_ended_ = false;
  bool asked_ = false;
  bool voided_ = false;
  bool claim_held_ = true;  // or there was none, and its time is not over
};

/// One run of a loader for several keys of one call, each with a claim and a flight of its own.
class load_bundle {
 public:
  explicit load_bundle(std::size_t keys) noexcept : undecided_(keys) {}

  /// A key is to be loaded by the next run.
  void wanted() noexcept { ++wanted_; }
  /// It is known whether the next run has the key: or is not known any more, as it is claimed anew.
  void decided() noexcept { --undecided_; }
  void undecided() noexcept { ++undecided_; }
  /// A key waits for a slot, and the next run does not wait for it; or it waits no more.
  void queued() noexcept { ++queued_; }
  void left_queue() noexcept { --queued_; }
  /// So many of the keys that wait behind a run are to be claimed now. As many as the largest run
  /// had: with all of them at once, most would only come back.
  std::size_t turns() const noexcept;
  /// Whether the run is to begin: all is known, and there is something to load.
  bool is_due() const noexcept;
  void begin() noexcept;
  /// While it runs the call claims nothing: it could not load it.
  bool running() const noexcept { return keys_ > 0; }
  /// The flight of one key has no use for the run any more. True when none has.
  bool asked_to_stop() noexcept;
  bool is_useless() const noexcept;
  void ended() noexcept { keys_ = 0; }

 private:
  std::size_t undecided_;
  std::size_t queued_ = 0;
  std::size_t largest_ = 1;
  std::size_t wanted_ = 0;
  std::size_t keys_ = 0;  // of the run that is under way
  std::size_t stopped_ = 0;
};

}  // namespace herdlock::algo
