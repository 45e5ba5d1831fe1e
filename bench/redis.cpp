// Locks and the guarded cache over Redis, through the public API, beside the same commands sent
// through Boost.Redis by hand.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the client on CPU 1.
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp>  // for the other suites too
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <support/redis_server.hpp>

#include <herdlock/herdlock.hpp>

#include "harness.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"
#include "support/as_result.hpp"

namespace {

using namespace herdlock;
using boost::system::error_code;

constexpr std::size_t concurrent = 64;
constexpr std::size_t operations = 4096;  // of one round at 64 concurrent
constexpr std::size_t steps = 256;        // of one round one after the other
constexpr char ttl_text[] = "30000";
constexpr milliseconds ttl{30'000};

// A key for each caller: callers of one key would share reads.
std::string hit_name(std::size_t i) { return "hit" + std::to_string(i); }

// One server, one io_context on the measuring thread, and a connection of either kind on it.
class setting {
 public:
  setting() {
    bench::pin_if_asked(0);
    server_.emplace();
    bench::pin_if_asked(1);
    store_.emplace(open_store(server_->url(),
                              {.executor = io_.get_executor(), .guard = executor_guard::none}));
    // What a read of the server costs, with its key counted, and without.
    cache_options options{
        .prefix = no_prefix, .ttl = std::chrono::hours(1), .near = near_cache::off};
    uncounted_.emplace(*store_, options);
    options.hot_keys = hot_keys_options();
    cache_.emplace(*store_, options);
    boost::redis::config config;
    config.addr.port = std::to_string(server_->port());
    config.health_check_interval = std::chrono::seconds::zero();
    raw_.emplace(io_.get_executor());
    raw_->async_run(config, boost::redis::logger(boost::redis::logger::level::disabled),
                    [](error_code) {});
    warm_up();
  }
  ~setting() {
    raw_->cancel();
    cache_.reset();
    uncounted_.reset();
    store_.reset();
    io_.restart();
    io_.run();
  }

  template <class Done>
  void run_until(Done done) {
    io_.restart();
    while (!done()) io_.run_one();
  }

  store const& opened() const { return *store_; }
  cache<std::string> const& values() const { return *cache_; }
  cache<std::string> const& uncounted() const { return *uncounted_; }
  boost::redis::connection& raw() { return *raw_; }
  owner_token const owner = owner_token::generate();

 private:
  // Both connected, the scripts known, the values there.
  void warm_up() {
    std::size_t stored = 0;
    for (std::size_t i = 0; i < concurrent; ++i) {
      values().async_put(
          cache_key(hit_name(i)), std::string(100, 'x'),
          herdlock_test::as_result([&](result<void> r) { stored += r.has_value(); }));
    }
    run_until([&] { return stored == concurrent; });
    for (auto const* script : {&redis::lease_scripts().acquire, &redis::lease_scripts().release}) {
      server_->command({"SCRIPT", "LOAD", std::string(script->source)});
    }
    // Boost.Redis sets no TCP_NODELAY; compare like with like.
    error_code ec;
    boost::redis::request ping;
    ping.push("PING");
    bool answered = false;
    raw_->async_exec(ping, boost::redis::ignore,
                     [&](error_code failed, std::size_t) { answered = !failed; });
    run_until([&] { return answered; });
    raw_->next_layer().next_layer().set_option(asio::ip::tcp::no_delay(true), ec);
  }

  asio::io_context io_{1};
  std::optional<herdlock_test::redis_server> server_;
  std::optional<store> store_;
  std::optional<cache<std::string>> cache_;
  std::optional<cache<std::string>> uncounted_;
  std::optional<boost::redis::connection> raw_;
};

// One user of the library: acquire, release, again, until the common budget is used up.
struct lock_pairs {
  lock where;
  std::size_t& left;
  std::size_t& running;
  acquired held{};

  void next() {
    if (left == 0) return static_cast<void>(--running);
    --left;
    where.async_try_acquire(
        {.ttl = ttl}, herdlock_test::as_result([this](result<acquired> r) {
          if (!r.has_value() || !r->has_value()) std::abort();
          held = std::move(*r);
          held->async_release(herdlock_test::as_result([this](result<release_reply> released) {
            if (!released.has_value() || *released != release_reply::released) std::abort();
            next();
          }));
        }));
  }
};

// The same two commands by hand.
struct raw_pairs {
  setting& at;
  std::string name;
  std::string side;  // what the side keys begin with
  std::size_t& left;
  std::size_t& running;
  boost::redis::request request{};
  boost::redis::response<std::string> answer{};

  void next() {
    if (left == 0) return static_cast<void>(--running);
    --left;
    auto const& script = redis::lease_scripts().acquire;
    request.clear();
    request.push("EVALSHA", script.sha(), script.key_count, name, side + "fence", side + "queue",
                 at.owner.str(), ttl_text, "2");
    at.raw().async_exec(request, answer, [this](error_code ec, std::size_t) {
      if (ec || std::get<0>(answer).has_error()) std::abort();
      release();
    });
  }
  void release() {
    auto const& script = redis::lease_scripts().release;
    request.clear();
    request.push("EVALSHA", script.sha(), script.key_count, name, side + "fence", side + "queue",
                 side + "last", at.owner.str(), "2");
    at.raw().async_exec(request, answer, [this](error_code ec, std::size_t) {
      if (ec || std::get<0>(answer).value() != "1") std::abort();
      next();
    });
  }
};

// Two round trips of the cheapest kind that takes and gives back: SET NX PX, DEL.
struct raw_sets {
  setting& at;
  std::string name;
  std::size_t& left;
  std::size_t& running;
  boost::redis::request request{};
  boost::redis::response<std::string> set_answer{};
  boost::redis::response<std::string> del_answer{};

  void next() {
    if (left == 0) return static_cast<void>(--running);
    --left;
    request.clear();
    request.push("SET", name, at.owner.str(), "NX", "PX", ttl_text);
    at.raw().async_exec(request, set_answer, [this](error_code ec, std::size_t) {
      if (ec || std::get<0>(set_answer).has_error()) std::abort();
      request.clear();
      request.push("DEL", name);
      at.raw().async_exec(request, del_answer, [this](error_code failed, std::size_t) {
        if (failed) std::abort();
        next();
      });
    });
  }
};

struct cache_hits {
  cache<std::string> const& values;
  cache_key key;
  std::size_t& left;
  std::size_t& running;

  // Never called: everything is there.
  static asio::awaitable<std::optional<std::string>> load(load_context) { std::abort(); }

  void next() {
    if (left == 0) return static_cast<void>(--running);
    --left;
    values.async_get_or_load(key, &cache_hits::load,
                             herdlock_test::as_result([this](result<std::optional<std::string>> r) {
                               if (!r.has_value() || !r->has_value()) std::abort();
                               next();
                             }));
  }
};

struct raw_hits {
  setting& at;
  std::string key;
  std::size_t& left;
  std::size_t& running;
  boost::redis::request request{};
  boost::redis::response<std::optional<std::string>> answer{};

  void next() {
    if (left == 0) return static_cast<void>(--running);
    --left;
    request.clear();
    request.push("GET", key);
    at.raw().async_exec(request, answer, [this](error_code ec, std::size_t) {
      if (ec || !std::get<0>(answer).value()) std::abort();
      next();
    });
  }
};

// Nanoseconds for `count` operations by `callers` at once.
template <class Make>
double measure(setting& at, std::size_t callers, std::size_t count, Make make) {
  using caller = decltype(make(std::size_t{}, count, count));
  std::size_t left = count;
  std::size_t running = callers;
  std::vector<std::unique_ptr<caller>> all;
  for (std::size_t i = 0; i < callers; ++i) all.emplace_back(new caller(make(i, left, running)));
  return bench::nanoseconds_of([&] {
    for (auto& one : all) one->next();
    at.run_until([&] { return running == 0; });
  });
}

std::string raw_name(std::size_t i) { return "raw" + std::to_string(i); }

void measure_redis(bench::report& report) {
  setting at;
  auto pairs = [&](std::size_t i, std::size_t& left, std::size_t& running) {
    return lock_pairs{lock(at.opened(), "r" + std::to_string(i)), left, running};
  };
  auto raw = [&](std::size_t i, std::size_t& left, std::size_t& running) {
    return raw_pairs{at, raw_name(i), "{" + raw_name(i) + "}:herdlock:", left, running};
  };
  auto sets = [&](std::size_t i, std::size_t& left, std::size_t& running) {
    return raw_sets{at, raw_name(i), left, running};
  };
  auto hits = [&](std::size_t i, std::size_t& left, std::size_t& running) {
    return cache_hits{at.values(), cache_key(hit_name(i)), left, running};
  };
  auto uncounted = [&](std::size_t i, std::size_t& left, std::size_t& running) {
    return cache_hits{at.uncounted(), cache_key(hit_name(i)), left, running};
  };
  auto gets = [&](std::size_t i, std::size_t& left, std::size_t& running) {
    return raw_hits{at, hit_name(i), left, running};
  };
  auto per_pair = [&](auto make) {
    return [&at, make] { return measure(at, 1, steps, make) / 1000 / steps; };
  };
  auto per_second = [&](auto make) {
    return [&at, make] { return operations * 1e9 / measure(at, concurrent, operations, make); };
  };
  report.compare({.name = "redis.pair_in_turn",
                  .unit = "us/pair",
                  .subject = per_pair(pairs),
                  .baseline = per_pair(sets),
                  .limit = bench::at_most(1.15)});
  report.compare({.name = "redis.pairs_64_concurrent",
                  .unit = "pairs/s",
                  .subject = per_second(pairs),
                  .baseline = per_second(raw),
                  .limit = bench::at_least(0.85)});
  report.compare({.name = "redis.hit_64_concurrent",
                  .unit = "hits/s",
                  .subject = per_second(hits),
                  .baseline = per_second(gets),
                  .limit = bench::at_least(0.9)});
  // What it costs that a cache counts its keys.
  report.compare({.name = "redis.hit_64_counted",
                  .unit = "hits/s",
                  .subject = per_second(hits),
                  .baseline = per_second(uncounted),
                  .limit = bench::at_least(0.98)});
}

bench::suite const redis_suite("redis", [](bench::report& report) {
  try {
    measure_redis(report);
  } catch (std::runtime_error const& why) {
    report.skip("redis", why.what());
  }
});

}  // namespace
