#include "stores/redis/wait_hub.hpp"

#include "stores/redis/jitter.hpp"

namespace herdlock::redis {
namespace {

// Beyond this a wait is "for ever" and is given back to the caller to ask again.
constexpr milliseconds longest_wait{std::chrono::hours{24}};
// Redis expires a key in the millisecond after its ttl.
constexpr milliseconds expiry_slack{2};
constexpr algo::backoff_options polling{milliseconds{1}, milliseconds{50}};
constexpr milliseconds beat_interval{500};
constexpr milliseconds min_beat_interval{20};

milliseconds first_term(milliseconds ttl) { return std::min(ttl, heartbeat); }

auto from_now(milliseconds span) { return std::chrono::steady_clock::now() + span; }

}  // namespace

wait_hub::wait_hub(std::shared_ptr<link> commands, std::shared_ptr<push_connection> pushes)
    : commands_(std::move(commands)),
      channel_(commands_, std::move(pushes)),
      beat_every_(beat_interval) {}

failure wait_hub::refusal(acquire_request const& request) const {
  auto const refuse = [&](errc code, std::string const& why) {
    return make_failure(code, "cannot acquire " + in_quotes(request.name.str()) + " at " +
                                  commands_->how().display_name + ": " + why);
  };
  if (closed_) return refuse(errc::canceled, "the store is closed");
  if (waiters_.size() < max_waits) return {};
  return refuse(errc::overloaded, std::to_string(max_waits) + " wait already; ask less at once");
}

void wait_hub::wait(acquire_request request, handler<acquire_reply> done) {
  if (failure why = refusal(request); why.code) {
    return detail::post_result<acquire_reply>(commands_->executor(), std::move(done),
                                              std::move(why));
  }
  if (!alarms_) {
    alarms_ = std::make_shared<alarm_clock>(commands_->executor(),
                                            [weak = weak_from_this()](std::uint64_t id) {
                                              if (auto const self = weak.lock()) self->ring(id);
                                            });
  }
  auto const shortest = std::max(first_term(request.ttl) / 4, min_beat_interval);
  beat_every_ = std::min(beat_every_, shortest);
  enter(add(std::move(request), std::move(done)), reason::arrival);
}

wait_hub::waiter& wait_hub::add(acquire_request request, handler<acquire_reply> done) {
  auto const id = ++last_id_;
  place& at = place_of(request.name.str());
  member_name member(channel_.hub(), first_term(request.ttl), request.owner);
  auto const wait = std::clamp(request.wait, milliseconds{0}, longest_wait);
  auto& one =
      waiters_.emplace(id, waiter{id, std::move(request), std::move(member), std::move(done), &at})
          .first->second;
  at.waiting.insert(id);
  at.by_owner.emplace(one.asked.owner.str(), id);
  alarms_->set(id, from_now(wait));
  auto slot = asio::get_associated_cancellation_slot(one.done);
  if (slot.is_connected()) {
    one.cancellable = true;
    slot.assign([weak = weak_from_this(), id](asio::cancellation_type) {
      if (auto const self = weak.lock()) self->on_cancel(id);
    });
  }
  return one;
}

wait_hub::place& wait_hub::place_of(std::string const& name) {
  auto const found = places_.find(name);
  if (found != places_.end()) return found->second;
  auto const id = ++last_id_;
  place& made =
      places_.emplace(name, place{id, name, {}, {}, algo::backoff(polling)}).first->second;
  places_by_id_.emplace(id, &made);
  return made;
}

// ---------------------------------------------------------------------------------- entering

void wait_hub::enter(waiter& one, reason why) {
  one.member.pushed = channel_.listening();
  beat();
  ++one.calls;
  auto on_answer = [weak = weak_from_this(), id = one.id, why,
                    sent = clock::now()](outcome answer) {
    if (auto const self = weak.lock()) self->on_entered(id, why, sent, std::move(answer));
  };
  typed_command<enter_call>::start(*commands_,
                                   enter_call{one.asked, one.member, fence_floor_of(*commands_)},
                                   std::move(on_answer));
}

void wait_hub::on_entered(std::uint64_t id, reason why, clock::time_point sent, outcome answer) {
  auto const found = waiters_.find(id);
  if (found == waiters_.end()) return;
  waiter& one = found->second;
  --one.calls;
  if (why == reason::look) one.at->looking = false;
  if (one.now != phase::waiting) {
    if (why == reason::look) plan_look(*one.at, milliseconds{0});
    return after_a_late_answer(one, answer);
  }
  if (answer.has_error()) {
    if (why == reason::look) return fail_all(*one.at, answer.error());
    return fail(one, answer.error());
  }
  if (auto const* fencing = std::get_if<fencing_token>(&*answer)) {
    return take(one, {*fencing, grant_term{sent, one.asked.ttl}});
  }
  on_state(one, why, sent, std::get<held>(*answer));
}

void wait_hub::on_state(waiter& one, reason why, clock::time_point sent, held const& state) {
  auto const id = one.id;
  place& at = *one.at;
  auto const place_id = at.id;
  bool const was_queued = std::exchange(one.queued, true);
  one.last_seen = busy_of(state);
  channel_.open();
  settle(at, sent, state);
  if (!places_by_id_.contains(place_id)) return;
  // A stream of arrivals must not put off the look.
  if (why == reason::look || !alarms_->is_set(at.id)) plan_look(at, state.remaining);
  auto const still = waiters_.find(id);
  bool const waits = still != waiters_.end() && still->second.now == phase::waiting;
  // The channel came up, or went, while this was on its way.
  if (waits && still->second.member.pushed != channel_.listening()) {
    enter(still->second, reason::change);
  }
  // The queue had forgotten us all.
  if (was_queued && state.added && why == reason::look) enter_all(at, id);
}

// The holder may be one of ours: granted without a push, or by one that is still under way.
void wait_hub::settle(place& at, clock::time_point sent, held const& state) {
  std::vector<std::uint64_t> holders;
  auto const [first, last] = at.by_owner.equal_range(state.holder);
  for (auto each = first; each != last; ++each) holders.push_back(each->second);
  for (auto const id : holders) {
    auto const found = waiters_.find(id);
    if (found == waiters_.end()) continue;
    if (found->second.now == phase::leaving) give_back(found->second);
    if (found->second.now == phase::waiting) {
      take(found->second, {state.fencing, grant_term{sent, state.remaining}});
    }
  }
}

void wait_hub::enter_all(place& at, std::uint64_t but_not) {
  for (auto const id : std::set<std::uint64_t>(at.waiting)) {
    if (id != but_not) enter(waiters_.at(id), reason::change);
  }
}

void wait_hub::enter_everywhere() {
  for (auto& [name, at] : places_) enter_all(at, 0);
}

// ---------------------------------------------------------------------------------- pushes

void wait_hub::on_link_down() {
  bool const listened = channel_.listening();
  channel_.on_link_down();
  if (listened && !closed_) enter_everywhere();
}

void wait_hub::on_message(reply const& message) {
  auto const self = shared_from_this();
  pushed_grant heard{};
  switch (channel_.on_message(message, heard)) {
    case grant_channel::news::listening:
      return enter_everywhere();
    case grant_channel::news::granted:
      return on_grant(heard);
    default:
      return;
  }
}

// A grant that nobody here waits for any more was found by a look before, or its waiter has left
// and given it back; what is left of it ends with its heartbeat.
void wait_hub::on_grant(pushed_grant const& heard) {
  auto const found = places_.find(std::string(heard.resource));
  if (found == places_.end()) return;
  place& at = found->second;
  auto const place_id = at.id;
  std::vector<std::uint64_t> owners;
  auto const [first, last] = at.by_owner.equal_range(std::string(heard.owner));
  for (auto each = first; each != last; ++each) owners.push_back(each->second);
  for (auto const id : owners) {
    auto const one = waiters_.find(id);
    if (one == waiters_.end()) continue;
    if (one->second.now == phase::leaving) give_back(one->second);
    if (one->second.now != phase::waiting) continue;
    // Without a proof of its age, or when it is nearly over, the server is asked.
    if (!heard.since || clock::now() - *heard.since > heard.ttl / 2) {
      enter(one->second, reason::change);
    } else {
      take(one->second, {heard.fencing, grant_term{*heard.since, heard.ttl}});
    }
  }
  if (places_by_id_.contains(place_id)) plan_look(at, heartbeat);
}

// ---------------------------------------------------------------------------------- looking

void wait_hub::plan_look(place& at, milliseconds remaining) {
  if (at.waiting.empty()) return;
  if (!channel_.listening()) {
    auto const pause = at.pause.next(random_part());
    return alarms_->set(at.id, std::chrono::steady_clock::now() + pause);
  }
  at.pause.reset();
  auto const soon = jittered(look_interval);
  bool const ends_before = remaining > milliseconds{0} && remaining + expiry_slack < soon;
  alarms_->set(at.id, from_now(ends_before ? remaining + expiry_slack : soon));
}

void wait_hub::ring(std::uint64_t id) {
  auto const self = shared_from_this();
  if (id == beat_id) return beat();
  if (auto const found = waiters_.find(id); found != waiters_.end()) {
    return on_deadline(found->second);
  }
  auto const found = places_by_id_.find(id);
  if (found == places_by_id_.end() || found->second->waiting.empty()) return;
  place& at = *found->second;
  if (std::exchange(at.looking, true)) return;
  enter(waiters_.at(*at.waiting.begin()), reason::look);
}

void wait_hub::beat() {
  if (places_.empty()) {
    beat_every_ = beat_interval;
    return;
  }
  channel_.beat(beat_every_);
  if (!alarms_->is_set(beat_id)) alarms_->set(beat_id, from_now(beat_every_));
}

}  // namespace herdlock::redis
