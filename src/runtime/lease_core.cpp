#include "runtime/lease_core.hpp"

#include <algorithm>
#include <boost/asio/bind_executor.hpp>

#include "runtime/cancelled_on.hpp"
#include "runtime/left_lease.hpp"
#include "runtime/random.hpp"
#include "runtime/store_context.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

algo::lease_limits limits_of(acquire_options const& options) {
  // More than any ttl may be is no limit; it would overflow the clock.
  auto const max_hold =
      options.max_hold.value_or(wait_forever) > limits::max_ttl ? std::nullopt : options.max_hold;
  return {options.ttl, options.loss_margin, max_hold, options.renew == renewal::automatic};
}

std::string text_of(algo::loss why) {
  switch (why) {
    case algo::loss::told:
      return "the store says it is not ours any more";
    case algo::loss::held_too_long:
      return "it was held for its max_hold";
    default:
      return "it was not renewed in time";
  }
}

failure released_failure(resource const& name) {
  return make_failure(errc::canceled, "the lease on '" + name.str() + "' was released");
}

}  // namespace

lease_core::lease_core(std::shared_ptr<runtime::store_core> home, grant_record what,
                       acquire_options const& options)
    : home_(std::move(home)),
      what_(std::move(what)),
      limits_(limits_of(options)),
      machine_(limits_, what_.first, runtime::random_unit()),
      loss_waiters_(home_->executor(), "the loss of one lease"),
      renewal_waiters_(home_->executor(), "the renewal of one lease"),
      release_waiters_(home_->executor(), "the release of one lease"),
      proof_(machine_.valid_until()) {
  taken_by = what_.taken_by;
}

lease lease_core::start(std::shared_ptr<store_context> context, grant_record what,
                        acquire_options const& options) {
  auto core = std::make_shared<lease_core>(context->core(), std::move(what), options);
  core->home_->roll().enter(*core);
  core->obey(core->machine_.tick(clock::now()));
  if (core->what_.whom == runtime::lease_of::library) context.reset();
  return lease(std::move(context), std::move(core));
}

// ------------------------------------------------------------------- renewing and losing

void lease_core::on_due(clock::time_point now) { obey(machine_.tick(now)); }

// A listener that is told of the loss may drop the last handle.
void lease_core::on_session_end(lease_end const& what) {
  auto const self = shared_from_this();
  told_ = what.why;
  obey(machine_.told_lost());
}

void lease_core::renew_by(clock::time_point at) { obey(machine_.renew_by(at)); }

// The loss is told first, then others may have it.
void lease_core::on_closing() {
  auto const self = shared_from_this();
  told_ = "the store was closed";
  obey(machine_.told_lost());
  if (!releasing_ && !released_) begin_release(0, {});
}

void lease_core::leave_lists() {
  runtime::timer_queue::remove(*this);
  runtime::lease_roll::leave(*this);
}

