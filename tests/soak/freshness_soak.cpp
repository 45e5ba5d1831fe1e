// A fleet over one Redis, one key, and how often it is loaded.
//
//   freshness_soak [--case claim|alone|outage] [--generations N] [--processes N] [--callers N]
//                  [--ttl MS] [--load MS] [--pause MS] [--beta B] [--outage MS] [--most MS]
//
//   claim   early refresh as the cache does it: elected by XFetch, admitted by the claim
//   alone   the same election, and each elected caller loads: so it can be seen that the judge sees
//   outage  the loader fails for a while; stale values answer, and the back-off grows up to --most
//
// A generation lasts from one filling of the entry to the next. Ends with 1 when more than one load
// began in a generation, when a caller waited for a load (but for the first) or had an error, or
// when the loads of an outage were not those of the back-off, one more or less. `alone` judges
// nothing.
#include <poll.h>

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <random>
#include <string>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <utility>
#include <vector>

#include "verdict.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;
namespace asio = boost::asio;

constexpr std::size_t most_generations = 100'000;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Times from 1 µs on, 16 buckets for each doubling.
struct histogram {
  std::array<std::atomic<std::uint64_t>, 512> counts{};

  void note(std::int64_t us) {
    auto const at = std::log2(double(std::max<std::int64_t>(us, 1))) * 16;
    ++counts.at(std::min<std::size_t>(static_cast<std::size_t>(at), counts.size() - 1));
  }
  double quantile_us(double share) const {
    std::uint64_t all = 0;
    for (auto const& one : counts) all += one;
    auto left = static_cast<std::uint64_t>(double(all) * share);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts.at(i) > left) return std::exp2(double(i + 1) / 16);
      left -= counts.at(i);
    }
    return 0;
  }
};

// What the processes tell each other, in a file that all map.
struct figures {
  std::atomic<std::uint64_t> generation{0};
  std::array<std::atomic<std::uint32_t>, most_generations> begun{};
  std::atomic<std::int64_t> expires_us{0};
  std::atomic<std::int64_t> head_starts_us{0};  // their sum, at the end of each load
  std::atomic<std::int64_t> first_fill_us{0}, last_fill_us{0};
  std::atomic<std::uint64_t> calls{0}, waited{0}, stale{0}, errors{0}, failed_loads{0};
  std::atomic<int> ended{0};
  std::atomic<std::int64_t> fails_from_us{0}, fails_until_us{0}, recovered_us{0};
  std::atomic<bool> stop{false};
  histogram cached, plain;
};

struct soak_options {
  std::string what = "claim";
  std::uint64_t generations = 50;
  int processes = 4;
  int callers = 10;
  milliseconds ttl = 500ms;
  milliseconds load = 20ms;
  milliseconds pause = 20ms;
  double beta = 1;
  milliseconds outage = 5s;
  milliseconds most = 2s;

  std::string url, shared;  // of a worker
};

// ------------------------------------------------------------------------------------ a worker

class worker {
 public:
  explicit worker(soak_options const& options)
      : options_(options),
        shared_(shared_figures<figures>(options.shared)),
        store_(open_store(options.url,
                          {.executor = io_.get_executor(), .guard = executor_guard::none})),
        aged_(store_, terms(options)),
        plain_(store_, {.prefix = "plain:", .ttl = 1h}) {}

  void run() {
    for (int i = 0; i < options_.callers; ++i) asio::co_spawn(io_, call_on(), asio::detached);
    io_.run();
  }

 private:
  static cache_options terms(soak_options const& options) {
    cache_options terms{.prefix = "aged:", .ttl = options.ttl, .ttl_jitter = 0};
    terms.format = cache_format::framed;
    if (options.what == "outage") {
      terms.grace = 1h;
      terms.fail_safe = true;
      terms.error_back_off = 250ms;
      terms.max_error_back_off = options.most;
    } else if (options.what == "claim") {
      terms.early_refresh = options.beta;
      terms.grace = 1h;  // should a machine stand still for longer than the head start
    }
    return terms;
  }

  asio::awaitable<void> pause_for(milliseconds span) {
    asio::steady_timer timer(io_, span);
    co_await timer.async_wait(asio::use_awaitable);
  }

  asio::awaitable<std::optional<std::string>> load() {
    auto const generation = shared_.generation.load();
    ++shared_.begun.at(generation % most_generations);
    co_await pause_for(options_.load);
    auto const now = now_us();
    if (now >= shared_.fails_from_us && now < shared_.fails_until_us) {
      ++shared_.failed_loads;
      throw std::runtime_error("the loader is down");
    }
    if (shared_.fails_until_us != 0 && now >= shared_.fails_until_us) {
      std::int64_t none = 0;
      shared_.recovered_us.compare_exchange_strong(none, now);
    }
    if (auto const expires = shared_.expires_us.load()) shared_.head_starts_us += expires - now;
    shared_.expires_us = now + std::chrono::microseconds(options_.ttl).count();
    std::int64_t none = 0;
    shared_.first_fill_us.compare_exchange_strong(none, now);
    shared_.last_fill_us = now;
    auto expected = generation;
    shared_.generation.compare_exchange_strong(expected, generation + 1);
    co_return std::to_string(generation + 1);
  }

