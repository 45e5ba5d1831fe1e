#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <limits>
#include <list>
#include <optional>
#include <span>
#include <support/free_port.hpp>
#include <support/relay.hpp>
#include <thread>
#include <utility>

namespace herdlock_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
constexpr std::size_t most_connections = 1'024;

struct session {
  explicit session(asio::io_context& context) : client(context), server(context) {}
  tcp::socket client;
  tcp::socket server;

  void close() {
    error_code ignored;
    client.close(ignored);
    server.close(ignored);
  }
};
using session_ptr = std::shared_ptr<session>;

}  // namespace

// Everything but the atomics is touched by the relay's thread alone.
struct relay::state {
  state(std::string const& address, std::uint16_t port)
      : acceptor(context),
        gate(context),
        target(asio::ip::make_address(address), port),
        listen_port(ports.add()) {
    gate.expires_at(std::chrono::steady_clock::time_point::max());
  }

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  tcp::acceptor acceptor;
  asio::steady_timer gate;  // cancelled when forwarding resumes
  tcp::endpoint target;
  kept_ports ports;
  std::uint16_t listen_port;
  std::list<std::weak_ptr<session>> sessions;
  std::chrono::milliseconds delay{0};
  bool stopped = false;
  std::string replaced;
  std::string replacement;
  std::array<std::atomic<std::size_t>, 2> passed{};
  std::array<std::atomic<std::size_t>, 2> allowance{unlimited, unlimited};
  std::array<std::size_t, 2> before_stop{unlimited, unlimited};
  std::atomic<std::size_t> open{0};
  std::atomic<std::size_t> ever{0};
  std::thread thread;

  template <class Action>
  void run(Action action) {
    std::promise<void> done;
    asio::post(context, [&] {
      action();
      done.set_value();
    });
    done.get_future().wait();
  }

  void listen() {
    if (acceptor.is_open()) return;
    acceptor.open(tcp::v4());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind({asio::ip::address_v4::loopback(), listen_port});
    acceptor.listen();
    asio::co_spawn(context, take_connections(), asio::detached);
  }

  void cut_all() {
    for (auto& entry : sessions) {
      if (auto one = entry.lock()) one->close();
    }
    sessions.clear();
    gate.cancel();
  }

  asio::awaitable<void> take_connections() {
    while (acceptor.is_open()) {
      error_code ec;
      auto one = std::make_shared<session>(context);
      co_await acceptor.async_accept(one->client, asio::redirect_error(asio::use_awaitable, ec));
      if (ec == asio::error::operation_aborted || !acceptor.is_open()) co_return;
      // While nothing passes, one that its client has left stays open: the server is not swamped.
      if (ec || open >= most_connections) continue;
      asio::co_spawn(context, serve(one), asio::detached);
    }
  }

  asio::awaitable<void> serve(session_ptr one) {
    ++ever;
    ++open;
    sessions.push_back(one);
    error_code ec;
    co_await one->server.async_connect(target, asio::redirect_error(asio::use_awaitable, ec));
    if (!ec && one->client.is_open()) {
      one->client.set_option(tcp::no_delay(true), ec);
      one->server.set_option(tcp::no_delay(true), ec);
      asio::co_spawn(context, pump(one, direction::to_client), asio::detached);
      co_await pump(one, direction::to_server);
    }
    one->close();
    --open;
  }

  asio::awaitable<void> pump(session_ptr one, direction way) {
    bool const up = way == direction::to_server;
    tcp::socket& from = up ? one->client : one->server;
    tcp::socket& to = up ? one->server : one->client;
    std::array<char, 16384> chunk;
    error_code ec;
    while (true) {
      std::size_t n = co_await from.async_read_some(asio::buffer(chunk),
                                                    asio::redirect_error(asio::use_awaitable, ec));
      if (ec) break;
      if (!up) replace_in({chunk.data(), n});
      co_await hold(*one);
      std::size_t const early = passes_before_stop(way, n);
      if (early < n) {
        co_await asio::async_write(to, asio::buffer(chunk, early),
                                   asio::redirect_error(asio::use_awaitable, ec));
        co_await hold(*one);
      }
      std::size_t const first = early < n ? early : 0;
      std::size_t const pass = take_allowance(way, n - first);
      co_await asio::async_write(to, asio::buffer(chunk.data() + first, pass),
                                 asio::redirect_error(asio::use_awaitable, ec));
      if (ec) break;
      if (pass < n - first) {
        co_await end_half(from, to);
        break;
      }
    }
    one->close();
  }

