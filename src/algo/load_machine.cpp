#include "algo/load_machine.hpp"

#include <utility>

namespace herdlock::algo {
namespace {

constexpr auto never = clock::time_point::max();

load_plan cleaning_up(load_plan plan) {
  plan.clean_up = true;
  return plan;
}

}  // namespace

load_plan load_machine::resume(load_event const& event, clock::time_point now) {
  return std::visit([this, now](auto const& what) { return on(what, now); }, event);
}

load_plan load_machine::go(state next, load_call call) {
  auto const has_slot = [](state one) { return one == state::claiming || one == state::loading; };
  bool const free_slot = has_slot(state_) && !has_slot(next);
  state_ = next;
  due_ = never;
  return {.call = call, .free_slot = free_slot, .detach = next >= state::filling};
}

load_plan load_machine::finish(std::optional<load_answer> answer) {
  auto plan = go(state::done);
  plan.answer = answer;
  return plan;
}

load_plan load_machine::queue() {
  bool const may_queue = !settings_.caller_waits || !abandoned_;
  return go(state::queued, may_queue ? load_call::take_slot : load_call::take_free_slot);
}

load_plan load_machine::unguard() {
  guard_ = load_guard::unguarded;
  return abandoned_ ? finish(std::nullopt) : queue();
}

load_plan load_machine::look_again() {
  return abandoned_ && !settings_.behind_answer ? finish(std::nullopt) : queue();
}

load_plan load_machine::pause(clock::time_point until) {
  auto const plan = go(state::pausing);
  due_ = until;
  return plan;
}

load_plan load_machine::on(load_started what, clock::time_point) {
  guard_ = what.guard;
  return queue();
}

load_plan load_machine::on(slot_granted, clock::time_point now) {
  if (state_ != state::queued) return {.free_slot = true};
  if (guard_ == load_guard::unguarded) return load(now);
  claim_.outdated = false;
  claim_.sent = now;
  return go(state::claiming, load_call::claim);
}

// ------------------------------------------------------------------- the claim, and waiting

load_plan load_machine::on(claim_answered const& reply, clock::time_point now) {
  if (state_ != state::claiming) {
    // It may stand although the cache was closed meanwhile: the claim goes back.
    bool const may_stand =
        reply.what == claim_answer::granted || reply.what == claim_answer::failed;
    return {.clean_up = may_stand && state_ == state::done};
  }
  bool const is_known = reply.remaining > milliseconds{0};
  switch (reply.what) {
    case claim_answer::hit:
      return finish(load_answer::found);
    case claim_answer::backing_off:
      return finish(load_answer::shared_error);
    case claim_answer::refused:
      return cleaning_up(finish(load_answer::refused));
    case claim_answer::failed:
      return cleaning_up(unguard());
    case claim_answer::unreadable:
      // Once: if what stands there after the clearing cannot be read either, somebody else keeps
      // writing in another format, and clearing again would be a war of two formats.
      if (std::exchange(cleared_, true)) return unguard();
      return go(state::clearing, load_call::clear);
    case claim_answer::granted:
      claim_.hold = claim::held;
      claim_.held_until = claim_.sent + settings_.claim_ttl;
      if (abandoned_ && !settings_.behind_answer) return go(state::ending, load_call::give_up);
      if (!claim_.outdated) return load(now);
      // Looked for, perhaps, before the put or invalidate was there: a load now might undo it.
      claim_.hold = claim::none;
      return go(state::returning, load_call::give_up);
    case claim_answer::busy:
      break;
  }
  if (abandoned_) return finish(std::nullopt);
  if (settings_.waiting == load_waiting::watch) {
    // Until the claim would expire of itself: its holder may be dead (S2). A holder that lives
    // extends it, and we are told "busy" again.
    watch_wait_ = (is_known ? reply.remaining : settings_.claim_ttl / 3) + milliseconds{1};
    return go(state::watching, load_call::watch);
  }
  clock::duration const delay = busy_backoff_.next(reply.random);
  return pause(now + (is_known ? std::min<clock::duration>(delay, reply.remaining) : delay));
}

load_plan load_machine::on(watch_answered const& reply, clock::time_point now) {
  if (state_ != state::watching) return {};
  switch (reply.what) {
    case watch_answer::hit:
      return finish(load_answer::found);
    case watch_answer::error:
      return finish(load_answer::shared_error);
    case watch_answer::refused:
      return finish(load_answer::refused);
    case watch_answer::failed:
      return unguard();
    case watch_answer::denied:
      settings_.waiting = load_waiting::back_off;
      break;
    case watch_answer::look_again:
      // The first look is at once; after that a store whose watch does not wait must not spin us.
      if (!std::exchange(looked_again_, true)) return queue();
      break;
  }
  return pause(now + busy_backoff_.next(reply.random));
}

// ------------------------------------------------------------------------------- loading

load_plan load_machine::load(clock::time_point now) {
  auto const plan = go(state::loading, load_call::run_loader);
  claim_.extend_until = now + settings_.max_load_time;
  if (guard_ == load_guard::unguarded) {
    // Nothing else ends a load that hangs: its key would be stuck with it.
    due_ = claim_.extend_until;
  } else if (claim_.extending) {
    due_ = claim_.held_until;
  } else {
    due_ = claim_.next_extension(claim_.sent + settings_.claim_ttl / 3);
  }
  return plan;
}

load_plan load_machine::on(loader_done loader, clock::time_point now) {
  auto const what = loader.what;
  if (state_ != state::loading) return {};
  if (what == load_result::next) return load(now);
  bool const failed = what == load_result::failed;
  bool const has_error = failed || what == load_result::unfinished;
  result_ = has_error ? load_answer::load_error : load_answer::loaded;
  if (what == load_result::nothing) result_.reset();
  // Superseded, or loaded without the store: the value is the callers', not the store's. A failed
  // loader whose claim was lost tells its error to its own callers alone.
  if (claim_.hold != claim::held) {
    auto plan = finish(result_);
    plan.clean_up = claim_.hold == claim::voided;
    return plan;
  }
  auto const plan = what == load_result::storable
                        ? go(state::filling, load_call::fill)
                        : go(state::ending, failed ? load_call::share_error : load_call::give_up);
  due_ = now + settings_.store_patience;
  return plan;
}

load_plan load_machine::on(extend_answered reply, clock::time_point now) {
  claim_.extending = false;
  if (state_ != state::loading || claim_.hold != claim::held) return {};
  if (reply == extend_answered::lost) return lose();
  bool const is_renewed = reply == extend_answered::renewed;
  if (is_renewed) claim_.held_until = claim_.sent + settings_.claim_ttl;
  due_ = claim_.next_extension(is_renewed ? claim_.sent + settings_.claim_ttl / 3
                                          : now + settings_.claim_ttl / 10);
  return {};
}

load_plan load_machine::lose() {
  claim_.hold = claim::lost;
  due_ = never;
  return {.signal_lost = true, .detach = true};
}

load_plan load_machine::on(store_answered reply, clock::time_point) {
  bool const failed = reply == store_answered::failed;
  if (state_ == state::filling || state_ == state::ending) {
    auto plan = finish(result_);
    plan.clean_up = failed;
    return plan;
  }
  // Not claimed again by the same owner: a late reply would take that claim away.
  if (state_ == state::returning && failed) return cleaning_up(unguard());
  return state_ == state::returning || state_ == state::clearing ? look_again() : load_plan{};
}

load_plan load_machine::on(timer_due, clock::time_point now) {
  if (now < due_) return {};
  due_ = never;
  if (state_ == state::pausing) return queue();
  if (state_ == state::filling || state_ == state::ending) {
    // The store is slow to say whether it has it; the callers need not wait for that.
    return {.answer = std::exchange(result_, std::nullopt)};
  }
  if (state_ != state::loading) return {};
  if (guard_ == load_guard::unguarded) return {.signal_lost = true, .detach = true};
  if (claim_.hold != claim::held) return {};
  if (now >= claim_.held_until) return cleaning_up(lose());
  due_ = claim_.held_until;
  if (claim_.extending || now >= claim_.extend_until) return {};
  claim_.extending = true;
  claim_.sent = now;
  return {.call = load_call::extend};
}

// --------------------------------------------------------------------------- from outside

load_plan load_machine::on(caller_joined, clock::time_point) {
  abandoned_ = false;
  return {};
}

load_plan load_machine::on(everyone_left, clock::time_point) {
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

load_plan load_machine::on(load_voided, clock::time_point) {
  claim_.outdated = state_ == state::claiming;
  // The caller's copy is no answer any more: he waits as at a miss. One who has left does not.
  if (settings_.caller_waits && settings_.behind_answer) abandoned_ = false;
  if (state_ != state::loading || claim_.hold != claim::held) return {.detach = true};
  auto const plan = lose();
  // The put or invalidate voids the claim in the store, if it gets there; giving the claim up now
  // would wake others to load what is about to be voided. It is given up when the loader ends.
  claim_.hold = claim::voided;
  return plan;
}

load_plan load_machine::on(load_closed, clock::time_point) {
  if (state_ == state::done) return {};
  bool const is_held = state_ == state::loading && claim_.hold == claim::held;
  bool const is_asked = state_ == state::claiming || state_ == state::returning;
  auto plan = finish(state_ >= state::filling ? result_ : load_answer::closed);
  plan.signal_lost = is_held;
  plan.clean_up = is_held || is_asked || claim_.hold == claim::voided;
  return plan;
}

}  // namespace herdlock::algo
