// An acquisition over five nodes beside one at a single server, and with two of the five hanging
// beside the same with all of them. What is timed is the acquisition alone: the release that
// follows it is waited for at every node, on both sides.
//
// HERDLOCK_BENCH_PIN=1 keeps the servers on CPU 0 and the client on CPU 1.
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <support/redis_nodes.hpp>

#include <herdlock/backend.hpp>
#include <herdlock/url.hpp>

#include "harness.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/redlock/redlock_store.hpp"

namespace {

using namespace herdlock;

constexpr std::size_t steps = 128;  // of one round
constexpr milliseconds ttl{30'000};

// What fails would be timed as if it were quick.
[[noreturn]] void give_up(std::string const& why) { throw std::runtime_error(why); }

using opener = result<backend> (*)(store_url, asio::any_io_executor);

// One store on the measuring thread. All share an event loop: one that stands still while others
// are measured would find that its servers have not answered the connections' own PINGs.
class side {
 public:
  side(asio::io_context& io, opener open, std::string const& url)
      : io_(io), store_(open(store_url::parse(url).value(), io_.get_executor()).value()) {
    for (int i = 0; i < 50; ++i) acquire_and_release();
  }
  ~side() {
    store_ = {};
    io_.restart();
    io_.poll();
  }

  /// Microseconds for an acquisition, on average.
  double round() {
    double nanoseconds = 0;
    for (std::size_t i = 0; i < steps; ++i) nanoseconds += acquire_and_release();
    return nanoseconds / 1000 / steps;
  }

 private:
  double acquire_and_release() {
    auto const owner = owner_token::generate();
    bool done = false;
    double const took = bench::nanoseconds_of([&] {
      store_.leases->acquire({name_, owner, ttl}, [&](result<acquire_reply> r) {
        if (r.has_error()) give_up(r.error().message);
        if (!std::holds_alternative<grant>(*r)) give_up("somebody else holds it");
        done = true;
      });
      run_until(done);
    });
    done = false;
    store_.leases->release(name_, owner, [&](result<release_reply> r) {
      if (r.has_error()) give_up(r.error().message);
      done = true;
    });
    run_until(done);
    // What is left to do for nodes that answer later.
    io_.restart();
    io_.run_for(std::chrono::microseconds(300));
    return took;
  }

  void run_until(bool const& done) {
    io_.restart();
    while (!done) io_.run_one();
  }

  asio::io_context& io_;
  backend store_;
  resource name_{"bench"};
};

void measure_redlock(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::redis_nodes nodes(5);
  herdlock_test::redis_nodes hanging(5);
  bench::pin_if_asked(1);
  asio::io_context io{1};
  side five(io, &open_redlock, nodes.url());
  side one(io, &open_redis, nodes[0].url());
  report.compare({.name = "redlock.acquire",
                  .unit = "us",
                  .subject = [&] { return five.round(); },
                  .baseline = [&] { return one.round(); },
                  .limit = bench::at_most(2)});
  side three(io, &open_redlock, hanging.url());
  hanging[1].pause();
  hanging[3].pause();
  report.compare({.name = "redlock.acquire_with_two_hanging",
                  .unit = "us",
                  .subject = [&] { return three.round(); },
                  .baseline = [&] { return five.round(); },
                  .limit = bench::at_most(2)});
  hanging[1].resume();
  hanging[3].resume();
}

bench::suite const redlock_suite("redlock", [](bench::report& report) {
  try {
    measure_redlock(report);
  } catch (std::runtime_error const& why) {
    report.skip("redlock", why.what());
  }
});

}  // namespace
