// An operation as a job for a lane.
#pragma once

#include "stores/common/operation_board.hpp"
#include "stores/sqlite/lane.hpp"

namespace herdlock::sqlite {

template <class T, class Work>
class command final : public stores::operation<T>, public job {
 public:
  command(std::shared_ptr<stores::operation_board> const& board, stores::order<T> what,
          milliseconds timeout, Work work)
      : stores::operation<T>(board, std::move(what), clock::now() + timeout),
        margin_(timeout / 20),
        work_(std::move(work)) {}

  bool wanted() const override { return !this->abandoned(); }

  // On the lane's thread. The handler belongs to the executor, so the last reference goes there
  // too, with the result. The lane stops a little before the deadline: its answer tells more than
  // the timer's, and leaves no doubt about the outcome.
  void run(connection& db, std::shared_ptr<job> self) noexcept override {
    db.set_deadline(this->deadline() - margin_);
    auto const executor = this->executor();
    asio::post(executor, [self = std::move(self), this,
                          outcome = attempt<T>(db, this->subject(), work_)]() mutable {
      this->settle(std::move(outcome));
    });
  }

 private:
  milliseconds margin_;
  Work work_;
};

}  // namespace herdlock::sqlite
