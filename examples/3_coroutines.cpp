// Example 3: the same with coroutines, and work that ends before the lease can be another's.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/herdlock.hpp>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> sync_stock() {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (int step = 1; step <= 3; ++step) {
    std::cout << "step " << step << '\n';
    pause.expires_after(10ms);
    co_await pause.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> run(herdlock::lock where) {
  // Any completion token works; the result is a value or a failure, busy is neither.
  herdlock::acquire_options const options{.ttl = 10s, .wait = 2s};
  auto got = co_await where.async_acquire(options, asio::use_awaitable);
  if (got.has_error()) {
    std::cerr << got.error().message << '\n';
    co_return;
  }
  if (!got->has_value()) {
    std::cout << "busy\n";
    co_return;
  }
  herdlock::lease lease = std::move(**got);

  // Cancelled at the moment the lease is lost. GCC 12: name what you await.
  auto work = sync_stock();
  co_await herdlock::while_held(lease, std::move(work));

  auto released = co_await lease.async_release(asio::use_awaitable);
  std::cout << (released.has_value() ? "done\n" : "done, the release will follow\n");
}

int main(int argc, char** argv) try {
  asio::io_context io;
  auto const url = argc > 1 ? argv[1] : "memory:";
  herdlock::lock where(herdlock::open_store(url, {.executor = io.get_executor()}), "stock-sync");
  asio::co_spawn(io, run(std::move(where)), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  // An open store is work for its executor: run() returns when its last handle is gone.
  io.run();
} catch (std::exception const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
