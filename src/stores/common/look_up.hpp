// Host names, looked up in threads that nobody has to wait for.
// Why: docs/decisions/library.md#names-are-looked-up-in-one-place
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace herdlock::stores {

/// The system's look-up knows no deadline and cannot be ended. So it runs in threads of the
/// process's own, at most so many, which are left behind when they hang; further names wait in a
/// line. Who asks for a name that somebody asked for already waits for the same answer.
inline constexpr std::size_t max_look_ups = 32;

/// A look-up that takes longer is not waited for where the name's last addresses are known.
inline constexpr milliseconds look_up_patience{250};

struct found_addresses {
  std::vector<std::string> all;  ///< the best first; empty when there is none
  std::string error;             ///< why, then
};

/// For a thread that may block: until the deadline, or until `wake` (a descriptor, or -1) becomes
/// readable. An address is its own, and needs no thread. When the look-up hangs or fails, what it
/// said last counts; only a server that says that there is no such name is believed.
found_addresses look_up_here(std::string const& host, clock::time_point deadline, int wake);

/// The same under Asio. No thread but the executor's ever touches the executor.
class look_up : public std::enable_shared_from_this<look_up> {
 public:
  using handler = std::function<void(found_addresses)>;

  /// The answer comes on the executor, once, by the deadline, and never from inside of this.
  static std::shared_ptr<look_up> start(asio::any_io_executor const& executor,
                                        std::string const& host, clock::time_point deadline,
                                        handler done);
  look_up(asio::any_io_executor const& executor, handler done);

  /// No answer any more. On the executor.
  void cancel();

 private:
  struct waiting;
  void wait(std::string const& host, clock::time_point deadline);
  void tell_later(found_addresses found);
  void finish();

  asio::any_io_executor executor_;
  handler done_;
  std::shared_ptr<waiting> waiting_;
  std::optional<asio::posix::stream_descriptor> answered_;
  asio::basic_waitable_timer<clock> timer_;
};

}  // namespace herdlock::stores
