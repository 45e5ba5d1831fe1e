// A fleet over one Redis, and how often its keys are loaded.
//
//   freshness_soak [--case claim|alone|outage|full] [--generations N] [--processes N] [--callers N]
//                  [--ttl MS] [--load MS] [--pause MS] [--beta B] [--outage MS] [--first MS]
//                  [--most MS] [--keys N] [--excess MS]
//
//   claim   one key, early refresh as the cache does it: elected by XFetch, admitted by the claim
//   alone   the same election, and each elected caller loads: so it can be seen that the judge sees
//   outage  one key, whose loader fails for a while; stale values answer, and the back-off grows
//           from --first to --most
//   full    --keys keys that are cached, as many that are stale, and as many that were never there;
//           the Redis refuses all writes for as long as --outage says
//
// A generation lasts from one filling of the entry to the next. Ends with 1 when more than one load
// began in a generation, when a caller waited for a load (but for the first) or had an error, when
// the loads of an outage were not those of the back-off, one more or less, when a missing key was
// loaded more often than once in 250 ms and process while the store was full, or when recovery took
// longer than a back-off (full: a second) and --excess. `alone` judges nothing.
#include <poll.h>

#include <cstdio>
#include <cstdlib>
#include <herdlock/herdlock.hpp>
#include <stdexcept>
#include <string>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <utility>
#include <vector>

#include "freshness_soak.hpp"
#include "named_options.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;

using texts = std::vector<std::string>;

unsigned long long count(std::atomic<std::uint64_t> const& of) { return of; }

void judge_generations(soak_options const& options, figures const& seen, verdict& how) {
  std::uint64_t const last = seen.generation;
  std::uint64_t loads = 0, crowded = 0;
  // The first is the herd at the beginning, the last is not over.
  for (std::uint64_t i = 1; i < last; ++i) {
    loads += seen.begun.at(i);
    crowded += seen.begun.at(i) > 1;
  }
  double const generations = double(last - 1);
  std::printf("generations %.0f, with more than one load begun %llu, loads per generation %.3f\n",
              generations, static_cast<unsigned long long>(crowded), double(loads) / generations);
  if (options.what == "alone") return;
  double const head_start_ms = double(seen.head_starts_us) / generations / 1e3;
  double const span_ms = double(seen.last_fill_us - seen.first_fill_us) / 1e3;
  double const ratio = double(loads) / (span_ms / (double(options.ttl.count()) - head_start_ms));
  std::printf("mean head start %.1f ms, loads / (time / (ttl - head start)) %.3f\n", head_start_ms,
              ratio);
  how.demand(crowded == 0, "one load in each generation");
  how.demand(std::abs(ratio - 1) <= 0.01, "as many loads as the head start makes of the time");
  how.demand(seen.waited == 0, "nobody waited for a load");
}

// How many loads fail if the first does so at the beginning of a span.
int loads_of(soak_options const& options, std::int64_t span_us) {
  int loads = 0;
  auto pause = options.first;
  for (std::int64_t at = 0; at < span_us; at += in_us(pause + options.load)) {
    ++loads;
    if (loads > 1) pause = std::min(2 * pause, options.most);
  }
  return loads;
}

void judge_outage(soak_options const& options, figures const& seen, verdict& how) {
  int const expected = loads_of(options, seen.fails_until_us - seen.first_failed_us);
  auto const failed = static_cast<int>(seen.failed_loads);
  double const after_ms = double(seen.recovered_us - seen.fails_until_us) / 1e3;
  std::printf("loads of the fleet in the outage %d, by the back-off %d; recovered after %.0f ms\n",
              failed, expected, after_ms);
  how.demand(std::abs(failed - expected) <= 1, "the loads of an outage are those of the back-off");
  auto const longest = 1.1 * double(options.most.count()) + double(options.load.count());
  how.demand(seen.recovered_us != 0 && after_ms <= longest + double(options.excess.count()),
             "recovered within one back-off");
  how.demand(seen.waited == 0, "nobody waited for a load");
}

// The fleet's processes, each with the options of this one.
class fleet {
 public:
  fleet(soak_options const& options, texts argv) : options_(options) {
    for (auto const& one :
         {std::string("--url"), options.url, std::string("--shared"), options.shared}) {
      argv.push_back(one);
    }
    for (int i = 0; i < options.processes; ++i) {
      processes_.emplace_back(child_options{.argv = argv});
    }
  }

