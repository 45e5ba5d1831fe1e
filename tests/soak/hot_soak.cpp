// A fleet over one Redis, one hot key, and what the server sees of it.
//
//   hot_soak [--case burst|even|crowd] [--processes N] [--bursts N] [--rate R] [--time MS]
//            [--ttl MS] [--window MS] [--writes 0|1] [--every MS] [--times 0|1]
//
//   burst  a key that nobody asked for is asked for by each process --rate times a second, until
//          all of them keep it; then the next one
//   even   one key at --rate calls a second in each process, for --time: near the threshold of
//          1000 it must not come and go
//   crowd  one key as fast as all can, for --time, while it is written --every two seconds (unless
//          --writes is 0: then its loads keep it there); then nobody asks any more. With --times 1
//          each process lets go of it within two windows, and it ends a ttl later, both within a
//          second: a machine may have other work
//
// Ends with 1 when more calls of a process went to the server than its reads before it can be hot,
// and those in a tick and a round trip (one burst in a hundred excepted); when a key became hot or
// cooled more than once in a minute; when the server had more than 30 commands a second for the
// key, two for each write, and three for each write and process; when a value behind a fence was
// older than a write that was acknowledged before the fence; when the entry ended while it was hot,
// or was there for longer than two windows and a ttl afterwards; when a process sent more than 20
// reports a second.
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <utility>
#include <vector>

#include "hot_soak.hpp"
#include "named_options.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;
using words = std::vector<std::string>;

constexpr double reads_before = 32;  // hot_keys_options::min_reads
constexpr double tick_s = 0.05;
constexpr auto slack = 1s;

double quantile(std::vector<double> of, double share) {
  std::sort(of.begin(), of.end());
  auto const at = static_cast<std::size_t>(double(of.size()) * share);
  return of.at(std::min(at, of.size() - 1));
}

class soak {
 public:
  soak(soak_options options, words argv) : options_(std::move(options)) {
    options_.url = server_.url();
    options_.shared = folder_.path() / "figures";
    seen_ = &shared_figures<figures>(options_.shared);
    for (auto const& one :
         {std::string("--url"), options_.url, std::string("--shared"), options_.shared}) {
      argv.push_back(one);
    }
    for (int i = 0; i < options_.processes; ++i) {
      processes_.emplace_back(child_options{.argv = argv});
    }
    wait_for([&] { return seen_->joined == options_.processes; });
  }

  bool play() {
    if (options_.what == "burst") bursts();
    if (options_.what == "even") even();
    if (options_.what == "crowd") crowd();
    return how_.good;
  }

 private:
  void bursts() {
    for (int burst = 1; burst <= options_.bursts; ++burst) {
      seen_->burst = burst;
      wait_for([&] { return all_keep(burst); });
      seen_->burst = 0;
      judge(burst);
      // A process tells of keys that have become hot ten times a second at most.
      ::poll(nullptr, 0, 200);
    }
    end();
    double const good = double(within_) / double(within_ + beyond_);
    std::printf("bursts %d, processes %d, %g calls/s each\n", options_.bursts, options_.processes,
                options_.rate);
    std::printf("calls that reached the server before the first that did not: p50 %.0f, p99 %.0f\n",
                quantile(asked_, 0.5), quantile(asked_, 0.99));
    std::printf("within %g + rate x (a tick + its slowest call, or pause): %.4f of %llu\n",
                reads_before, good, static_cast<unsigned long long>(within_ + beyond_));
    std::printf("last process behind the first: p50 %.1f ms, p99 %.1f ms\n", quantile(spread_, 0.5),
                quantile(spread_, 0.99));
    how_.demand(good >= 0.99, "a process keeps the key within its reads, a tick and a round trip");
    how_.demand(quantile(spread_, 0.5) <= 50, "the fleet keeps it within 50 ms of the first");
  }

  bool all_keep(int burst) const {
    for (auto const& one : workers()) {
      if (one->bursts.at(static_cast<std::size_t>(burst)).kept_us == 0) return false;
    }
    return true;
  }

