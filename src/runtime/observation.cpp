// Looks at a lease again and again, and tells what has changed.
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>

#include <herdlock/election.hpp>
#include <herdlock/lock.hpp>

#include "runtime/store_context.hpp"

namespace herdlock::detail {

class observation_core : public std::enable_shared_from_this<observation_core> {
 public:
  // More than a year is no other pause than a year; it would overflow the clock.
  observation_core(store where, resource name, leadership_callback on_change, milliseconds look)
      : at_(std::in_place, std::move(where), std::move(name)),
        executor_(at_->where().get_executor()),
        on_change_(std::move(on_change)),
        look_(std::clamp(look, limits::min_ttl, limits::max_ttl)) {}

  void look() {
    std::lock_guard const guard(mutex_);
    if (!at_) return;
    // Weak: a look under way must not keep open a store whose last handle is gone.
    at_->async_inspect(asio::bind_executor(
        executor_, [weak = weak_from_this()](result<std::optional<lease_info>> seen) {
          if (auto self = weak.lock()) self->on_seen(std::move(seen));
        }));
  }

  void close() {
    // Dropped outside: the last handle closes the store, which may wait for its thread, and takes
    // along what the timer belongs to.
    std::optional<lock> last;
    std::lock_guard const guard(mutex_);
    timer_.reset();
    last.swap(at_);
  }

 private:
  void on_seen(result<std::optional<lease_info>> seen) {
    std::lock_guard const guard(mutex_);
    if (!at_) return;
    auto pause = look_;
    if (seen.has_error()) {
      if (!std::exchange(in_trouble_, true)) tell(seen.error());
    } else {
      // 0: unknown.
      bool const known = *seen && (*seen)->remaining > milliseconds{0};
      if (known) pause = std::clamp((*seen)->remaining, limits::min_ttl, look_);
      compare(*seen);
    }
    if (!at_) return;  // the callback has ended it
    timer_.emplace(executor_, pause);
    timer_->async_wait([weak = weak_from_this()](boost::system::error_code const& ec) {
      auto const self = weak.lock();
      if (self && !ec) self->look();
    });
  }

  void compare(std::optional<lease_info> const& seen) {
    bool const first = !std::exchange(looked_, true);
    bool const back = std::exchange(in_trouble_, false);
    std::optional<leadership> now;
    if (seen) now = {seen->holder, seen->fencing, seen->remaining, seen->waiting};
    bool const same = now.has_value() == last_.has_value() &&
                      (!now || (now->leader == last_->leader && now->term == last_->term));
    if (now) now->since = same && last_ ? last_->since : std::optional(clock::now());
    if (now && first) now->since.reset();
    last_ = now;
    if (first || back || !same) tell(now);
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
  bool looked_ = false;
  bool in_trouble_ = false;
};

}  // namespace herdlock::detail

namespace herdlock {

observation::observation(std::shared_ptr<detail::observation_core> core) : core_(std::move(core)) {}
observation::observation(observation&&) noexcept = default;

observation& observation::operator=(observation&& other) noexcept {
  if (this == &other) return *this;
  if (core_) core_->close();
  core_ = std::move(other.core_);
  return *this;
}

observation::~observation() {
  if (core_) core_->close();
}

observation observe(store where, resource name, leadership_callback on_change,
                    observe_options options) {
  auto core = std::make_shared<detail::observation_core>(std::move(where), std::move(name),
                                                         std::move(on_change), options.look);
  core->look();
  return observation(std::move(core));
}

}  // namespace herdlock
