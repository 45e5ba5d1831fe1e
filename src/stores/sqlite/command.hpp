// An operation as a job for a lane.
#pragma once

#include <optional>

#include "stores/common/pending_operations.hpp"
#include "stores/sqlite/answers.hpp"
#include "stores/sqlite/lane.hpp"

namespace herdlock::sqlite {

template <class T, class Work>
class command final : public stores::operation<T>, public job {
 public:
  command(std::shared_ptr<stores::pending_operations> const& pending, stores::order<T> what,
          milliseconds timeout, std::shared_ptr<answers> const& to, Work work)
      : stores::operation<T>(pending, std::move(what), clock::now() + timeout),
        to_(to),
        margin_(timeout / 20),
        work_(std::move(work)) {}

  bool wanted() const override { return !this->abandoned(); }

  // On the lane's thread. The handler belongs to the executor, so the last reference goes there
  // too, with the result. The lane stops a little before the deadline: its answer tells more than
  // the timer's, and leaves no doubt about the outcome.
  void run(connection& db, std::shared_ptr<job> self) noexcept override {
    db.set_deadline(this->deadline() - margin_);
    outcome_ = attempt<T>(
        db, [this] { return this->subject(); }, work_);
    if (auto const to = to_.lock()) to->give(std::move(self));
  }

  void deliver() override { this->complete_at_the_end(std::move(*outcome_)); }

 protected:
  void on_completed() override {
    if (auto const to = to_.lock()) to->completed();
  }

 private:
  std::weak_ptr<answers> to_;
  milliseconds margin_;
  Work work_;
  std::optional<result<T>> outcome_;
};

}  // namespace herdlock::sqlite
