// What a worker has done, on its way back to the executor.
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>

namespace herdlock::sqlite {

class task;

/// A queue with an eventfd that the executor reads: posting each answer costs two switches of
/// threads more. Why: docs/stores/sqlite.md#answers-come-by-an-eventfd
///
/// Members are called on the executor unless they say otherwise. The executor's context has work
/// while an answer is expected.
class completion_queue : public std::enable_shared_from_this<completion_queue> {
 public:
  /// Fails with errc::unavailable when there is no file descriptor left.
  static result<std::shared_ptr<completion_queue>> open(asio::any_io_executor const& executor);

  /// For one more operation, until it is completed.
  void expect();
  void completed();
  /// What is here is still on its way; what comes later is dropped.
  void close();

  /// From any thread; `done` is delivered on the executor.
  void add(std::shared_ptr<task> done);

 private:
  explicit completion_queue(asio::any_io_executor const& executor) : bell_(executor) {}
  void ring();
  void listen();
  void on_ring();

  asio::posix::basic_stream_descriptor<asio::any_io_executor> bell_;
  std::array<std::byte, sizeof(std::uint64_t)> rings_{};
  std::size_t expected_ = 0;
  bool listening_ = false;

  std::mutex mutex_;  ///< guards all that follows
  std::deque<std::shared_ptr<task>> done_;
  bool closed_ = false;
};

}  // namespace herdlock::sqlite
