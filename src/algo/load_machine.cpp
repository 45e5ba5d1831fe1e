#include "algo/load_machine.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

constexpr auto never = clock::time_point::max();

// The next renewal of a claim that is planned for `at`: none behind `until`, for the loader has had
// its time.
clock::time_point extension_due(clock::time_point at, clock::time_point until,
                                clock::time_point held_until) {
  return at < until ? std::min(at, held_until) : held_until;
}

}  // namespace

load_plan load_machine::start(load_guard guard) {
  guard_ = guard;
  return queue();
}

load_plan load_machine::queue() {
  state_ = state::queued;
  due_ = never;
  bool const may_queue = !settings_.caller_waits || !abandoned_;
  return {.call = may_queue ? load_call::take_slot : load_call::take_free_slot};
}

load_plan load_machine::finish(std::optional<load_answer> answer) {
  state_ = state::done;
  due_ = never;
  if (answered_) answer.reset();
  answered_ = answered_ || answer.has_value();
  return {.answer = answer, .detach = true};
}

load_plan load_machine::slot_granted(clock::time_point now) {
  if (state_ != state::queued) return {.free_slot = true};
  if (guard_ == load_guard::unguarded) {
    state_ = state::loading;
    // Nothing else ends a load that hangs: its key would be stuck with it.
    due_ = now + settings_.max_load_time;
    return {.call = load_call::run_loader};
  }
  state_ = state::claiming;
  outdated_ = false;
  sent_ = now;
  return {.call = load_call::claim};
}

// ------------------------------------------------------------------------------ the claim

load_plan load_machine::claim_hit() {
  if (state_ != state::claiming) return {};
  auto plan = finish(load_answer::found);
  plan.free_slot = true;
  return plan;
}

load_plan load_machine::claim_unreadable() {
  if (state_ != state::claiming) return {};
  // Once: if what stands there after the clearing cannot be read either, somebody else keeps
  // writing in another format, and clearing again would be a war of two formats.
  if (cleared_) return unguard();
  cleared_ = true;
  state_ = state::clearing;
  return {.call = load_call::clear, .free_slot = true};
}

load_plan load_machine::clear_replied() {
  if (state_ != state::clearing) return {};
  if (abandoned_ && !settings_.behind_answer) return finish(std::nullopt);
  return queue();
}

load_plan load_machine::claim_granted(clock::time_point now) {
  // Granted after the cache was closed: the claim goes back.
  if (state_ == state::done) return {.clean_up = true};
  if (state_ != state::claiming) return {};
  claim_ = claim::held;
  held_until_ = sent_ + settings_.claim_ttl;
  if (abandoned_ && !settings_.behind_answer) {
    state_ = state::ending;
    return {.call = load_call::give_up, .free_slot = true, .detach = true};
  }
  // Looked for, perhaps, before the put or invalidate was there: a load now might undo it.
  if (outdated_) {
    claim_ = claim::none;
    state_ = state::returning;
    return {.call = load_call::give_up, .free_slot = true};
  }
  state_ = state::loading;
  extend_until_ = now + settings_.max_load_time;
  due_ = extension_due(sent_ + settings_.claim_ttl / 3, extend_until_, held_until_);
  return {.call = load_call::run_loader};
}

load_plan load_machine::claim_busy(milliseconds remaining, clock::time_point now, double random) {
  if (state_ != state::claiming) return {};
  if (abandoned_) {
    auto plan = finish(std::nullopt);
    plan.free_slot = true;
    return plan;
  }
  if (settings_.waiting == load_waiting::watch) {
    state_ = state::watching;
    // Until the claim would expire of itself: its holder may be dead (S2). A holder that lives
    // extends it, and we are told "busy" again.
    bool const known = remaining > milliseconds{0};
    watch_wait_ = (known ? remaining : settings_.claim_ttl / 3) + milliseconds{1};
    return {.call = load_call::watch, .free_slot = true};
  }
  state_ = state::pausing;
  clock::duration delay = busy_backoff_.next(random);
  if (remaining > milliseconds{0}) delay = std::min<clock::duration>(delay, remaining);
  due_ = now + delay;
  return {.free_slot = true};
}

