// From settings to a connection: looks the name up, connects to its addresses in turn, TLS.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "stores/common/look_up.hpp"
#include "stores/common/tls_source.hpp"
#include "stores/redis/client/byte_stream.hpp"
#include "stores/redis/client/transport.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// For one connection to this server; nothing where it has no TLS.
stores::tls_choice choose_tls(settings const& how);

/// All members on the executor.
class connector final : public std::enable_shared_from_this<connector> {
 public:
  /// Without a code: connected.
  using handler = std::function<void(failure why, failure_kind kind)>;

  connector(settings const& how, std::shared_ptr<byte_stream> stream, handler done)
      : how_(how),
        stream_(std::move(stream)),
        timer_(stream_->executor()),
        done_(std::move(done)) {}

  /// The handler is called once, later, unless cancel() is before it.
  void start();
  void cancel();

 private:
  template <class F>
  auto in_this_stage(F then);
  template <class F>
  void limit(clock::duration most, F then);
  void connect_to_path();
  void on_found(stores::found_addresses const& found);
  void connect_to_next();
  void on_connect(boost::system::error_code ec);
  void on_unreachable(boost::system::error_code ec);
  void on_secured(boost::system::error_code ec);
  void on_untrusted(long verdict);
  void complete(errc code, std::string const& text, failure_kind kind = failure_kind::temporary);

  settings how_;
  std::shared_ptr<byte_stream> stream_;
  asio::steady_timer timer_;
  handler done_;
  std::shared_ptr<stores::look_up> look_up_;
  std::vector<byte_stream::endpoint> endpoints_;  // that were not tried yet
  clock::time_point connect_until_;
  unsigned stage_ = 0;
};

}  // namespace herdlock::redis
