#include "stores/etcd/connection.hpp"

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <type_traits>

#include "stores/common/close_on_exec.hpp"
#include "stores/common/look_up.hpp"
#include "stores/common/numbers.hpp"

namespace herdlock::etcd {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

constexpr std::size_t max_answer_bytes = std::size_t{8} * 1024 * 1024;
constexpr std::size_t usual_answer_bytes = std::size_t{4} * 1024;

using plain_stream = beast::tcp_stream;
using tls_stream = ssl::stream<beast::tcp_stream>;
using answer_parser = http::response_parser<http::string_body>;

// A member that is cut off from the others refuses at once, and ends its streams. Without this it
// goes on: a watch on it tells of nothing, and is none the wiser. What it is itself it tells in any
// case.
std::string_view needs_leader(http_request const& request) {
  bool const of_itself = std::string_view(request.path).starts_with("/v3/maintenance/");
  return of_itself ? "" : "Grpc-Metadata-hasleader: true\r\n";
}

// `how` is what stands between the common fields and the empty line.
std::string head_of(stores::server_address const& to, http_request const& request,
                    std::string const& how) {
  std::string head = std::string("POST ") + request.path + " HTTP/1.1\r\nHost: " + to.text() +
                     "\r\nContent-Type: application/json\r\n";
  head += needs_leader(request);
  if (!request.token.empty()) head += "Authorization: " + request.token + "\r\n";
  return head + how + "\r\n";
}

template <class Stream>
class http_connection final : public connection {
 public:
  template <class... Args>
  http_connection(settings const& how, stores::server_address const& to, Args&&... args)
      : verified_(how.tls.security == stores::encryption::tls),
        to_(to),
        stream_(std::forward<Args>(args)...) {
    buffer_.reserve(usual_answer_bytes);
  }

  asio::awaitable<error_code> connect(clock::time_point deadline) override {
    std::vector<std::string> addresses;
    error_code ec = co_await find(addresses, deadline);
    if (ec) co_return ec;
    ec = co_await connect_to_one_of(addresses, deadline);
    if (ec) co_return ec;
    beast::get_lowest_layer(stream_).socket().set_option(tcp::no_delay(true), ec);
    if constexpr (std::is_same_v<Stream, tls_stream>) {
      if (verified_) stream_.set_verify_callback(ssl::host_name_verification(to_.host), ec);
      // Members behind one address are told apart by the name (SNI); an error would show later.
      SSL_set_tlsext_host_name(stream_.native_handle(), to_.host.c_str());
      auto const shaken = co_await stream_.async_handshake(ssl::stream_base::client, no_throw);
      ec = std::get<0>(shaken);
    }
    co_return ec;
  }

  long verdict() override {
    if constexpr (std::is_same_v<Stream, tls_stream>) {
      return SSL_get_verify_result(stream_.native_handle());
    }
    return X509_V_OK;
  }

  asio::awaitable<http_answer> exchange(http_request const& request,
                                        clock::time_point deadline) override {
    std::string const length = "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
    std::string const text = head_of(to_, request, length) + request.body;
    expire_at(deadline);
    http_answer answer;
    auto const sent = co_await asio::async_write(stream_, asio::buffer(text), no_throw);
    answer.ec = std::get<0>(sent);
    if (answer.ec) co_return answer;
    answer_parser parser;
    parser.body_limit(max_answer_bytes);
    auto const read = co_await http::async_read(stream_, buffer_, parser, no_throw);
    answer.ec = std::get<0>(read);
    if (answer.ec) co_return answer;
    beast::get_lowest_layer(stream_).expires_never();
    answer.status = parser.get().result_int();
    answer.lasts = parser.keep_alive();
    answer.body = std::move(parser.get().body());
    co_return answer;
  }