  // As each elected caller does it where nothing admits one.
  asio::awaitable<void> load_alone() {
    double const left = double(shared_.expires_us - now_us());
    double const taken = double(std::chrono::microseconds(options_.load).count());
    std::uniform_real_distribution<double> unit;
    bool const dead = shared_.generation == 0 || left <= 0;
    if (!dead && -options_.beta * taken * std::log1p(-unit(dice_)) < left) co_return;
    auto loading = load();
    auto const value = co_await std::move(loading);
    auto putting = aged_.async_put("k", *value);
    co_await std::move(putting);
  }

  asio::awaitable<void> call_on() {
    std::uniform_real_distribution<double> share(0.5, 1.5);
    auto const loader = [this](load_context const&) { return load(); };
    while (!shared_.stop) {
      auto const began = now_us();
      try {
        if (options_.what == "alone") {
          auto alone = load_alone();
          co_await std::move(alone);
        } else {
          auto call = aged_.async_get_or_load("k", loader);
          co_await std::move(call);
        }
        auto const ended = now_us();
        ++shared_.calls;
        shared_.cached.note(ended - began);
        auto look = plain_.async_get("k");
        co_await std::move(look);
        shared_.plain.note(now_us() - ended);
        // Whoever came before there was anything had to wait.
        if (calls_++ < options_.callers) at_first_ = aged_.stats().misses;
      } catch (std::exception const&) {
        ++shared_.errors;
      }
      auto const span = double(options_.pause.count()) * share(dice_);
      co_await pause_for(milliseconds(static_cast<std::int64_t>(span)));
    }
    if (--callers_ > 0) co_return;
    auto const stats = aged_.stats();
    shared_.waited += stats.misses - at_first_;
    shared_.stale += stats.stale_hits;
    ++shared_.ended;
    io_.stop();
  }

  soak_options options_;
  figures& shared_;
  asio::io_context io_;
  store store_;
  cache<std::string> aged_, plain_;
  std::minstd_rand dice_{std::random_device()()};
  int callers_ = options_.callers;
  int calls_ = 0;
  std::uint64_t at_first_ = 0;
};

// ------------------------------------------------------------------------------------ the judge

// How many loads an outage sees if the first fails at its beginning.
int loads_of(milliseconds outage, milliseconds first, milliseconds most) {
  int loads = 0;
  for (milliseconds at{0}, pause = first; at < outage;
       at += pause, pause = std::min(2 * pause, most))
    ++loads;
  return loads;
}

void judge_generations(soak_options const& options, figures const& seen, verdict& how) {
  std::uint64_t const last = seen.generation;
  std::uint64_t loads = 0, crowded = 0;
  // The first is the herd at the beginning, the last is not over.
  for (std::uint64_t i = 1; i < last; ++i) {
    loads += seen.begun.at(i);
    crowded += seen.begun.at(i) > 1;
  }
  double const generations = double(last - 1);
  double const head_start_ms = double(seen.head_starts_us) / generations / 1e3;
  double const span_ms = double(seen.last_fill_us - seen.first_fill_us) / 1e3;
  double const ratio = double(loads) / (span_ms / (double(options.ttl.count()) - head_start_ms));
  std::printf("generations %.0f, with more than one load begun %llu, loads per generation %.3f\n",
              generations, static_cast<unsigned long long>(crowded), double(loads) / generations);
  std::printf("mean head start %.1f ms, loads / (time / (ttl - head start)) %.3f\n", head_start_ms,
              ratio);
  if (options.what == "alone") return;
  how.demand(crowded == 0, "one load in each generation");
  how.demand(seen.waited == 0, "nobody waited for a load");
}

void judge_outage(soak_options const& options, figures const& seen, verdict& how) {
  int const expected = loads_of(options.outage, 250ms, options.most);
  auto const failed = static_cast<int>(seen.failed_loads);
  double const after_ms = double(seen.recovered_us - seen.fails_until_us) / 1e3;
  std::printf("loads of the fleet in the outage %d, by the back-off %d; recovered after %.0f ms\n",
              failed, expected, after_ms);
  how.demand(std::abs(failed - expected) <= 1, "the loads of an outage are those of the back-off");
  how.demand(seen.recovered_us != 0 && after_ms <= 1.1 * double(options.most.count()) + 1000,
             "recovered within one back-off");
}

