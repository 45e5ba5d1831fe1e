// All watches of a store on one stream, which is opened again, on another member, when it ends.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "stores/etcd/connection_pool.hpp"

namespace herdlock::etcd {

/// A watch tells when it begins to stand (`created`: what happened before is for a look to find),
/// also after every interruption (a stream that ended, a revision that was compacted away), and
/// what is done to its keys from then on, in the order of revisions. All members are called on the
/// executor.
class watch_stream : public std::enable_shared_from_this<watch_stream> {
 public:
  using watch_id = std::int64_t;

  explicit watch_stream(std::shared_ptr<connection_pool> connections)
      : connections_(std::move(connections)) {}

  using told = std::function<void(watch_message const&)>;

  /// `tell` is called as an event, with a message that was created or has events; never after
  /// remove() or close(). It may call both.
  watch_id add(watched_keys what, told tell);
  /// What a watch would still have to tell.
  enum class rest { events, nothing };
  /// To cancel a watch costs the member about as much as to hand a lease over. One with nothing to
  /// tell may stand on for a while.
  void remove(watch_id id, rest left);
  void close();

 private:
  struct watch {
    watched_keys what;
    told tell;
  };
  struct stream;

  asio::awaitable<void> run();
  asio::awaitable<void> read(std::shared_ptr<stream> on);
  asio::awaitable<void> write(std::shared_ptr<stream> on);
  asio::awaitable<void> guard(std::shared_ptr<stream> on);
  bool on_message(stream& on, watch_message const& message);
  bool on_canceled(stream& on, watch_message const& message);
  void send(std::shared_ptr<stream> const& on, std::string const& message);
  void start();

  std::shared_ptr<connection_pool> connections_;
  std::map<watch_id, watch> watches_;  ///< one for each waiter: bounded by max_pending
  watch_id last_id_ = 0;
  std::shared_ptr<stream> stream_;  ///< null while there is none
  std::shared_ptr<timer> pause_;
  bool running_ = false;
  bool closed_ = false;
};

}  // namespace herdlock::etcd
