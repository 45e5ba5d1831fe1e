// An HTTP endpoint for Prometheus. In a component of its own: herdlock::metrics_endpoint.
//
//   auto const endpoint = serve_metrics(io.get_executor(), 9464, {orders, sessions});
//   // curl http://127.0.0.1:9464/metrics
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <herdlock/metrics.hpp>
#include <herdlock/open.hpp>

namespace herdlock {
inline namespace v0 {

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
/// free one. Serves at most 16 connections at once, each for 10 s, requests of at most 8 KiB; for
/// one more, the one that has said nothing for the longest is closed. It keeps the stores open, and
/// `executor`'s context must outlive the endpoint. Throws herdlock::error (errc::unavailable) when
/// it cannot listen there.
metrics_endpoint serve_metrics(boost::asio::any_io_executor executor, std::uint16_t port,
                               std::vector<store> stores, std::string const& address = "127.0.0.1");

}  // namespace v0
}  // namespace herdlock
