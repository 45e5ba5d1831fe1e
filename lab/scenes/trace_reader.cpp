// Scene `trace`: the Redis full of keys, and a process that reads them.
#include <condition_variable>
#include <herdlock/cache.hpp>
#include <mutex>
#include <random>
#include <support/redis_server.hpp>

#include "scenes/trace.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::trace {
namespace {

using namespace std::chrono_literals;

// Its cache keeps nothing near: the server counts only what reaches it.
class reader {
 public:
  reader(zipf const& popularity, board& seen, std::string const& url)
      : popularity_(popularity),
        seen_(seen),
        random_(std::random_device()()),
        cache_(open_here(url), {.prefix = std::string(key_prefix),
                                .ttl = 1h,
                                .near = near_cache::off,
                                .hot_keys = hot_keys_options{},
                                .fleet_threshold = 1000}) {}

  void read_until_stopped(int callers) {
    {
      std::lock_guard const lock(mutex_);
      under_way_ = callers;
    }
    for (int i = 0; i < callers; ++i) next();
    ++seen_.now->joined;
    std::unique_lock lock(mutex_);
    all_ended_.wait(lock, [this] { return under_way_ == 0; });
  }

 private:
  void next() {
    std::unique_lock lock(mutex_);
    if (seen_.now->stop) {
      --under_way_;
      return all_ended_.notify_all();
    }
    std::size_t const rank = popularity_.draw(random_);
    lock.unlock();
    seen_.note_read(rank);
    cache_.async_get(fmt::format("{:014}", rank),
                     [this](failure const&, cached<std::string> const&) { next(); });
  }

  zipf const& popularity_;
  board& seen_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  int under_way_ = 0;
  std::mt19937_64 random_;
  cache<std::string> cache_;
};

}  // namespace

void fill(herdlock_test::redis_server const& server, std::size_t keys) {
  constexpr std::size_t at_once = 50'000;
  std::string const script = fmt::format(
      "for n = ARGV[1], ARGV[2] do redis.call('set', string.format('{}%014d', n), "
      "string.rep('x', 16)) end",
      key_prefix);
  for (std::size_t from = 0; from < keys; from += at_once) {
    auto const to = std::min(from + at_once, keys) - 1;
    auto const said =
        server.command({"EVAL", script, "0", std::to_string(from), std::to_string(to)});
    if (said != "(nil)") throw command_error(exit_code::unavailable, "filling: " + said);
  }
}

void read_until_stopped(zipf const& popularity, board& seen, std::string const& url, int callers) {
  reader(popularity, seen, url).read_until_stopped(callers);
}

}  // namespace herdlock::lab::trace
