// Example 3: the same with coroutines, and work that ends before the lease can be another's.
#include <boost/asio/as_tuple.hpp>
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

asio::awaitable<void> run(herdlock::store store) {
  // Any completion token works. Trouble with the store is thrown; busy is none.
  herdlock::lock where(store, "stock-sync");
  herdlock::acquire_options const options{.ttl = 10s, .wait = 2s};
  herdlock::acquired lease = co_await where.async_acquire(options);
  if (lease) {
    // Cancelled at the moment the lease is lost. GCC 12: name what you await.
    auto work = sync_stock();
    co_await herdlock::while_held(*lease, std::move(work));

    // Without exceptions: the failure beside the value.
    auto released = co_await lease->async_release(asio::as_tuple);
    auto& [why, reply] = released;
    std::cout << (why ? "done, the release will follow\n" : "done\n");
  } else {
    std::cout << "busy\n";
  }
  // An open store is work for its executor: io.run() returns now.
  co_await store.async_close();
}

int main(int argc, char** argv) try {
  asio::io_context io;
  auto const url = argc > 1 ? argv[1] : "memory:";
  auto const store = herdlock::open_store(url, {.executor = io.get_executor()});
  asio::co_spawn(io, run(store), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  io.run();
} catch (std::exception const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
