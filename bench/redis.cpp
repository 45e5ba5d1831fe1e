// Locks and the guarded cache over Redis, through the public API, beside the same commands sent
// through Boost.Redis by hand.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the client on CPU 1.
#include <boost/redis/src.hpp>  // for the other suites too
#include <support/redis_server.hpp>

#include "raw_redis.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace {

using namespace bench;
using namespace herdlock;
using values = cache<std::string>;

constexpr std::size_t operations = 4096;  // of one round at 64 concurrent
constexpr std::size_t steps = 256;        // of one round one after the other
constexpr char ttl_text[] = "30000";

std::string hit_name(std::size_t i) { return "hit" + std::to_string(i); }

// By hand, each caller with keys of its own: callers of one would share reads.
class by_hand {
 public:
  by_hand(event_loop& loop, std::uint16_t port, crowd& of) : crowd_(of), raw_(loop, port) {
    for (std::size_t i = 0; i < crowd::usual; ++i) callers_.emplace_back("raw" + std::to_string(i));
  }

  // The same two scripts as a lock's.
  void pair(std::size_t i) {
    auto& [name, side, call] = callers_[i];
    raw_.ask(
        call, [this, i](std::string const&) { release(i); }, "EVALSHA", scripts_.acquire.sha(),
        scripts_.acquire.key_count, name, side + "fence", side + "queue", owner_, ttl_text, "2");
  }
  // Two round trips of the cheapest kind that takes and gives back.
  void set(std::size_t i) {
    auto& [name, side, call] = callers_[i];
    auto const del = [this, i](std::string const&) {
      raw_.ask(callers_[i].call, done(i), "DEL", callers_[i].name);
    };
    raw_.ask(call, del, "SET", name, owner_, "NX", "PX", ttl_text);
  }
  void get(std::size_t i) { raw_.ask(callers_[i].call, done(i), "GET", hit_name(i)); }

 private:
  struct caller {
    explicit caller(std::string its) : name(std::move(its)) {}
    std::string name;
    std::string side = "{" + name + "}:herdlock:";  // what the side keys begin with
    raw_call call;
  };

  std::function<void(std::string const&)> done(std::size_t i) {
    return [this, i](std::string const&) { crowd_.done(i); };
  }
  void release(std::size_t i) {
    auto& [name, side, call] = callers_[i];
    auto const then = [this, i](std::string const& answer) {
      must(answer == "1", "a lock by hand was lost");
      crowd_.done(i);
    };
    raw_.ask(call, then, "EVALSHA", scripts_.release.sha(), scripts_.release.key_count, name,
             side + "fence", side + "queue", side + "last", owner_, "2");
  }

  crowd& crowd_;
  std::vector<caller> callers_;
  raw_redis raw_;
  redis::lease_script_set const& scripts_ = redis::lease_scripts();
  std::string const owner_ = owner_token::generate().str();
};

// Never called: everything is there.
asio::awaitable<std::optional<std::string>> load(load_context) { std::abort(); }

void measure_redis(report& to) {
  auto const server = started<herdlock_test::redis_server>();
  event_loop loop;
  crowd callers(loop);
  auto const opened = loop.open(server.url());
  lock_pairs locks(callers, opened);
  by_hand raw(loop, server.port(), callers);
  // What a read of the server costs, with its key counted, and without.
  cache_options options{
      .prefix = no_prefix, .ttl = std::chrono::hours(1), .near = {.mode = near_cache::off}};
  values const uncounted(opened, options);
  options.hot.keys = hot_keys_options();
  values const counted(opened, options);
  auto const hits_of = [&](values const& in) {
    return [&, in = &in](std::size_t i) {
      in->async_get_or_load(hit_name(i), &load,
                            as_result([&, i](result<std::optional<std::string>> r) {
                              must(r.has_value() && r->has_value(), "a miss");
                              callers.done(i);
                            }));
    };
  };
  // Both connected, the scripts known, the values there.
  callers.play(crowd::usual, crowd::usual, [&](std::size_t i) {
    counted.async_put(hit_name(i), std::string(100, 'x'), as_result([&, i](result<void> r) {
                        must(r.has_value(), "nothing can be stored");
                        callers.done(i);
                      }));
  });
  for (auto const* script : {&redis::lease_scripts().acquire, &redis::lease_scripts().release}) {
    server.command({"SCRIPT", "LOAD", std::string(script->source)});
  }
  auto const in_turn = [&](crowd::operation what) {
    return [&, what] { return callers.play(1, steps, what) / 1000 / steps; };
  };
  auto const at_once = [&](crowd::operation what) {
    return [&, what] { return callers.per_second(operations, what); };
  };
  auto const by_lock = [&](std::size_t i) { locks.take(i); };
  to.compare("redis.pair_in_turn", "us/pair", in_turn(by_lock),
             in_turn([&](std::size_t i) { raw.set(i); }), at_most(1.15));
  to.compare("redis.pairs_64_concurrent", "pairs/s", at_once(by_lock),
             at_once([&](std::size_t i) { raw.pair(i); }), at_least(0.85));
  to.compare("redis.hit_64_concurrent", "hits/s", at_once(hits_of(counted)),
             at_once([&](std::size_t i) { raw.get(i); }), at_least(0.9));
  // What it costs that a cache counts its keys.
  to.compare("redis.hit_64_counted", "hits/s", at_once(hits_of(counted)),
             at_once(hits_of(uncounted)), at_least(0.98));
}

suite const redis_suite("redis", &measure_redis);

}  // namespace
