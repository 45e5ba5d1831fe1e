#include "runtime/lease_core.hpp"

#include <algorithm>

#include "runtime/cancelled_on.hpp"
#include "runtime/random.hpp"
#include "runtime/store_context.hpp"

namespace herdlock::detail {
namespace {

algo::lease_terms terms_of(acquire_options const& options) {
  // More than any ttl may be is no limit; it would overflow the clock.
  auto const max_hold =
      options.max_hold.value_or(wait_forever) > limits::max_ttl ? std::nullopt : options.max_hold;
  return {options.ttl, options.loss_margin, max_hold, options.renew == renewal::automatic};
}

}  // namespace

lease_core::lease_core(std::shared_ptr<runtime::store_core> home, grant_record what,
                       acquire_options const& options)
    : home_(std::move(home)),
      what_(std::move(what)),
      terms_(terms_of(options)),
      machine_(terms_, what_.first, runtime::random_unit()),
      valid_until_(machine_.valid_until().time_since_epoch().count()) {}

lease_core::~lease_core() = default;

lease lease_core::start(std::shared_ptr<store_context> context, grant_record what,
                        acquire_options const& options) {
  auto core = std::make_shared<lease_core>(context->core(), std::move(what), options);
  core->home_->roll().enter(*core);
  core->obey(core->machine_.tick(clock::now()));
  return lease(std::move(context), std::move(core));
}

clock::time_point lease_core::valid_until() const {
  return clock::time_point(clock::duration(valid_until_.load(std::memory_order_acquire)));
}

bool lease_core::valid() const {
  return !over_.load(std::memory_order_acquire) && clock::now() < valid_until();
}

failure lease_core::lost_reason() const {
  std::lock_guard const guard(reason_mutex_);
  return reason_;
}

// ------------------------------------------------------------------- renewing and losing

void lease_core::on_due(clock::time_point now) { obey(machine_.tick(now)); }

// Whoever is told of the loss may drop the last handle.
void lease_core::on_session_end(lease_end const& what) {
  auto const self = shared_from_this();
  told_ = what.why;
  obey(machine_.told_lost());
}

void lease_core::leave_lists() {
  runtime::lease_keeper::remove(*this);
  runtime::lease_roll::leave(*this);
}

void lease_core::obey(algo::lease_action action) {
  using kind = algo::lease_action::kind;
  switch (action.what) {
    case kind::wait:
      home_->keeper().schedule(*this, action.at);
      return;
    case kind::renew:
      home_->keeper().schedule(*this, action.at);
      renew();
      return;
    case kind::lose:
      lose();
      return;
    case kind::none:
      return;
  }
}

void lease_core::renew() {
  auto const& leases = home_->leases();
  if (!leases) return;  // closed: the lease ends by its own deadline
  // Weak: a renewal under way must not keep alive a lease whose handle is gone (B3).
  auto on_reply = [weak = weak_from_this()](result<renew_reply> reply) {
    if (auto self = weak.lock()) self->on_renewed(std::move(reply));
  };
  leases->renew(what_.name, what_.owner, terms_.ttl, std::move(on_reply));
}

void lease_core::on_renewed(result<renew_reply> reply) {
  auto const random = runtime::random_unit();
  if (reply.has_error()) {
    auto const held = std::chrono::duration_cast<milliseconds>(clock::now() - what_.first.since);
    home_->figures().count({lease_event_kind::renew_failed, what_.name, store_name(), what_.fencing,
                            held, reply.error()});
    return obey(machine_.renew_failed(clock::now(), random));
  }
  if (*reply == renew_reply::lost) return obey(machine_.told_lost());
  home_->figures().renewed();
  auto const action = machine_.renewed(clock::now(), random);
  publish();
  obey(action);
}

void lease_core::publish() {
  valid_until_.store(machine_.valid_until().time_since_epoch().count(), std::memory_order_release);
}

void lease_core::lose() {
  leave_lists();
  over_.store(true, std::memory_order_release);
  auto const why = describe_loss();
  {
    std::lock_guard const guard(reason_mutex_);
    reason_ = why;
  }
  lost_.request_stop();
  note_end(lease_event_kind::lost, why);
  answer_loss_waiters(why);
}

void lease_core::note_end(lease_event_kind how, failure why) {
  if (std::exchange(ended_, true)) return;
  auto const held = clock::now() - what_.first.since;
  auto const took = std::chrono::duration_cast<milliseconds>(held);
  home_->figures().ended({how, what_.name, store_name(), what_.fencing, took, std::move(why)},
                         held);
}

failure lease_core::describe_loss() const {
  std::string text = "the lease on '" + what_.name.str() + "' in " + store_name() + " is lost: ";
  switch (machine_.why()) {
    case algo::loss::told:
      text += told_.empty() ? "the store says it is not ours any more" : told_;
      break;
    case algo::loss::held_too_long:
      text += "it was held for its max_hold";
      break;
    default:
      text += "it was not renewed in time";
      break;
  }
  return make_failure(errc::lost, std::move(text));
}

failure lease_core::released_failure() const {
  return make_failure(errc::canceled, "the lease on '" + what_.name.str() + "' was released");
}

void lease_core::answer_loss_waiters(failure const& why) {
  for (auto& waiter : std::exchange(loss_waiters_, {})) {
    post_result<void>(executor(), std::move(waiter.done), why);
  }
}

// The slot is filled in the caller's own call: a cancellation that comes before the executor's turn
// would find it empty and be lost. Cancelling posts, so it arrives behind the adding.
void lease_core::wait_lost(handler<void> done) {
  auto const id = next_waiter_.fetch_add(1, std::memory_order_relaxed);
  runtime::on_cancellation(asio::get_associated_cancellation_slot(done), weak_from_this(),
                           [id](lease_core& self, auto) { self.cancel_loss_waiter(id); });
  asio::post(executor(), [self = shared_from_this(), id, done = std::move(done)]() mutable {
    self->add_loss_waiter(id, std::move(done));
  });
}

void lease_core::add_loss_waiter(std::uint64_t id, handler<void> done) {
  if (machine_.state() == algo::lease_state::lost) {
    return post_result<void>(executor(), std::move(done), lost_reason());
  }
  if (machine_.state() == algo::lease_state::released) {
    return post_result<void>(executor(), std::move(done), released_failure());
  }
  if (loss_waiters_.size() >= max_loss_waiters) {
    auto why = make_failure(errc::overloaded, "too many wait for the loss of one lease");
    return post_result<void>(executor(), std::move(done), std::move(why));
  }
  loss_waiters_.push_back({id, std::move(done)});
}

void lease_core::cancel_loss_waiter(std::uint64_t id) {
  auto const at = std::find_if(loss_waiters_.begin(), loss_waiters_.end(),
                               [id](auto const& waiter) { return waiter.id == id; });
  if (at == loss_waiters_.end()) return;
  auto done = std::move(at->done);
  loss_waiters_.erase(at);
  dispatch_result<void>(executor(), std::move(done),
                        make_failure(errc::canceled, "the wait was cancelled"));
}

// ------------------------------------------------------------------------------ giving back

void lease_core::give_back(handler<release_reply> done) {
  over_.store(true, std::memory_order_release);
  asio::dispatch(executor(), [self = shared_from_this(), done = std::move(done)]() mutable {
    self->begin_release(std::move(done));
  });
}

void lease_core::abandon() {
  over_.store(true, std::memory_order_release);
  asio::dispatch(executor(), [self = shared_from_this()] {
    if (!self->releasing_ && !self->released_) self->begin_release({});
  });
}

void lease_core::forget() {
  over_.store(true, std::memory_order_release);
  asio::dispatch(executor(), [self = shared_from_this()] {
    self->leave_lists();
    self->machine_.release(clock::now());
    self->released_ = release_reply::released;  // whoever restores the lease gives it back
    self->note_end(lease_event_kind::released);
    self->answer_loss_waiters(make_failure(errc::canceled, "the lease was handed over"));
  });
}

void lease_core::begin_release(handler<release_reply> done) {
  if (released_) {
    if (done) post_result<release_reply>(executor(), std::move(done), *released_);
    return;
  }
  if (done) release_waiters_.push_back(std::move(done));
  if (releasing_) return;
  releasing_ = true;
  leave_lists();
  obey(machine_.release(clock::now()));
  if (!loss_waiters_.empty()) answer_loss_waiters(released_failure());
  auto const& leases = home_->leases();
  if (!leases) {
    return asio::post(executor(), [self = shared_from_this()] {
      self->on_released(self->home_->closed_failure());
    });
  }
  ask_release();
}

// Also after a loss: the owner-checked release can only ever remove what is still ours (B5).
void lease_core::ask_release() {
  home_->give_back_begun();
  home_->leases()->release(what_.name, what_.owner, [self = shared_from_this()](auto reply) {
    self->on_released(std::move(reply));
    self->home_->give_back_ended();
  });
}

void lease_core::on_released(result<release_reply> reply) {
  bool const unknown =
      reply.has_error() && (reply.error() == errc::unavailable || reply.error() == errc::timed_out);
  // The reply may be all that was lost: asked again, a store tells the first answer.
  if (unknown && home_->leases() && !std::exchange(asked_again_, true)) return ask_release();
  if (reply.has_error() && home_->leases()) {
    home_->clean_up({what_.name, what_.owner, terms_.ttl}, what_.requests);
  } else if (what_.requests == runtime::arrival::may_be_late) {
    // One that had no answer, and was asked again, may be granted after this release.
    home_->clean_up({what_.name, what_.owner, terms_.ttl}, runtime::arrival::late_after_release);
  }
  if (machine_.state() == algo::lease_state::lost) reply = release_reply::lost;
  bool const in_time = reply.has_error() || *reply == release_reply::released;
  note_end(in_time ? lease_event_kind::released : lease_event_kind::lost,
           reply.has_error() ? reply.error() : failure{});
  released_ = reply;
  for (auto& done : std::exchange(release_waiters_, {})) {
    post_result<release_reply>(executor(), std::move(done), reply);
  }
}

}  // namespace herdlock::detail
