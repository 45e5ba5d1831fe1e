// The hand-over: eight processes arrive together on one resource, each holds it for a millisecond.
// The gap is from the call of a release to the return of the next acquisition. Beside it the same
// with a token in a list, taken by BLPOP and put back by LPUSH: the floor of a pushed wake-up.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the processes on CPU 1.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>
#include <cmath>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <support/redis_server.hpp>
#include <thread>

#include <herdlock/herdlock.hpp>

#include "harness.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using boost::system::error_code;

constexpr std::size_t processes = 8;
constexpr std::size_t bursts = 150;  // of seven hand-overs each, on both sides
constexpr char const* resource_name = "hand-over";
constexpr char const* list_name = "hand-over-list";

enum class kind : int { stop, lease, list };

// In memory that all processes share.
struct board {
  pthread_barrier_t gate;
  std::atomic<kind> next{kind::stop};
  std::atomic<std::size_t> turns_taken{0};
  struct turn {
    std::chrono::steady_clock::time_point acquired, released;
  };
  std::array<turn, processes> turns;

  static board* make() {
    void* const place =
        ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::runtime_error("no shared memory");
    auto* const made = new (place) board;
    pthread_barrierattr_t shared;
    ::pthread_barrierattr_init(&shared);
    ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&made->gate, &shared, processes + 1);
    return made;
  }
  void meet() { ::pthread_barrier_wait(&gate); }
};

// One of the eight.
class contender {
 public:
  contender(board& shared, std::string const& url, std::uint16_t port)
      : shared_(shared), store_(open_store(url, {.executor = io_.get_executor()})) {
    boost::redis::config config;
    config.addr.port = std::to_string(port);
    config.health_check_interval = 0s;
    raw_.async_run(config, boost::redis::logger(boost::redis::logger::level::disabled),
                   [](error_code) {});
    raw("PING", "");
    error_code ignored;
    raw_.next_layer().next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  void run() {
    for (;;) {
      shared_.meet();
      auto const what = shared_.next.load();
      if (what == kind::stop) return;
      what == kind::lease ? by_lease() : by_list();
      shared_.meet();
    }
  }

 private:
  void by_lease() {
    std::optional<acquired> held;
    where_.async_acquire({.ttl = 30s, .wait = 1min}, [&](result<acquired> r) {
      if (!r.has_value() || !r->has_value()) std::abort();
      held = std::move(*r);
    });
    run_until([&] { return held.has_value(); });
    bool released = false;
    hold([&] {
      (**held).async_release([&](result<release_reply> r) {
        if (!r.has_value() || *r != release_reply::released) std::abort();
        released = true;
      });
    });
    run_until([&] { return released; });
  }

  void by_list() {
    raw("BLPOP", "60");
    bool done = false;
    boost::redis::request give_back;
    give_back.push("LPUSH", list_name, "token");
    hold([&] {
      raw_.async_exec(give_back, boost::redis::ignore,
                      [&](error_code ec, std::size_t) { done = !ec; });
    });
    run_until([&] { return done; });
  }

  template <class Release>
  void hold(Release release) {
    auto& turn = shared_.turns.at(shared_.turns_taken.fetch_add(1));
    turn.acquired = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(1ms);
    turn.released = std::chrono::steady_clock::now();
    release();
  }

  void raw(std::string const& verb, std::string const& argument) {
    boost::redis::request request;
    verb == "BLPOP" ? request.push(verb, list_name, argument) : request.push(verb);
    bool done = false;
    raw_.async_exec(request, boost::redis::ignore, [&](error_code ec, std::size_t) { done = !ec; });
    run_until([&] { return done; });
  }

  template <class Done>
  void run_until(Done done) {
    io_.restart();
    while (!done()) io_.run_one();
  }

  board& shared_;
  asio::io_context io_{1};
  store store_;
  lock where_{store_, resource_name};
  boost::redis::connection raw_{io_.get_executor()};
};

using gaps = std::vector<double>;  // in µs

double quantile(gaps values, double q) {
  std::sort(values.begin(), values.end());
  auto const last = static_cast<double>(values.size() - 1);
  return values.at(static_cast<std::size_t>(std::lround(q * last)));
}

void play(board& shared, kind what, gaps& into) {
  shared.turns_taken = 0;
  shared.next = what;
  shared.meet();
  shared.meet();
  for (std::size_t i = 0; i + 1 < processes; ++i) {
    std::chrono::duration<double, std::micro> const gap =
        shared.turns[i + 1].acquired - shared.turns[i].released;
    into.push_back(gap.count());
  }
}

// Calls of each command so far, those that scripts make included.
double calls(herdlock_test::redis_server const& server, std::string const& command) {
  std::istringstream lines(server.cli("INFO commandstats"));
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    auto const end = line.find(":calls=");
    if (end == std::string::npos) continue;
    bool const wanted = command.empty() || line.substr(0, end) == "cmdstat_" + command;
    if (wanted) sum += std::stod(line.substr(end + 7));
  }
  return sum;
}

