// A process with many waiters in the queue of one resource, for redis_waiters_test.cpp.
//
//   queue_peer URL NAME COUNT [PROGRAM]
//
// Each waiter that is granted the resource prints `got FENCING OWNER MICROSECONDS`, by the
// machine's monotonic clock, and gives it back. At SIGUSR1 it starts the program, which shares its
// input, and prints `started`.
#include <spawn.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <cstdlib>

#include <herdlock/backend.hpp>
#include <herdlock/url.hpp>
#include "stores/redis/redis_store.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;

void wait_in_line(lease_store& leases, resource const& name) {
  auto const owner = owner_token::generate();
  auto on_grant = [&leases, name, owner](result<acquire_reply> reply) {
    if (reply.has_error() || !std::holds_alternative<grant>(*reply)) {
      std::printf("none %s\n", reply.has_error() ? reply.error().message.c_str() : "busy");
      return;
    }
    auto const now = std::chrono::steady_clock::now().time_since_epoch();
    std::printf(
        "got %llu %s %lld\n",
        static_cast<unsigned long long>(std::get<grant>(*reply).fencing.value), owner.str().c_str(),
        static_cast<long long>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()));
    std::fflush(stdout);
    leases.release(name, owner, [](result<release_reply> const&) {});
  };
  leases.acquire({name, owner, 30s, 5min}, on_grant);
}

void start(char* program) {
  char* arguments[] = {program, nullptr};
  pid_t id = 0;
  int const failed = ::posix_spawnp(&id, program, nullptr, nullptr, arguments, environ);
  std::puts(failed == 0 ? "started" : "not started");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 64;
  asio::io_context io;
  std::optional<asio::signal_set> asked;
  if (argc == 5) {
    asked.emplace(io, SIGUSR1);
    asked->async_wait([&](boost::system::error_code ec, int) {
      if (!ec) start(argv[4]);
    });
  }
  auto opened = open_redis(store_url::parse(argv[1]).value(), io.get_executor()).value();
  resource const name(argv[2]);
  for (int i = 0; i < std::atoi(argv[3]); ++i) wait_in_line(*opened.leases, name);
  io.run();
}
