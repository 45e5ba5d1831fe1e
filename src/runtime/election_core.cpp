#include "runtime/election_core.hpp"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>

#include "runtime/acquire_op.hpp"
#include "runtime/cancelled_on.hpp"
#include "runtime/random.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

milliseconds stop_grace_of(election_options const& options) {
  return options.stop_grace.value_or(std::min(milliseconds{10'000}, options.ttl / 4));
}

milliseconds next_pause(algo::backoff& of) {
  auto const pause = of.next(runtime::random_unit());
  return std::max(milliseconds{1}, std::chrono::duration_cast<milliseconds>(pause));
}

}  // namespace

election_core::election_core(std::shared_ptr<store_context> const& context, resource name,
                             election_services services, election_options options,
                             runtime::lease_of whom)
    : context_(context),
      home_(context->core()),
      for_{std::move(name), whom},
      services_(std::make_shared<election_services const>(std::move(services))),
      options_(std::move(options)),
      where_(options_.executor ? asio::any_io_executor(asio::make_strand(*options_.executor))
                               : home_->executor()),
      resign_waiters_(executor(), "one resignation"),
      backoff_({options_.back_off_first, options_.back_off_most}) {}

// ------------------------------------------------------------------------- what callers ask for

void election_core::campaign(handler<void> done) {
  auto const id = next_campaign_.fetch_add(1, std::memory_order_relaxed);
  runtime::on_cancellation(asio::get_associated_cancellation_slot(done), weak_from_this(),
                           [id](election_core& self, auto) { self.cancel_campaign(id); });
  asio::post(executor(), [self = shared_from_this(), id, done = std::move(done)]() mutable {
    self->begin_campaign(id, std::move(done));
  });
}

// A signal may outlive its campaign, or belong to one that was refused.
void election_core::cancel_campaign(std::uint64_t id) {
  if (!done_ || id != campaign_) return;
  outcome_ =
      make_failure(errc::canceled, "the campaign for '" + for_.name.str() + "' was cancelled");
  if (auto const row = machine_.on(election_event::resign)) take(*row, {}, {});
}

void election_core::begin_campaign(std::uint64_t id, handler<void> done) {
  auto const row = machine_.on(election_event::campaign);
  if (!row) {
    auto const who = "'" + options_.candidate + "'";
    auto why =
        machine_.closed()
            ? make_failure(errc::canceled, who + " does not stand for '" + for_.name.str() +
                                               "' any more: it was closed")
            : make_failure(errc::overloaded, who + " stands for '" + for_.name.str() + "' already");
    return post_result<void>(executor(), std::move(done), std::move(why));
  }
  done_ = std::move(done);
  campaign_ = id;
  outcome_ = {};
  if (!home_->closing()) home_->tell_when_closing(*this);
  backoff_.reset();
  take(*row, {}, {});
}

// The work is told to stop before its term goes.
void election_core::on_closing() {
  store_closes_ = true;
  home_->campaign_ends();
  if (!outcome_.code) outcome_ = home_->closed_failure();
  if (auto const row = machine_.on(election_event::resign)) take(*row, {}, {});
}

void election_core::resign(resignation from) {
  asio::post(executor(), [self = shared_from_this(), from] {
    auto& machine = self->machine_;
    auto const row =
        from == resignation::for_good ? machine.close() : machine.on(election_event::resign);
    if (row) self->take(*row, {}, {});
  });
}

void election_core::async_resign(handler<void> done) {
  runtime::enter_waiters(shared_from_this(), resign_waiters_, std::move(done),
                         [](election_core& self, std::uint64_t id, handler<void> h) {
                           self.add_resign_waiter(id, std::move(h));
                         });
}

void election_core::add_resign_waiter(std::uint64_t id, handler<void> done) {
  if (machine_.state() == election_state::idle) {
    return post_result<void>(executor(), std::move(done), result<void>());
  }
  if (!resign_waiters_.add(id, std::move(done))) return;
  if (auto const row = machine_.on(election_event::resign)) take(*row, {}, {});
}

// --------------------------------------------------------------------------- one event, one row

void election_core::on(election_event event, std::uint64_t round, failure why,
                       std::exception_ptr thrown) {
  if (auto const row = machine_.on(event, round)) take(*row, std::move(why), std::move(thrown));
}

void election_core::post(election_event event, std::uint64_t round, failure why) {
  asio::post(executor(), [self = shared_from_this(), event, round, why = std::move(why)] {
    self->on(event, round, why);
  });
}

void election_core::take(algo::election_row const& row, failure why, std::exception_ptr thrown) {
  state_.store(row.next, std::memory_order_release);
  if (row.event == election_event::refused && !outcome_.code) outcome_ = why;
  bool const rests = row.action == algo::election_action::rest;
  bool const was_long = work_ && clock::now() - term_began_ > options_.back_off_most;
  if (rests && was_long) backoff_.reset();
  auto const pause = rests ? next_pause(backoff_) : milliseconds{0};
  tell(row, std::move(why), std::move(thrown), pause);
  if (rests) return rest(pause);
  obey(row.action);
}

void election_core::tell(algo::election_row const& row, failure why, std::exception_ptr thrown,
                         milliseconds back_off) const {
  if (!options_.on_transition) return;
  fencing_token term;
  if (granted_) term = granted_->fencing();
  if (work_) term = work_->held().fencing();
  try {
    options_.on_transition({row.state, row.event, row.next, to_string(row.action), term,
                            std::move(why), std::move(thrown), back_off});
  } catch (...) {
    rethrow_later(executor());
  }
}

void election_core::obey(algo::election_action action) {
  switch (action) {
    case algo::election_action::acquire:
      return acquire();
    case algo::election_action::withdraw:
      return cancel_acquire_.emit(asio::cancellation_type::all);
    case algo::election_action::start_work:
      return start_work();
    case algo::election_action::stop_work:
      return work_->stop();
    case algo::election_action::release:
      return release();
    case algo::election_action::finish:
      return finish();
    case algo::election_action::rest:
    case algo::election_action::warn:
    case algo::election_action::none:
      return;
  }
}

// ------------------------------------------------------------------------------------- a term

void election_core::acquire() {
  granted_.reset();
  work_.reset();
  auto const round = machine_.round();
  auto const context = context_.lock();
  if (!context) return post(election_event::refused, round, home_->closed_failure());
  acquire_options asked;
  asked.ttl = options_.ttl;
  asked.wait = wait_forever;
  asked.loss_margin = stop_notice(stop_grace_of(options_), options_.ttl);
  handler<acquired> on_reply = asio::bind_cancellation_slot(
      cancel_acquire_.slot(),
      asio::bind_executor(executor(), [self = shared_from_this(), round](result<acquired> got) {
        self->on_acquired(round, std::move(got));
      }));
  auto const op =
      std::make_shared<runtime::acquire_op>(context, for_.name, asked, std::move(on_reply));
  op->stand_as(options_.candidate, runtime::on_trouble::report, for_.whom);
  op->start();
}

// Why: docs/decisions/election.md#a-candidate-reports-trouble
void election_core::on_acquired(std::uint64_t round, result<acquired> got) {
  if (got.has_error()) {
    bool const passes = runtime::may_pass(got.error()) || got.error() == errc::overloaded;
    bool const again = passes && home_->leases() && !home_->closing();
    return on(again ? election_event::failed : election_event::refused, round, got.error());
  }
  if (!*got) {
    return on(election_event::failed, round,
              make_failure(errc::timed_out, "'" + for_.name.str() + "' was not granted in time"));
  }
  granted_ = std::move(*got);
  // The process may have been stopped since the store granted it.
  if (granted_->valid() || machine_.state() != election_state::acquiring) {
    return on(election_event::granted, round);
  }
  on(election_event::failed, round,
     make_failure(errc::lost, "the term on '" + for_.name.str() + "' was over before it began"));
}

void election_core::start_work() {
  term_began_ = clock::now();
  auto const round = machine_.round();
  work_ = std::make_shared<election_work>(election_work::executors{executor(), where_}, services_,
                                          std::move(*granted_), options_.candidate);
  granted_.reset();
  election_work::reports reports;
  reports.to = shared_from_this();
  reports.finished = [weak = weak_from_this(), round](std::exception_ptr thrown) {
    if (auto self = weak.lock()) self->on(election_event::finished, round, {}, thrown);
  };
  reports.stopped = [weak = weak_from_this(), round] {
    if (auto self = weak.lock()) self->on(election_event::stopped, round);
  };
  watch_loss();
  work_->start(std::move(reports));
}

// Weak: who waits for the loss must not keep the candidate alive.
void election_core::watch_loss() {
  auto noticed = [weak = weak_from_this(), round = machine_.round()](failure given_back) {
    auto const self = weak.lock();
    if (!self || given_back == errc::canceled) return;
    if (round != self->machine_.round() || !self->work_) return;
    // Before the work is told: it is overdue when its stop grace is used up, or the term is over.
    // A term that the store has taken away is not ours until then.
    if (!self->work_->over()) {
      auto const end =
          std::min(self->work_->held().valid_until(), clock::now() + stop_grace_of(self->options_));
      self->home_->timers().schedule(*self, end);
    }
    self->on(election_event::lost, round,
             given_back.code ? given_back : self->work_->held().lost_reason());
  };
  work_->held().async_wait_lost(asio::bind_executor(executor(), std::move(noticed)));
}

void election_core::on_due(clock::time_point) {
  if (work_ && !work_->over()) on(election_event::overdue, machine_.round());
}

// --------------------------------------------------------------------- between terms, and the end

// The rest of the term is given back, so that the next need not wait for its ttl; nobody waits
// for the answer.
void election_core::rest(milliseconds pause) {
  runtime::timer_queue::remove(*this);
  auto const nobody = [](failure const&, release_reply) {};
  if (work_) work_->held().async_release(nobody);
  if (granted_) granted_->async_release(nobody);
  timer_.emplace(executor(), pause);
  timer_->async_wait([self = shared_from_this(), round = machine_.round()](auto const& ec) {
    if (ec) return;
    self->timer_.reset();
    self->on(election_event::rested, round);
  });
}

void election_core::release() {
  runtime::timer_queue::remove(*this);
  timer_.reset();
  auto const round = machine_.round();
  if (!work_ && !granted_) return post(election_event::released, round);
  auto& held = work_ ? work_->held() : *granted_;
  held.async_release(asio::bind_executor(
      executor(), [self = shared_from_this(), round](failure why, release_reply) {
        self->on(election_event::released, round, std::move(why));
      }));
}

void election_core::finish() {
  granted_.reset();
  work_.reset();
  closing_listener::unlink();
  if (std::exchange(store_closes_, false)) home_->campaign_ended();
  result<void> outcome;
  if (outcome_.code) outcome = std::exchange(outcome_, {});
  resign_waiters_.answer({});
  post_result<void>(executor(), std::exchange(done_, {}), std::move(outcome));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
