// A TCP relay on this machine whose connections can stand still: the sockets stay open, no byte
// passes. A client that goes is noticed all the same.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <string>

namespace herdlock::cli {

namespace asio = boost::asio;

/// Works while the context runs, in one thread, which is the one to call it from. The context
/// outlives it, and does not run any more behind its end.
class relay {
 public:
  /// Further connections wait until one ends.
  static constexpr int max_connections = 512;

  /// Listens on 127.0.0.1. Throws command_error (internal) when no port can be had.
  relay(asio::io_context& context, asio::ip::tcp::endpoint target);
  relay(relay const&) = delete;
  relay& operator=(relay const&) = delete;

  std::uint16_t port() const { return port_; }

  /// So many bytes have come so far, from both sides; they pass, or are held.
  std::uint64_t taken() const { return taken_; }

  void freeze() { frozen_ = true; }
  /// What was held passes now.
  void thaw();

 private:
  using tcp = asio::ip::tcp;

  asio::awaitable<void> accept_all();
  asio::awaitable<void> serve(tcp::socket client);
  asio::awaitable<void> pass(tcp::socket& from, tcp::socket& to);
  asio::awaitable<void> hold_more(tcp::socket& from, std::string& held);

  tcp::endpoint const target_;
  tcp::acceptor acceptor_;
  asio::steady_timer gate_;  // cancelled when the bytes go on
  std::uint16_t port_ = 0;
  std::uint64_t taken_ = 0;
  int connections_ = 0;
  bool frozen_ = false;
};

}  // namespace herdlock::cli
