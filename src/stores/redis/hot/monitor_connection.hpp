// A connection that listens to MONITOR. It answers in lines of RESP2, and what it brings belongs to
// no request: so it is a connection of its own kind.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stores/redis/client/byte_stream.hpp"
#include "stores/redis/client/connector.hpp"
#include "stores/redis/hot/line_cutter.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// Called on the executor; may stop the connection.
class monitor_listener {
 public:
  virtual ~monitor_listener() = default;
  virtual void on_monitoring() = 0;
  virtual void on_line(std::string_view line, line_part is) = 0;
  /// Once; nothing comes behind it.
  virtual void on_failed(failure why) = 0;
};

/// All members on the executor.
class monitor_connection final : public std::enable_shared_from_this<monitor_connection> {
 public:
  /// `told` must live until stop().
  monitor_connection(asio::any_io_executor const& executor, settings const& how,
                     monitor_listener& told);

  void start();
  /// Closes it. Nobody is told anything any more.
  void stop();
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  void on_connected(failure const& why);
  void read();
  void on_read(boost::system::error_code ec, std::size_t bytes);
  void on_login(std::string_view text);
  void on_text(std::string_view text, line_part is);
  void fail(failure why);

  settings const how_;
  std::shared_ptr<byte_stream> stream_;
  std::shared_ptr<connector> connector_;
  asio::steady_timer timer_;  // of the greeting
  monitor_listener* told_;    // null: stopped
  std::string greeting_;
  std::size_t greetings_ = 0;  // that are not answered
  int login_parts_ = 0;        // of the answer to HELLO, that are to come
  bool text_follows_ = false;  // one of them, in the next line
  std::array<char, 64 * 1024> arrived_;
  line_cutter lines_;
  std::uint64_t bytes_ = 0;
};

}  // namespace herdlock::redis
