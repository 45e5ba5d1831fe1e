// From a URL to something that locks and caches.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>
#include <herdlock/inspect.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

struct backend;        // herdlock/backend.hpp
struct lease_event;    // herdlock/metrics.hpp
struct store_metrics;  // herdlock/metrics.hpp
class store;

namespace detail {
class store_context;  // executor, thread, lease keeper; src/runtime
/// The inside of a store, for the classes of this library.
std::shared_ptr<store_context> const& context_of(store const& opened);
}  // namespace detail

/// The guard that keeps a store's handlers from running at the same time on a given executor.
enum class executor_guard {
  strand,  ///< herdlock's own: right for every executor
  none,    ///< the executor itself: an io_context that one thread runs, or a strand
};

struct open_options {
  /// The executor of the store's sockets and timers. By default it has a thread of its own. The
  /// executor's context must outlive every handle and be run once more after the last of them is
  /// gone (the closing happens there); an open store counts as work, so io_context::run() returns
  /// no sooner. A caller of a blocking function must leave it a thread to run on: where nothing
  /// runs on it, such a call ends after some seconds (errc::timed_out), whatever its wait. On a
  /// thread of its own a store drops what a handler of yours throws; an executor of yours sees it,
  /// in an event of its own. That thread blocks all signals, as every thread of the library does: a
  /// process that a handler of yours starts there begins with them blocked.
  std::optional<boost::asio::any_io_executor> executor;
  /// With `none` a call alone costs less (on Redis an eighth of its instructions), and what it ends
  /// (a wait for the loss) may be told inside of it. It is a promise: when two threads run the
  /// executor nevertheless, the behaviour is undefined. No meaning without an executor of yours.
  executor_guard guard = executor_guard::strand;
  /// Told what happens to each lease, on the store's executor; must not block. See
  /// herdlock/metrics.hpp; for a log, herdlock/logging_spdlog.hpp.
  std::function<void(lease_event const&)> on_event{};
};

/// A handle on an opened store: cheap to copy, safe to use from any thread. The store closes with
/// its last handle (leases and caches hold one): leases still being given up get a second for it.
/// When that handle goes on the store's own thread nothing waits for this but the end of the
/// process (return from main, exit()), for two seconds at most. Handles in static storage close
/// their store as others do.
/// In a child of fork() each call of an inherited handle, or of what was made of it, ends with
/// errc::forked (a handler that has no executor of its own is called on a thread of its own), a
/// destructor returns and leaves all to the parent.
/// One that was moved from stands for no store: each call throws errc::not_supported.
class store {
 public:
  /// Makes a backend that is to run on this executor.
  using backend_factory = std::function<result<backend>(boost::asio::any_io_executor)>;

  /// Runs over a backend of your own (herdlock/backend.hpp); `make` is called once.
  static result<store> over(backend_factory const& make, open_options options = {});

  /// All of herdlock's work for this store happens here, one handler at a time.
  boost::asio::any_io_executor get_executor() const;

  /// The URL without its password.
  std::string const& display_name() const;
  store_traits const& traits() const;

  /// The faults of its server that the store has found so far, which weaken its promises; and those
  /// that its caches (the ones that are there) have found in their options. For a log.
  std::vector<std::string> warnings() const;

  /// The notes say where its leases live, as far as the URL does not say so and the server was
  /// asked: the schema and database of their tables. Each is a sentence for a log; they are known
  /// after the first operation.
  std::vector<std::string> notes() const;

  /// The figures of all that was done through this store since it was opened. They are read one
  /// after the other, while others may change. With herdlock/metrics.hpp.
  store_metrics metrics() const;

  /// Names of resources that are held, a part at a time, as lease_store::list says; lock::inspect
  /// tells more of each. `void(failure, lease_page)`; tokens, executor and cancellation as
  /// with lock::async_acquire.
  template <class Token = boost::asio::deferred_t>
  auto async_list(list_request request = {}, Token&& token = {}) const {
    return detail::initiate<lease_page>(
        get_executor(),
        [self = *this, request = std::move(request)](handler<lease_page> h) mutable {
          start_list(self, std::move(request), std::move(h));
        },
        std::forward<Token>(token));
  }
  lease_page list(list_request request = {}) const;

  /// Closes the store for all its handles, now and not with the last of them. Waiting acquisitions
  /// and loads, and all that come later, end with errc::canceled; campaigns resign, and their work
  /// gets a second to stop. Then the leases that are still held are lost to their holders and given
  /// back at once: end their work before. `void(failure)`, without a failure when the connections
  /// are closed, after about two seconds at most; a second call waits for the same. Then nothing of
  /// the store is work for its executor, so that io_context::run() returns. If a cache has two
  /// stores, close the one of its values first. Not cancellable.
  template <class Token = boost::asio::deferred_t>
  auto async_close(Token&& token = {}) const {
    return detail::initiate<void>(
        get_executor(), [self = *this](handler<void> h) { start_close(self, std::move(h)); },
        std::forward<Token>(token));
  }
  /// Blocking async_close. Not on the store's own thread.
  void close() const;

 private:
  friend std::shared_ptr<detail::store_context> const& detail::context_of(store const&);
  explicit store(std::shared_ptr<detail::store_context> context) : context_(std::move(context)) {}
  [[noreturn]] static void throw_moved_from();
  static void start_close(store const&, handler<void>);
  static void start_list(store const&, list_request, handler<lease_page>);

  std::shared_ptr<detail::store_context> context_;
};

inline std::shared_ptr<detail::store_context> const& detail::context_of(store const& opened) {
  if (!opened.context_) store::throw_moved_from();
  return opened.context_;
}

/// Opens `memory:`, `sqlite:PATH`, `redis://…`, `rediss://…`, `redis+unix:PATH`,
/// `redis+sentinel://…`, `redis+cluster://…` (both also as `rediss+…`), `redlock://…`, `mysql://…`
/// (or `mariadb://…`), `postgres://…` (or `postgresql://…`), `zk://…`, `etcd://…`, `etcds://…`.
/// Does not wait for a server: a server that cannot be reached shows at the first operation, with
/// its reason. Throws herdlock::error: errc::invalid_url, unknown_scheme, not_built, unavailable
/// (SQLite file).
store open_store(std::string_view url, open_options options = {});

/// The same without an exception.
result<store> try_open_store(std::string_view url, open_options options = {});

}  // namespace v0
}  // namespace herdlock
