// Lets the waiters of one handle join the queue for a resource in the order they asked, though
// their messages go over several connections.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "stores/etcd/connection_pool.hpp"

namespace herdlock::etcd {

/// All members are called on the executor.
class fifo_gate : public std::enable_shared_from_this<fifo_gate> {
 public:
  /// A turn; passed on when it is destroyed.
  class ticket {
   public:
    ticket(std::shared_ptr<fifo_gate> of, std::uint64_t number)
        : of_(std::move(of)), number_(number) {}
    ~ticket() { of_->pass(number_); }
    ticket(ticket const&) = delete;
    ticket& operator=(ticket const&) = delete;
    std::uint64_t number() const { return number_; }

   private:
    std::shared_ptr<fifo_gate> of_;
    std::uint64_t number_;
  };

  explicit fifo_gate(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  std::shared_ptr<ticket> take() {
    open_.insert(++last_);
    return std::make_shared<ticket>(shared_from_this(), last_);
  }
  /// Completes when all tickets before that number are gone.
  asio::awaitable<void> wait_for(std::uint64_t number) {
    if (free_for(number)) co_return;
    auto const self = shared_from_this();
    auto const turn = std::make_shared<timer>(executor_, clock::time_point::max());
    waiting_.emplace(number, turn);
    co_await turn->async_wait(no_throw);
  }

 private:
  void pass(std::uint64_t number) {
    open_.erase(number);
    while (!waiting_.empty() && free_for(waiting_.begin()->first)) {
      waiting_.begin()->second->cancel();
      waiting_.erase(waiting_.begin());
    }
  }
  bool free_for(std::uint64_t number) const { return open_.empty() || *open_.begin() >= number; }

  asio::any_io_executor executor_;
  std::uint64_t last_ = 0;
  std::set<std::uint64_t> open_;
  std::multimap<std::uint64_t, std::shared_ptr<timer>> waiting_;
};

}  // namespace herdlock::etcd
