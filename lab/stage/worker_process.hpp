// The demo's side of one worker process.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <string>

#include "stage/frame.hpp"
#include "scenes/stampede_options.hpp"

namespace herdlock::cli {

namespace asio = boost::asio;

/// A real process, started by executing this program again. Killed and reaped with its owner; the
/// kernel kills it when this process ends in whatever way.
class worker_process {
 public:
  /// Starts the process and sends it its orders. From the main thread.
  worker_process(asio::any_io_executor executor, worker_orders const& orders);
  worker_process(worker_process const&) = delete;
  worker_process& operator=(worker_process const&) = delete;
  ~worker_process();

  pid_t pid() const { return pid_; }

  /// Succeeds also when the worker is gone: receive() knows why.
  asio::awaitable<void> send(frame f);

  /// The next frame. Throws command_error when the worker has failed or died.
  asio::awaitable<frame> receive();

  /// The next frame, which must be of this kind (`loading` is passed over).
  asio::awaitable<frame> expect(frame_kind kind);

  /// SIGKILL, and waits until it is gone.
  void kill();

 private:
  [[noreturn]] void raise_death(boost::system::error_code const& code);

  asio::local::stream_protocol::socket socket_;
  pid_t pid_ = -1;
};

}  // namespace herdlock::cli
