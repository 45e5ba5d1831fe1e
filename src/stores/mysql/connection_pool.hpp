// A bounded number of connections that worker threads share.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

/// All members from any thread.
class connection_pool {
 public:
  connection_pool(settings how, std::size_t most) : how_(std::move(how)), most_(most) {}
  connection_pool(connection_pool const&) = delete;
  connection_pool& operator=(connection_pool const&) = delete;

  /// An idle connection, or a new one. When all are in use it waits for one until the deadline;
  /// then sql_error pool_is_full. Back it goes with give_back or drop.
  std::shared_ptr<connection> borrow(clock::time_point deadline);
  /// An idle connection at once, or none.
  std::shared_ptr<connection> borrow_idle();
  void give_back(std::shared_ptr<connection> one);
  /// It is closed: with an error behind it, or in a state that nobody else should meet.
  void drop(std::shared_ptr<connection> one);

  /// Ends what is running on its connections; nothing can be borrowed any more.
  void close();

 private:
  std::shared_ptr<connection> take_idle();
  void forget(connection const& one);

  settings const how_;
  std::size_t const most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<connection>> idle_;
  std::vector<std::shared_ptr<connection>> in_use_;
  bool closed_ = false;
};

/// One that was borrowed: dropped at the end of the scope unless kept() said that it is well. What
/// runs on it ends by the deadline, so that its thread is free again.
class borrowed {
 public:
  borrowed(connection_pool& pool, clock::time_point deadline)
      : pool_(pool), one_(pool.borrow(deadline)) {
    one_->set_deadline(deadline);
  }
  ~borrowed() {
    if (well_) {
      pool_.give_back(std::move(one_));
    } else {
      pool_.drop(std::move(one_));
    }
  }
  borrowed(borrowed const&) = delete;
  borrowed& operator=(borrowed const&) = delete;
  connection& operator*() const { return *one_; }
  void kept() { well_ = true; }

 private:
  connection_pool& pool_;
  std::shared_ptr<connection> one_;
  bool well_ = false;
};

}  // namespace herdlock::mysql
