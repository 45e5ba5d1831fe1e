#include <atomic>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>
#include <herdlock/detail/awaited.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <optional>

#include "local/keyed_mutex_core.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

// A thread that sleeps until its turn.
class thread_waiter final : public keyed_mutex_waiter {
 public:
  bool claim() noexcept override { return true; }
  void passed_over() noexcept override {}

  void granted(keyed_mutex_entry& entry) noexcept override { entry_.bring(&entry); }

  // Null when the deadline has passed.
  keyed_mutex_entry* wait(std::optional<clock::time_point> deadline = std::nullopt) {
    return entry_.wait(deadline);
  }

 private:
  awaited<keyed_mutex_entry*> entry_;
};

using guard_handler = handler<keyed_mutex::guard>;
using located_handler = located<guard_handler>;
using guard_result = result<keyed_mutex::guard>;

// A handler that waits for its turn. Whoever claims it, the releaser of the key or the canceller,
// is the one who completes it.
class handler_waiter final : public keyed_mutex_waiter {
 public:
  handler_waiter(keyed_mutex_core& core, std::string_view key, located_handler done)
      : core_(&core),
        key_(key),
        executor_(
            asio::prefer(std::move(done.executor), asio::execution::outstanding_work.tracked)),
        done_(std::move(done.done)) {}

  // Keeps itself alive while queued.
  static void start(std::shared_ptr<handler_waiter> self) {
    auto slot = asio::get_associated_cancellation_slot(self->done_);
    if (slot.is_connected()) {
      // Weak: a slot may keep its handler long after the operation, and even after the mutex.
      slot.assign([weak = std::weak_ptr(self)](asio::cancellation_type type) {
        auto waiter = weak.lock();
        if (waiter && type != asio::cancellation_type::none) waiter->cancel();
      });
    }
    // From here on it may be granted on another thread at any time.
    self->self_ = self;
    enqueue_reply const reply = self->core_->enqueue(self->key_, *self);
    if (reply.outcome == enqueue_outcome::queued) return;
    self->self_.reset();
    if (reply.outcome == enqueue_outcome::acquired) {
      self->complete(keyed_mutex_core::make_guard(*reply.entry));
    } else if (reply.outcome == enqueue_outcome::refused) {
      self->complete(self->core_->refusal(self->key_));
    }
  }

  bool claim() noexcept override { return !claimed_.exchange(true, std::memory_order_acq_rel); }

  // Never the last reference: the canceller has one.
  void passed_over() noexcept override { self_.reset(); }

  void granted(keyed_mutex_entry& entry) noexcept override {
    auto keep = std::move(self_);
    complete(keyed_mutex_core::make_guard(entry));
  }

 private:
  void cancel() {
    if (!claim()) return;
    std::shared_ptr<handler_waiter> keep;
    if (core_->remove(key_, *this)) keep = std::move(self_);
    complete(make_failure(errc::canceled, "waiting for key '" + key_ + "' was cancelled"));
  }

  // Always later: the releaser must not run other people's code inside its unlock.
  void complete(guard_result outcome) {
    auto executor = std::exchange(executor_, {});
    asio::post(executor,
               bound_completion<keyed_mutex::guard>{std::move(done_), std::move(outcome)});
  }

  keyed_mutex_core* core_;
  std::string key_;
  asio::any_io_executor executor_;
  guard_handler done_;
  std::atomic<bool> claimed_{false};
  std::shared_ptr<handler_waiter> self_;
};

}  // namespace
}  // namespace detail

keyed_mutex::keyed_mutex(keyed_mutex_options options)
    : core_(std::make_unique<detail::keyed_mutex_core>(std::move(options))) {}

keyed_mutex::~keyed_mutex() = default;

std::string_view keyed_mutex::guard::key() const noexcept {
  return entry_ ? entry_->key() : std::string_view();
}

void keyed_mutex::guard::give_back(detail::keyed_mutex_entry* entry) noexcept {
  detail::keyed_mutex_core::release(*entry);
}

asio::any_io_executor keyed_mutex::get_executor() const noexcept {
  return core_->options().executor;
}

std::size_t keyed_mutex::waiting(std::string_view key) const { return core_->waiting(key); }

keyed_mutex::guard keyed_mutex::lock(std::string_view key) {
  if (auto* entry = core_->try_acquire(key)) return core_->make_guard(*entry);
  detail::thread_waiter waiter;
  auto const reply = core_->enqueue(key, waiter);
  if (reply.outcome == detail::enqueue_outcome::refused) throw error(core_->refusal(key));
  return core_->make_guard(reply.entry ? *reply.entry : *waiter.wait());
}

std::optional<keyed_mutex::guard> keyed_mutex::try_lock(std::string_view key) {
  if (auto* entry = core_->try_acquire(key)) return core_->make_guard(*entry);
  return std::nullopt;
}

std::optional<keyed_mutex::guard> keyed_mutex::try_lock_until(std::string_view key,
                                                              clock::time_point deadline) {
  if (auto* entry = core_->try_acquire(key)) return core_->make_guard(*entry);
  if (deadline <= clock::now()) return std::nullopt;
  detail::thread_waiter waiter;
  auto const reply = core_->enqueue(key, waiter);
  if (reply.outcome == detail::enqueue_outcome::refused) throw error(core_->refusal(key));
  if (reply.entry) return core_->make_guard(*reply.entry);
  if (auto* entry = waiter.wait(deadline)) return core_->make_guard(*entry);
  if (core_->remove(key, waiter)) return std::nullopt;
  // The key was handed to us as the deadline passed; giving it away would only cost the next.
  return core_->make_guard(*waiter.wait());
}

void keyed_mutex::start_lock(detail::keyed_mutex_core& core, std::string_view key,
                             detail::located<handler<guard>> done) {
  if (auto* entry = core.try_acquire(key)) {
    asio::post(done.executor,
               detail::bound_completion<guard>{std::move(done.done), core.make_guard(*entry)});
    return;
  }
  detail::handler_waiter::start(
      std::make_shared<detail::handler_waiter>(core, key, std::move(done)));
}

}  // namespace v0
}  // namespace herdlock
