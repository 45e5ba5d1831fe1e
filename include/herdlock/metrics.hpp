// What a store has done so far, as numbers, as a text for Prometheus, and as events for a log.
//
//   auto const endpoint = serve_metrics(io.get_executor(), 9464, {orders, sessions});
//   // curl http://127.0.0.1:9464/metrics
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/cache_options.hpp>
#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {

class store;

/// How often something took how long.
struct duration_histogram {
  /// Upper bounds in seconds; what took longer is counted last.
  static constexpr std::array<double, 16> bounds{.0005, .001, .0025, .005, .01, .025, .05, .1,
                                                 .25,   .5,   1,     2.5,  5,   30,   300, 3600};
  std::array<std::uint64_t, bounds.size() + 1> counts{};  ///< not cumulative
  double sum_seconds = 0;

  std::uint64_t count() const noexcept;
};

/// Of all locks, elections and caches that use one opened store in this process. A cache with a
/// store for its values and another for its locks is counted with its values.
struct store_metrics {
  std::string store;             ///< its URL without the password
  std::uint64_t acquired = 0;    ///< grants, restored leases too
  std::uint64_t hand_overs = 0;  ///< of them, those for which another's end was waited for
  std::uint64_t busy = 0;        ///< another held it until the wait was over
  std::uint64_t failed = 0;      ///< acquisitions that the store could not answer
  std::uint64_t canceled = 0;    ///< acquisitions that the caller took back
  std::uint64_t renewed = 0;
  std::uint64_t renew_failed = 0;  ///< renewals without an answer; most are tried again
  std::uint64_t lost = 0;          ///< leases that could not be proved any more
  std::uint64_t released = 0;      ///< leases that were given back, or handed over, in time
  std::uint64_t held = 0;          ///< leases, now
  std::uint64_t waiting = 0;       ///< acquisitions that ask or wait, now: this process's queue
  duration_histogram wait_time;    ///< from the call to the grant
  duration_histogram hold_time;    ///< from the grant to its end
  cache_stats caches;              ///< the sum over all, those that have gone included
  duration_histogram load_time;    ///< of their loaders, from the start to the result or error
};

/// In Prometheus' text format, version 0.0.4, a label `store` telling them apart. Names begin with
/// `herdlock_`; each with HELP and TYPE.
std::string prometheus_text(std::vector<store_metrics> const& all);

enum class lease_event_kind { acquired, busy, failed, canceled, renew_failed, lost, released };
std::string_view to_string(lease_event_kind kind) noexcept;

/// What has just happened to a lease or to the wish for one. The references live as long as the
/// call.
struct lease_event {
  lease_event_kind kind;
  resource const& name;
  std::string const& store;  ///< its URL without the password
  fencing_token fencing{};   ///< 0 when there is no lease
  milliseconds took{0};      ///< the wait; with lost and released: since the grant
  failure why{};             ///< with failed, canceled, renew_failed, lost
};

/// Answers `GET /metrics` until it is destroyed. Move-only; may be destroyed on any thread, also
/// while a request is answered.
class metrics_endpoint {
 public:
  metrics_endpoint(metrics_endpoint&&) noexcept;
  metrics_endpoint& operator=(metrics_endpoint&&) noexcept;
  ~metrics_endpoint();

  std::uint16_t port() const noexcept;

 private:
  friend metrics_endpoint serve_metrics(boost::asio::any_io_executor, std::uint16_t,
                                        std::vector<store>, std::string const&);
  class server;
  explicit metrics_endpoint(std::shared_ptr<server> running);
  std::shared_ptr<server> server_;
};

/// Listens on `address`: loopback by default, since it asks nobody who they are; port 0 takes a
/// free one. Serves at most 16 connections at once (more wait), each for 10 s, requests of at most
/// 8 KiB. It keeps the stores open, and `executor`'s context must outlive the endpoint. Throws
/// herdlock::error (errc::unavailable) when it cannot listen there.
metrics_endpoint serve_metrics(boost::asio::any_io_executor executor, std::uint16_t port,
                               std::vector<store> stores, std::string const& address = "127.0.0.1");

}  // namespace herdlock
