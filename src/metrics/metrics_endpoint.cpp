// A few requests a minute from a monitoring system, and nothing that a stranger can make it do.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <herdlock/metrics_endpoint.hpp>
#include "stores/common/close_on_exec.hpp"

namespace herdlock {
inline namespace v0 {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr std::size_t most_connections = 16;
constexpr std::size_t most_bytes = 8 * 1024;
constexpr std::chrono::seconds patience{10};

using response = http::response<http::string_body>;

struct connection {
  explicit connection(asio::ip::tcp::socket socket) : stream(std::move(socket)) {}
  beast::tcp_stream stream;
  bool has_asked = false;
};

}  // namespace

/// All members but port() and stop() on the strand.
class metrics_endpoint::server : public std::enable_shared_from_this<server> {
 public:
  server(asio::any_io_executor const& executor, std::vector<store> stores)
      : strand_(asio::make_strand(executor)), acceptor_(strand_), stores_(std::move(stores)) {}

  void listen(tcp::endpoint const& at) {
    if (auto const failed = stores::open_close_on_exec(acceptor_, at.protocol())) {
      throw boost::system::system_error(failed);
    }
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    acceptor_.bind(at);
    acceptor_.listen();
    port_ = acceptor_.local_endpoint().port();
    asio::post(strand_, [self = shared_from_this()] { self->accept(); });
  }
  std::uint16_t port() const { return port_; }

  void stop() {
    asio::post(strand_, [self = shared_from_this()] {
      self->stopped_ = true;
      boost::system::error_code ignored;
      self->acceptor_.close(ignored);
      for (auto& each : self->open_) each->stream.cancel();
      self->stores_.clear();
    });
  }

 private:
  using peer = std::shared_ptr<connection>;
  using peers = std::vector<peer>;

  // Whoever has said nothing for the longest gives way; while all have asked, more wait in the
  // kernel's queue.
  void accept() {
    bool const full = open_.size() >= most_connections && longest_silent() == open_.end();
    if (stopped_ || accepting_ || full) return;
    accepting_ = true;
    acceptor_.async_accept(
        strand_, [self = shared_from_this()](boost::system::error_code code, tcp::socket socket) {
          self->accepting_ = false;
          if (self->stopped_) return;
          if (code) return self->accept_later();
          stores::set_close_on_exec(socket);
          self->serve(std::make_shared<connection>(std::move(socket)));
          self->accept();
        });
  }

  // No descriptors, for example: trying again at once would use up the processor.
  void accept_later() {
    pause_.emplace(strand_, std::chrono::milliseconds(100));
    pause_->async_wait([weak = weak_from_this()](boost::system::error_code code) {
      if (auto self = weak.lock(); self && !code) self->accept();
    });
  }

  peers::iterator longest_silent() {
    return std::find_if(open_.begin(), open_.end(),
                        [](peer const& one) { return !one->has_asked; });
  }

  void serve(peer const& one) {
    if (open_.size() >= most_connections) {
      if (auto const silent = longest_silent(); silent != open_.end()) {
        (*silent)->stream.cancel();
        open_.erase(silent);
      }
    }
    open_.push_back(one);
    auto ended = [self = shared_from_this(), one](std::exception_ptr) {
      std::erase(self->open_, one);
      self->accept();
    };
    asio::co_spawn(strand_, answer(shared_from_this(), one), std::move(ended));
  }

  static asio::awaitable<void> answer(std::shared_ptr<server> self, peer one) {
    beast::flat_buffer buffer(most_bytes);
    http::request_parser<http::empty_body> parser;
    parser.header_limit(most_bytes);
    one->stream.expires_after(patience);
    auto reading = http::async_read(one->stream, buffer, parser, asio::use_awaitable);
    co_await std::move(reading);
    one->has_asked = true;
    response reply = self->reply_to(parser.get());
    auto writing = http::async_write(one->stream, reply, asio::use_awaitable);
    co_await std::move(writing);
    boost::system::error_code ignored;
    one->stream.socket().shutdown(tcp::socket::shutdown_both, ignored);
  }

  response reply_to(http::request<http::empty_body> const& asked) const {
    auto const path = asked.target().substr(0, asked.target().find('?'));
    response reply(http::status::ok, asked.version());
    reply.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
    reply.keep_alive(false);
    if (path != "/metrics") {
      reply.result(http::status::not_found);
      reply.body() = "the figures are at /metrics\n";
    } else if (asked.method() != http::verb::get) {
      reply.result(http::status::method_not_allowed);
      reply.set(http::field::allow, "GET");
    } else {
      std::vector<store_metrics> all;
      for (auto const& each : stores_) all.push_back(each.metrics());
      reply.body() = prometheus_text(all);
    }
    reply.prepare_payload();
    return reply;
  }

  asio::strand<asio::any_io_executor> strand_;
  tcp::acceptor acceptor_;
  std::optional<asio::steady_timer> pause_;
  std::vector<store> stores_;
  peers open_;  // in the order of their coming
  std::uint16_t port_ = 0;
  bool accepting_ = false;
  bool stopped_ = false;
};

metrics_endpoint::metrics_endpoint(std::shared_ptr<server> running) : server_(std::move(running)) {}
metrics_endpoint::metrics_endpoint(metrics_endpoint&&) noexcept = default;

metrics_endpoint& metrics_endpoint::operator=(metrics_endpoint&& other) noexcept {
  if (this == &other) return *this;
  if (server_) server_->stop();
  server_ = std::move(other.server_);
  return *this;
}

metrics_endpoint::~metrics_endpoint() {
  if (server_) server_->stop();
}

std::uint16_t metrics_endpoint::port() const noexcept { return server_->port(); }

metrics_endpoint serve_metrics(asio::any_io_executor executor, std::uint16_t port,
                               std::vector<store> stores, std::string const& address) {
  try {
    auto running = std::make_shared<metrics_endpoint::server>(executor, std::move(stores));
    running->listen({asio::ip::make_address(address), port});
    return metrics_endpoint(std::move(running));
  } catch (boost::system::system_error const& e) {
    throw error(make_failure(errc::unavailable, "the metrics cannot be served at " + address + ":" +
                                                    std::to_string(port) + ": " +
                                                    e.code().message()));
  }
}

}  // namespace v0
}  // namespace herdlock
