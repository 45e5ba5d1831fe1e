// Issue 42, Shows 7: the hit path. One line of medians, in nanoseconds a call:
//
//     show7 redis://127.0.0.1:PORT [ROUNDS [CASE]]
//     near  memory  redis_cpu  redis_wall  blocking
//
//   near        a hit of a value that the process keeps (near = all), get_or_load_shared
//   memory      a hit of memory:, by a coroutine; wall
//   redis_cpu   a hit on Redis, by a coroutine: processor time of this process (getrusage)
//   redis_wall  the same: wall
//   blocking    a hit on Redis, by a blocking call; wall
//
// With a CASE (near, memory, redis, blocking) that alone is measured, the others are 0, and the
// number of its calls, with those of the round that is not counted, goes to standard error: for a
// count of instructions (show7.sh instructions).
//
// It is the same source for the headers of b94f156 and for the present ones: it names what was on by
// default then and is not now (hot_keys), and uses nothing that is new.
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/herdlock.hpp>

namespace asio = boost::asio;
using texts = herdlock::cache<std::string>;

namespace {

constexpr char const* key = "product:0000000042";
constexpr std::size_t near_calls = 400'000, memory_calls = 20'000, redis_calls = 3'000,
                      blocking_calls = 2'000;

std::optional<std::string> never() { std::abort(); }
asio::awaitable<std::optional<std::string>> never_in_coroutine() { std::abort(); }

herdlock::cache_options options(herdlock::near_cache near) {
  return {.prefix = "show7:",
          .ttl = std::chrono::hours(1),
          .near = near,
          .hot_keys = std::nullopt};
}

double wall() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double processor() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const of = [](timeval const& t) { return double(t.tv_sec) * 1e9 + double(t.tv_usec) * 1e3; };
  return of(used.ru_utime) + of(used.ru_stime);
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  auto const middle = all.size() / 2;
  return all.size() % 2 != 0 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

struct cost {
  double cpu = 0, wall = 0;
};

// Medians of the rounds, a call; the first round is not counted.
template <class Round>
cost measure(int rounds, std::size_t calls, Round const& round) {
  std::vector<double> cpu, passed;
  for (int i = 0; i <= rounds; ++i) {
    double const cpu_before = processor(), before = wall();
    round(calls);
    double const took = wall() - before, used = processor() - cpu_before;
    if (i == 0) continue;
    cpu.push_back(used / double(calls));
    passed.push_back(took / double(calls));
  }
  return {median(cpu), median(passed)};
}

// ------------------------------------------------------------------------------------ coroutines

asio::awaitable<void> put(texts const& into) {
  co_await into.async_put(key, std::string(100, 'x'));
}

asio::awaitable<void> hit(texts const& from, std::size_t calls) {
  for (std::size_t i = 0; i < calls; ++i) {
    auto const value = co_await from.async_get_or_load(key, &never_in_coroutine);
    if (!value) std::abort();
  }
}

// A store that runs on this thread alone.
class by_coroutine {
 public:
  explicit by_coroutine(std::string const& url)
      : store_(herdlock::open_store(
            url, {.executor = io_.get_executor(), .guard = herdlock::executor_guard::none})),
        cache_(std::in_place, *store_, options(herdlock::near_cache::off)) {
    run(put(*cache_));
  }
  by_coroutine(by_coroutine const&) = delete;
  by_coroutine& operator=(by_coroutine const&) = delete;
  ~by_coroutine() {
    cache_.reset();
    store_.reset();
    io_.restart();
    io_.run();
  }

  void operator()(std::size_t calls) { run(hit(*cache_, calls)); }

 private:
  void run(asio::awaitable<void> work) {
    bool ended = false;
    asio::co_spawn(io_, std::move(work), [&](std::exception_ptr thrown) {
      ended = true;
      if (thrown) std::rethrow_exception(thrown);
    });
    io_.restart();
    while (!ended) io_.run_one();
  }

  asio::io_context io_{1};
  std::optional<herdlock::store> store_;
  std::optional<texts> cache_;
};

cost measure_coroutine(std::string const& url, int rounds, std::size_t calls) {
  by_coroutine hits(url);
  return measure(rounds, calls, [&](std::size_t n) { hits(n); });
}

// ------------------------------------------------------------------------------- blocking callers

double measure_near(std::string const& url, int rounds) {
  texts const one(herdlock::open_store(url), options(herdlock::near_cache::all));
  one.put(key, std::string(100, 'x'));
  auto const before = one.stats().near_hits;
  while (one.stats().near_hits == before) one.get(key);
  auto const cost = measure(rounds, near_calls, [&](std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      auto const value = one.get_or_load_shared(key, &never);
      if (!value) std::abort();
      asm volatile("" ::: "memory");
    }
  });
  // All but those that came when the kept value was read again.
  auto const stats = one.stats();
  if (stats.near_hits < std::size_t(rounds) * near_calls) {
    std::fprintf(stderr, "near: only %llu near hits\n",
                 static_cast<unsigned long long>(stats.near_hits));
    std::exit(1);
  }
  return cost.wall;
}

double measure_blocking(std::string const& url, int rounds) {
  texts const one(herdlock::open_store(url), options(herdlock::near_cache::off));
  one.put(key, std::string(100, 'x'));
  auto const cost = measure(rounds, blocking_calls, [&](std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) {
      auto const value = one.get_or_load(key, &never);
      if (!value) std::abort();
    }
  });
  return cost.wall;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "show7 URL [ROUNDS [CASE]]\n"), 64;
  std::string const url = argv[1];
  int const rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  std::string_view const only = argc > 3 ? argv[3] : "";
  if (rounds < 1) return std::fprintf(stderr, "ROUNDS: 1 or more\n"), 64;
  double near = 0, blocking = 0;
  cost memory, redis;
  auto const wants = [&](std::string_view name, std::size_t calls) {
    if (only.empty()) return true;
    if (only != name) return false;
    std::fprintf(stderr, "%zu calls\n", calls * (std::size_t(rounds) + 1));
    return true;
  };
  if (wants("near", near_calls)) near = measure_near(url, rounds);
  if (wants("memory", memory_calls)) memory = measure_coroutine("memory:", rounds, memory_calls);
  if (wants("redis", redis_calls)) redis = measure_coroutine(url, rounds, redis_calls);
  if (wants("blocking", blocking_calls)) blocking = measure_blocking(url, rounds);
  std::printf("%.1f %.0f %.0f %.0f %.0f\n", near, memory.wall, redis.cpu, redis.wall, blocking);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
