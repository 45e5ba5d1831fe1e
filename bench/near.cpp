// The near cache: what a hit costs beside a bare concurrent map, and what keeping costs the server.
#include <boost/unordered/concurrent_flat_map.hpp>
#include <latch>
#include <support/redis_server.hpp>

#include "event_loop.hpp"

namespace {

using namespace bench;
using namespace herdlock;
using texts = cache<std::string>;
using herdlock_test::redis_server;

constexpr std::size_t hits = 200'000;  // of one round and thread
std::string const hot_key = "product:0000000000hot";

std::optional<std::string> never() { std::abort(); }

// What a hit gives, as a map of shared pointers would give it.
using bare_map = boost::concurrent_flat_map<std::string, std::shared_ptr<std::string const>>;
using hit = std::function<void()>;

double nanoseconds_per_hit(std::ptrdiff_t threads, hit const& once) {
  std::latch ready(threads);
  std::atomic<double> sum = 0;
  std::vector<std::jthread> all;
  for (std::ptrdiff_t i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      once();
      ready.arrive_and_wait();
      sum += nanoseconds_each(hits, once);
    });
  }
  all.clear();
  return sum / static_cast<double>(threads);
}

texts open_near(std::string const& url,
                std::optional<hot_keys_options> counting = hot_keys_options()) {
  return texts(open_store(url), {.prefix = no_prefix,
                                 .ttl = std::chrono::hours(1),
                                 .near = {.mode = near_cache::hot},
                                 .hot = {.keys = std::move(counting)}});
}

// Until it is answered by what the process keeps.
void keep(texts const& one, std::string_view key) {
  one.pin(key);
  auto const before = one.stats().near_hits;
  while (one.stats().near_hits == before) one.get(key);
}

void measure_hits(report& to, redis_server const& server) {
  auto const one = open_near(server.url());
  one.put(hot_key, std::string(100, 'x'));
  auto const uncounted = open_near(server.url(), std::nullopt);
  bare_map map;
  map.emplace(hot_key, std::make_shared<std::string const>(100, 'x'));
  auto const near_hit_of = [](texts const& in) {
    keep(in, hot_key);
    return [&in] {
      if (!in.get_or_load_shared(hot_key, &never)) std::abort();
      barrier();
    };
  };
  hit const near_hit = near_hit_of(one);
  hit const bare_hit = [&] {
    std::shared_ptr<std::string const> value;
    map.cvisit(hot_key, [&](auto const& entry) { value = entry.second; });
    if (!value) std::abort();
    barrier();
  };
  auto const compare = [&](char const* name, std::ptrdiff_t threads, hit const& subject,
                           hit const& baseline) {
    auto const each = [=](hit const& once) { return nanoseconds_per_hit(threads, once); };
    to.compare_by(each, name, "ns/hit", subject, baseline, no_limit, 30);
  };
  compare("near.hit_1_threads", 1, near_hit, bare_hit);
  compare("near.hit_2_threads", 2, near_hit, bare_hit);
  compare("near.hit_counted", 1, near_hit, near_hit_of(uncounted));  // what counting costs
  // 25 times as quick as a near hit of node-redis, which took 1,634 ns.
  compare(
      "near.copying_hit", 1, [&] { one.get(hot_key); }, bare_hit);
}

// Plain reads of other keys by one client, while ten caches keep their keys or do not.
class reader {
 public:
  explicit reader(redis_server const& server) : store_(loop_.open(server.url())) {}

  double gets_per_second() {
    return crowd_.per_second(8192, [this](std::size_t i) {
      cache_.async_get("other" + std::to_string(i),
                       as_result([this, i](result<cached<std::string>> r) {
                         must(r.has_value(), "a read failed");
                         crowd_.done(i);
                       }));
    });
  }

 private:
  event_loop loop_;
  crowd crowd_{loop_};
  store store_;
  texts cache_{
      store_,
      {.prefix = no_prefix, .ttl = std::chrono::hours(1), .near = {.mode = near_cache::off}}};
};

void measure_server(report& to, redis_server const& server) {
  constexpr std::size_t caches = 10, keys = 16;
  reader plain(server);
  std::vector<texts> keeping;
  for (std::size_t i = 0; i < caches; ++i) {
    keeping.push_back(open_near(server.url()));
    for (std::size_t k = 0; k < keys; ++k) {
      auto const key = "hot" + std::to_string(k);
      if (i == 0) keeping[i].put(key, std::string(100, 'x'));
      keep(keeping[i], key);
    }
  }
  auto const wanted = "tracking_total_items:" + std::to_string(caches * keys) + "\r";
  if (server.command({"INFO", "stats"}).find(wanted) == std::string::npos) {
    throw std::runtime_error("the server does not track one item for each key and cache");
  }
  redis_server const other;
  reader beside(other);
  to.compare_by(&reader::gets_per_second, "near.server_gets", "gets/s", plain, beside,
                at_least(0.97), 90);
}

suite const near_suite("near", [](report& to) {
  // A server for each: it remembers for a while what closed connections had kept.
  if (to.wants("near.hit") || to.wants("near.copying")) measure_hits(to, redis_server());
  if (to.wants("near.server")) measure_server(to, redis_server());
});

}  // namespace
