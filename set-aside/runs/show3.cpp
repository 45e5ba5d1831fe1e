// Issue 42, Shows 3: callers with a deadline of 1 s, a load of 5 s.
//
//     show3 memory:        show3 redis://127.0.0.1:PORT
//
// "With an owned loader the value is stored by the first load; with a call's loader by the first
// load that nobody stops; loads begun, counted, in both." Loaders heed the request to stop. When
// the value is stored is seen by a cache object of its own, which looks each 20 ms. A minute in all.
// Ends with 1 where a line is not as expected.
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <herdlock/herdlock.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using herdlock::milliseconds;
using maybe_text = std::optional<std::string>;
using names = herdlock::cache<std::string>;
using steady = std::chrono::steady_clock;

namespace {

constexpr milliseconds deadline = 1s;
constexpr milliseconds load_takes = 5s;
// A call that ends within this has ended by its time, also on a slow machine.
constexpr milliseconds in_time = 1500ms;

// ------------------------------------------------------------------------------- what is counted

struct figures {
  std::atomic<int> begun{0}, finished{0}, stopped{0};
  std::atomic<int> ended_in_time{0};  // without a value
  std::atomic<int> values{0};
  std::atomic<int> values_late{0};  // of these: later than its time; its own loader ran
  std::atomic<int> others{0};

  void value(steady::time_point asked) {
    ++values;
    if (steady::now() - asked > in_time) ++values_late;
  }
  void failed(steady::time_point asked, std::error_code const& code, std::string const& why) {
    bool const by_deadline =
        code == herdlock::errc::timed_out || code == herdlock::errc::canceled;
    if (by_deadline && steady::now() - asked <= in_time) {
      ++ended_in_time;
    } else {
      ++others;
      std::fprintf(stderr, "UNEXPECTED after %.2f s: %s: %s\n",
                   std::chrono::duration<double>(steady::now() - asked).count(),
                   code.message().c_str(), why.c_str());
    }
  }
};

// --------------------------------------------------------------------------------------- loaders

maybe_text load_blocking(figures& seen, herdlock::load_context const& of) {
  ++seen.begun;
  auto const until = steady::now() + load_takes;
  while (steady::now() < until) {
    if (of.stop().stop_requested()) {
      ++seen.stopped;
      throw std::runtime_error("stopped");
    }
    std::this_thread::sleep_for(5ms);
  }
  ++seen.finished;
  return "loaded";
}

asio::awaitable<maybe_text> load_in_coroutine(figures& seen) {
  ++seen.begun;
  asio::steady_timer timer(co_await asio::this_coro::executor, load_takes);
  auto const waited = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  auto const& [cut] = waited;
  if (cut) {
    ++seen.stopped;
    throw std::runtime_error("stopped");
  }
  ++seen.finished;
  co_return "loaded";
}

// --------------------------------------------------------------------------------------- callers

enum class loader_of { cache, call };

void ask(names const& from, figures& seen, loader_of whose) {
  auto const asked = steady::now();
  try {
    if (whose == loader_of::cache) {
      from.get_or_load("42");
    } else {
      from.get_or_load("42", [&](herdlock::load_context& of) { return load_blocking(seen, of); });
    }
    seen.value(asked);
  } catch (herdlock::error const& e) {
    seen.failed(asked, e.code(), e.what());
  }
}

asio::awaitable<void> ask_in_coroutine(names const& from, figures& seen, loader_of whose,
                                       milliseconds after, std::optional<milliseconds> limit) {
  asio::steady_timer pause(co_await asio::this_coro::executor, after);
  co_await pause.async_wait(asio::use_awaitable);
  auto const asked = steady::now();
  auto loader = [&] { return load_in_coroutine(seen); };
  auto const plain = asio::as_tuple(asio::use_awaitable);
  auto const limited = asio::cancel_after(limit.value_or(1h), plain);
  std::tuple<herdlock::failure, maybe_text> got;
  if (whose == loader_of::cache) {
    got = co_await from.async_get_or_load("42", limited);
  } else if (limit) {
    got = co_await from.async_get_or_load("42", loader, limited);
  } else {
    got = co_await from.async_get_or_load("42", loader, plain);
  }
  auto const& [why, value] = got;
  if (why) {
    seen.failed(asked, why.code, why.message);
  } else {
    seen.value(asked);
  }
}

// ----------------------------------------------------------------------------------------- a case

struct expectation {
  int callers, begun, finished, stopped;
};

class one_case {
 public:
  one_case(herdlock::store store, std::string prefix)
      : store_(std::move(store)), prefix_(std::move(prefix)), began_(steady::now()) {
    stored_ = std::async(std::launch::async, [this] { return time_until_stored(); });
  }

  herdlock::cache_options options() const { return {.prefix = prefix_, .ttl = 1min}; }

