// An operation as a task for a worker.
#pragma once

#include <optional>

#include "stores/common/pending_operations.hpp"
#include "stores/sqlite/completion_queue.hpp"
#include "stores/sqlite/worker.hpp"

namespace herdlock::sqlite {

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

}  // namespace herdlock::sqlite
