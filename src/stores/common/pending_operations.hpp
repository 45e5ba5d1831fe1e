// The operations of one store that are under way: each ends once, by its result, by its deadline,
// by the caller's cancellation or by the closing of the store, whichever is first.
#pragma once

#include <atomic>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/prefer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock::stores {

/// What a store says of all its operations.
struct pending_settings {
  std::string store;  ///< in front of each message: "sqlite", or the display name
  std::string late;   ///< why one is late: "… did not answer within 5000 ms; is it overloaded?"
  std::string closed = "the store is being closed";
  std::size_t max_pending = 65536;  ///< more are refused with errc::overloaded
};

/// What all operations have, whatever they answer.
class operation_base {
 public:
  explicit operation_base(clock::time_point deadline) : deadline_(deadline) {}
  virtual ~operation_base() = default;
  clock::time_point deadline() const { return deadline_; }
  /// Ends it with a failure if it has not ended. On the executor.
  virtual void fail(errc code, std::string const& why) = 0;

  /// From any thread: its caller has gone, so it need not begin.
  bool abandoned() const { return abandoned_; }
  void abandon() { abandoned_ = true; }

 private:
  friend class pending_operations;
  clock::time_point const deadline_;
  using by_deadline = std::multimap<clock::time_point, std::shared_ptr<operation_base>>;
  std::optional<by_deadline::iterator> place_;  ///< while it is listed
  std::atomic<bool> abandoned_ = false;
};

/// All members are called on the executor. Adding and removing cost a few steps, however many
/// others there are and whatever their deadlines: waiters have days, renewals have seconds.
class pending_operations : public std::enable_shared_from_this<pending_operations> {
 public:
  pending_operations(asio::any_io_executor const& executor, pending_settings settings)
      : executor_(executor), timer_(executor), settings_(std::move(settings)) {}

  asio::any_io_executor const& executor() const { return executor_; }
  pending_settings const& settings() const { return settings_; }
  bool full() const { return pending_.size() >= settings_.max_pending; }
  bool closed() const { return closed_; }

  void add(std::shared_ptr<operation_base> const& entry);
  /// Nothing when it is not listed (it was started and never added, say).
  void remove(operation_base& entry);
  /// Ends all of them.
  void close();

 private:
  void arm();
  void rest();
  void on_timer();

  asio::any_io_executor executor_;
  asio::basic_waitable_timer<clock> timer_;
  pending_settings settings_;
  std::optional<clock::time_point> armed_for_;
  bool resting_ = false;
  operation_base::by_deadline pending_;  // of the same deadline, the one that came first is first
  bool closed_ = false;
};

/// What is to be done, and for whom.
template <class T>
struct order {
  char const* verb;  ///< "acquire"
  std::string name;  ///< the resource or key
  handler<T> done;

  std::string subject() const { return std::string(verb) + " " + in_quotes(name); }
};

/// One operation of a port. A store derives its own (with the statement to run, the request to
/// send), starts it, and completes it with what came of it; a completed one ignores all that
/// follows.
template <class T>
class operation : public operation_base, public std::enable_shared_from_this<operation<T>> {
 public:
  operation(std::shared_ptr<pending_operations> const& pending, order<T> what,
            clock::time_point deadline)
      : operation_base(deadline),
        pending_(pending),
        executor_(pending->executor()),
        busy_executor_(asio::prefer(executor_, asio::execution::outstanding_work.tracked)),
        store_(pending->settings().store),
        order_(std::move(what)) {}

  /// On the executor, from inside the port's call, before it is begun. False: it has ended (the
  /// store is full or closed, or it was completed before) and its handler is on its way.
  bool admit() {
    if (completed_) return false;
    auto const pending = pending_.lock();
    if (!pending || pending->closed() || pending->full()) return refuse(pending.get());
    pending->add(this->shared_from_this());
    auto slot = asio::get_associated_cancellation_slot(order_.done);
    if (slot.is_connected()) {
      slot.assign([self = this->weak_from_this()](auto) {
        if (auto alive = self.lock()) alive->cancel();
      });
    }
    return true;
  }

  /// On the executor. The caller is told in an event of its own: what its handler throws, or how
  /// long it takes, is nothing to whoever completes it.
  void complete(result<T> outcome) {
    auto keep = this->shared_from_this();
    if (!end()) return;
    detail::post_result<T>(executor_, std::move(order_.done), std::move(outcome));
  }

  /// The same in the caller's event, of which it must be the last thing.
  void complete_at_the_end(result<T> outcome) {
    auto keep = this->shared_from_this();
    if (!end()) return;
    detail::dispatch_result<T>(executor_, std::move(order_.done), std::move(outcome));
  }

  /// From any thread.
  void complete_later(result<T> outcome) {
    asio::post(executor_,
               [self = this->shared_from_this(), outcome = std::move(outcome)]() mutable {
                 self->complete(std::move(outcome));
               });
  }

  void fail(errc code, std::string const& why) override { complete(failure_of(code, why)); }

  /// With the store and the subject in front.
  failure failure_of(errc code, std::string const& why) const {
    return make_failure(code, store_ + ": " + order_.subject() + ": " + why);
  }

  bool completed() const { return completed_; }
  std::string subject() const { return order_.subject(); }
  asio::any_io_executor const& executor() const { return executor_; }

 protected:
  /// It has ended in whatever way: stop what was begun for it. On the executor; throws nothing.
  virtual void on_completed() {}

 private:
  // The slot's own handler is running: what ends the operation comes behind it.
  void cancel() {
    this->abandon();
    asio::post(executor_, [self = this->shared_from_this()] {
      self->fail(errc::canceled, "it was cancelled");
    });
  }

  bool end() {
    if (completed_) return false;
    completed_ = true;
    this->abandon();
    busy_executor_ = nullptr;
    if (auto pending = pending_.lock()) pending->remove(*this);
    asio::get_associated_cancellation_slot(order_.done).clear();
    on_completed();
    return true;
  }

  bool refuse(pending_operations const* pending) {
    completed_ = true;
    this->abandon();
    busy_executor_ = nullptr;
    failure why = !pending || pending->closed()
                      ? failure_of(errc::canceled, "the store is closed")
                      : failure_of(errc::overloaded,
                                   std::to_string(pending->settings().max_pending) +
                                       " operations are under way already (max_pending); send "
                                       "fewer");
    detail::post_result<T>(executor_, std::move(order_.done), std::move(why));
    return false;
  }

  std::weak_ptr<pending_operations> pending_;  ///< which owns the operations that are under way
  asio::any_io_executor executor_;
  asio::any_io_executor busy_executor_;  ///< keeps the context running until the end
  std::string store_;
  order<T> order_;
  bool completed_ = false;
};

}  // namespace herdlock::stores
