// Looks at a lease again and again, and tells what has changed.
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>

#include <herdlock/election.hpp>
#include <herdlock/lock.hpp>

#include "runtime/cancelled_on.hpp"
#include "runtime/inherited.hpp"
#include "runtime/left_lease.hpp"
#include "runtime/store_context.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

std::optional<leadership> leadership_of(std::optional<lease_info> const& seen) {
  if (!seen || seen->done) return std::nullopt;
  return leadership{seen->holder, seen->fencing, seen->remaining, seen->waiting};
}

bool same(std::optional<leadership> const& a, std::optional<leadership> const& b) {
  if (!a || !b) return !a && !b;
  return a->leader == b->leader && a->term == b->term;
}

// More than a year is no other pause than a year; it would overflow the clock.
milliseconds fitted(milliseconds look) {
  return std::clamp(look, limits::min_ttl, limits::max_ttl);
}

// Sooner when the term could be over by then.
milliseconds pause_after(std::optional<lease_info> const& seen, milliseconds look) {
  bool const known = seen && seen->remaining > milliseconds{0};  // 0: unknown
  return known ? std::clamp(seen->remaining, limits::min_ttl, look) : look;
}

// One wait for a change. What is under way keeps it, so that it goes with the executor; it does not
// keep the store open.
class change_wait final : public runtime::closing_listener,
                          public std::enable_shared_from_this<change_wait> {
 public:
  using answer = std::optional<leadership>;

  change_wait(std::shared_ptr<runtime::store_core> home, resource name, answer known,
              milliseconds look, handler<answer> done)
      : home_(std::move(home)),
        name_(std::move(name)),
        known_(std::move(known)),
        look_(fitted(look)),
        done_(std::move(done)) {}

  asio::any_io_executor const& executor() const { return home_->executor(); }

  void start() {
    runtime::on_cancellation(
        asio::get_associated_cancellation_slot(done_), weak_from_this(),
        [](change_wait& self, auto) {
          self.finish(
              make_failure(errc::canceled, "observing '" + self.name_.str() + "' was cancelled"));
        });
    asio::post(executor(), [self = shared_from_this()] {
      if (self->home_->closing()) return self->on_closing();
      if (self->done_) self->home_->tell_when_closing(*self);
      self->look();
    });
  }

  void on_closing() override { finish(home_->closed_failure()); }

 private:
  void look() {
    if (!done_) return;
    home_->leases()->inspect(name_,
                             [self = shared_from_this()](result<std::optional<lease_info>> seen) {
                               if (seen.has_value() && *seen) runtime::read_left_label(**seen);
                               self->on_seen(seen);
                             });
  }

  void on_seen(result<std::optional<lease_info>> const& seen) {
    if (!done_) return;
    if (seen.has_error()) return finish(seen.error());
    auto now = leadership_of(*seen);
    bool const first = !std::exchange(looked_, true);
    if (!same(now, known_)) {
      if (now && !first) now->since = clock::now();
      return finish(std::move(now));
    }
    timer_.emplace(executor(), pause_after(*seen, look_));
    timer_->async_wait([self = shared_from_this()](boost::system::error_code const& ec) {
      if (!ec) self->look();
    });
  }

  void finish(result<answer> outcome) {
    if (!done_) return;
    unlink();
    timer_.reset();
    post_result<answer>(executor(), std::exchange(done_, {}), std::move(outcome));
  }

  std::shared_ptr<runtime::store_core> const home_;
  resource const name_;
  answer const known_;
  milliseconds const look_;
  bool looked_ = false;
  std::optional<asio::steady_timer> timer_;  // while it waits: the store may close before us
  handler<answer> done_;                     // empty once completed
};

}  // namespace

void start_observe(store const& where, resource name, std::optional<leadership> known,
                   observe_options options, handler<std::optional<leadership>> done) {
  if (runtime::refused_in_child(*context_of(where)->core(), done)) return;
  std::make_shared<change_wait>(context_of(where)->core(), std::move(name), std::move(known),
                                options.look, std::move(done))
      ->start();
}

// Tells an observation on the store's executor, where it is made and destroyed, that the store
// closes.
class observed_closing final : public runtime::closing_listener {
 public:
  explicit observed_closing(std::weak_ptr<observation_core> who) : who_(std::move(who)) {}
  void on_closing() override;

 private:
  std::weak_ptr<observation_core> const who_;
};

