// Boost.Redis by hand, on the measuring thread.
#pragma once

#include <boost/redis/connection.hpp>

#include "event_loop.hpp"

namespace bench {

/// A caller's question and its answer, which stay where they are until it is there.
struct raw_call {
  boost::redis::request request;
  boost::redis::response<std::string> answer;
};

class raw_redis {
 public:
  raw_redis(event_loop& on, std::uint16_t port) : on_(on), connection_(on.context.get_executor()) {
    boost::redis::config config;
    config.addr.port = std::to_string(port);
    config.health_check_interval = std::chrono::seconds::zero();
    connection_.async_run(config, boost::redis::logger(boost::redis::logger::level::disabled),
                          [this](boost::system::error_code) { has_ended_ = true; });
    boost::redis::request ping;
    ping.push("PING");
    send(ping);
    // It sets no TCP_NODELAY; compare like with like.
    connection_.next_layer().next_layer().set_option(asio::ip::tcp::no_delay(true));
  }
  ~raw_redis() {
    connection_.cancel();
    on_.until([this] { return has_ended_; });
  }

  /// Returns when it is answered.
  void send(boost::redis::request const& what) {
    bool done = false;
    connection_.async_exec(what, boost::redis::ignore,
                           [&done](boost::system::error_code failed, std::size_t) {
                             must(!failed, failed.message());
                             done = true;
                           });
    on_.until([&done] { return done; });
  }

  /// `then` is told the answer, a text or a number.
  template <class Then, class... Words>
  void ask(raw_call& by, Then then, Words const&... words) {
    by.request.clear();
    by.request.push(words...);
    connection_.async_exec(by.request, by.answer,
                           [&by, then](boost::system::error_code failed, std::size_t) {
                             auto const& answer = std::get<0>(by.answer);
                             must(!failed && answer.has_value(), "no answer to a raw command");
                             then(answer.value());
                           });
  }

 private:
  event_loop& on_;
  boost::redis::connection connection_;
  bool has_ended_ = false;
};

}  // namespace bench