  void wait_for(figures const& seen, std::function<bool()> const& holds) {
    auto const patient = patience + options_.ttl + options_.load + options_.outage + options_.most;
    std::uint64_t last = seen.generation;
    for (auto since = clock::now(); !holds();) {
      for (auto& one : processes_) {
        if (!one.running()) throw std::runtime_error("a worker has ended");
      }
      if (std::exchange(last, seen.generation.load()) != last) since = clock::now();
      if (clock::now() - since > patient) throw std::runtime_error("nothing is loaded any more");
      ::poll(nullptr, 0, 10);
    }
  }
  void wait_for_end() {
    for (auto& one : processes_) one.wait();
  }

 private:
  soak_options const& options_;
  std::vector<child_process> processes_;
};

void tell(figures const& seen) {
  std::printf("calls %llu, stale answers %llu, errors %llu, waited for a load %llu\n",
              count(seen.calls), count(seen.stale), count(seen.errors), count(seen.waited));
  for (auto const& [name, times] :
       {std::pair("get_or_load", &seen.cached), std::pair("a plain get", &seen.plain)}) {
    std::printf("%s: p50 %.0f, p99 %.0f, p99.9 %.0f, longest %lld us\n", name,
                times->quantile_us(0.5), times->quantile_us(0.99), times->quantile_us(0.999),
                static_cast<long long>(times->longest_us));
  }
  std::printf("p99.9 beside that of a plain get: %.2f\n",
              seen.cached.quantile_us(0.999) / seen.plain.quantile_us(0.999));
}

bool soak(soak_options options, texts const& argv) {
  redis_server server;
  temp_dir folder;
  options.url = server.url();
  options.shared = folder.path() / "figures";
  auto& seen = shared_figures<figures>(options.shared);
  cache<std::string>(open_store(options.url), {.prefix = "plain:", .ttl = 1h}).put("k", "v");
  fleet workers(options, argv);
  auto const wait_for = [&](std::function<bool()> const& holds) { workers.wait_for(seen, holds); };
  verdict how;
  if (options.what == "full") {
    play_full(options, server, seen, wait_for, how);
  } else if (options.what == "outage") {
    wait_for([&] { return seen.generation >= 3; });
    auto const from = now_us() + in_us(options.ttl) / 2;
    seen.fails_until_us = from + in_us(options.outage);
    seen.fails_from_us = from;
    wait_for([&] { return seen.recovered_us != 0; });
  } else {
    wait_for([&] { return seen.generation > options.generations; });
  }
  seen.stop = true;
  workers.wait_for_end();
  if (options.what == "outage") judge_outage(options, seen, how);
  if (options.what == "claim" || options.what == "alone") judge_generations(options, seen, how);
  if (options.what == "full") how.demand(seen.waited == 0, "nobody waited for a load");
  tell(seen);
  how.demand(seen.ended == options.processes, "every process has told its figures");
  how.demand(seen.errors == 0, "nobody had an error");
  return how.good;
}

soak_options parsed(texts const& arguments) {
  soak_options options;
  read_options(arguments, {{"--case", put_text(options.what)},
                           {"--generations", put_number(options.generations)},
                           {"--processes", put_number(options.processes)},
                           {"--callers", put_number(options.callers)},
                           {"--keys", put_number(options.keys)},
                           {"--ttl", put_ms(options.ttl)},
                           {"--load", put_ms(options.load)},
                           {"--pause", put_ms(options.pause)},
                           {"--beta", put_number(options.beta)},
                           {"--outage", put_ms(options.outage)},
                           {"--first", put_ms(options.first)},
                           {"--most", put_ms(options.most)},
                           {"--excess", put_ms(options.excess)},
                           {"--url", put_text(options.url)},
                           {"--shared", put_text(options.shared)}});
  bool const is_case = options.what == "claim" || options.what == "alone" ||
                       options.what == "outage" || options.what == "full";
  if (!is_case || arguments.size() % 2 != 0) throw std::runtime_error("see the top of the source");
  if (options.generations >= most_generations) throw std::runtime_error("too many generations");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  texts const all(argv, argv + argc);
  auto const options = parsed(texts(all.begin() + 1, all.end()));
  if (options.url.empty()) return soak(options, all) ? 0 : 1;
  if (options.what == "full") {
    work_at_a_full_store(options);
  } else {
    work_at_one_key(options);
  }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "freshness_soak: %s\n", e.what());
  return 2;
}
