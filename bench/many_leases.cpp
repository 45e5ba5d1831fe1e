// What ten thousand held leases cost: the part of a core, and the round trips, that their renewals
// take in a minute. Only when asked for: --filter leases.
#include <ctime>
#include <support/redis_server.hpp>

#include "event_loop.hpp"

namespace {

using namespace bench;
using namespace herdlock;
using namespace std::chrono_literals;

constexpr std::size_t many = 10'000;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// A read at the server takes all that has arrived; each is answered by one write.
double reads(herdlock_test::redis_server const& server) {
  auto const stats = server.cli("INFO stats");
  std::string const wanted = "total_reads_processed:";
  auto const at = stats.find(wanted);
  if (at == stats.npos) throw std::runtime_error("the server does not count its reads");
  return std::stod(stats.substr(at + wanted.size()));
}

void measure(report& to) {
  herdlock_test::redis_server const server;
  event_loop loop;
  auto const opened = loop.open(server.url());
  std::vector<acquired> held;
  for (std::size_t i = 0; i < many; ++i) {
    lock(opened, "lease" + std::to_string(i))
        .async_try_acquire({.ttl = 30s}, as_result([&](result<acquired> r) {
                             must(r.has_value() && r->has_value(), "busy");
                             held.push_back(std::move(*r));
                           }));
  }
  loop.until([&] { return held.size() == many; });
  loop.run_for(30s);  // every lease has been renewed, each in its own tick
  auto const span = to.quick() ? 10s : 60s;
  auto const cpu = cpu_seconds();
  auto const trips = reads(server);
  loop.run_for(span);
  auto const seconds = static_cast<double>(span.count());
  auto const core = 100 * (cpu_seconds() - cpu) / seconds;
  auto const per_second = (reads(server) - trips - 1) / seconds;
  to.add("leases.10000_cpu", core, "% of a core", 3, at_most(1));
  to.add("leases.10000_round_trips", per_second, "per second", 60, at_most(1));
  for (auto const& one : held) {
    if (!one->valid()) throw std::runtime_error("a lease was lost");
  }
}

suite const leases_suite("leases", [](report& to) {
  if (to.wants("leases.10000_cpu") && !to.wants("redis")) measure(to);
});

}  // namespace