  // `Connection: close` is what lets the server answer before the request has ended: with a
  // connection that is to be used again it reads all of the request first.
  asio::awaitable<error_code> open_stream(http_request const& request,
                                          clock::time_point deadline) override {
    std::string const how = "Transfer-Encoding: chunked\r\nConnection: close\r\n";
    std::string const text = head_of(to_, request, how);
    expire_at(deadline);
    auto const sent = co_await asio::async_write(stream_, asio::buffer(text), no_throw);
    beast::get_lowest_layer(stream_).expires_never();
    lines_.emplace();
    lines_->body_limit(boost::none);
    co_return std::get<0>(sent);
  }

  asio::awaitable<error_code> send(std::string const& message) override {
    std::string const text = in_hex(message.size()) + "\r\n" + message + "\r\n";
    auto const sent = co_await asio::async_write(stream_, asio::buffer(text), no_throw);
    co_return std::get<0>(sent);
  }

  asio::awaitable<std::optional<std::string>> read_line() override {
    for (;;) {
      std::string& text = lines_->get().body();
      auto const end = text.find('\n');
      if (end != text.npos) {
        std::string line = text.substr(0, end);
        text.erase(0, end + 1);
        co_return line;
      }
      if (lines_->is_done() || text.size() > max_answer_bytes) co_return std::nullopt;
      auto const read = co_await http::async_read_some(stream_, buffer_, *lines_, no_throw);
      if (std::get<0>(read)) co_return std::nullopt;
    }
  }

  void close() override { beast::get_lowest_layer(stream_).close(); }

 private:
  // By the deadline, whatever the name server does: the next member is asked then.
  asio::awaitable<error_code> find(std::vector<std::string>& addresses,
                                   clock::time_point deadline) {
    auto const executor = stream_.get_executor();
    asio::basic_waitable_timer<clock> answered(executor, clock::time_point::max());
    auto const asked =
        stores::look_up::start(executor, to_.host, deadline, [&](stores::found_addresses found) {
          addresses = std::move(found.all);
          answered.cancel();
        });
    co_await answered.async_wait(no_throw);
    asked->cancel();
    if (!addresses.empty()) co_return error_code{};
    if (clock::now() >= deadline) co_return asio::error::timed_out;
    co_return asio::error::host_not_found;
  }

  // In their order, with sockets of our own making: those of the library's loop outlive an exec.
  // The time is shared, so that an address that swallows everything does not use it up.
  asio::awaitable<error_code> connect_to_one_of(std::vector<std::string> const& addresses,
                                                clock::time_point deadline) {
    auto& stream = beast::get_lowest_layer(stream_);
    error_code ec = asio::error::host_not_found;
    auto untried = static_cast<int>(addresses.size());
    for (auto const& address : addresses) {
      tcp::endpoint const to(asio::ip::make_address(address), to_.port);
      ec = stores::open_close_on_exec(stream.socket(), to.protocol());
      expire_at(clock::now() + (deadline - clock::now()) / untried--);
      if (ec) continue;
      auto const connected = co_await stream.async_connect(to, no_throw);
      ec = std::get<0>(connected);
      if (!ec || ec == asio::error::operation_aborted || clock::now() >= deadline) break;
      error_code ignored;
      stream.socket().close(ignored);
    }
    expire_at(deadline);
    co_return ec;
  }

  void expire_at(clock::time_point deadline) {
    auto const left = std::max<clock::duration>(deadline - clock::now(), milliseconds{1});
    beast::get_lowest_layer(stream_).expires_after(left);
  }

  bool const verified_;
  stores::server_address const to_;
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<answer_parser> lines_;
};

}  // namespace

std::unique_ptr<connection> make_connection(asio::any_io_executor const& executor,
                                            settings const& how, stores::server_address const& to,
                                            stores::tls_context const& tls) {
  if (!tls) return std::make_unique<http_connection<plain_stream>>(how, to, executor);
  return std::make_unique<http_connection<tls_stream>>(how, to, executor, *tls);
}

}  // namespace herdlock::etcd