  void judge(int burst) {
    std::int64_t first = 0, last = 0;
    for (auto const& one : workers()) {
      auto const& its = one->bursts.at(static_cast<std::size_t>(burst));
      auto const asked = double(its.asked);
      // A process that stood still for longer than a tick has ticked late, too.
      double const late_s = double(std::max(its.slowest_us, its.longest_us)) / 1e6;
      double const most = reads_before + options_.rate * (tick_s + late_s) + 1;
      ++(asked <= most ? within_ : beyond_);
      if (asked > most)
        std::fprintf(stderr, "burst %d: %.0f > %.0f, slowest %lld longest %lld us\n", burst, asked,
                     most, (long long)its.slowest_us, (long long)its.longest_us);
      asked_.push_back(asked);
      std::int64_t const kept = its.kept_us;
      first = first == 0 ? kept : std::min(first, kept);
      last = std::max(last, kept);
    }
    spread_.push_back(double(last - first) / 1e3);
  }

  void even() {
    auto const until = clock::now() + options_.time;
    wait_for([&] { return clock::now() >= until; });
    end();
    std::uint64_t became = 0, cooled = 0;
    for (auto const& one : workers()) {
      became = std::max(became, one->became_hot.load());
      cooled = std::max(cooled, one->cooled.load());
    }
    std::printf("%g calls/s for %lld ms: became hot %llu times, cooled %llu times at most\n",
                options_.rate, static_cast<long long>(options_.time.count()),
                static_cast<unsigned long long>(became), static_cast<unsigned long long>(cooled));
    how_.demand(became <= 1 && cooled <= 1, "a key does not come and go");
  }

  void crowd() {
    cache<std::string> const writer(open_store(options_.url), {.prefix = no_prefix,
                                                               .ttl = options_.ttl,
                                                               .near = near_cache::off,
                                                               .hot_keys = std::nullopt});
    auto const from = clock::now();
    wait_for([&] { return clock::now() >= from + 2s && each_keeps_it(); });
    auto const before = commands();
    auto const reported_before = reported();
    auto const began = clock::now();
    std::uint64_t written = 0;
    while (clock::now() < began + options_.time) {
      if (options_.writes) {
        writer.put("crowd", std::to_string(++written));
        seen_->acknowledged = written;
      }
      ::poll(nullptr, 0, static_cast<int>(options_.every.count()));
    }
    double const seconds = std::chrono::duration<double>(clock::now() - began).count();
    auto const reports = double(most_reported_since(reported_before)) / seconds;
    double rate = 0;
    std::string parts;
    for (auto const& [name, calls] : commands()) {
      double const each = double(calls - before.at(name)) / seconds;
      rate += each;
      char part[64];
      std::snprintf(part, sizeof part, " %s %.1f", name.c_str(), each);
      parts += part;
    }
    seen_->quiet = true;
    auto const stopped = clock::now();
    wait_for([&] { return let_go(); });
    auto const lasts = options_.ttl + 2 * options_.window;
    bool const ended = eventually(lasts + (options_.times ? slack : patience), [&] {
      return server_.command({"EXISTS", "crowd"}) == "0";
    });
    double const there_s = std::chrono::duration<double>(clock::now() - stopped).count();
    end();
    std::uint64_t calls = 0, hits = 0, misses = 0, stale = 0, fenced = 0;
    std::int64_t let_go_us = 0;
    for (auto const& one : workers()) {
      calls += one->calls;
      hits += one->near_hits;
      misses += one->misses;
      stale += one->stale;
      fenced += one->behind_fence;
      let_go_us = std::max(let_go_us, one->let_go_us.load());
    }
    std::printf("calls %llu, near hits %llu; behind a fence %llu, of them too old %llu\n",
                static_cast<unsigned long long>(calls), static_cast<unsigned long long>(hits),
                static_cast<unsigned long long>(fenced), static_cast<unsigned long long>(stale));
    std::printf(
        "the server had %.1f commands/s for the key (%s ); its entry was missed %llu times in "
        "%.0f ttls, and there for %.1f s when nobody asked any more\n",
        rate, parts.c_str(), static_cast<unsigned long long>(misses),
        seconds * 1e3 / double(options_.ttl.count()), there_s);
    std::printf("a process sent %.1f reports/s at most; the last one let go after %.2f s\n",
                reports, double(let_go_us) / 1e6);
    how_.demand(reports <= 20, "a process sends at most 20 reports a second");
    bool const in_time = std::chrono::microseconds(let_go_us) <= 2 * options_.window + slack;
    how_.demand(in_time || !options_.times, "each process lets go of it within two windows");
    // Each process reads it anew behind each write, which is a script with a GET.
    double const by_writes = (3.0 * options_.processes + 2) * double(written) / seconds;
    how_.demand(rate <= 30 + by_writes, "the server has at most 30 commands a second for the key");
    how_.demand(stale == 0 && fenced > 0, "nothing behind a fence is too old");
    how_.demand(misses == 0, "the entry does not end while it is hot");
    how_.demand(ended, "it ends when nobody asks any more");
  }

