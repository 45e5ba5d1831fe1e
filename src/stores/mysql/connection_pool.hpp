// A bounded number of connections that the operations of a store share.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "stores/common/present_server.hpp"
#include "stores/common/worker_threads.hpp"
#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

/// What the pools of a store share. `moved` is called when new connections lead to another server
/// than the present ones; `anew` then, too, and when one has come up behind one that was lost.
struct shared_by_pools {
  asio::any_io_executor executor;
  settings how;
  stores::worker_threads& threads;
  stores::present_server& present;
  std::function<void(std::string const& from, std::string const& to)> moved;
  std::function<void()> anew;
};

/// All members on the executor, but for close(). Only opening a connection takes a thread.
class connection_pool {
 public:
  connection_pool(shared_by_pools with, std::size_t most) : with_(std::move(with)), most_(most) {}
  connection_pool(connection_pool const&) = delete;
  connection_pool& operator=(connection_pool const&) = delete;

  /// An idle connection, or a new one; what runs on it ends by the deadline. When all are in use it
  /// waits for one until then, first come, first served; then sql_error too_late, or pool_is_full
  /// where there was no time to wait. Back it goes with give_back or drop.
  awaitable<std::shared_ptr<connection>> borrow(clock::time_point deadline);
  void give_back(std::shared_ptr<connection> one);
  /// It is closed: with an error behind it, or in a state that nobody else should meet.
  void drop(std::shared_ptr<connection> one);

  /// Those that lead to another server end: whoever holds a lock by one is told.
  void leave_all_but(std::string const& server);
  /// From any thread: ends what is running on its connections; nothing can be borrowed any more.
  void close();
  /// Behind close(): ends the waits.
  void dismiss();

 private:
  awaitable<void> wait_for_one(clock::time_point deadline);
  awaitable<bool> open(std::shared_ptr<connection> one);
  bool has_one() const { return closed_ || !idle_.empty() || in_use_.size() < most_; }
  std::shared_ptr<connection> take_idle();
  void put_to_use(std::shared_ptr<connection> const& one);
  void forget(connection const& one);
  void wake_next();

  bool admit(connection& fresh);

  shared_by_pools const with_;
  std::size_t const most_;
  std::list<timer> waiting_;  ///< in the order they came
  std::vector<std::shared_ptr<connection>> idle_;
  std::mutex mutex_;  ///< for close(): in_use_ changes under it
  std::vector<std::shared_ptr<connection>> in_use_;
  std::atomic<bool> closed_ = false;
  bool lost_one_ = false;  ///< and no new one has come up since
};

/// One that was borrowed: dropped at the end of the scope unless kept() said that it is well.
class borrowed {
 public:
  borrowed(connection_pool& pool, std::shared_ptr<connection> one)
      : pool_(pool), one_(std::move(one)) {}
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
