// The commands under way: on the store's executor, each ends once, by its deadline, by its result,
// by the caller's cancellation or by the closing of the store, whichever is first.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/prefer.hpp>
#include <functional>
#include <herdlock/detail/async.hpp>
#include <list>
#include <memory>
#include <string>

#include "stores/sqlite/lane.hpp"

namespace herdlock::sqlite {

/// A job as the board sees it.
class board_entry : public job {
 public:
  explicit board_entry(clock::time_point deadline) : deadline_(deadline) {}
  clock::time_point deadline() const { return deadline_; }
  /// Ends it with a failure if it has not ended. On the executor, as an event.
  virtual void fail(errc code, std::string const& why) = 0;

  std::list<std::shared_ptr<board_entry>>::iterator place{};  ///< the board's

 private:
  clock::time_point const deadline_;
};

/// All members are called on the executor.
class command_board : public std::enable_shared_from_this<command_board> {
 public:
  command_board(asio::any_io_executor const& executor, file_settings file, std::size_t max_pending)
      : executor_(executor), timer_(executor), file_(std::move(file)), max_pending_(max_pending) {}

  asio::any_io_executor const& executor() const { return executor_; }
  file_settings const& file() const { return file_; }
  bool full() const { return pending_.size() >= max_pending_; }
  std::size_t max_pending() const { return max_pending_; }

  void add(std::shared_ptr<board_entry> const& entry);
  void remove(board_entry& entry);
  /// Ends all of them; later ones end at once.
  void close();

 private:
  void arm();

  asio::any_io_executor executor_;
  asio::basic_waitable_timer<clock> timer_;
  file_settings file_;
  std::size_t max_pending_;
  /// All have the same time to live, so the first to be added is the first to be late.
  std::list<std::shared_ptr<board_entry>> pending_;
};

/// What is to be done, and for whom.
template <class T>
struct order {
  char const* verb;  ///< "acquire"
  std::string name;  ///< the resource or key
  handler<T> done;

  std::string subject() const { return std::string(verb) + " " + in_quotes(name); }
};

template <class T, class Work>
class command final : public board_entry, public std::enable_shared_from_this<command<T, Work>> {
 public:
  command(std::shared_ptr<command_board> const& board, order<T> what, Work work)
      : board_entry(clock::now() + board->file().timeout),
        board_(board),
        executor_(board->executor()),
        busy_executor_(asio::prefer(executor_, asio::execution::outstanding_work.tracked)),
        margin_(board->file().timeout / 20),
        order_(std::move(what)),
        work_(std::move(work)) {}

  void start(lane& on) {
    if (auto board = board_.lock()) board->add(this->shared_from_this());
    auto slot = asio::get_associated_cancellation_slot(order_.done);
    if (slot.is_connected()) {
      slot.assign([self = this->weak_from_this()](auto) {
        if (auto alive = self.lock()) alive->cancel();
      });
    }
    on.add(this->shared_from_this());
  }

  // On the lane's thread. The handler belongs to the executor, so the last reference goes there
  // too, with the result. The lane stops a little before the deadline: its answer tells more than
  // the timer's, and leaves no doubt about the outcome.
  void run(connection& db, std::shared_ptr<job> self) noexcept override {
    db.set_deadline(deadline() - margin_);
    auto executor = executor_;
    asio::post(executor, [self = std::move(self), this, outcome = work_on(db)]() mutable {
      settle(std::move(outcome));
    });
  }

  void fail(errc code, std::string const& why) override {
    this->abandon();
    settle(make_failure(code, "sqlite: " + order_.subject() + ": " + why));
  }

 private:
  result<T> work_on(connection& db) { return attempt<T>(db, order_.subject(), work_); }

  // The slot's own handler is running: what ends the command comes behind it.
  void cancel() {
    this->abandon();
    asio::post(executor_, [self = this->shared_from_this()] {
      self->fail(errc::canceled, "it was cancelled");
    });
  }

  void settle(result<T> outcome) {
    if (settled_) return;
    settled_ = true;
    auto keep = this->shared_from_this();
    busy_executor_ = nullptr;
    if (auto board = board_.lock()) board->remove(*this);
    asio::get_associated_cancellation_slot(order_.done).clear();
    detail::dispatch_result<T>(executor_, std::move(order_.done), std::move(outcome));
  }

  std::weak_ptr<command_board> board_;  ///< which owns the commands that are under way
  asio::any_io_executor executor_;
  asio::any_io_executor busy_executor_;  ///< keeps the context running until the end
  milliseconds margin_;
  order<T> order_;
  Work work_;
  bool settled_ = false;
};

}  // namespace herdlock::sqlite