  bool each_keeps_it() const {
    auto const all = workers();
    return std::all_of(all.begin(), all.end(), [](auto* one) { return one->near_hits > 0; });
  }

  std::vector<std::uint64_t> reported() const {
    std::vector<std::uint64_t> all;
    for (auto const* one : workers()) all.push_back(one->reported);
    return all;
  }

  /// By one process.
  std::uint64_t most_reported_since(std::vector<std::uint64_t> const& before) const {
    std::uint64_t most = 0;
    auto const now = reported();
    for (std::size_t i = 0; i < now.size(); ++i) most = std::max(most, now[i] - before[i]);
    return most;
  }

  // Reads, claims, fills and writes; reports, fences and signs of life are not of the key.
  std::map<std::string, long> commands() const {
    std::map<std::string, long> all;
    for (auto const* one : {"client|caching", "get", "pttl", "evalsha", "eval"})
      all[one] = server_.calls(one);
    for (auto const& one : workers()) all["evalsha"] -= static_cast<long>(one->reported);
    return all;
  }

  bool let_go() const {
    for (auto const& one : workers()) {
      if (one->let_go_us == 0) return false;
    }
    return true;
  }

  std::vector<worker_figures const*> workers() const {
    std::vector<worker_figures const*> all;
    for (int i = 0; i < options_.processes; ++i) {
      all.push_back(&seen_->workers.at(static_cast<std::size_t>(i)));
    }
    return all;
  }

  void wait_for(std::function<bool()> const& holds) {
    auto const until = clock::now() + patience + options_.time;
    while (!holds()) {
      for (auto& one : processes_) {
        if (!one.running()) throw std::runtime_error("a worker has ended: " + one.errors());
      }
      if (clock::now() > until) throw std::runtime_error("it does not come to that");
      ::poll(nullptr, 0, 1);
    }
  }

  void end() {
    seen_->stop = true;
    for (auto& one : processes_) one.wait();
    how_.demand(seen_->ended == options_.processes, "every process has told its figures");
  }

  soak_options options_;
  redis_server server_;
  temp_dir folder_;
  figures* seen_ = nullptr;
  std::vector<child_process> processes_;
  verdict how_;
  std::uint64_t within_ = 0, beyond_ = 0;
  std::vector<double> asked_, spread_;
};

soak_options parsed(words const& arguments) {
  soak_options options;
  read_options(arguments, {{"--case", put_text(options.what)},
                           {"--processes", put_number(options.processes)},
                           {"--bursts", put_number(options.bursts)},
                           {"--rate", put_number(options.rate)},
                           {"--writes", put_number(options.writes)},
                           {"--every", put_ms(options.every)},
                           {"--times", put_number(options.times)},
                           {"--time", put_ms(options.time)},
                           {"--ttl", put_ms(options.ttl)},
                           {"--window", put_ms(options.window)},
                           {"--url", put_text(options.url)},
                           {"--shared", put_text(options.shared)}});
  bool const is_case = options.what == "burst" || options.what == "even" || options.what == "crowd";
  bool const is_size = options.processes >= 1 && options.processes <= int(most_processes) &&
                       options.bursts >= 1 && options.bursts < int(most_bursts);
  if (!is_case || !is_size || arguments.size() % 2 != 0) {
    throw std::runtime_error("see the top of the source");
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  words const all(argv, argv + argc);
  auto const options = parsed(words(all.begin() + 1, all.end()));
  if (options.url.empty()) return soak(options, all).play() ? 0 : 1;
  if (options.what == "burst") work_in_bursts(options);
  if (options.what == "even") work_at_an_even_rate(options);
  if (options.what == "crowd") work_in_a_crowd(options);
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "hot_soak: %s\n", e.what());
  return 2;
}
