// The calls that wait until every write of before is known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include <boost/asio/any_io_executor.hpp>

#include <herdlock/types.hpp>

#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// The fences wait in the order of their numbers, at most `most`. On the executor; handlers run in
/// an event of their own.
class waiting_fences {
 public:
  waiting_fences(boost::asio::any_io_executor executor, std::size_t most)
      : executor_(std::move(executor)), most_(most) {}

  bool full() const noexcept { return waiting_.size() >= most_; }
  std::size_t most() const noexcept { return most_; }
  /// The number is not below those before. The calls of one number pass together.
  void add(std::uint64_t number, handler<void> done) {
    waiting_.push_back({number, std::move(done)});
  }
  /// The fences up to the number complete.
  void pass(std::uint64_t number) {
    while (!waiting_.empty() && waiting_.front().number <= number) {
      detail::post_result<void>(executor_, take_first(), boost::system::in_place_value);
    }
  }
  /// All fences complete with this error.
  void end(failure const& why) {
    while (!waiting_.empty()) detail::post_result<void>(executor_, take_first(), why);
  }

 private:
  struct waiting {
    std::uint64_t number;
    handler<void> done;
  };

  handler<void> take_first() {
    auto done = std::move(waiting_.front().done);
    waiting_.pop_front();
    return done;
  }

  boost::asio::any_io_executor executor_;
  std::size_t most_;
  std::deque<waiting> waiting_;
};

}  // namespace herdlock::runtime
