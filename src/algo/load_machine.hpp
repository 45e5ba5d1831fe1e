// One load of one cache key, as a machine: when to claim, wait, load, extend, store and answer.
//
// Pure: events go in with the time, a plan comes out, and the runtime does what the plan says.
// Values, errors and owner tokens never pass through here; the runtime keeps them and the plan says
// which of them is the answer.
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

#include <algorithm>
#include <optional>
#include <variant>

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

// The events. A random number is uniform in [0, 1), for the back-off.

struct load_started {
  load_guard guard;
};
struct slot_granted {};

enum class claim_answer {
  hit,
  unreadable,  ///< an entry that cannot be decoded
  granted,
  busy,
  backing_off,
  failed,   ///< store trouble: whether we have the claim is unknown
  refused,  ///< no trouble of the store's own (wrong_type, canceled, …): the answer
};
struct claim_answered {
  claim_answer what;
  milliseconds remaining{0};  ///< of another's claim; 0: unknown
  double random = 0;
};

enum class watch_answer {
  hit,
  error,
  look_again,
  failed,
  denied,   ///< the store pushes nothing to this user: from here on it is one that does not push
  refused,  ///< as for a claim
};
struct watch_answered {
  watch_answer what;
  double random = 0;
};

/// The loader has ended. After `next` it loads on, and this comes again. No loader begins behind
/// the loss of the claim: the plan that said so has ended those who wait.
struct loader_done {
  load_result what;
};
enum class extend_answered { renewed, lost, failed };
/// The reply to clear, fill, share_error or give_up: done or superseded, or the outcome is unknown.
enum class store_answered { replied, failed };
/// due() has come.
struct timer_due {};

/// A caller who has no answer has joined.
struct caller_joined {};
/// The last caller that waited has left. A loader that runs is not this machine's matter
/// (load_callers); anything else ends, but for what is loaded behind an answer. A load that has not
/// begun is not joined any more if its caller was to wait for it.
struct everyone_left {};
/// put or invalidate through this very cache: what is being loaded is out of date, and a claim that
/// is on its way may have looked before it: such a claim is given back for another look. The answer
/// that its caller had is none any more.
struct load_voided {};
struct load_closed {};

using load_event = std::variant<load_started, slot_granted, claim_answered, watch_answered,
                                loader_done, extend_answered, store_answered, timer_due,
                                caller_joined, everyone_left, load_voided, load_closed>;

/// See the top of this file. An event that the state has no use for (a late reply) changes nothing.
class load_machine {
 public:
  explicit load_machine(load_settings settings)
      : settings_(settings), abandoned_(settings.caller_waits) {}

  load_plan resume(load_event const& event, clock::time_point now);

  bool done() const noexcept { return state_ == state::done; }
  bool loading() const noexcept { return state_ == state::loading; }
  bool filling() const noexcept { return state_ == state::filling; }
  bool claim_is_lost() const noexcept { return claim_.hold >= claim::lost; }
  load_guard guard() const noexcept { return guard_; }
  milliseconds watch_wait() const noexcept { return watch_wait_; }
  /// When timer_due is to come; time_point::max() for never.
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
    returning,  // the claim, to ask for it again
    filling,
    ending,
    done
  };
  struct claim {
    enum { none, held, lost, voided } hold = none;
    bool outdated = false;  // while it is on its way
    bool extending = false;
    clock::time_point sent{};  // or the extension that is on its way
    clock::time_point held_until{};
    clock::time_point extend_until{};

    // Planned extensions end at `extend_until`: the loader has had its time.
    clock::time_point next_extension(clock::time_point at) const {
      return at < extend_until ? std::min(at, held_until) : held_until;
    }
  };

  load_plan on(load_started what, clock::time_point now);
  load_plan on(slot_granted, clock::time_point now);
  load_plan on(claim_answered const& reply, clock::time_point now);
  load_plan on(watch_answered const& reply, clock::time_point now);
  load_plan on(loader_done loader, clock::time_point now);
  load_plan on(extend_answered reply, clock::time_point now);
  load_plan on(store_answered reply, clock::time_point now);
  load_plan on(timer_due, clock::time_point now);
  load_plan on(caller_joined, clock::time_point now);
  load_plan on(everyone_left, clock::time_point now);
  load_plan on(load_voided, clock::time_point now);
  load_plan on(load_closed, clock::time_point now);

  // The slot is held while the state is claiming or loading; from `filling` on, nobody joins.
  load_plan go(state next, load_call call = load_call::none);
  load_plan finish(std::optional<load_answer> answer);
  load_plan queue();
  load_plan unguard();
  load_plan look_again();
  load_plan pause(clock::time_point until);
  load_plan load(clock::time_point now);
  load_plan lose();

  load_settings settings_;
  backoff busy_backoff_{{milliseconds{1}, milliseconds{25}}};
  state state_ = state::idle;
  load_guard guard_ = load_guard::guarded;
  claim claim_;
  bool abandoned_;  // nobody has to have what is loaded
  bool cleared_ = false;
  bool looked_again_ = false;
  std::optional<load_answer> result_ = load_answer::loaded;  // the answer, until it is given
  milliseconds watch_wait_{0};
  clock::time_point due_ = clock::time_point::max();
};

}  // namespace herdlock::algo