void add(bench::report& report, std::string name, double value, double baseline, std::string unit,
         bench::ratio_limit limit) {
  report.add({std::move(name), value, std::move(unit), baseline, value / baseline, limit});
}

// What is sent for an acquisition and its release: scripts, and the beats of those who wait (every
// PUBLISH but the pushed grants, which a script makes, one for each hand-over).
double sent(herdlock_test::redis_server const& server) {
  return calls(server, "evalsha") + calls(server, "eval") + calls(server, "publish");
}

void measure_bursts(bench::report& report, board& shared, herdlock_test::redis_server& server) {
  gaps by_lease;
  gaps by_list;
  play(shared, kind::lease, by_lease);  // both warm
  play(shared, kind::list, by_list);
  by_lease.clear();
  by_list.clear();
  std::size_t const rounds = report.how() == bench::effort::quick ? bursts / 10 : bursts;
  double commands = 0;
  double all = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    auto const before = sent(server);
    auto const all_before = calls(server, "");
    play(shared, kind::lease, by_lease);
    commands += sent(server) - before;
    all += calls(server, "") - all_before;
    play(shared, kind::list, by_list);
  }
  auto const acquisitions = static_cast<double>(rounds * processes);
  commands -= static_cast<double>(by_lease.size());
  all -= static_cast<double>(rounds * 4);  // INFO
  add(report, "hand_over.p50", quantile(by_lease, 0.5), quantile(by_list, 0.5), "us",
      bench::at_most(1.5));
  add(report, "hand_over.p99", quantile(by_lease, 0.99), quantile(by_list, 0.99), "us",
      bench::at_most(2.5));
  add(report, "hand_over.commands_sent", commands / acquisitions, 1, "per lease",
      bench::at_most(4));
  add(report, "hand_over.with_those_in_scripts", all / acquisitions, 1, "per lease",
      bench::no_limit);
}

void with_contenders(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::redis_server server;
  bench::pin_if_asked(1);
  server.cli(std::string("LPUSH ") + list_name + " token");
  board& shared = *board::make();
  std::array<pid_t, processes> children{};
  for (auto& child : children) {
    child = ::fork();
    if (child != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    contender(shared, server.url(), server.port()).run();
    ::_exit(0);
  }
  measure_bursts(report, shared, server);
  shared.next = kind::stop;
  shared.meet();
  for (auto const child : children) ::waitpid(child, nullptr, 0);
}

// Ten thousand in the queue at once, each served and gone.
void with_a_long_queue(bench::report& report) {
  constexpr std::size_t many = 10'000;
  bench::pin_if_asked(0);
  herdlock_test::redis_server server;
  bench::pin_if_asked(1);
  asio::io_context io{1};
  {
    auto const opened = open_store(server.url(), {.executor = io.get_executor()});
    lock const where(opened, resource_name);
    std::size_t done = 0;
    auto const take = [&](std::size_t count, acquired* keep) {
      for (std::size_t i = 0; i < count; ++i) {
        where.async_acquire({.ttl = 30s, .wait = 10min}, [&, keep](result<acquired> r) {
          if (!r.has_value() || !r->has_value()) std::abort();
          if (keep) *keep = std::move(*r);
          ++done;  // else it is released by its destructor
        });
      }
    };
    acquired first;
    take(1, &first);
    while (done < 1) io.run_one();
    take(many, nullptr);
    while (server.cli("ZCARD {hand-over}:herdlock:queue") != std::to_string(many)) io.poll();
    auto const before = sent(server);
    first.reset();
    while (done < many + 1) io.run_one();
    auto const commands = sent(server) - before - static_cast<double>(many);
    add(report, "hand_over.commands_sent_10000_queued", commands / many, 1, "per lease",
        bench::at_most(4));
  }
  io.restart();
  io.run();
}

bench::suite const hand_over_suite("hand_over", [](bench::report& report) {
  try {
    with_contenders(report);
    with_a_long_queue(report);
  } catch (std::runtime_error const& why) {
    report.skip("hand_over", why.what());
  }
});

}  // namespace
