// What ten thousand held leases cost: the part of a core, and the round trips, that their renewals
// take in a minute. Only when asked for: --filter leases.
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sstream>
#include <stdexcept>
#include <support/redis_server.hpp>

#include <herdlock/herdlock.hpp>

#include "harness.hpp"
#include "support/as_result.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;

constexpr std::size_t many = 10'000;

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A read at the server takes all that has arrived; each is answered by one write.
double reads(herdlock_test::redis_server const& server) {
  std::istringstream lines(server.cli("INFO stats"));
  std::string const wanted = "total_reads_processed:";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(wanted)) return std::stod(line.substr(wanted.size()));
  }
  throw std::runtime_error("the server does not count its reads");
}

void run_for(asio::io_context& io, std::chrono::seconds span) {
  io.restart();
  io.run_for(span);
}

void measure(bench::report& report) {
  herdlock_test::redis_server server;
  asio::io_context io{1};
  {
    auto const opened =
        open_store(server.url(), {.executor = io.get_executor(), .guard = executor_guard::none});
    std::vector<acquired> held;
    for (std::size_t i = 0; i < many; ++i) {
      lock(opened, "lease" + std::to_string(i))
          .async_try_acquire({.ttl = 30s}, herdlock_test::as_result([&](result<acquired> r) {
                               if (!r.has_value() || !r->has_value()) std::abort();
                               held.push_back(std::move(*r));
                             }));
    }
    io.restart();
    while (held.size() < many) io.run_one();
    run_for(io, 30s);  // every lease has been renewed, each in its own tick
    auto const span = report.how() == bench::effort::quick ? 10s : 60s;
    auto const cpu = cpu_seconds();
    auto const trips = reads(server);
    run_for(io, span);
    auto const seconds = static_cast<double>(span.count());
    auto const core = 100 * (cpu_seconds() - cpu) / seconds;
    auto const per_second = (reads(server) - trips - 1) / seconds;
    report.add({"leases.10000_cpu", core, "% of a core", 3, core / 3, bench::at_most(1)});
    report.add({"leases.10000_round_trips", per_second, "per second", 60, per_second / 60,
                bench::at_most(1)});
    for (auto const& one : held) {
      if (!one->valid()) throw std::runtime_error("a lease was lost");
    }
  }
  io.restart();
  io.run();
}

bench::suite const leases_suite("leases", [](bench::report& report) {
  if (!report.wants("leases.10000_cpu") || report.wants("redis")) return;
  try {
    measure(report);
  } catch (std::runtime_error const& why) {
    report.skip("leases", why.what());
  }
});

}  // namespace