load_plan load_machine::claim_backing_off() {
  if (state_ != state::claiming) return {};
  auto plan = finish(load_answer::shared_error);
  plan.free_slot = true;
  return plan;
}

load_plan load_machine::claim_failed() {
  if (state_ != state::claiming) return {.clean_up = state_ == state::done};
  auto plan = unguard();
  plan.clean_up = true;
  return plan;
}

load_plan load_machine::unguard() {
  bool const had_slot = state_ == state::claiming;
  auto plan = abandoned_ ? finish(std::nullopt) : queue();
  plan.free_slot = had_slot;
  guard_ = load_guard::unguarded;
  return plan;
}

// ------------------------------------------------------------------------------- waiting

load_plan load_machine::watch_hit() {
  return state_ == state::watching ? finish(load_answer::found) : load_plan{};
}

load_plan load_machine::watch_error() {
  return state_ == state::watching ? finish(load_answer::shared_error) : load_plan{};
}

load_plan load_machine::watch_look_again(clock::time_point now, double random) {
  if (state_ != state::watching) return {};
  // The first look is at once; after that a store whose watch does not wait must not spin us.
  if (!looked_again_) {
    looked_again_ = true;
    return queue();
  }
  state_ = state::pausing;
  due_ = now + busy_backoff_.next(random);
  return {};
}

load_plan load_machine::watch_failed() {
  return state_ == state::watching ? unguard() : load_plan{};
}

load_plan load_machine::watch_denied(clock::time_point now, double random) {
  if (state_ != state::watching) return {};
  settings_.waiting = load_waiting::back_off;
  state_ = state::pausing;
  due_ = now + busy_backoff_.next(random);
  return {};
}

load_plan load_machine::refused() {
  if (state_ == state::claiming) {
    auto plan = finish(load_answer::refused);
    plan.free_slot = true;
    plan.clean_up = true;
    return plan;
  }
  if (state_ == state::watching || state_ == state::clearing) return finish(load_answer::refused);
  return {};
}

// ------------------------------------------------------------------------------- loading

load_plan load_machine::loader_done(load_result what, clock::time_point now) {
  if (state_ != state::loading) return {};
  if (what == load_result::next || what == load_result::nothing) return load_again(what, now);
  bool const error = what == load_result::failed || what == load_result::unfinished;
  result_ = error ? load_answer::load_error : load_answer::loaded;
  // Superseded, or loaded without the store: the value is the callers', not the store's. A failed
  // loader whose claim was lost tells its error to its own callers alone.
  if (claim_ != claim::held) {
    auto plan = finish(result_);
    plan.free_slot = true;
    plan.clean_up = voided_;
    return plan;
  }
  load_plan plan{.free_slot = true, .detach = true};
  due_ = now + settings_.store_patience;
  if (what == load_result::storable) {
    state_ = state::filling;
    plan.call = load_call::fill;
  } else {
    state_ = state::ending;
    plan.call = what == load_result::failed ? load_call::share_error : load_call::give_up;
  }
  return plan;
}

load_plan load_machine::load_again(load_result what, clock::time_point now) {
  if (what == load_result::next) {
    extend_until_ = now + settings_.max_load_time;
    if (guard_ == load_guard::unguarded) {
      due_ = extend_until_;
    } else if (!extending_) {
      due_ = extension_due(sent_ + settings_.claim_ttl / 3, extend_until_, held_until_);
    }
    return {.call = load_call::run_loader};
  }
  if (claim_ != claim::held) {
    auto plan = finish(std::nullopt);
    plan.free_slot = true;
    plan.clean_up = voided_;
    return plan;
  }
  answered_ = true;
  state_ = state::ending;
  due_ = now + settings_.store_patience;
  return {.call = load_call::give_up, .free_slot = true, .detach = true};
}

