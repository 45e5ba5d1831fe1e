// The answers of a cache on their way to the callers.
#pragma once

#include <memory>
#include <vector>

#include <herdlock/detail/cache_core.hpp>

namespace herdlock::runtime {

/// Completes callers in an event of their own, many in one: a handler may throw, or call the cache
/// again, and meets nothing of the cache in the middle. On the store's executor.
class deliveries : public std::enable_shared_from_this<deliveries> {
 public:
  explicit deliveries(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  void add(detail::caller_ptr caller, result<detail::cache_answer> answer) {
    waiting_.push_back({std::move(caller), std::move(answer)});
    post_delivery();
  }

 private:
  struct entry {
    detail::caller_ptr caller;
    result<detail::cache_answer> answer;
  };

  void post_delivery();
  void deliver();

  asio::any_io_executor executor_;
  std::vector<entry> waiting_;  // from next_ on
  std::size_t next_ = 0;
  bool posted_ = false;
};

}  // namespace herdlock::runtime
