// The operations on one file that are under way: each is a task for one of the two workers.
#pragma once

#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stores/common/pending_operations.hpp"
#include "stores/sqlite/completion_queue.hpp"
#include "stores/sqlite/worker.hpp"

namespace herdlock::sqlite {

using stores::order;

/// An operation as a task for a worker.
template <class T, class Work>
class database_operation final : public stores::operation<T>, public task {
 public:
  database_operation(std::shared_ptr<stores::pending_operations> const& pending,
                     stores::order<T> what, milliseconds timeout,
                     std::shared_ptr<completion_queue> const& to, Work work)
      : stores::operation<T>(pending, std::move(what), clock::now() + timeout),
        to_(to),
        margin_(timeout / 20),
        work_(std::move(work)) {}

  bool wanted() const override { return !this->abandoned(); }

  // On the worker's thread. The handler belongs to the executor, so the last reference goes there
  // too, with the result. The worker stops a little before the deadline: its answer tells more than
  // the timer's, and leaves no doubt about the outcome.
  void run(connection& db, std::shared_ptr<task> self) noexcept override {
    db.set_deadline(this->deadline() - margin_);
    outcome_ = attempt<T>(
        db, [this] { return this->subject(); }, work_);
    if (auto const to = to_.lock()) to->add(std::move(self));
  }

  void deliver() override { this->complete_at_the_end(std::move(*outcome_)); }

 protected:
  void on_completed() override {
    if (auto const to = to_.lock()) to->completed();
  }

 private:
  std::weak_ptr<completion_queue> to_;
  milliseconds margin_;
  Work work_;
  std::optional<result<T>> outcome_;
};

/// What is begun on it, is begun on the executor. Letting go of it ends what is under way with
/// errc::canceled, and waits for the command that is running.
class file_operations {
 public:
  file_operations(std::shared_ptr<stores::pending_operations> pending, milliseconds timeout,
                  std::shared_ptr<completion_queue> completions, std::unique_ptr<connection> writer,
                  std::unique_ptr<connection> reader)
      : pending_(std::move(pending)),
        completions_(std::move(completions)),
        timeout_(timeout),
        writes_(std::move(writer), worker::kind::writes),
        reads_(std::move(reader), worker::kind::reads) {}

  ~file_operations() {
    asio::post(pending_->executor(), [pending = pending_, completions = completions_] {
      completions->close();
      asio::post(pending->executor(), [pending] { pending->close(); });
    });
  }
  file_operations(file_operations const&) = delete;
  file_operations& operator=(file_operations const&) = delete;

  asio::any_io_executor const& executor() const { return pending_->executor(); }

  /// `work` is called with a connection&, on a worker's thread.
  template <class T, class Work>
  void write(char const* verb, std::string name, handler<T> done, Work work) {
    auto checked = [work = std::move(work)](connection& db) mutable -> result<T> {
      if (failure gone = check_not_moved(db); gone.code) return gone;
      return work(db);
    };
    begin(writes_, order<T>{verb, std::move(name), std::move(done)}, std::move(checked));
  }

  template <class T, class Work>
  void read(char const* verb, std::string name, handler<T> done, Work work) {
    begin(reads_, order<T>{verb, std::move(name), std::move(done)}, std::move(work));
  }

 private:
  // A lock in a file that others don't find any more excludes nobody.
  static failure check_not_moved(connection& db) {
    if (!db.moved()) return {};
    failure why = moved_away(db.settings());
    why.message = "sqlite: " + why.message;
    return why;
  }

  template <class T, class Work>
  void begin(worker& on, order<T> what, Work work) {
    auto const one = std::make_shared<database_operation<T, Work>>(
        pending_, std::move(what), timeout_, completions_, std::move(work));
    if (!one->admit()) return;
    completions_->expect();
    on.add(one);
  }

  std::shared_ptr<stores::pending_operations> pending_;
  std::shared_ptr<completion_queue> completions_;
  milliseconds timeout_;
  worker writes_;
  worker reads_;  ///< so that a hit never waits for a writer
};

}  // namespace herdlock::sqlite
