// A connection to a server, over TCP or a Unix socket, with TLS or without.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <string>
#include <utility>

#include <herdlock/detail/async.hpp>
#include "stores/common/close_on_exec.hpp"
#include "stores/common/tls_source.hpp"

namespace herdlock::redis {

/// Reads and writes are one of each at a time. Buffers and the stream must live until the handler
/// was called.
class byte_stream {
 public:
  using protocol = asio::generic::stream_protocol;
  using endpoint = protocol::endpoint;
  using error_code = boost::system::error_code;

  /// `tls` has no context for a connection without it.
  byte_stream(asio::any_io_executor const& executor, stores::tls_choice tls)
      : tls_(std::move(tls)), socket_(executor) {}

  asio::any_io_executor executor() { return socket_.get_executor(); }

  /// Opens a new socket; `done(error_code)`.
  template <class F>
  void connect(endpoint const& to, F done) {
    close();
    if (error_code const ec = stores::open_close_on_exec(socket_, to.protocol())) {
      return asio::post(executor(), [ec, done = std::move(done)]() mutable { done(ec); });
    }
    socket_.async_connect(to, std::move(done));
  }

  /// For a connection that is made: a lone small command must not wait for the acknowledgement of
  /// the one before. Nothing for a Unix socket.
  void tune() {
    error_code ignored;
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  }

  /// `server_name` is told to the server, if it is one and no address. Where the server is verified
  /// its certificate must be for that name.
  template <class F>
  void handshake(std::string const& server_name, F done) {
    secured_.emplace(socket_, *tls_.context);
    error_code no_address;
    if (SSL_get_verify_mode(secured_->native_handle()) != SSL_VERIFY_NONE) {
      secured_->set_verify_callback(asio::ssl::host_name_verification(server_name));
    }
    asio::ip::make_address(server_name, no_address);
    if (no_address) SSL_set_tlsext_host_name(secured_->native_handle(), server_name.c_str());
    secured_->async_handshake(asio::ssl::stream_base::client, std::move(done));
  }
  /// What is wrong with the files, until the server has accepted the connection.
  std::string const& file_error() const { return tls_.file_error; }
  void forget_file_error() { tls_.file_error.clear(); }
  /// What was found out about the server's certificate.
  long verification() { return SSL_get_verify_result(secured_->native_handle()); }

  template <class F>
  void read_some(asio::mutable_buffer into, F done) {
    if (secured_) return secured_->async_read_some(into, std::move(done));
    socket_.async_read_some(into, std::move(done));
  }
  template <class F>
  void write(asio::const_buffer what, F done) {
    if (secured_) return asio::async_write(*secured_, what, std::move(done));
    asio::async_write(socket_, what, std::move(done));
  }

  /// What has arrived is still read; then comes the end.
  void stop_receiving() {
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_receive, ignored);
  }
  /// What the kernel has not delivered when the socket is closed is thrown away then (TCP).
  void forget_unsent() {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }
  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  using socket = asio::basic_stream_socket<protocol, asio::any_io_executor>;
  stores::tls_choice tls_;
  socket socket_;
  std::optional<asio::ssl::stream<socket&>> secured_;
};

}  // namespace herdlock::redis
