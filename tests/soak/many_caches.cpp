// What a program with many caches pays for them: memory, the time to make them, and the processor
// time that they use while nobody calls them.
//
//   many_caches [--caches N] [--kind default|hot] [--url URL] [--idle MS] [--judge 0|1]
//
// `hot` names hot_keys, `default` nothing; the store is a Redis of its own unless a URL is given.
// The caches are made, then each is called once, then nobody calls for --idle.
//
// With --judge 1 it ends with 1 when caches of the kind `default` take more than 10 MB, or use more
// than 0.5 % of a processor while idle.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <herdlock/herdlock.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <support/redis_server.hpp>
#include <vector>

#include "named_options.hpp"
#include "verdict.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;
using words = std::vector<std::string>;
using steady = std::chrono::steady_clock;

struct soak_options {
  std::size_t caches = 1000;
  std::string kind = "default";
  std::string url{};
  milliseconds idle{10'000};
  int judge = 0;
};

double resident_mb() {
  std::ifstream from("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  from >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](timeval const& one) {
    return static_cast<double>(one.tv_sec) + static_cast<double>(one.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double seconds_since(steady::time_point began) {
  return std::chrono::duration<double>(steady::now() - began).count();
}

bool measure(soak_options const& options, std::string const& url) {
  auto const opened = open_store(url);
  auto const load = [] { return std::string("loaded"); };
  {  // what a store handle and a first cache take is no matter of the number of caches
    cache<std::string> const first(opened, {.prefix = "first:"});
    first.get_or_load("k", load);
  }
  auto const before_mb = resident_mb();
  auto const began = steady::now();
  std::vector<cache<std::string>> all;
  all.reserve(options.caches);
  for (std::size_t i = 0; i < options.caches; ++i) {
    cache_options how{.prefix = std::to_string(i) + ":"};
    if (options.kind == "hot") how.hot_keys = hot_keys_options{};
    all.emplace_back(opened, how);
  }
  auto const made_s = seconds_since(began);
  auto const made_mb = resident_mb() - before_mb;
  for (auto const& one : all) one.get_or_load("k", load);
  auto const called_mb = resident_mb() - before_mb;
  // What the calls have set going is over.
  ::poll(nullptr, 0, 500);
  auto const used = processor_seconds();
  auto const idle_began = steady::now();
  ::poll(nullptr, 0, static_cast<int>(options.idle.count()));
  auto const idle_share = (processor_seconds() - used) / seconds_since(idle_began) * 100;
  std::printf(
      "%zu caches of the kind %s: made in %.3f s, +%.1f MB; called once each, +%.1f MB; "
      "idle %.2f %% of a processor\n",
      options.caches, options.kind.c_str(), made_s, made_mb, called_mb, idle_share);
  verdict how;
  bool const judged = options.judge != 0 && options.kind == "default";
  how.demand(!judged || called_mb <= 10, "they take 10 MB at most");
  how.demand(!judged || idle_share <= 0.5, "while idle they use 0.5 % of a processor at most");
  return how.good;
}

soak_options parsed(words const& arguments) {
  soak_options options;
  read_options(arguments, {{"--caches", put_number(options.caches)},
                           {"--kind", put_text(options.kind)},
                           {"--url", put_text(options.url)},
                           {"--idle", put_ms(options.idle)},
                           {"--judge", put_number(options.judge)}});
  bool const is_kind = options.kind == "default" || options.kind == "hot";
  if (!is_kind || arguments.size() % 2 != 0) throw std::runtime_error("see the top of the source");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  words const all(argv, argv + argc);
  auto const options = parsed(words(all.begin() + 1, all.end()));
  if (!options.url.empty()) return measure(options, options.url) ? 0 : 1;
  redis_server const server;
  return measure(options, server.url()) ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "many_caches: %s\n", e.what());
  return 2;
}
