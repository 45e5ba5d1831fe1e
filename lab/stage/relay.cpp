#include "stage/relay.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <utility>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

using boost::system::error_code;

constexpr std::chrono::seconds relay_connect_limit{5};
constexpr std::size_t relay_chunk = 16 * 1024;
constexpr std::size_t relay_most_held = 1024 * 1024;

}  // namespace

relay::relay(asio::io_context& context, tcp::endpoint target)
    : target_(target), acceptor_(context), gate_(context, asio::steady_timer::time_point::max()) {
  error_code code;
  tcp::endpoint const here(asio::ip::address_v4::loopback(), 0);
  acceptor_.open(here.protocol(), code);
  if (!code) acceptor_.bind(here, code);
  if (!code) acceptor_.listen(asio::socket_base::max_listen_connections, code);
  if (!code) port_ = acceptor_.local_endpoint(code).port();
  if (code) {
    throw command_error(exit_code::internal,
                        fmt::format("no port for the relay on 127.0.0.1: {}", code.message()));
  }
  asio::co_spawn(context, accept_all(), asio::detached);
}

void relay::thaw() {
  frozen_ = false;
  gate_.cancel();
}

asio::awaitable<void> relay::accept_all() {
  auto const executor = co_await asio::this_coro::executor;
  asio::steady_timer pause(executor);
  while (true) {
    error_code code;
    tcp::socket client(executor);
    if (connections_ < max_connections) {
      co_await acceptor_.async_accept(client, asio::redirect_error(asio::use_awaitable, code));
    }
    if (client.is_open()) {
      ++connections_;
      // Its end is an ordinary one, whatever it was: the reader connects again.
      asio::co_spawn(executor, serve(std::move(client)),
                     [this](std::exception_ptr const&) { --connections_; });
      continue;
    }
    pause.expires_after(std::chrono::milliseconds(20));
    co_await pause.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> relay::serve(tcp::socket client) {
  using namespace asio::experimental::awaitable_operators;
  client.set_option(tcp::no_delay(true));
  tcp::socket server(co_await asio::this_coro::executor);
  co_await server.async_connect(target_,
                                asio::cancel_after(relay_connect_limit, asio::use_awaitable));
  server.set_option(tcp::no_delay(true));
  co_await (pass(client, server) && pass(server, client));
}

// Until one of the two ends the connection: an exception. What comes while the relay is frozen is
// held, so that the end behind it is seen.
asio::awaitable<void> relay::pass(tcp::socket& from, tcp::socket& to) {
  std::array<char, relay_chunk> bytes{};
  std::string held;
  while (true) {
    auto const size = co_await from.async_read_some(asio::buffer(bytes), asio::use_awaitable);
    held.assign(bytes.data(), size);
    taken_ += size;
    while (frozen_) co_await hold_more(from, held);
    co_await asio::async_write(to, asio::buffer(held), asio::use_awaitable);
  }
}

// Returns when more has come, or bytes pass again.
asio::awaitable<void> relay::hold_more(tcp::socket& from, std::string& held) {
  error_code woken;
  if (held.size() >= relay_most_held) {
    co_await gate_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    co_return;
  }
  std::array<char, relay_chunk> bytes{};
  // Not the operator ||: where both have ended it drops what the second one has read.
  auto [order, read, size, passes] =
      co_await asio::experimental::make_parallel_group(
          from.async_read_some(asio::buffer(bytes), asio::deferred),
          gate_.async_wait(asio::deferred))
          .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  held.append(bytes.data(), size);
  taken_ += size;
  bool const stopped_by_gate = read == asio::error::operation_aborted;
  if (read && !stopped_by_gate) throw boost::system::system_error(read);
}

}  // namespace herdlock::cli
