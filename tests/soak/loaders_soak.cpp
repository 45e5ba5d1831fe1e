// Calls that end at random times, with loaders that look whether their call is over: see
// `loaders_soak --help`.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "number_argument.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;

constexpr char const* help =
    R"(loaders_soak [--calls N] [--threads N] [--store URL] [--seed N]

Threads and coroutines ask a few caches for a few keys, one and many at a time. What a call waits
for and what its loader takes are drawn anew each time, so that most calls end before their time or
behind it, while their loader runs, or while they wait for a claim or a slot. Now and then a key is
put or invalidated. Each loader looks, when it begins and when it ends, whether its call is over.

--calls is the least number of calls. How many of them end in time while their loader runs, and how
many while they wait, depends on the machine: the calls go on until each of the two is a fifth of N,
and up to 20 times N.

Ends with 1 when a loader began or ended behind the end of its call, or when 20 times N calls were
not enough.
)";

struct options {
  std::uint64_t calls = 100'000;
  int threads = 48;
  std::string store = "memory:";
  std::uint64_t seed = 1;
};

struct figures {
  std::atomic<std::uint64_t> calls{0}, behind{0}, loads{0};
  std::atomic<std::uint64_t> ended_in_loader{0}, ended_waiting{0}, values{0}, errors{0};

  bool enough(std::uint64_t calls) const {
    return ended_in_loader * 5 >= calls && ended_waiting * 5 >= calls;
  }
};

// What a loader refers to, as a local variable of its caller; kept, so that it can be looked at.
struct one_call {
  std::atomic<bool> is_over{false};
  std::atomic<int> runs{0};
  std::atomic<bool> was_asked{false};
};

class soak {
 public:
  soak(options how, figures& into) : how_(std::move(how)), seen_(into) {
    auto const store = open_store(how_.store);
    for (auto const wait : {1ms, 2ms, 4ms, 8ms}) {
      cache_options with;
      with.prefix = "soak:";
      with.ttl = 10ms;
      with.wait = wait;
      with.error_back_off = 0ms;
      with.max_loads = 12;
      // Two objects of each kind: as two processes they wait for each other's claims.
      for (int i = 0; i < 2; ++i) caches_.emplace_back(store, with);
    }
  }

