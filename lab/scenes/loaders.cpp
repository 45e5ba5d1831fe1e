// Calls that end at random times, with loaders that look whether their call is over.
#include "scenes/loaders.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <herdlock/herdlock.hpp>
#include <map>
#include <random>

#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace loaders {
namespace {

using std::chrono::microseconds;
namespace asio = boost::asio;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

struct terms {
  std::uint64_t calls = 100'000, seed = 1;
  int threads = 48;
  std::string store;
};

// What a loader refers to, as a local variable of its caller; kept, so that it can be looked at.
class one_call {
 public:
  one_call(board& into, microseconds loader_takes) : takes(loader_takes), seen_(into) {}

  microseconds const takes;

  void loader_begins() {
    seen_.behind += is_over_;
    ++seen_.loads;
    ++runs_;
  }
  // Whether it was asked to stop.
  bool loader_ends(std::stop_token const& stop) {
    bool const is_asked = stop.stop_requested();
    seen_.behind += is_over_;
    if (is_asked) was_asked_ = true;
    return is_asked;
  }
  // In a thread.
  bool load(std::stop_token const& stop) {
    loader_begins();
    auto const until = std::chrono::steady_clock::now() + takes;
    while (std::chrono::steady_clock::now() < until) nap();
    return loader_ends(stop);
  }
  void ends(bool has_failed) {
    is_over_ = true;
    ++(has_failed ? seen_.errors : seen_.values);
    seen_.ended_in_loader += was_asked_;
    seen_.ended_waiting += !was_asked_ && has_failed && runs_ == 0;
  }

 private:
  board& seen_;
  std::atomic<bool> is_over_{false}, was_asked_{false};
  std::atomic<int> runs_{0};
};

class callers {
 public:
  callers(terms how, board& into, std::string const& url) : how_(std::move(how)), seen_(into) {
    auto const store = open_here(url);
    for (int const wait : {1, 2, 4, 8}) {
      cache_options const with{.prefix = "soak:",
                               .ttl = milliseconds(10),
                               .wait = milliseconds(wait),
                               .error_back_off = milliseconds(0),
                               .bounds = {.max_loads = 12}};
      // Two objects of each kind: as two processes they wait for each other's claims.
      for (int i = 0; i < 2; ++i) caches_.emplace_back(store, with);
    }
  }

  void run() {
    asio::thread_pool pool(2);
    std::vector<std::future<void>> threads;
    for (int i = 0; i < how_.threads; ++i) {
      threads.push_back(std::async(std::launch::async, [this, i] { block(i); }));
      asio::co_spawn(pool, flow(i), asio::detached);
    }
    for (auto const& each : threads) each.wait();
    pool.join();
    for (auto& each : threads) each.get();  // throws what ended one of them
  }

 private:
  using text = std::optional<std::string>;
  using dice = std::mt19937_64;

  void block(std::uint64_t number) {
    dice random(how_.seed * 1'000'003 + number);
    while (seen_.another(how_.calls)) {
      auto const& from = any_cache(random);
      auto const other = random() % 128;
      if (other == 0) from.put(any_key(random), "put");
      if (other == 1) from.invalidate(any_key(random));
      auto const call = a_call(random);
      call->ends(random() % 4 == 0 ? ask_many(from, *call, random) : ask(from, *call, random));
    }
  }

  asio::awaitable<void> flow(std::uint64_t number) {
    dice random(how_.seed * 7'000'003 + number);
    while (seen_.another(how_.calls)) {
      auto const& from = any_cache(random);
      auto const call = a_call(random);
      microseconds const limit(500 + random() % 8'000);
      auto const key = any_key(random);
      auto loader = [call](load_context of) { return load_slowly(call, std::move(of)); };
      auto const [why, value] =
          co_await from.async_get_or_load(key, loader, asio::cancel_after(limit, awaited));
      call->ends(bool(why.code));
    }
  }

  cache<std::string> const& any_cache(dice& random) const {
    return caches_[random() % caches_.size()];
  }
  std::shared_ptr<one_call> a_call(dice& random) const {
    return std::make_shared<one_call>(seen_, microseconds(random() % 12'000));
  }
  static std::string any_key(dice& random) { return std::to_string(random() % 160); }

  // By reference, as everybody writes it. The shared call behind it is for the judge alone.
  // Returns whether it failed.
  static bool ask(cache<std::string> const& from, one_call& call, dice& random) {
    bool const throws = random() % 4 == 0;
    try {
      from.get_or_load(any_key(random), [&](load_context& of) -> text {
        if (call.load(of.stop()) && throws) throw std::runtime_error("stopped");
        return "loaded";
      });
      return false;
    } catch (error const&) {
      return true;
    }
  }

  static bool ask_many(cache<std::string> const& from, one_call& call, dice& random) {
    std::vector<std::string> const keys{any_key(random), any_key(random), any_key(random)};
    auto const got =
        from.get_many_or_load(keys, [&](std::vector<std::string> const& all, std::stop_token stop) {
          call.load(stop);
          std::map<std::string, std::string> loaded;
          for (auto const& key : all) loaded.emplace(key, "loaded");
          return loaded;
        });
    return std::any_of(got.begin(), got.end(), [](auto const& one) { return one.has_error(); });
  }

  static asio::awaitable<text> load_slowly(std::shared_ptr<one_call> call, load_context of) {
    call->loader_begins();
    asio::steady_timer timer(co_await asio::this_coro::executor, call->takes);
    auto const [why] = co_await timer.async_wait(awaited);
    call->loader_ends(of.stop());
    if (why) throw std::runtime_error("stopped");
    co_return "loaded";
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
    on.processes().start("the process of the callers",
                         [&] { callers(how_, *seen, at.url()).run(); });
    on.meanwhile([&] { on.tell("calls", static_cast<double>(seen->calls) / how_.calls); });
    on.await_end(std::chrono::hours(24 * 365));
    on.tell_nothing();
    judge_calls(how_.calls, *seen, on.judged());
    report_counts(seen->counts(), on.out());
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  terms how_;
};

}  // namespace
}  // namespace loaders

listed_scene const loaders_scene{"loaders",
                                 "End calls at any time; does a loader outlive its call?",
#include "scenes/loaders_help.txt"
                                 , false, made<loaders::played>};

}  // namespace herdlock::lab
