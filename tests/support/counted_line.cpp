#include <support/counted_line.hpp>

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <string>
#include <thread>

namespace herdlock_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using time_point = std::chrono::steady_clock::time_point;

namespace {

struct piece {
  time_point due;
  std::string bytes;
};

// What is under way in one direction.
struct lane {
  explicit lane(asio::io_context& context) : change(context, time_point::max()) {}
  std::deque<piece> pieces;
  asio::steady_timer change;  // cancelled when there is a new piece, or the end
};

struct session {
  explicit session(asio::io_context& context)
      : client(context), server(context), up(context), down(context) {}
  tcp::socket client, server;
  lane up, down;
  bool told = true;  // something has gone to the client since it last spoke

  void close() {
    error_code ignored;
    client.close(ignored);
    server.close(ignored);
    up.change.cancel();
    down.change.cancel();
  }
};
using session_ptr = std::shared_ptr<session>;

}  // namespace

// Everything but the atomics is touched by the line's thread alone.
struct counted_line::state {
  state(std::uint16_t target_port, std::chrono::milliseconds latency)
      : target(asio::ip::address_v4::loopback(), target_port), each_way(latency) {}

  asio::io_context context{1};
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  tcp::endpoint target;
  std::chrono::milliseconds each_way;
  std::uint16_t const listens_at = acceptor.local_endpoint().port();
  std::atomic<std::size_t> trips{0}, reads{0};
  std::thread thread;

  asio::awaitable<void> take_connections() {
    while (true) {
      error_code ec;
      auto one = std::make_shared<session>(context);
      co_await acceptor.async_accept(one->client, asio::redirect_error(asio::use_awaitable, ec));
      if (!ec) asio::co_spawn(context, serve(one), asio::detached);
    }
  }

  asio::awaitable<void> serve(session_ptr one) {
    error_code ec;
    co_await one->server.async_connect(target, asio::redirect_error(asio::use_awaitable, ec));
    if (ec) co_return one->close();
    one->client.set_option(tcp::no_delay(true), ec);
    one->server.set_option(tcp::no_delay(true), ec);
    asio::co_spawn(context, hear(one, one->client, one->up), asio::detached);
    asio::co_spawn(context, hear(one, one->server, one->down), asio::detached);
    asio::co_spawn(context, tell(one, one->server, one->up), asio::detached);
    asio::co_spawn(context, tell(one, one->client, one->down), asio::detached);
  }

  asio::awaitable<void> hear(session_ptr one, tcp::socket& from, lane& onto) {
    std::array<char, 65536> chunk;
    error_code ec;
    while (true) {
      std::size_t const n = co_await from.async_read_some(
          asio::buffer(chunk), asio::redirect_error(asio::use_awaitable, ec));
      if (ec) break;
      if (&onto == &one->up) count(*one);
      onto.pieces.push_back({std::chrono::steady_clock::now() + each_way, {chunk.data(), n}});
      onto.change.cancel();
    }
    one->close();
  }

  void count(session& one) {
    ++reads;
    if (std::exchange(one.told, false)) ++trips;
  }

  asio::awaitable<void> tell(session_ptr one, tcp::socket& to, lane& from) {
    error_code ec;
    while (one->client.is_open()) {
      if (from.pieces.empty()) {
        co_await from.change.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      piece const next = std::move(from.pieces.front());
      from.pieces.pop_front();
      asio::steady_timer on_its_way(context, next.due);
      co_await on_its_way.async_wait(asio::redirect_error(asio::use_awaitable, ec));
      if (&from == &one->down) one->told = true;
      co_await asio::async_write(to, asio::buffer(next.bytes),
                                 asio::redirect_error(asio::use_awaitable, ec));
      if (ec) break;
    }
    one->close();
  }
};

counted_line::counted_line(std::uint16_t target_port, std::chrono::milliseconds each_way)
    : state_(std::make_unique<state>(target_port, each_way)) {
  asio::co_spawn(state_->context, state_->take_connections(), asio::detached);
  state_->thread = std::thread([s = state_.get()] { s->context.run(); });
}

counted_line::~counted_line() {
  state_->context.stop();
  state_->thread.join();
}

std::uint16_t counted_line::port() const { return state_->listens_at; }
std::size_t counted_line::trips() const { return state_->trips; }
std::size_t counted_line::reads() const { return state_->reads; }

}  // namespace herdlock_test
