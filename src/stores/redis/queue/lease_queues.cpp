#include "stores/redis/queue/lease_queues.hpp"

#include "stores/redis/jitter.hpp"
#include "stores/redis/wait_limits.hpp"

namespace herdlock::redis {
namespace {

constexpr algo::backoff_options polling{milliseconds{1}, milliseconds{50}};
constexpr algo::backoff_options retrying{milliseconds{50}, milliseconds{1000}};
constexpr milliseconds beat_interval{500};
constexpr milliseconds min_beat_interval{20};
constexpr milliseconds min_look_interval{50};

milliseconds first_ttl(milliseconds ttl) { return std::min(ttl, heartbeat); }

// The server takes a process for one that hangs when it has not looked between a grant and the end
// of its heartbeat.
milliseconds pace_of(milliseconds ttl) {
  return std::clamp(first_ttl(ttl) / 2, min_look_interval, look_interval);
}

milliseconds beat_of(milliseconds ttl) {
  return std::clamp(first_ttl(ttl) / 4, min_beat_interval, beat_interval);
}

auto from_now(milliseconds span) { return std::chrono::steady_clock::now() + span; }

}  // namespace

void lease_queues::wait_no_more(waiter& one) {
  resource_queue& at = *one.at;
  if (at.waiting.erase(one.id) == 0) return;
  at.paces.remove(pace_of(one.asked.ttl));
  beats_.remove(beat_of(one.asked.ttl));
}

lease_queues::lease_queues(std::shared_ptr<router> commands,
                           std::shared_ptr<grant_subscriptions> subscriptions)
    : commands_(std::move(commands)), subscriptions_(std::move(subscriptions)), beat_([this] {
        subscriptions_->beat(beats_.shortest_or(beat_interval));
        keep_beating();
      }) {}

lease_queues::waiter::waiter(lease_queues& home, resource_queue& queue, acquire_request request,
                             handler<acquire_reply> done)
    : asked(std::move(request)),
      member(std::make_shared<member_name>(first_ttl(asked.ttl), asked.owner)),
      caller(std::move(done)),
      at(&queue),
      end([this, &home] { home.on_deadline(*this); }) {}

lease_queues::resource_queue::resource_queue(lease_queues& home, std::string resource_name)
    : name(std::move(resource_name)),
      pause(polling),
      look([this, &home] { home.look_at(*this); }),
      retry([this, &home] { home.retry_leave(*this); }),
      retry_pause(retrying) {}

failure lease_queues::refusal(acquire_request const& request) const {
  auto const refuse = [&](errc code, std::string const& why) {
    return make_failure(code, "cannot acquire " + in_quotes(request.name.str()) + " at " +
                                  commands_->how().display_name + ": " + why);
  };
  if (closed_) return refuse(errc::canceled, "the store is closed");
  if (waiters_.size() - pending_leaves_ < max_waits) return {};
  return refuse(errc::overloaded, std::to_string(max_waits) + " wait already; ask less at once");
}

void lease_queues::wait(acquire_request request, handler<acquire_reply> done) {
  if (failure why = refusal(request); why.code) {
    return detail::post_result<acquire_reply>(commands_->executor(), std::move(done),
                                              std::move(why));
  }
  if (!timers_) {
    timers_ = std::make_shared<steady_shared_timer>(commands_->executor());
    subscriptions_->report_to(weak_from_this());
    commands_->watch_routes(weak_from_this());
  }
  enter(add(std::move(request), std::move(done)), reason::arrival);
}

bool lease_queues::knows(std::string const& name, owner_token const& owner) const {
  auto const found = queues_.find(name);
  return found != queues_.end() && found->second.by_owner.contains(owner.str());
}

bool lease_queues::polls(std::string const& name) const {
  auto const found = queues_.find(name);
  if (found == queues_.end() || found->second.waiting.empty()) return false;
  auto const& by = found->second.subscription;
  return by && by->refused();
}

lease_queues::waiter& lease_queues::add(acquire_request request, handler<acquire_reply> done) {
  auto const id = ++last_id_;
  resource_queue& at = queue_of(request.name.str());
  auto const wait = std::clamp(request.wait, milliseconds{0}, longest_wait);
  waiter& one =
      waiters_.try_emplace(id, *this, at, std::move(request), std::move(done)).first->second;
  one.id = id;
  at.waiting.insert(id);
  at.paces.add(pace_of(one.asked.ttl));
  beats_.add(beat_of(one.asked.ttl));
  at.by_owner.emplace(one.asked.owner.str(), id);
  timers_->add(one.end, from_now(wait));
  one.caller.on_cancel([weak = weak_from_this(), id] {
    if (auto const self = weak.lock()) self->on_cancel(id);
  });
  return one;
}

lease_queues::resource_queue& lease_queues::queue_of(std::string const& name) {
  auto const [found, is_new] = queues_.try_emplace(name, *this, name);
  resource_queue& at = found->second;
  if (!is_new) return at;
  if (connection* const server = commands_->carrier_for(name))
    bind(at, subscriptions_->at(*server));
  return at;
}

// ---------------------------------------------------------------------------------- entering

void lease_queues::enter(waiter& one, reason why) {
  if (one.at->subscription) one.at->subscription->beat(beats_.shortest_or(beat_interval));
  keep_beating();
  ++one.calls;
  auto on_answer = [weak = weak_from_this(), id = one.id, why,
                    sent = clock::now()](outcome answer) {
    auto const self = weak.lock();
    if (!self) return;
    self->on_entered(id, why, sent, std::move(answer));
    self->tell();
  };
  operation<enter_message>::start(
      *commands_, enter_message{one.asked, one.member, subscriptions_, fence_floor_of(*commands_)},
      std::move(on_answer));
}

void lease_queues::on_entered(std::uint64_t id, reason why, clock::time_point sent,
                              outcome answer) {
  auto const found = waiters_.find(id);
  if (found == waiters_.end()) return;
  waiter& one = found->second;
  resource_queue& at = *one.at;
  --one.calls;
  if (why == reason::look) at.looking = false;
  if (one.now != phase::waiting) {
    if (why == reason::look) look_soon(at);
    return after_a_late_answer(one, sent, answer);
  }
  if (answer.has_error()) {
    if (stands_by(one, answer.error())) {
      // The server may know it by its former name: the next look that succeeds says it once more.
      if (std::exchange(one.again, false) || why == reason::change) at.has_unheard = true;
      return look_soon(at);
    }
    if (why == reason::look) return fail_all(at, answer.error());
    return fail(one, answer.error());
  }
  if (auto const* fencing = std::get_if<fencing_token>(&*answer)) {
    // Nobody was in the queue: it had forgotten us all.
    if (one.queued) enter_all(at, id);
    look_soon(at);
    return take(one, {*fencing, grant_validity{sent, one.asked.ttl}});
  }
  on_state(one, why, sent, std::get<held>(*answer));
}

// A look that failed proves nothing about an entry in the queue; it is asked for again, and the
// wait ends at its deadline.
bool lease_queues::stands_by(waiter const& one, failure const& why) const {
  return one.queued && (why == errc::unavailable || why == errc::timed_out);
}

void lease_queues::on_state(waiter& one, reason why, clock::time_point sent, held const& state) {
  auto const id = one.id;
  resource_queue& at = *one.at;
  auto const name = at.name;
  bool const was_queued = std::exchange(one.queued, true);
  one.last_seen = busy_of(state);
  note_server(one, why, state);
  // The holder may be one of ours: granted without a push, or by one that is still under way.
  owner_has_it(at, state.holder, {state.fencing, grant_validity{sent, state.remaining}},
               news::answer);
  if (!queues_.contains(name)) return;
  plan_look(at, state);
  // Taken out of the queue: as one of a process that hangs, with all of it, or with the queue.
  bool const forgotten = was_queued && state.added;
  at.has_unheard = at.has_unheard || forgotten;
  if (why == reason::look && std::exchange(at.has_unheard, false)) enter_all(at, id);
  auto const still = waiters_.find(id);
  if (still == waiters_.end() || still->second.now != phase::waiting) return;
  waiter& waits = still->second;
  // The channel came up, or went, while this was on its way.
  bool const changed =
      state.at == at.subscription && waits.member->is_pushed() != at.subscription->listening();
  if (std::exchange(waits.again, false) || changed) enter(waits, reason::change);
}

// One decision for each grant, so that this cannot be:
//   1. the deadline rings, leave is sent   2. the grant is pushed: given back, since nobody waits
//   3. leave answers that it crossed a grant: taken, and a live lease is on its way to the others.
void lease_queues::owner_has_it(resource_queue& at, std::string const& owner, grant const& what,
                                news from) {
  bool const is_taken = what.fencing == at.taken;
  // A push that comes late may be of a lease that was released since.
  if (is_taken && from == news::push) return;
  std::vector<std::uint64_t> heirs;  // two waits of one owner share a grant
  waiter* gone = nullptr;
  auto const [first, last] = at.by_owner.equal_range(owner);
  for (auto each = first; each != last; ++each) {
    waiter& one = waiters_.at(each->second);
    if (one.now != phase::granted && one.caller.open()) heirs.push_back(one.id);
    // Also of one that was granted: entered once more behind the release of that.
    if (one.now != phase::waiting && !one.caller.open()) gone = &one;
  }
  bool const once_more =
      gone && what.fencing == at.given_back && std::exchange(at.release_lost, false);
  if (once_more) at.given_back = {};
  if (gone && (heirs.empty() || once_more)) give_back(*gone, what.fencing);
  // Its release is on its way, and asking is behind it.
  if (what.fencing == at.given_back) return ask_again(heirs);
  for (auto const id : heirs) {
    auto const found = waiters_.find(id);
    if (found != waiters_.end() && found->second.caller.open()) take(found->second, what);
  }
}

void lease_queues::ask_again(std::vector<std::uint64_t> const& those) {
  for (auto const id : those) {
    waiter& one = waiters_.at(id);
    if (one.now == phase::waiting && one.calls == 0) enter(one, reason::change);
  }
}

// At most one entering of each is under way, however often the channel comes and goes.
void lease_queues::enter_all(resource_queue& at, std::uint64_t but_not) {
  for (auto const id : std::set<std::uint64_t>(at.waiting)) {
    waiter& one = waiters_.at(id);
    if (id == but_not) continue;
    if (one.calls > 0) {
      one.again = true;
    } else {
      enter(one, reason::change);
    }
  }
}

void lease_queues::enter_everywhere(grant_subscription const& by) {
  for (auto& [name, at] : queues_) {
    if (at.subscription.get() == &by) enter_all(at, 0);
  }
}

// ---------------------------------------------------------------------------------- servers

void lease_queues::bind(resource_queue& at, std::shared_ptr<grant_subscription> to) {
  if (at.subscription) at.subscription->remove_user();
  at.subscription = std::move(to);
  if (at.subscription) at.subscription->add_user();
}

// The answers to what was sent to the old node may come behind those of the new one; and while a
// slot is being moved, some commands are sent on by the old node without a change of the map. So
// only a look, or what the map agrees with, says where the queue is; others are put right by the
// next look.
void lease_queues::note_server(waiter& one, reason why, held const& state) {
  resource_queue& at = *one.at;
  one.queued_by = state.at;
  if (one.calls == 0 && state.form == one.member->form()) one.member->confirm();
  state.at->open();
  if (at.subscription == state.at) {
    if (why == reason::look && at.has_strays) enter_strays(at, one.id);
    return;
  }
  bool const is_there = !at.subscription || why == reason::look ||
                        commands_->carrier_for(at.name) == &state.at->commands();
  if (!is_there) {
    at.has_strays = true;
    return;
  }
  bind(at, state.at);
  enter_strays(at, one.id);
}

void lease_queues::enter_strays(resource_queue& at, std::uint64_t but_not) {
  at.has_strays = false;
  for (auto const id : std::set<std::uint64_t>(at.waiting)) {
    waiter& one = waiters_.at(id);
    // The answer to what is under way tells by itself.
    if (id == but_not || one.calls > 0 || one.queued_by == at.subscription) continue;
    enter(one, reason::change);
  }
}

// Nothing else tells a process that only waits; its looks would, within a second.
void lease_queues::on_routes_changed() {
  for (auto& [name, at] : queues_) {
    connection const* const server = commands_->carrier_for(name);
    bool const moved = at.subscription && server != &at.subscription->commands();
    if (moved && !at.waiting.empty()) timers_->add_no_later(at.look, from_now(milliseconds{0}));
  }
}

void lease_queues::on_connection_left(connection const& which) { subscriptions_->forget(which); }

// ---------------------------------------------------------------------------------- pushes

void lease_queues::on_listening(grant_subscription& at) { enter_everywhere(at); }

void lease_queues::on_silent(grant_subscription& at) {
  if (!closed_) enter_everywhere(at);
}

// A grant that nobody here waits for any more was found by a look before, or its waiter has left
// and given it back; what is left of it ends with its heartbeat.
void lease_queues::on_grant(grant_subscription& from, pushed_grant const& heard) {
  auto const self = shared_from_this();
  std::string const name(heard.resource);
  auto const found = queues_.find(name);
  if (found == queues_.end()) return;
  resource_queue& at = found->second;
  // Within the heartbeat of the one that is granted, so that the server does not take us for a
  // process that hangs.
  auto const look_within = at.look_every();
  std::string const owner(heard.owner);
  // Why: docs/stores/redis.md#grants-prove-their-age-by-beats
  bool const is_its_server = at.subscription.get() == &from;
  if (is_its_server && heard.since && clock::now() - *heard.since <= heard.ttl / 2) {
    owner_has_it(at, owner, {heard.fencing, grant_validity{*heard.since, heard.ttl}}, news::push);
  } else {
    auto const [first, last] = at.by_owner.equal_range(owner);
    for (auto each = first; each != last; ++each) {
      waiter& one = waiters_.at(each->second);
      if (one.now == phase::waiting) enter(one, reason::change);
    }
  }
  if (queues_.contains(name) && !at.waiting.empty()) {
    timers_->add_no_later(at.look, from_now(jittered(look_within)));
  }
  tell();
}

// ---------------------------------------------------------------------------------- looking

void lease_queues::plan_look(resource_queue& at, held const& state) {
  look_soon(at);
  if (at.waiting.empty()) return;
  // Nobody has it: the step that was to hand over was not done with the dead.
  bool const is_free = state.holder.empty();
  auto const over = (is_free ? milliseconds{0} : state.remaining) + expiry_slack;
  if (is_free || state.remaining > milliseconds{0}) timers_->add_no_later(at.look, from_now(over));
}

void lease_queues::look_soon(resource_queue& at) {
  if (at.waiting.empty()) return;
  if (!at.subscription || !at.subscription->listening()) {
    auto const pause = at.pause.next(random_part());
    return timers_->add_no_later(at.look, std::chrono::steady_clock::now() + pause);
  }
  at.pause.reset();
  timers_->add_no_later(at.look, from_now(jittered(at.look_every())));
}

void lease_queues::look_at(resource_queue& at) {
  if (at.waiting.empty() || std::exchange(at.looking, true)) return;
  enter(waiters_.at(*at.waiting.begin()), reason::look);
}

void lease_queues::keep_beating() {
  if (queues_.empty() || beat_.scheduled()) return;
  timers_->add(beat_, from_now(beats_.shortest_or(beat_interval)));
}

}  // namespace herdlock::redis