class observation_core : public process_bound,
                         public std::enable_shared_from_this<observation_core> {
 public:
  observation_core(store where, resource name, leadership_callback on_change, milliseconds look)
      : at_(std::in_place, std::move(where), std::move(name)),
        executor_(at_->where().get_executor()),
        on_change_(std::move(on_change)),
        look_(fitted(look)) {}

  void start() {
    asio::post(executor_, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->listen();
    });
    look();
  }

  // The store closes under us: no more looks.
  void end() {
    std::lock_guard const guard(mutex_);
    if (std::exchange(ended_, true) || !at_) return;
    timer_.reset();
    tell(context_of(at_->where())->core()->closed_failure());
  }

  void look() {
    std::lock_guard const guard(mutex_);
    if (!at_ || ended_) return;
    // Weak: a look under way must not keep open a store whose last handle is gone.
    at_->async_inspect(asio::bind_executor(
        executor_,
        [weak = weak_from_this()](failure const& why, std::optional<lease_info> const& seen) {
          if (auto self = weak.lock()) self->on_seen(why, seen);
        }));
  }

  void close() {
    // Dropped outside: the last handle closes the store, which may wait for its thread, and takes
    // along what the timer belongs to.
    std::optional<lock> last;
    std::lock_guard const guard(mutex_);
    timer_.reset();
    if (closing_) asio::post(executor_, [closing = std::move(closing_)] {});
    last.swap(at_);
  }

 private:
  void listen() {
    std::lock_guard const guard(mutex_);
    if (!at_) return;
    auto const& home = context_of(at_->where())->core();
    if (home->closing()) return end();
    closing_ = std::make_shared<observed_closing>(weak_from_this());
    home->tell_when_closing(*closing_);
  }

  void on_seen(failure const& why, std::optional<lease_info> const& seen) {
    std::lock_guard const guard(mutex_);
    if (!at_ || ended_) return;
    if (!why) {
      compare(leadership_of(seen));
    } else if (!std::exchange(in_trouble_, true)) {
      tell(why);
    }
    if (!at_ || ended_) return;  // the callback has ended it
    timer_.emplace(executor_, pause_after(seen, look_));
    timer_->async_wait([weak = weak_from_this()](boost::system::error_code const& ec) {
      auto const self = weak.lock();
      if (self && !ec) self->look();
    });
  }

  void compare(std::optional<leadership> now) {
    bool const first = !std::exchange(looked_, true);
    bool const back = std::exchange(in_trouble_, false);
    bool const unchanged = same(now, last_);
    if (now) now->since = unchanged && last_ ? last_->since : std::optional(clock::now());
    if (now && first) now->since.reset();
    last_ = now;
    if (first || back || !unchanged) tell(now);
  }

  void tell(result<std::optional<leadership>> const& what) const {
    try {
      on_change_(what);
    } catch (...) {
      rethrow_later(executor_);
    }
  }

  // Recursive: the callback may end the observation.
  std::recursive_mutex mutex_;
  std::optional<lock> at_;  // empty once closed
  asio::any_io_executor const executor_;
  leadership_callback const on_change_;
  milliseconds const look_;
  std::optional<asio::steady_timer> timer_;
  std::optional<leadership> last_;
  std::shared_ptr<observed_closing> closing_;  // destroyed on the executor
  bool looked_ = false;
  bool in_trouble_ = false;
  bool ended_ = false;
};

void observed_closing::on_closing() {
  if (auto self = who_.lock()) self->end();
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock

namespace herdlock {
inline namespace v0 {

namespace {

// A child of fork() leaves it to its parent.
void let_go(std::shared_ptr<detail::observation_core> core) {
  if (!core) return;
  if (core->inherited()) return detail::leave_to_parent(std::move(core));
  core->close();
}

}  // namespace

observation::observation(std::shared_ptr<detail::observation_core> core) : core_(std::move(core)) {}
observation::observation(observation&&) noexcept = default;

observation& observation::operator=(observation&& other) noexcept {
  if (this == &other) return *this;
  let_go(std::exchange(core_, std::move(other.core_)));
  return *this;
}

observation::~observation() { let_go(std::move(core_)); }

observation observe(store where, resource name, leadership_callback on_change,
                    observe_options options) {
  auto const& home = *detail::context_of(where)->core();
  if (failure why = runtime::why_inherited(home); why.code) throw error(std::move(why));
  auto core = std::make_shared<detail::observation_core>(std::move(where), std::move(name),
                                                         std::move(on_change), options.look);
  core->start();
  return observation(std::move(core));
}

}  // namespace v0
}  // namespace herdlock