  // While the relay is a black hole, and for the delay.
  asio::awaitable<void> hold(session& one) {
    error_code ec;
    while (stopped && one.client.is_open()) {
      co_await gate.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    if (delay.count() == 0) co_return;
    asio::steady_timer pause(context, delay);
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
  }

  void replace_in(std::span<char> text) {
    if (replaced.empty()) return;
    auto const found = std::ranges::search(text, replaced);
    if (!found.empty()) std::ranges::copy(replacement, found.begin());
  }

  // Of so many bytes; if not all, it is a black hole from here on.
  std::size_t passes_before_stop(direction way, std::size_t wanted) {
    auto& left = before_stop[static_cast<std::size_t>(way)];
    if (left == unlimited) return wanted;
    if (left >= wanted) {
      left -= wanted;
      return wanted;
    }
    stopped = true;
    return std::exchange(left, unlimited);
  }

  std::size_t take_allowance(direction way, std::size_t wanted) {
    auto& left = allowance[static_cast<std::size_t>(way)];
    std::size_t const pass = left == unlimited ? wanted : std::min<std::size_t>(left, wanted);
    passed[static_cast<std::size_t>(way)] += pass;
    if (left != unlimited) left = pass < wanted ? unlimited : left - pass;
    return pass;
  }

  // The sender is closed; the receiver reads what passed, then end of file. Its answers are read
  // and dropped until it closes, because closing with unread bytes resets the connection, and a
  // reset destroys what the receiver has not read yet.
  asio::awaitable<void> end_half(tcp::socket& from, tcp::socket& to) {
    error_code ec;
    from.close(ec);
    to.shutdown(tcp::socket::shutdown_send, ec);
    std::array<char, 4096> dropped;
    while (!ec) {
      co_await to.async_read_some(asio::buffer(dropped),
                                  asio::redirect_error(asio::use_awaitable, ec));
    }
  }
};

relay::relay(std::string const& target_address, std::uint16_t target_port)
    : state_(std::make_unique<state>(target_address, target_port)) {
  state_->listen();
  state_->thread = std::thread([s = state_.get()] { s->context.run(); });
}

relay::~relay() {
  state_->run([s = state_.get()] {
    error_code ignored;
    s->stopped = false;
    s->acceptor.close(ignored);
    s->cut_all();
    s->work.reset();
  });
  state_->thread.join();
}

std::uint16_t relay::port() const { return state_->listen_port; }
std::size_t relay::connections() const { return state_->open; }
std::size_t relay::connections_ever() const { return state_->ever; }
std::size_t relay::bytes(direction way) const {
  return state_->passed[static_cast<std::size_t>(way)];
}

void relay::cut_all() {
  state_->run([s = state_.get()] { s->cut_all(); });
}

void relay::stop_forwarding() {
  state_->run([s = state_.get()] { s->stopped = true; });
}

void relay::stop_after_bytes(direction way, std::size_t bytes) {
  state_->run(
      [s = state_.get(), way, bytes] { s->before_stop[static_cast<std::size_t>(way)] = bytes; });
}

void relay::resume_forwarding() {
  state_->run([s = state_.get()] {
    s->stopped = false;
    s->gate.cancel();
  });
}

void relay::refuse() {
  state_->run([s = state_.get()] {
    error_code ignored;
    s->acceptor.close(ignored);
    s->cut_all();
  });
}

void relay::accept() {
  state_->run([s = state_.get()] { s->listen(); });
}

void relay::replace_in_replies(std::string what, std::string with) {
  state_->run([&] {
    state_->replaced = std::move(what);
    state_->replacement = std::move(with);
  });
}

void relay::set_delay(std::chrono::milliseconds each_way) {
  state_->run([s = state_.get(), each_way] { s->delay = each_way; });
}

void relay::lead_to(std::uint16_t target_port) {
  state_->run([s = state_.get(), target_port] { s->target.port(target_port); });
}

void relay::cut_after_bytes(direction way, std::size_t bytes) {
  state_->run(
      [s = state_.get(), way, bytes] { s->allowance[static_cast<std::size_t>(way)] = bytes; });
}

bool relay::cut_pending() const {
  return state_->allowance[0] != unlimited || state_->allowance[1] != unlimited;
}

void relay::disarm() {
  state_->run([s = state_.get()] { s->allowance[0] = s->allowance[1] = unlimited; });
}

}  // namespace herdlock_test
