// Calls that end at random times, with loaders that look whether their call is over.
#include "scenes/loaders.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/herdlock.hpp>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace loaders {
namespace {

using std::chrono::microseconds;
namespace asio = boost::asio;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

struct terms {
  std::uint64_t calls = 100'000;
  int threads = 48;
  std::string store;
  std::uint64_t seed = 1;
};

// What a loader refers to, as a local variable of its caller; kept, so that it can be looked at.
struct one_call {
  std::atomic<bool> is_over{false};
  std::atomic<int> runs{0};
  std::atomic<bool> was_asked{false};
};

class callers {
 public:
  callers(terms how, board& into, std::string const& url) : how_(std::move(how)), seen_(into) {
    auto const store = open_here(url);
    for (int const wait : {1, 2, 4, 8}) {
      cache_options with{.prefix = "soak:", .ttl = milliseconds(10), .wait = milliseconds(wait)};
      with.error_back_off = milliseconds(0);
      with.max_loads = 12;
      // Two objects of each kind: as two processes they wait for each other's claims.
      for (int i = 0; i < 2; ++i) caches_.emplace_back(store, with);
    }
  }

  void run() {
    asio::thread_pool pool(2);
    std::vector<std::jthread> threads;
    for (int i = 0; i < how_.threads; ++i) {
      threads.emplace_back([this, i] { block(static_cast<std::uint64_t>(i)); });
      asio::co_spawn(pool, flow(static_cast<std::uint64_t>(i)), asio::detached);
    }
    threads.clear();
    pool.join();
  }

 private:
  using text = std::optional<std::string>;
  using dice = std::mt19937_64;

  void block(std::uint64_t number) {
    dice random(how_.seed * 1'000'003 + number);
    while (seen_.another(how_.calls)) {
      auto const& from = any_cache(random);
      if (random() % 64 == 0) disturb(from, random);
      auto const call = std::make_shared<one_call>();
      microseconds const takes(random() % 12'000);
      bool const many = random() % 4 == 0;
      bool const failed =
          many ? ask_many(from, *call, takes, random) : ask(from, *call, takes, random);
      call->is_over = true;
      count(*call, failed);
    }
  }

  asio::awaitable<void> flow(std::uint64_t number) {
    dice random(how_.seed * 7'000'003 + number);
    while (seen_.another(how_.calls)) {
      auto const& from = any_cache(random);
      auto const call = std::make_shared<one_call>();
      microseconds const takes(random() % 12'000), limit(500 + random() % 8'000);
      auto const key = any_key(random);
      auto loader = [this, call, takes](load_context of) {
        return load_slowly(call, takes, std::move(of));
      };
      auto const [why, value] =
          co_await from.async_get_or_load(key, loader, asio::cancel_after(limit, awaited));
      call->is_over = true;
      count(*call, bool(why.code));
    }
  }

  cache<std::string> const& any_cache(dice& random) const {
    return caches_[random() % caches_.size()];
  }
  static std::string any_key(dice& random) { return std::to_string(random() % 160); }

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

  static bool pass(microseconds time, std::stop_token const& stop) {
    auto const until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return stop.stop_requested();
  }

  // By reference, as everybody writes it. The shared call behind it is for the judge alone.
  bool ask(cache<std::string> const& from, one_call& call, microseconds takes, dice& random) {
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

  bool ask_many(cache<std::string> const& from, one_call& call, microseconds takes, dice& random) {
    std::vector<std::string> const keys{any_key(random), any_key(random), any_key(random)};
    auto const got =
        from.get_many_or_load(keys, [&](std::vector<std::string> const& all, std::stop_token stop) {
          began(call);
          ended(call, pass(takes, stop));
          std::map<std::string, std::string> loaded;
          for (auto const& key : all) loaded.emplace(key, "loaded");
          return loaded;
        });
    return std::any_of(got.begin(), got.end(), [](auto const& one) { return one.has_error(); });
  }

  asio::awaitable<text> load_slowly(std::shared_ptr<one_call> call, microseconds takes,
                                    load_context of) {
    began(*call);
    asio::steady_timer timer(co_await asio::this_coro::executor, takes);
    auto const [why] = co_await timer.async_wait(awaited);
    ended(*call, of.stop().stop_requested());
    if (why) throw std::runtime_error("stopped");
    co_return "loaded";
  }

  static void disturb(cache<std::string> const& at, dice& random) {
    if (random() % 2 == 0) {
      at.put(any_key(random), "put");
    } else {
      at.invalidate(any_key(random));
    }
  }

  terms how_;
  board& seen_;
  std::vector<cache<std::string>> caches_;
};

class played : public scene {
 public:
  void declare(options& all) override {
    all.number("--calls", how_.calls, {1, 1'000'000'000}, "The least number of calls");
    all.number("--threads", how_.threads, {0, 1000}, "Threads, and as many coroutines");
    all.number("--seed", how_.seed, {0, UINT32_MAX}, "Draws other times and keys");
    all.store(how_.store, "The caches' store; by default memory:");
  }

  void play(stage& on) override {
    place const at(how_.store.empty() ? "memory:" : how_.store, place::without_url::file);
    shared<board> seen;
    on.processes().start("the callers", [&] { callers(how_, *seen, at.url()).run(); });
    on.meanwhile([&] {
      on.tell("calls", static_cast<double>(seen->calls) / static_cast<double>(how_.calls));
    });
    on.await_end(std::chrono::hours(24 * 365));
    on.tell_nothing();
    report& out = on.out();
    judge_calls(how_.calls, *seen, on.judged());
    out.figure("calls", seen->values + seen->errors);
    out.figure("loads", seen->loads.load());
    out.figure("loads behind the end of their call", seen->behind.load());
    out.figure("calls that ended while their loader ran", seen->ended_in_loader.load());
    out.figure("calls that ended while they waited", seen->ended_waiting.load());
    out.figure("values", seen->values.load());
    out.figure("errors", seen->errors.load());
    out.data()["broken"] = on.judged().broken();
  }

 private:
  terms how_;
};

constexpr char const* help =
    R"(Threads and coroutines ask a few caches for a few keys, one and many at a time. What
a call waits for and what its loader takes are drawn anew each time; now and then a
key is put or invalidated. Each loader looks, when it begins and when it ends,
whether its call is over. How many calls end while their loader runs, and how many
while they wait, depends on the machine: they go on until each of the two is a fifth
of --calls, and up to 20 times --calls.

Exit status: 0; 1 when a loader began or ended behind the end of its call, or when
20 times --calls were not enough.
)";

}  // namespace
}  // namespace loaders

listed_scene const loaders_scene{"loaders",
                                 "End calls at any time; does a loader outlive its call?",
                                 loaders::help, false, made<loaders::played>};

}  // namespace herdlock::lab
