// The operations of one store that are under way: each ends once, by its result, by its deadline,
// by the caller's cancellation or by the closing of the store, whichever is first.
#pragma once

#include <atomic>
#include <boost/asio/prefer.hpp>
#include <memory>
#include <string>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

#include "stores/common/pending.hpp"
#include "stores/common/shared_timer.hpp"

namespace herdlock::stores {

class pending_operations;
template <class T>
class operation;

/// The words of a store for all its operations.
struct pending_settings {
  std::string store;  ///< in front of each message: "sqlite", or the display name
  std::string late;   ///< why one is late: "… did not answer within 5000 ms; is it overloaded?"
  std::string closed = "the store is being closed";
  std::size_t max_pending = 65536;  ///< more are refused with errc::overloaded
  milliseconds timeout{0};          ///< of those that begin() makes
};

/// The part that all operations have, whatever they answer.
class operation_base : public algo::timed<clock> {
 public:
  clock::time_point deadline() const { return deadline_; }
  /// Ends it with a failure if it has not ended. On the executor.
  virtual void fail(errc code, std::string const& why) = 0;

  /// From any thread: its caller has gone, so it need not begin.
  bool abandoned() const { return abandoned_; }
  void abandon() { abandoned_ = true; }

 protected:
  operation_base(std::shared_ptr<pending_operations> const& all, clock::time_point deadline);

  std::weak_ptr<pending_operations> all_;  ///< which owns those that are under way

 private:
  friend class pending_operations;
  void on_due(clock::time_point now) final;

  clock::time_point const deadline_;
  std::shared_ptr<operation_base> self_;  ///< while it is one of them
  std::atomic<bool> abandoned_ = false;
};

/// All members are called on the executor. Adding and removing cost a few steps, however many
/// others there are and whatever their deadlines: waiters have days, renewals have seconds.
class pending_operations : public std::enable_shared_from_this<pending_operations> {
 public:
  pending_operations(asio::any_io_executor const& executor, pending_settings settings);
  ~pending_operations();
  pending_operations(pending_operations const&) = delete;
  pending_operations& operator=(pending_operations const&) = delete;

  asio::any_io_executor const& executor() const { return executor_; }
  pending_settings const& settings() const { return settings_; }
  bool full() const { return count_ >= settings_.max_pending; }
  bool closed() const { return closed_; }

  /// One that is nothing but its deadline and its handler. Null: it has ended already, as
  /// operation::admit() says.
  template <class T>
  std::shared_ptr<operation<T>> begin(char const* verb, std::string name, handler<T> done);

  void add(std::shared_ptr<operation_base> const& one);
  /// Nothing when it is not one of them (it was started and never added, say).
  void remove(operation_base& one);
  /// Ends all of them.
  void close();

 private:
  asio::any_io_executor executor_;
  pending_settings settings_;
  std::shared_ptr<shared_timer<>> const deadlines_;
  std::size_t count_ = 0;
  bool closed_ = false;
};

/// The work that is to be done, and for whom.
template <class T>
struct order {
  char const* verb;  ///< "acquire"
  std::string name;  ///< the resource or key
  handler<T> done;
};

/// One operation of a port. A store derives its own (with the statement to run, the request to
/// send), starts it, and completes it with what came of it; a completed one ignores all that
/// follows.
template <class T>
class operation : public operation_base, public std::enable_shared_from_this<operation<T>> {
 public:
  operation(std::shared_ptr<pending_operations> const& all, order<T> what,
            clock::time_point deadline)
      : operation_base(all, deadline),
        executor_(all->executor()),
        busy_executor_(asio::prefer(executor_, asio::execution::outstanding_work.tracked)),
        store_(all->settings().store),
        verb_(what.verb),
        name_(std::move(what.name)),
        caller_(std::move(what.done)) {}

  /// On the executor, from inside the port's call, before it is begun. False: it has ended (the
  /// store is full or closed, or it was completed before) and its handler is on its way.
  bool admit() {
    if (completed()) return false;
    auto const all = this->all_.lock();
    if (!all || all->closed() || all->full()) return refuse(all.get());
    all->add(this->shared_from_this());
    caller_.on_cancel([self = this->weak_from_this()] {
      if (auto alive = self.lock()) alive->cancel();
    });
    return true;
  }

  /// On the executor. The caller is told in an event of its own: what its handler throws, or how
  /// long it takes, is nothing to whoever completes it.
  /// Why: docs/decisions/library.md#completion-in-an-event-of-its-own
  void complete(result<T> outcome) {
    auto keep = this->shared_from_this();
    if (auto caller = end(); caller.open()) caller.post(executor_, std::move(outcome));
  }

  /// The same in the caller's event, of which it must be the last thing.
  void complete_at_the_end(result<T> outcome) {
    auto keep = this->shared_from_this();
    if (auto caller = end(); caller.open()) caller.dispatch(executor_, std::move(outcome));
  }

  /// From any thread.
  void complete_later(result<T> outcome) {
    asio::post(executor_,
               [self = this->shared_from_this(), outcome = std::move(outcome)]() mutable {
                 self->complete(std::move(outcome));
               });
  }

  void fail(errc code, std::string const& why) override { complete(failure_of(code, why)); }
  void fail(failure const& why) {
    complete(failure{why.code, store_ + ": " + subject() + ": " + why.message});
  }

  /// With the store and the subject in front.
  failure failure_of(errc code, std::string const& why) const {
    return make_failure(code, store_ + ": " + subject() + ": " + why);
  }

  bool completed() const { return !caller_.open(); }
  std::string subject() const { return std::string(verb_) + " " + in_quotes(name_); }
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

  // Whom to tell: nobody when it has ended before.
  pending<T> end() {
    auto caller = std::move(caller_);
    if (!caller.open()) return caller;
    this->abandon();
    busy_executor_ = nullptr;
    if (auto all = this->all_.lock()) all->remove(*this);
    on_completed();
    return caller;
  }

  bool refuse(pending_operations const* all) {
    this->abandon();
    busy_executor_ = nullptr;
    caller_.post(executor_,
                 !all || all->closed()
                     ? failure_of(errc::canceled, "the store is closed")
                     : failure_of(errc::overloaded, std::to_string(all->settings().max_pending) +
                                                        " operations are under way already "
                                                        "(max_pending); send fewer"));
    return false;
  }

  asio::any_io_executor executor_;
  asio::any_io_executor busy_executor_;  ///< keeps the context running until the end
  std::string const store_;
  char const* const verb_;
  std::string const name_;
  pending<T> caller_;
};

template <class T>
std::shared_ptr<operation<T>> pending_operations::begin(char const* verb, std::string name,
                                                        handler<T> done) {
  auto one = std::make_shared<operation<T>>(shared_from_this(),
                                            order<T>{verb, std::move(name), std::move(done)},
                                            clock::now() + settings_.timeout);
  return one->admit() ? one : nullptr;
}

}  // namespace herdlock::stores