bool soak(soak_options options, std::string const& program) {
  redis_server server;
  temp_dir folder;
  options.url = server.url();
  options.shared = folder.path() / "figures";
  auto& seen = shared_figures<figures>(options.shared);
  cache<std::string>(open_store(options.url), {.prefix = "plain:", .ttl = 1h}).put("k", "v");
  std::vector<std::string> argv{program, "--worker", options.url, options.shared, options.what};
  for (auto const number : {std::int64_t(options.callers), options.ttl.count(),
                            options.load.count(), options.pause.count(), options.most.count()}) {
    argv.push_back(std::to_string(number));
  }
  argv.push_back(std::to_string(options.beta));
  std::vector<child_process> fleet;
  for (int i = 0; i < options.processes; ++i) fleet.emplace_back(child_options{.argv = argv});
  auto const alive = [&] {
    for (auto& one : fleet) {
      if (!one.running()) throw std::runtime_error("a worker has ended");
    }
  };
  auto const wait_for = [&](auto const& holds) {
    auto const patient = patience + options.ttl + options.load + options.outage + options.most;
    std::uint64_t last = seen.generation;
    for (auto since = clock::now(); !holds();) {
      alive();
      if (std::exchange(last, seen.generation.load()) != last) since = clock::now();
      if (clock::now() - since > patient) throw std::runtime_error("nothing is loaded any more");
      ::poll(nullptr, 0, 20);
    }
  };
  if (options.what == "outage") {
    wait_for([&] { return seen.generation >= 3; });
    auto const from = now_us() + std::chrono::microseconds(options.ttl).count() / 2;
    seen.fails_until_us = from + std::chrono::microseconds(options.outage).count();
    seen.fails_from_us = from;
    wait_for([&] { return seen.recovered_us != 0; });
  } else {
    wait_for([&] { return seen.generation > options.generations; });
  }
  seen.stop = true;
  for (auto& one : fleet) one.wait();
  verdict how;
  if (options.what == "outage") {
    judge_outage(options, seen, how);
  } else {
    judge_generations(options, seen, how);
  }
  std::printf(
      "calls %llu, stale answers %llu, errors %llu, waited for a load %llu\n",
      static_cast<unsigned long long>(seen.calls), static_cast<unsigned long long>(seen.stale),
      static_cast<unsigned long long>(seen.errors), static_cast<unsigned long long>(seen.waited));
  std::printf(
      "p50 / p99 / p99.9 in us: get_or_load %.0f / %.0f / %.0f, a plain get %.0f / %.0f / "
      "%.0f\n",
      seen.cached.quantile_us(0.5), seen.cached.quantile_us(0.99), seen.cached.quantile_us(0.999),
      seen.plain.quantile_us(0.5), seen.plain.quantile_us(0.99), seen.plain.quantile_us(0.999));
  how.demand(seen.ended == options.processes, "every process has told its figures");
  how.demand(seen.errors == 0, "nobody had an error");
  return how.good;
}

milliseconds ms_of(std::string const& text) { return milliseconds(std::stoll(text)); }

soak_options parsed(std::vector<std::string> const& arguments) {
  soak_options options;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    auto const& name = arguments[i];
    auto const& value = arguments[i + 1];
    if (name == "--case")
      options.what = value;
    else if (name == "--generations")
      options.generations = std::stoull(value);
    else if (name == "--processes")
      options.processes = std::stoi(value);
    else if (name == "--callers")
      options.callers = std::stoi(value);
    else if (name == "--ttl")
      options.ttl = ms_of(value);
    else if (name == "--load")
      options.load = ms_of(value);
    else if (name == "--pause")
      options.pause = ms_of(value);
    else if (name == "--beta")
      options.beta = std::stod(value);
    else if (name == "--outage")
      options.outage = ms_of(value);
    else if (name == "--most")
      options.most = ms_of(value);
    else
      throw std::runtime_error("no option " + name);
  }
  bool const known = options.what == "claim" || options.what == "alone" || options.what == "outage";
  if (!known || arguments.size() % 2 != 0) throw std::runtime_error("see the top of the source");
  if (options.generations >= most_generations) throw std::runtime_error("too many generations");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> const arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--worker") {
    soak_options options;
    options.url = arguments.at(1);
    options.shared = arguments.at(2);
    options.what = arguments.at(3);
    options.callers = std::stoi(arguments.at(4));
    options.ttl = ms_of(arguments.at(5));
    options.load = ms_of(arguments.at(6));
    options.pause = ms_of(arguments.at(7));
    options.most = ms_of(arguments.at(8));
    options.beta = std::stod(arguments.at(9));
    worker(options).run();
    return 0;
  }
  return soak(parsed(arguments), argv[0]) ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "freshness_soak: %s\n", e.what());
  return 2;
}
