#include "runtime/acquire_op.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>

#include "runtime/cancelled_on.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

// While another holds it and the store has no queue. The ceiling bounds how late a waiter notices.
constexpr algo::backoff_options busy_backoff{milliseconds{1}, milliseconds{50}};

clock::time_point deadline_of(acquire_options const& options) {
  // More than a year is for ever; it would overflow the clock.
  if (options.wait > limits::max_ttl) return clock::time_point::max();
  return clock::now() + options.wait;
}

}  // namespace

bool may_pass(failure const& why) {
  return why == errc::unavailable || why == errc::timed_out || why == errc::canceled;
}

acquire_op::acquire_op(std::shared_ptr<detail::store_context> const& context, resource name,
                       acquire_options const& options, handler<acquired> done)
    : context_(context),
      core_(context->core()),
      name_(std::move(name)),
      owner_(owner_token::generate()),
      options_(options),
      done_(std::move(done)),
      deadline_(deadline_of(options)),
      first_ttl_(options.ttl),
      backoff_(busy_backoff) {}

void acquire_op::stand_as(std::string label, on_trouble trouble, lease_of whom) {
  label_ = std::move(label);
  trouble_ = trouble;
  asked_.whom = whom;
  owner_ = fresh_owner();
}

owner_token acquire_op::fresh_owner() const {
  return label_.empty() ? owner_token::generate() : owner_token::generate(label_);
}

void acquire_op::start(std::thread::id by) {
  asked_.by = by;
  listen_to_cancellation();
  asio::dispatch(core_->executor(), [self = shared_from_this()] {
    self->begin();
    self->ask();
  });
}

void acquire_op::start_restore(lease_ticket const& ticket) {
  owner_ = ticket.owner;
  restoring_ = true;
  listen_to_cancellation();
  asio::dispatch(core_->executor(), [self = shared_from_this(), fencing = ticket.fencing] {
    self->begin();
    self->prove(fencing);
  });
}

void acquire_op::begin() {
  if (!done_) return;
  counted_ = asked_.whom == lease_of::user;
  if (counted_) core_->counters().began_to_ask();
  bool const blocks = asked_.by != std::thread::id{};
  if (blocks && options_.wait > milliseconds{0}) core_->roll().wait_begins(name_, asked_.by);
}

void acquire_op::listen_to_cancellation() {
  on_cancellation(asio::get_associated_cancellation_slot(done_), weak_from_this(),
                  [](acquire_op& self, auto) { self.cancel(); });
}

void acquire_op::cancel() {
  if (!done_) return;
  auto const self = shared_from_this();  // a port may complete, and let go of us, inside the signal
  if (timer_) timer_->cancel();
  // The caller is answered now; a grant that crosses is given back in on_reply().
  finish(make_failure(errc::canceled, "acquiring '" + name_.str() + "' was cancelled"));
  cancel_store_.emit(asio::cancellation_type::all);
}

milliseconds acquire_op::left() const {
  if (deadline_ == clock::time_point::max()) return wait_forever;
  auto const rest = std::chrono::duration_cast<milliseconds>(deadline_ - clock::now());
  return std::max(rest, milliseconds{0});
}

void acquire_op::ask() {
  if (!done_) return;
  auto const& leases = core_->leases();
  if (!leases || core_->closing()) return fail_closed();
  if (core_->traits().one_keyspace && asked_.whom == lease_of::user) {
    if (failure why = check_no_side_name("the name", name_.str()); why.code) return finish(why);
  }
  if (!sent_) {
    sent_ = clock::now();
    first_ttl_ = options_.ttl;
  }
  if (!is_linked()) core_->tell_when_closing(*this);
  core_->give_back_begun();  // a request under way may have to be taken back
  auto const wait = core_->traits().queues ? left() : milliseconds{0};
  handler<acquire_reply> on_reply = [self = shared_from_this()](result<acquire_reply> reply) {
    self->on_reply(std::move(reply));
    self->core_->give_back_ended();
  };
  auto slot_bound = asio::bind_cancellation_slot(cancel_store_.slot(), std::move(on_reply));
  leases->acquire({name_, owner_, options_.ttl, wait}, std::move(slot_bound));
}

void acquire_op::on_reply(result<acquire_reply> reply) {
  if (!done_) {
    // Nobody waits any more. Anything but a clear "busy" may have left a grant behind (B7).
    if (reply.has_error() && !(reply.error() == errc::canceled)) unknown_ = true;
    bool const surely_not_ours = reply.has_value() && std::holds_alternative<busy>(*reply);
    if (unknown_ || !surely_not_ours) clean_up();
    return;
  }
  if (reply.has_error()) return on_failure(reply.error());
  if (auto const* granted = std::get_if<grant>(&*reply)) return on_grant(*granted);
  on_busy(std::get<busy>(*reply));
}

void acquire_op::on_grant(grant const& granted) {
  if (granted.validity) {
    if (granted.validity->since > asked_.at + milliseconds{1}) of_another_ = true;
    sent_ = granted.validity->since;
    first_ttl_ = std::min(granted.validity->ttl, options_.ttl);
  }
  // A grant that came out of a queue or after a retry may be nearly over.
  // Why: docs/decisions/lease.md#late-grants-are-proved
  if (!is_worth_having()) return prove(granted.fencing);
  hand_out(granted.fencing);
}