  void block(std::uint64_t number) {
    std::mt19937_64 random(how_.seed * 1'000'003 + number);
    while (another()) {
      auto const& from = any_cache(random);
      if (random() % 64 == 0) disturb(from, random);
      auto const call = std::make_shared<one_call>();
      auto const takes = std::chrono::microseconds(random() % 12'000);
      bool const many = random() % 4 == 0;
      bool const failed =
          many ? ask_many(from, *call, takes, random) : ask(from, *call, takes, random);
      call->is_over = true;
      count(*call, failed);
    }
  }

  boost::asio::awaitable<void> flow(std::uint64_t number) {
    std::mt19937_64 random(how_.seed * 7'000'003 + number);
    while (another()) {
      auto const& from = any_cache(random);
      auto const call = std::make_shared<one_call>();
      auto const takes = std::chrono::microseconds(random() % 12'000);
      auto const limit = std::chrono::microseconds(500 + random() % 8'000);
      auto const key = any_key(random);
      auto loader = [this, call, takes](load_context of) {
        return load_slowly(call, takes, std::move(of));
      };
      auto const [why, value] = co_await from.async_get_or_load(
          key, loader,
          boost::asio::cancel_after(limit, boost::asio::as_tuple(boost::asio::use_awaitable)));
      call->is_over = true;
      count(*call, bool(why.code));
    }
  }

 private:
  using text = std::optional<std::string>;

  bool another() {
    auto const so_far = seen_.calls.fetch_add(1);
    return so_far < how_.calls || (!seen_.enough(how_.calls) && so_far < how_.calls * 20);
  }

  cache<std::string> const& any_cache(std::mt19937_64& random) const {
    return caches_[random() % caches_.size()];
  }
  static std::string any_key(std::mt19937_64& random) { return std::to_string(random() % 160); }

  void began(one_call& call) {
    if (call.is_over) ++seen_.behind;
    ++call.runs;
    ++seen_.loads;
  }
  void ended(one_call& call, bool was_asked) {
    if (call.is_over) ++seen_.behind;
    if (was_asked) call.was_asked = true;
  }
  void count(one_call const& call, bool failed) {
    ++(failed ? seen_.errors : seen_.values);
    if (call.was_asked) {
      ++seen_.ended_in_loader;
    } else if (failed && call.runs == 0) {
      ++seen_.ended_waiting;
    }
  }

  static bool pass(std::chrono::microseconds time, std::stop_token const& stop) {
    auto const until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) ::poll(nullptr, 0, 1);
    return stop.stop_requested();
  }

  // By reference, as everybody writes it. The shared call behind it is for the judge alone.
  bool ask(cache<std::string> const& from, one_call& call, std::chrono::microseconds takes,
           std::mt19937_64& random) {
    bool const throws = random() % 4 == 0;
    try {
      from.get_or_load(any_key(random), [&](load_context& of) -> text {
        began(call);
        bool const asked = pass(takes, of.stop());
        ended(call, asked);
        if (asked && throws) throw std::runtime_error("stopped");
        return "loaded";
      });
      return false;
    } catch (error const&) {
      return true;
    }
  }

  bool ask_many(cache<std::string> const& from, one_call& call, std::chrono::microseconds takes,
                std::mt19937_64& random) {
    using values = std::map<std::string, std::string>;
    std::vector<std::string> const keys{any_key(random), any_key(random), any_key(random)};
    auto const got =
        from.get_many_or_load(keys, [&](std::vector<std::string> const& all, std::stop_token stop) {
          began(call);
          ended(call, pass(takes, stop));
          values loaded;
          for (auto const& key : all) loaded.emplace(key, "loaded");
          return loaded;
        });
    return std::any_of(got.begin(), got.end(), [](auto const& one) { return one.has_error(); });
  }

  boost::asio::awaitable<text> load_slowly(std::shared_ptr<one_call> call,
                                           std::chrono::microseconds takes, load_context of) {
    began(*call);
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, takes);
    auto const [why] = co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    ended(*call, of.stop().stop_requested());
    if (why) throw std::runtime_error("stopped");
    co_return "loaded";
  }

  static void disturb(cache<std::string> const& at, std::mt19937_64& random) {
    if (random() % 2 == 0) {
      at.put(any_key(random), "put");
    } else {
      at.invalidate(any_key(random));
    }
  }

  options how_;
  figures& seen_;
  std::vector<cache<std::string>> caches_;
};

int play(options const& how) {
  figures seen;
  {
    soak all(how, seen);
    boost::asio::thread_pool pool(2);
    std::vector<std::jthread> threads;
    for (int i = 0; i < how.threads; ++i) {
      threads.emplace_back([&all, i] { all.block(static_cast<std::uint64_t>(i)); });
      boost::asio::co_spawn(pool, all.flow(static_cast<std::uint64_t>(i)), boost::asio::detached);
    }
    threads.clear();
    pool.join();
  }
  std::printf(
      "%llu calls, %llu loads: %llu of them behind the end of their call; %llu calls ended while "
      "their loader ran, %llu while they waited; %llu values, %llu errors\n",
      static_cast<unsigned long long>(seen.values + seen.errors),
      static_cast<unsigned long long>(seen.loads), static_cast<unsigned long long>(seen.behind),
      static_cast<unsigned long long>(seen.ended_in_loader),
      static_cast<unsigned long long>(seen.ended_waiting),
      static_cast<unsigned long long>(seen.values), static_cast<unsigned long long>(seen.errors));
  bool const enough = seen.enough(how.calls);
  if (!enough) std::puts("too few calls ended while their loader ran, or while they waited");
  return seen.behind == 0 && enough ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  using herdlock_test::number_argument;
  options how;
  std::vector<std::string> const given(argv + 1, argv + argc);
  for (std::size_t i = 0; i < given.size(); ++i) {
    auto const& name = given[i];
    if (name == "--help") {
      std::fputs(help, stdout);
      return 0;
    }
    if (i + 1 == given.size()) throw std::runtime_error(name + " needs a value; see --help");
    auto const& value = given[++i];
    if (name == "--calls") {
      how.calls = number_argument(name, value, 1'000'000'000);
    } else if (name == "--threads") {
      how.threads = static_cast<int>(number_argument(name, value, 1000));
    } else if (name == "--seed") {
      how.seed = number_argument(name, value, UINT32_MAX);
    } else if (name == "--store") {
      how.store = value;
    } else {
      throw std::runtime_error("there is no " + name + "; see --help");
    }
  }
  return play(how);
} catch (std::exception const& e) {
  std::fprintf(stderr, "loaders_soak: %s\n", e.what());
  return 2;
}