void lease_core::obey(algo::lease_action action) {
  using kind = algo::lease_action::kind;
  switch (action.what) {
    case kind::wait:
      home_->timers().schedule(*this, action.at);
      return;
    case kind::renew:
      home_->timers().schedule(*this, action.at);
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
  if (!leases) return renewal_waiters_.answer(home_->closed_failure());
  // Weak: a renewal under way must not keep alive a lease whose handle is gone (B3).
  auto on_reply = [weak = weak_from_this()](result<renew_reply> reply) {
    if (auto self = weak.lock()) self->on_renewed(std::move(reply));
  };
  leases->renew(what_.name, what_.owner, limits_.ttl, std::move(on_reply));
}

void lease_core::on_renewed(result<renew_reply> reply) {
  auto const random = runtime::random_unit();
  if (reply.has_error()) {
    auto const held = std::chrono::duration_cast<milliseconds>(clock::now() - what_.first.since);
    if (what_.whom == runtime::lease_of::user) {
      home_->counters().count({lease_event_kind::renew_failed, what_.name, home_->display_name(),
                               what_.fencing, held, reply.error()});
    }
    renewal_waiters_.answer(reply);
    return obey(machine_.renew_failed(clock::now(), random));
  }
  if (*reply == renew_reply::lost) return obey(machine_.told_lost());
  if (what_.whom == runtime::lease_of::user) home_->counters().renewed();
  auto const action = machine_.renewed(clock::now(), random);
  proof_.prove(machine_.valid_until());
  if (machine_.state() != algo::lease_state::lost) renewal_waiters_.answer(reply);
  obey(action);
}

void lease_core::lose() {
  leave_lists();
  auto const why = told_.empty() ? text_of(machine_.why()) : told_;
  auto loss = make_failure(errc::lost, "the lease on '" + what_.name.str() + "' in " +
                                           home_->display_name() + " is lost: " + why);
  proof_.lose(loss);
  note_end(lease_event_kind::lost, std::move(loss));
  renewal_waiters_.answer(renew_reply::lost);
  loss_waiters_.answer({});
}

void lease_core::note_end(lease_event_kind how, failure why) {
  if (std::exchange(ended_, true) || what_.whom == runtime::lease_of::library) return;
  auto const held = clock::now() - what_.first.since;
  auto const took = std::chrono::duration_cast<milliseconds>(held);
  home_->counters().ended(
      {how, what_.name, home_->display_name(), what_.fencing, took, std::move(why)}, held);
}

void lease_core::wait_lost(handler<void> done) {
  runtime::enter_waiters(shared_from_this(), loss_waiters_, std::move(done),
                         [](lease_core& self, std::uint64_t id, handler<void> h) {
                           self.add_loss_waiter(id, std::move(h));
                         });
}

void lease_core::add_loss_waiter(std::uint64_t id, handler<void> done) {
  if (machine_.state() == algo::lease_state::lost) {
    return post_result<void>(executor(), std::move(done), {});
  }
  if (machine_.state() == algo::lease_state::released) {
    return post_result<void>(executor(), std::move(done), released_failure(what_.name));
  }
  loss_waiters_.add(id, std::move(done));
}

void lease_core::renew_now(handler<renew_reply> done) {
  runtime::enter_waiters(shared_from_this(), renewal_waiters_, std::move(done),
                         [](lease_core& self, std::uint64_t id, handler<renew_reply> h) {
                           self.add_renewal_waiter(id, std::move(h));
                         });
}

void lease_core::add_renewal_waiter(std::uint64_t id, handler<renew_reply> done) {
  auto const now = clock::now();
  if (machine_.state() == algo::lease_state::lost) {
    return post_result<renew_reply>(executor(), std::move(done), renew_reply::lost);
  }
  if (machine_.state() == algo::lease_state::released) {
    return post_result<renew_reply>(executor(), std::move(done), released_failure(what_.name));
  }
  if (machine_.held_too_long(now)) {
    auto why = make_failure(errc::not_supported, "the lease on '" + what_.name.str() +
                                                     "' has been held for its max_hold");
    return post_result<renew_reply>(executor(), std::move(done), std::move(why));
  }
  if (renewal_waiters_.add(id, std::move(done))) obey(machine_.renew_now(now));
}

// ------------------------------------------------------------------------------ giving back

void lease_core::give_back(handler<release_reply> done) {
  proof_.end();
  runtime::enter_waiters(
      shared_from_this(), release_waiters_, std::move(done),
      [](lease_core& self, std::uint64_t id, handler<release_reply> h) {
        self.begin_release(id, std::move(h));
      },
      runtime::entering::at_once);
}

void lease_core::leave(milliseconds time, left_as how, handler<release_reply> done) {
  failure why = check_ttl(time);
  if (!why.code && !home_->traits().leaves_leases) {
    why = make_failure(errc::not_supported, "the lease on '" + what_.name.str() + "' in " +
                                                home_->display_name() +
                                                " cannot be left behind: hold it for as long");
  }
  if (why.code) return post_result<release_reply>(executor(), std::move(done), std::move(why));
  proof_.end();
  auto part = [time, how](lease_core& self, std::uint64_t id, handler<release_reply> h) {
    auto const left = std::chrono::ceil<milliseconds>(self.granted_ + time - clock::now());
    // Not where the release is on its way already, nor where the time is over.
    if (!self.releasing_ && !self.released_ && left >= limits::min_ttl) {
      auto const& owner = self.what_.owner;
      self.left_ = parting{{self.what_.name, owner, runtime::left_token(owner, how, left), left},
                           self.granted_ + time};
    }
    self.begin_release(id, std::move(h));
  };
  runtime::enter_waiters(shared_from_this(), release_waiters_, std::move(done), part,
                         runtime::entering::at_once);
}

void lease_core::abandon() {
  proof_.end();
  asio::dispatch(executor(), [self = shared_from_this()] {
    if (!self->releasing_ && !self->released_) self->begin_release(0, {});
  });
}

void lease_core::detach() {
  proof_.end();
  asio::dispatch(executor(), [self = shared_from_this()] {
    self->leave_lists();
    self->machine_.release(clock::now());
    self->released_ = release_reply::released;  // whoever restores the lease gives it back
    self->note_end(lease_event_kind::released);
    auto const why = make_failure(errc::canceled, "the lease was detached");
    self->loss_waiters_.answer(why);
    self->renewal_waiters_.answer(why);
  });
}

// Without a handler nobody waits.
void lease_core::begin_release(std::uint64_t id, handler<release_reply> done) {
  if (released_) {
    if (done) post_result<release_reply>(executor(), std::move(done), *released_);
    return;
  }
  if (done) release_waiters_.add(id, std::move(done));
  if (releasing_) return;
  releasing_ = true;
  leave_lists();
  obey(machine_.release(clock::now()));
  if (machine_.state() == algo::lease_state::lost) left_.reset();
  if (!loss_waiters_.empty()) loss_waiters_.answer(released_failure(what_.name));
  if (!renewal_waiters_.empty()) renewal_waiters_.answer(released_failure(what_.name));
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
  handler<release_reply> on_reply = [self = shared_from_this()](result<release_reply> reply) {
    self->on_released(std::move(reply));
    self->home_->give_back_ended();
  };
  if (left_) {
    // A store that cannot leave answers from the port's own function, which has no executor.
    return home_->leases()->leave(left_->as,
                                  boost::asio::bind_executor(executor(), std::move(on_reply)));
  }
  home_->leases()->release(what_.name, what_.owner, std::move(on_reply));
}

void lease_core::on_released(result<release_reply> reply) {
  bool const unknown =
      reply.has_error() && (reply.error() == errc::unavailable || reply.error() == errc::timed_out);
  // The reply may be all that was lost: asked again, a store tells the first answer.
  if (unknown && home_->leases() && !std::exchange(asked_again_, true)) return ask_release();
  // Left by the first request, perhaps, and over before the second.
  bool const late = left_ && asked_again_ && clock::now() >= left_->until;
  if (late && reply.has_value() && *reply == release_reply::lost) reply = release_reply::released;
  // A lease that was to be left is not cleaned up: it may have been left.
  if (reply.has_error() && home_->leases() && !left_) {
    home_->clean_up({what_.name, what_.owner, limits_.ttl}, what_.requests);
  } else if (what_.requests == runtime::arrival::may_be_late) {
    // One that had no answer, and was asked again, may be granted after this release.
    home_->clean_up({what_.name, what_.owner, limits_.ttl}, runtime::arrival::late_after_release);
  }
  if (machine_.state() == algo::lease_state::lost) reply = release_reply::lost;
  bool const in_time = reply.has_error() || *reply == release_reply::released;
  note_end(in_time ? lease_event_kind::released : lease_event_kind::lost,
           reply.has_error() ? reply.error() : failure{});
  released_ = reply;
  release_waiters_.answer(reply);
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
