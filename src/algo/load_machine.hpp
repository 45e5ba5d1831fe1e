// One load of one cache key, as a machine: when to claim, wait, load, extend, store and answer.
//
// Pure: events go in (with the time and a random number where one is needed), a plan comes out,
// and the runtime does what the plan says. Values, errors and owner tokens never pass through
// here; the runtime keeps them and the plan says which of them is the answer.
//
//   queued ── slot ──> claiming ──┬─ hit, backing off ────────────────> done
//     ^                           ├─ busy ──> watching | pausing ──┐
//     │                           ├─ cannot be read ──> clearing ──┤
//     └───────────────────────────┼────────────────────────────────┘
//                                 ├─ claimed ──> loading ──┬─ value ──> filling ──> done
//                                 │                        └─ error ──> ending ───> done
//                                 ├─ claimed, but voided since: given back, queued again
//                                 └─ the store fails: queued again, unguarded, for a limited slot;
//                                    then loading without a claim, and nothing is written (S9)
#pragma once

#include <optional>

#include <herdlock/types.hpp>

#include "algo/backoff.hpp"

namespace herdlock::algo {

/// Whether the load is protected by a claim in the store, or only by the bounds of this process.
enum class load_guard { guarded, unguarded };

/// How a waiter learns that another's claim ended.
enum class load_waiting { watch, back_off };

struct load_settings {
  milliseconds claim_ttl;
  /// The time after which the claim is not extended, and an unguarded load is not joined any more.
  milliseconds max_load_time;
  load_waiting waiting;
  /// The caller of the load has an answer already, so the load goes on with nobody waiting; only
  /// where another is at it, or without a claim, it does not.
  bool behind_answer = false;
  /// The same, but its caller waits for its own loader, and for nothing else: it does not wait for
  /// a slot, and once he has left it does not begin to load. REQUIRES: behind_answer.
  bool caller_waits = false;
  backoff_options busy_backoff{milliseconds{1}, milliseconds{25}};
  milliseconds store_patience{100};  ///< how long a known result waits for the store's answer
};

/// The call that the runtime is to start. At most one per plan, and (but for `extend`, which runs
/// beside the loader) one at a time.
enum class load_call {
  none,
  take_slot,       ///< queue for a load slot of the kind guard() says; answer with slot_granted
  take_free_slot,  ///< the same; where none is free now, answer with everyone_left
  claim,
  clear,  ///< invalidate the entry, which cannot be read
  watch,  ///< for watch_wait()
  run_loader,
  extend,
  fill,
  share_error,  ///< cache_store::fail with the loader's error and the back-off
  give_up,      ///< cache_store::fail with no back-off: nobody is told anything, the next may load
};

/// The thing that the runtime holds and that is everyone's answer.
enum class load_answer {
  found,         ///< the entry that claim or watch brought
  shared_error,  ///< the error of another's load, as the store brought it
  loaded,        ///< what our loader returned
  load_error,    ///< what our loader threw
  refused,       ///< the store's failure
  closed,        ///< errc::canceled: the cache is being closed
};

struct load_plan {
  load_call call = load_call::none;
  std::optional<load_answer> answer = std::nullopt;
  bool free_slot = false;
  bool signal_lost = false;  ///< tell the loader that its result will not be stored
  bool detach = false;       ///< new callers must not join any more
  bool clean_up = false;     ///< the claim may still stand: end it in the background
};

/// The result with which the loader came back.
enum class load_result {
  storable,    ///< a value, or "there is no such thing", with its encoding
  unstorable,  ///< a value that is too large or cannot be encoded
  failed,
  unfinished,  ///< it did not get to its end: an error for those who wait here, nobody else's
  next,        ///< it did not get to its end: another who waits here loads, under the same claim
  nothing,     ///< it did not get to its end, and nobody else is there to load
};

/// See the top of this file. An event that the state has no use for (a late reply) changes nothing.
class load_machine {
 public:
  explicit load_machine(load_settings settings)
      : settings_(settings),
        busy_backoff_(settings.busy_backoff),
        abandoned_(settings.caller_waits) {}

  load_plan start(load_guard guard);
  load_plan slot_granted(clock::time_point now);

  load_plan claim_hit();
  /// The claim's step found an entry that cannot be decoded.
  load_plan claim_unreadable();
  load_plan claim_granted(clock::time_point now);
  load_plan claim_busy(milliseconds remaining, clock::time_point now, double random);
  load_plan claim_backing_off();
  /// Store trouble: whether we have the claim is unknown.
  load_plan claim_failed();
  load_plan clear_replied();

  load_plan watch_hit();
  load_plan watch_error();
  load_plan watch_look_again(clock::time_point now, double random);
  load_plan watch_failed();
  /// The store pushes nothing to this user: from here on as for a store that does not push.
  load_plan watch_denied(clock::time_point now, double random);

  /// The store said something that is no trouble of its own (wrong_type, canceled, …): the answer.
  load_plan refused();

  /// The loader has ended. After `next` it loads on, and this is called again. No loader begins
  /// behind the loss of the claim: the plan that said so has ended those who wait.
  load_plan loader_done(load_result what, clock::time_point now);
  load_plan extend_renewed();
  load_plan extend_lost();
  load_plan extend_failed(clock::time_point now);
  load_plan store_replied();  ///< of fill, share_error, give_up: stored or superseded
  load_plan store_failed();   ///< of the same: the outcome is unknown

  /// due() has come.
  load_plan timer(clock::time_point now);

  /// A caller who has no answer has joined.
  void joined() { abandoned_ = false; }
  /// The last caller that waited has left. A loader that runs is not this machine's matter
  /// (load_callers); anything else ends, but for what is loaded behind an answer. A load that has
  /// not begun is not joined any more if its caller was to wait for it.
  load_plan everyone_left();
  /// put or invalidate through this very cache: what is being loaded is out of date, and a claim
  /// that is on its way may have looked before it: such a claim is given back for another look.
  /// The answer that its caller had is none any more.
  load_plan voided();
  load_plan close();

  bool done() const noexcept { return state_ == state::done; }
  bool loading() const noexcept { return state_ == state::loading; }
  bool filling() const noexcept { return state_ == state::filling; }
  bool claim_is_lost() const noexcept { return claim_ == claim::lost; }
  load_guard guard() const noexcept { return guard_; }
  milliseconds watch_wait() const noexcept { return watch_wait_; }
  /// When timer() is to be called; time_point::max() for never.
  clock::time_point due() const noexcept { return due_; }

 private:
  enum class state {
    idle,
    queued,
    claiming,
    clearing,
    watching,
    pausing,
    loading,
    filling,
    ending,
    returning,
    done
  };
  enum class claim { none, held, lost };

  load_plan queue();
  load_plan finish(std::optional<load_answer> answer);
  load_plan unguard();
  load_plan lose();
  load_plan load_again(load_result what, clock::time_point now);
  load_plan store_ended();

  load_settings settings_;
  backoff busy_backoff_;
  state state_ = state::idle;
  load_guard guard_ = load_guard::guarded;
  claim claim_ = claim::none;
  bool abandoned_;  // nobody has to have what is loaded
  bool extending_ = false;
  bool answered_ = false;
  bool voided_ = false;
  bool outdated_ = false;  // the claim that is on its way
  bool cleared_ = false;
  bool looked_again_ = false;
  load_answer result_ = load_answer::loaded;
  milliseconds watch_wait_{0};
  clock::time_point sent_{};  // of the claim or the extension that is on its way
  clock::time_point held_until_{};
  clock::time_point extend_until_{};
  clock::time_point due_ = clock::time_point::max();
};

}  // namespace herdlock::algo