load_plan load_machine::extend_renewed() {
  extending_ = false;
  if (state_ != state::loading || claim_ != claim::held) return {};
  held_until_ = sent_ + settings_.claim_ttl;
  due_ = extension_due(sent_ + settings_.claim_ttl / 3, extend_until_, held_until_);
  return {};
}

load_plan load_machine::extend_lost() {
  extending_ = false;
  if (state_ != state::loading || claim_ != claim::held) return {};
  return lose();
}

load_plan load_machine::extend_failed(clock::time_point now) {
  extending_ = false;
  if (state_ != state::loading || claim_ != claim::held) return {};
  due_ = extension_due(now + settings_.claim_ttl / 10, extend_until_, held_until_);
  return {};
}

load_plan load_machine::lose() {
  claim_ = claim::lost;
  due_ = never;
  return {.signal_lost = true, .detach = true};
}

load_plan load_machine::store_replied() {
  if (state_ != state::returning) return store_ended();
  if (abandoned_ && !settings_.behind_answer) return finish(std::nullopt);
  return queue();
}

load_plan load_machine::store_failed() {
  if (state_ == state::returning) {
    // Not claimed again by the same owner: a late reply would take that claim away.
    auto plan = unguard();
    plan.clean_up = true;
    return plan;
  }
  bool const unknown = state_ == state::filling || state_ == state::ending;
  auto plan = store_ended();
  plan.clean_up = unknown;
  return plan;
}

load_plan load_machine::store_ended() {
  if (state_ != state::filling && state_ != state::ending) return {};
  return finish(result_);
}

load_plan load_machine::timer(clock::time_point now) {
  if (now < due_) return {};
  due_ = never;
  switch (state_) {
    case state::pausing:
      return queue();
    case state::filling:
    case state::ending:
      // The store is slow to say whether it has it; the callers need not wait for that.
      if (answered_) return {};
      answered_ = true;
      return {.answer = result_};
    case state::loading:
      break;
    default:
      return {};
  }
  if (guard_ == load_guard::unguarded) return {.signal_lost = true, .detach = true};
  if (claim_ != claim::held) return {};
  if (now >= held_until_) {
    auto plan = lose();
    plan.clean_up = true;
    return plan;
  }
  if (extending_ || now >= extend_until_) {
    due_ = held_until_;
    return {};
  }
  extending_ = true;
  sent_ = now;
  due_ = held_until_;
  return {.call = load_call::extend};
}

// --------------------------------------------------------------------------- from outside

load_plan load_machine::everyone_left() {
  abandoned_ = true;
  if (settings_.caller_waits) settings_.behind_answer = false;
  switch (state_) {
    case state::queued:
      if (settings_.behind_answer && guard_ == load_guard::guarded) return {};
      return finish(std::nullopt);
    case state::watching:
    case state::pausing:
      return finish(std::nullopt);
    case state::claiming:
    case state::clearing:
    case state::returning:
      // A caller that joined now would begin the loader of a call that is over.
      return {.detach = settings_.caller_waits};
    default:
      return {};
  }
}

load_plan load_machine::voided() {
  outdated_ = state_ == state::claiming;
  // The caller's copy is no answer any more: he waits as at a miss. One who has left does not.
  if (settings_.caller_waits && settings_.behind_answer) abandoned_ = false;
  if (state_ != state::loading || claim_ != claim::held) return {.detach = true};
  // The put or invalidate voids the claim in the store, if it gets there; giving the claim up now
  // would wake others to load what is about to be voided. It is given up when the loader ends.
  voided_ = true;
  return lose();
}

load_plan load_machine::close() {
  if (state_ == state::done) return {};
  bool const slot = state_ == state::claiming || state_ == state::loading;
  bool const held = state_ == state::loading && claim_ == claim::held;
  bool const asked = state_ == state::claiming || state_ == state::returning;
  bool const known = state_ == state::filling || state_ == state::ending;
  auto plan = finish(known ? result_ : load_answer::closed);
  plan.free_slot = slot;
  plan.signal_lost = held;
  plan.clean_up = held || asked || voided_;
  return plan;
}

}  // namespace herdlock::algo
