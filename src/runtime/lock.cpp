#include <herdlock/lock.hpp>

#include <herdlock/detail/blocking.hpp>
#include <thread>
#include <tuple>

#include "runtime/acquire_op.hpp"
#include "runtime/cancelled_on.hpp"
#include "runtime/fitted_ttl.hpp"
#include "runtime/inherited.hpp"
#include "runtime/left_lease.hpp"

namespace herdlock {
inline namespace v0 {
namespace {

acquire_options fitted(store const& where, acquire_options options) {
  options.ttl = runtime::fitted_ttl(where.traits(), options.ttl);
  return options;
}

failure check(acquire_options const& options, acquire_options const& fit) {
  if (failure why = check_ttl(options.ttl); why.code) return why;
  if (options.wait < milliseconds{0}) {
    return make_failure(errc::invalid_ttl, "a negative wait is not allowed; 0 tries once");
  }
  if (options.loss_margin < milliseconds{0} ||
      options.loss_margin >= fit.ttl - options.loss_margin) {
    std::string const most = "loss_margin must be between 0 and half of the ttl";
    if (fit.ttl == options.ttl) return make_failure(errc::invalid_ttl, most);
    return make_failure(errc::invalid_ttl, most + "; this store proves a lease for " +
                                               std::to_string(fit.ttl.count()) +
                                               " ms at a time, whatever the ttl");
  }
  if (options.max_hold && *options.max_hold <= milliseconds{0}) {
    return make_failure(errc::invalid_ttl, "max_hold must be positive");
  }
  return {};
}

// `by`: the thread that the call blocks, if it blocks one.
void begin(store const& where, resource const& name, acquire_options const& options,
           handler<acquired> done, std::thread::id by) {
  if (runtime::refused_in_child(*detail::context_of(where)->core(), done)) return;
  auto const fit = fitted(where, options);
  if (failure why = check(options, fit); why.code) {
    return detail::post_result<acquired>(where.get_executor(), std::move(done), why);
  }
  std::make_shared<runtime::acquire_op>(detail::context_of(where), name, fit, std::move(done))
      ->start(by);
}

}  // namespace

void lock::start_acquire(lock const& self, acquire_options const& options, handler<acquired> done) {
  begin(self.store_, self.name_, options, std::move(done), {});
}

void lock::start_restore(lock const& self, lease_ticket const& ticket,
                         acquire_options const& options, handler<acquired> done) {
  if (runtime::refused_in_child(*detail::context_of(self.store_)->core(), done)) return;
  auto restored = fitted(self.store_, options);
  failure why = check(options, restored);
  if (!why.code && ticket.name != self.name_) {
    why = make_failure(errc::invalid_owner, "the ticket is for '" + ticket.name.str() +
                                                "', not for '" + self.name_.str() + "'");
  }
  if (why.code) {
    return detail::post_result<acquired>(self.store_.get_executor(), std::move(done), why);
  }
  // A restored lease is there or it is not: there is nothing to wait for.
  restored.wait = milliseconds{0};
  std::make_shared<runtime::acquire_op>(detail::context_of(self.store_), self.name_, restored,
                                        std::move(done))
      ->start_restore(ticket);
}

void lock::start_inspect(lock const& self, handler<std::optional<lease_info>> done) {
  auto const& core = detail::context_of(self.store_)->core();
  if (runtime::refused_in_child(*core, done)) return;
  done = runtime::cancelled_on(core->executor(), std::move(done));
  asio::dispatch(core->executor(), [core, name = self.name_, done = std::move(done)]() mutable {
    auto const& leases = core->leases();
    if (leases) {
      auto slot = asio::get_associated_cancellation_slot(done);
      auto on_seen = [core,
                      done = std::move(done)](result<std::optional<lease_info>> seen) mutable {
        if (seen.has_value() && *seen) runtime::read_left_label(**seen);
        detail::dispatch_result(core->executor(), std::move(done), std::move(seen));
      };
      return leases->inspect(std::move(name),
                             asio::bind_cancellation_slot(slot, std::move(on_seen)));
    }
    detail::post_result<std::optional<lease_info>>(core->executor(), std::move(done),
                                                   core->closed_failure());
  });
}

acquired lock::acquire(acquire_options const& options) const {
  auto start = [&](handler<acquired> done) {
    begin(store_, name_, options, std::move(done), std::this_thread::get_id());
  };
  return detail::wait_for<acquired>(*detail::context_of(store_), start).value();
}

acquired lock::acquire(acquire_options const& options, std::stop_token stop) const {
  auto start = [&](handler<acquired> done) {
    begin(store_, name_, options, std::move(done), std::this_thread::get_id());
  };
  return detail::wait_for<acquired>(*detail::context_of(store_), start, detail::dropped_answer{},
                                    std::move(stop))
      .value();
}

acquired lock::try_acquire(acquire_options options) const {
  options.wait = milliseconds{0};
  return acquire(options);
}

acquired lock::restore(lease_ticket const& ticket, acquire_options const& options) const {
  auto start = [&](handler<acquired> done) {
    start_restore(*this, ticket, options, std::move(done));
  };
  // A caller that was told of a failure still has the ticket.
  auto const forget = [](result<acquired> late) {
    if (late.has_value() && *late) std::ignore = std::move(**late).detach();
  };
  return detail::wait_for<acquired>(*detail::context_of(store_), start, forget).value();
}

std::optional<lease_info> lock::inspect() const {
  auto start = [&](handler<std::optional<lease_info>> done) {
    start_inspect(*this, std::move(done));
  };
  return detail::wait_for<std::optional<lease_info>>(*detail::context_of(store_), start).value();
}

bool lock::force_release() const {
  auto const& core = detail::context_of(store_)->core();
  auto start = [&](handler<release_reply> done) {
    // Copies: where nobody runs the executor, the caller has gone before this runs.
    asio::dispatch(core->executor(), [core, name = name_, done = std::move(done)]() mutable {
      auto const& leases = core->leases();
      if (leases) return leases->force_release(std::move(name), std::move(done));
      detail::post_result<release_reply>(core->executor(), std::move(done), core->closed_failure());
    });
  };
  auto const reply = detail::wait_for<release_reply>(*detail::context_of(store_), start).value();
  return reply == release_reply::released;
}

void lock::finish_with(lease& held) const {
  bool lost = false;
  try {
    lost = held.release() == release_reply::lost;
  } catch (error const&) {
    // An unreachable store does not undo the work: the library goes on releasing, or the ttl ends
    // the lease. Whether the work was inside the lease is known here.
    lost = static_cast<bool>(held.lost_reason().code);
  }
  if (!lost) return;
  throw error(make_failure(
      errc::lost, "the lease on '" + held.name().str() + "' in " + store_.display_name() +
                      " was lost while the work ran; others may have been " + "at it too"));
}

}  // namespace v0
}  // namespace herdlock