// A short first validity is as good as the ttl only if it will be renewed in time: before it is
// seen as lost, and at all.
bool acquire_op::is_worth_having() const {
  auto const now = clock::now();
  if (now - *sent_ > first_ttl_ / 3) return false;
  if (first_ttl_ == options_.ttl) return true;
  auto const left = algo::proved_until(*sent_, first_ttl_) - options_.loss_margin - now;
  return options_.renew == renewal::automatic && left > first_ttl_ / 2;
}

void acquire_op::on_busy(busy const& who) {
  of_another_ = true;
  // Unless an earlier request is still on its way: it may be granted yet, and we be told of it
  // under the same token, so that the grant counts from then (B7).
  if (!unknown_) sent_.reset();
  if (left() <= milliseconds{0}) return finish(acquired{});
  back_off(who.remaining > milliseconds{0} ? who.remaining : milliseconds::max());
}

void acquire_op::on_failure(failure why) {
  if (!may_pass(why)) return finish(std::move(why));
  unknown_ = true;
  bool const again = trouble_ == on_trouble::retry && left() > milliseconds{0};
  if (again && core_->leases()) return back_off(milliseconds::max());
  finish(std::move(why));
}

void acquire_op::back_off(milliseconds at_most) {
  auto pause = std::min<clock::duration>(backoff_.next(random_unit()), deadline_ - clock::now());
  if (at_most < std::chrono::hours{1}) pause = std::min<clock::duration>(pause, at_most);
  if (!timer_) timer_.emplace(core_->executor());
  timer_->expires_after(std::max(pause, clock::duration{0}));
  timer_->async_wait(
      [self = shared_from_this()](boost::system::error_code const&) { self->ask(); });
}

void acquire_op::prove(fencing_token fencing) {
  auto const& leases = core_->leases();
  if (!leases || core_->closing()) return fail_closed();
  if (!is_linked()) core_->tell_when_closing(*this);
  core_->give_back_begun();  // a lease that is proved for nobody is given back
  // Its proof counts once it is answered: until then the lease runs as it was granted.
  grant const proved{fencing, grant_validity{clock::now(), options_.ttl}};
  auto on_reply = [self = shared_from_this(), proved](result<renew_reply> reply) {
    self->on_proved(proved, std::move(reply));
    self->core_->give_back_ended();
  };
  leases->renew(name_, owner_, options_.ttl, std::move(on_reply));
}

void acquire_op::on_proved(grant const& proved, result<renew_reply> reply) {
  if (!done_) return clean_up();
  if (reply.has_error()) {
    unknown_ = true;
    // The place in the queue is lost with it perhaps, the wait is not.
    return restoring_ ? finish(reply.error()) : on_failure(reply.error());
  }
  if (*reply == renew_reply::renewed) {
    sent_ = proved.validity->since;
    first_ttl_ = proved.validity->ttl;
    return hand_out(proved.fencing);
  }
  // It ran out before we could prove it. The owner token has had its grant: take a new one.
  // Others under the old one may still be on their way.
  if (unknown_) clean_up();
  owner_ = fresh_owner();
  unknown_ = false;
  on_busy({});
}

void acquire_op::hand_out(fencing_token fencing) {
  auto context = context_.lock();
  if (!context || core_->closing()) {
    unknown_ = true;
    return finish(core_->closed_failure());
  }
  detail::grant_record what{name_, owner_, fencing, {*sent_, first_ttl_}};
  what.taken_by = asked_.by;
  what.whom = asked_.whom;
  if (unknown_ && !restoring_) what.requests = arrival::may_be_late;
  acquired lease = detail::lease_core::start(std::move(context), std::move(what), options_);
  finish(std::move(lease));
}

// Why: docs/decisions/lease.md#cancelling-answers-at-once
void acquire_op::clean_up() {
  if (restoring_) return;
  auto const request = unknown_ ? arrival::may_be_late : arrival::in_order;
  core_->clean_up({name_, owner_, options_.ttl}, request);
}

// Possibly still inside the initiating call, where the handler must not run.
void acquire_op::fail_closed() {
  asio::post(core_->executor(), [self = shared_from_this()] {
    if (self->done_) self->finish(self->core_->closed_failure());
  });
}

void acquire_op::finish(result<acquired> outcome) {
  unlink();
  tell_outcome(outcome);
  bool const held = outcome.has_value() && outcome->has_value();
  if (unknown_ && !held) clean_up();
  detail::dispatch_result<acquired>(core_->executor(), std::move(done_), std::move(outcome));
  done_ = {};
}

void acquire_op::tell_outcome(result<acquired> const& outcome) {
  if (asked_.whom == lease_of::library) return;
  auto& counters = core_->counters();
  if (std::exchange(counted_, false)) counters.ended_asking();
  lease_event what{lease_event_kind::failed, name_, core_->display_name()};
  auto const waited = clock::now() - asked_.at;
  what.took = std::chrono::duration_cast<milliseconds>(waited);
  if (outcome.has_error()) {
    what.why = outcome.error();
    if (what.why == errc::canceled) what.kind = lease_event_kind::canceled;
    return counters.count(what);
  }
  if (!*outcome) {
    what.kind = lease_event_kind::busy;
    return counters.count(what);
  }
  what.kind = lease_event_kind::acquired;
  what.fencing = (*outcome)->fencing();
  counters.granted(what, of_another_ ? lease_counters::from::another : lease_counters::from::free,
                   waited);
}

}  // namespace herdlock::runtime