  bool print(char const* name, expectation const& is) {
    double const after = stored_.get();
    bool const as_expected = after >= 0 && seen.begun == is.begun &&
                             seen.finished == is.finished && seen.stopped == is.stopped &&
                             seen.others == 0 &&
                             seen.ended_in_time + seen.values == is.callers;
    std::printf(
        "%s: %d callers, %d ended by their time, %d had the value (%d of them at the end "
        "of their own load); loads begun %d, finished %d, stopped %d; ",
        name, is.callers, seen.ended_in_time.load(), seen.values.load(), seen.values_late.load(),
        seen.begun.load(), seen.finished.load(), seen.stopped.load());
    if (after >= 0) {
      std::printf("stored after %.1f s%s\n", after, as_expected ? "" : "  NOT AS EXPECTED");
    } else {
      std::printf("NOT STORED\n");
    }
    std::fflush(stdout);
    return as_expected;
  }

  figures seen{};

 private:
  double time_until_stored() const {
    names const looks(store_, options());
    while (steady::now() - began_ < 40s) {
      try {
        if (looks.get("42")) return std::chrono::duration<double>(steady::now() - began_).count();
      } catch (herdlock::error const& e) {
        std::fprintf(stderr, "UNEXPECTED look: %s\n", e.what());
      }
      std::this_thread::sleep_for(20ms);
    }
    return -1;
  }

  herdlock::store store_;
  std::string prefix_;
  steady::time_point began_;
  std::future<double> stored_;
};

void block(names const& from, figures& seen, loader_of whose, int callers, milliseconds apart) {
  std::vector<std::jthread> all;
  for (int i = 0; i < callers; ++i) {
    all.emplace_back([&, i] {
      std::this_thread::sleep_for(i * apart);
      ask(from, seen, whose);
    });
  }
}

bool owned_blocking(herdlock::store const& store, std::string const& prefix) {
  one_case here(store, prefix + "owned-blocking:");
  auto options = here.options();
  options.wait = deadline;
  auto loader = [seen = &here.seen](herdlock::load_context& of) {
    return load_blocking(*seen, of);
  };
  names const from(store, options, loader);
  block(from, here.seen, loader_of::cache, 20, 200ms);
  return here.print("owned loader, blocking callers 0.2 s apart", {20, 1, 1, 0});
}

// The second, third and fourth come when nobody has waited for a second.
bool owned_coroutine(herdlock::store const& store, std::string const& prefix) {
  one_case here(store, prefix + "owned-coroutine:");
  asio::io_context io(1);
  auto loader = [seen = &here.seen] { return load_in_coroutine(*seen); };
  names const from(store, here.options(), herdlock::owned_loader(io.get_executor(), loader));
  for (int i = 0; i < 4; ++i) {
    asio::co_spawn(io, ask_in_coroutine(from, here.seen, loader_of::cache, i * 2s, deadline),
                   [](std::exception_ptr thrown) {
                     if (thrown) std::rethrow_exception(thrown);
                   });
  }
  io.run();
  return here.print("owned coroutine, callers 2 s apart", {4, 1, 1, 0});
}

// There is always somebody who waits, so nobody stops the first load.
bool blocking(herdlock::store const& store, std::string const& prefix) {
  one_case here(store, prefix + "call-blocking:");
  auto options = here.options();
  options.wait = deadline;
  names const from(store, options);
  block(from, here.seen, loader_of::call, 20, 300ms);
  return here.print("the call's loader, blocking callers 0.3 s apart", {20, 1, 1, 0});
}

bool coroutines(herdlock::store const& store, std::string const& prefix) {
  one_case here(store, prefix + "call-coroutine:");
  asio::io_context io(1);
  names const from(store, here.options());
  for (int i = 0; i < 20; ++i) {
    asio::co_spawn(io, ask_in_coroutine(from, here.seen, loader_of::call, i * 300ms, deadline),
                   [](std::exception_ptr thrown) {
                     if (thrown) std::rethrow_exception(thrown);
                   });
  }
  io.run();
  return here.print("the call's coroutine, callers 0.3 s apart", {20, 1, 1, 0});
}

bool coroutines_that_stop(herdlock::store const& store, std::string const& prefix) {
  one_case here(store, prefix + "call-stopped:");
  asio::io_context io(1);
  names const from(store, here.options());
  for (int i = 0; i < 4; ++i) {
    auto const limit = i < 3 ? std::optional<milliseconds>(deadline) : std::nullopt;
    asio::co_spawn(io, ask_in_coroutine(from, here.seen, loader_of::call, i * 2s, limit),
                   [](std::exception_ptr thrown) {
                     if (thrown) std::rethrow_exception(thrown);
                   });
  }
  io.run();
  return here.print(
      "the call's coroutine, three callers 2 s apart, stopped at their deadlines, then at 6 s one "
      "without",
      {4, 4, 1, 3});
}

}  // namespace

int main(int argc, char** argv) try {
  std::string const url = argc > 1 ? argv[1] : "memory:";
  // A new one for each run: what an earlier one has stored is no answer.
  auto const prefix =
      "show3:" + std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + ":";
  auto const store = herdlock::open_store(url);
  bool good = true;
  for (auto const& one :
       {owned_blocking, owned_coroutine, blocking, coroutines, coroutines_that_stop}) {
    good = one(store, prefix) && good;
  }
  return good ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
