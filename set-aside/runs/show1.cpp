// Issue 42, Shows 1: README's and every guide's loader example, as users write it: with [&], and
// with a `wait` that is shorter than the loader. Meant for ASan + UBSan: no report is the proof.
//
//     show1 memory:        show1 redis://127.0.0.1:PORT
//
// Eight rounds: with and without grace and fail_safe, hot keys (and near on Redis), a loader that
// the cache owns. In each of them six threads, and one thread with two coroutines, ask for four
// keys: 8 * 8 * 30 = 1,920 calls. A loader takes 50 to 60 ms; `wait` is 10 ms.
#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/describe/class.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <herdlock/codec_described.hpp>
#include <herdlock/herdlock.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using herdlock::milliseconds;
using maybe_text = std::optional<std::string>;
using texts = std::map<std::string, std::string>;

struct product {
  int id = 0;
  std::string name;
};
BOOST_DESCRIBE_STRUCT(product, (), (id, name))

namespace {

constexpr int keys = 4;
constexpr int threads = 6;
constexpr int calls_of_each = 30;
constexpr int expected_calls = 8 * (threads + 2) * calls_of_each;

// ------------------------------------------------------------------------------- what is counted

struct figures {
  std::atomic<int> calls{0}, without{0}, loaders{0}, asked_to_stop{0}, unexpected{0};
  std::atomic<int> timed_out{0}, canceled{0}, load_failed{0};
  std::uint64_t joined = 0, stale = 0, near = 0, refreshes = 0, soft = 0, hot = 0, superseded = 0;

  void failed(std::error_code const& code, std::string_view why) {
    ++without;
    if (code == herdlock::errc::timed_out) {
      ++timed_out;
    } else if (code == herdlock::errc::canceled) {
      ++canceled;
    } else if (code == herdlock::errc::load_failed) {
      ++load_failed;
    } else {
      surprised_by(code.message() + ": " + std::string(why));
    }
  }
  void surprised_by(std::string const& what) {
    ++unexpected;
    std::fprintf(stderr, "UNEXPECTED %s\n", what.c_str());
  }
  void add(herdlock::cache_stats const& one) {
    joined += one.joined, stale += one.stale_hits, near += one.near_hits;
    refreshes += one.refreshes, soft += one.soft_timeouts, hot += one.became_hot;
    superseded += one.superseded;
  }
};
figures seen;

// ------------------------------------------------------------------------------ the user's program

milliseconds load_time() {
  static std::atomic<int> n{0};
  return 50ms + milliseconds(n++ % 11);
}

maybe_text row(std::string_view id) {
  if (id.ends_with('3')) return std::nullopt;  // "there is no such thing"
  return "the name of " + std::string(id) + ", which does not fit into a short string";
}

struct a_database {
  maybe_text find_name(std::string_view id) const {
    std::this_thread::sleep_for(load_time());
    return row(id);
  }
};
a_database const database;

// What a function of the user has in its frame. Loaders refer to it.
struct locals {
  std::string wanted;
  std::vector<std::string> notes{};
  int runs = 0;
};

// A loader uses them when it begins and when it ends, however it ends.
class use {
 public:
  explicit use(locals& of) : of_(of) {
    ++seen.loaders;
    note(" begins with it, from its first line on");
  }
  use(use const&) = delete;
  use& operator=(use const&) = delete;
  ~use() { note(" ends with it, in its last line"); }

 private:
  void note(char const* what) {
    ++of_.runs;
    of_.notes.push_back(of_.wanted + what);
  }

  locals& of_;
};

struct variant {
  std::string name;
  bool grace, hot, owned;
};

herdlock::cache_options options_for(variant const& with, bool on_redis, std::string const& kind) {
  herdlock::cache_options options{.prefix = "show1:" + with.name + ":" + kind + ":",
                                  .ttl = 20ms,
                                  .negative_ttl = 20ms,
                                  .wait = 10ms,
                                  .error_back_off = 10ms};
  if (with.grace) {
    options.format = herdlock::cache_format::framed;
    options.grace = 100ms;
    options.fail_safe = true;
  }
  if (with.hot) {
    options.hot_keys = herdlock::hot_keys_options{
        .threshold = 10, .window = 1s, .min_reads = 2, .reads_per_write = 0};
    if (on_redis) {
      options.near = kind == "product" ? herdlock::near_cache::all : herdlock::near_cache::hot;
    }
  }
  return options;
}

// loaders.md: it owns what it uses.
herdlock::cache<std::string> names_for(herdlock::store const& store, variant const& with,
                                       herdlock::cache_options options) {
  if (!with.owned) return herdlock::cache<std::string>(store, options);
  auto from_database = [db = &database](herdlock::load_context& ctx) {
    ++seen.loaders;
    return db->find_name(ctx.key().str());
  };
  options.early_refresh = 1;
  return herdlock::cache<std::string>(store, options, from_database);
}

// The same as a coroutine, and with a soft_timeout where there is a stale value.
herdlock::cache<std::string> lamps_for(herdlock::store const& store, variant const& with,
                                       herdlock::cache_options options,
                                       asio::any_io_executor const& where) {
  auto loader = [](herdlock::load_context ctx) -> asio::awaitable<maybe_text> {
    ++seen.loaders;
    asio::steady_timer timer(co_await asio::this_coro::executor, load_time());
    co_await timer.async_wait(asio::use_awaitable);
    co_return row(ctx.key().str());
  };
  if (with.grace) options.soft_timeout = 5ms;
  return herdlock::cache<std::string>(store, options, herdlock::owned_loader(where, loader));
}

// tags.md
herdlock::cache_options with_tags(herdlock::cache_options options) {
  options.format = herdlock::cache_format::framed;
  options.tags = [](std::string_view key) {
    return std::vector<std::string>{"author:" + std::string(key.substr(0, key.find('/')))};
  };
  return options;
}

// ---------------------------------------------------------------------------------------- a round

class round_of_calls {
 public:
  round_of_calls(herdlock::store const& store, variant with, bool on_redis,
                 asio::any_io_executor const& where)
      : with_(std::move(with)),
        names_(names_for(store, with_, options_for(with_, on_redis, "name"))),
        lamps_(lamps_for(store, with_, options_for(with_, on_redis, "lamp"), where)),
        pages_(store, with_tags(options_for(with_, on_redis, "page"))),
        products_(store, options_for(with_, on_redis, "product")) {}

  void by_thread(unsigned number) {
    std::mt19937 random(number);
    try {
      for (unsigned i = 0; i < calls_of_each; ++i) {
        one_call(number, i);
        if (i % 10 == 9) disturb(std::to_string(random() % keys));
        std::this_thread::sleep_for(milliseconds(random() % 9));
      }
    } catch (std::exception const& e) {
      seen.surprised_by(e.what());
    }
  }

  // coroutines.md: "A deadline is cancel_after(...) as the token."
  asio::awaitable<void> by_deadline() {
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (unsigned i = 0; i < calls_of_each; ++i) {
      auto const token = asio::cancel_after(5ms, asio::as_tuple(asio::use_awaitable));
      auto asked = ask(i, token);
      co_await std::move(asked);
      pause.expires_after(milliseconds(i * 5 % 11));
      co_await pause.async_wait(asio::use_awaitable);
    }
  }

  // A coroutine that is cancelled while it waits for the cache: at once, in between, or behind it.
  asio::awaitable<void> by_cancelled_coroutines() {
    auto const here = co_await asio::this_coro::executor;
    asio::steady_timer pause(here), until_ended(here);
    for (unsigned i = 0; i < calls_of_each; ++i) {
      asio::cancellation_signal stop;
      bool ended = false;
      auto const token = asio::as_tuple(asio::use_awaitable);
      asio::co_spawn(here, ask(i + 1, token),
                     asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr thrown) {
                       ended = true;
                       until_ended.cancel();
                       if (thrown) seen.surprised_by("a coroutine threw");
                     }));
      pause.expires_after(milliseconds(1 + i * 7 % 64));  // it has begun by then
      co_await pause.async_wait(asio::use_awaitable);
      if (!ended) stop.emit(asio::cancellation_type::terminal);
      while (!ended) {
        until_ended.expires_after(1h);
        co_await until_ended.async_wait(asio::as_tuple(asio::use_awaitable));
      }
    }
  }

  void add_stats() const {
    seen.add(names_.stats()), seen.add(lamps_.stats());
    seen.add(pages_.stats()), seen.add(products_.stats());
  }

 private:
  template <class Call>
  static void attempt(Call const& call) {
    ++seen.calls;
    try {
      call();
    } catch (herdlock::error const& e) {
      seen.failed(e.code(), e.what());
    }
  }
  static locals locals_for(std::string const& id) { return {"the row of the product " + id}; }

  void one_call(unsigned number, unsigned i) {
    auto const id = std::to_string((number + i * 3) % keys);
    switch ((number + i) % 8) {
      case 0: return readme(id);
      case 1: return loaders_that_are_stopped(id, i);
      case 2: return near_cache(id);
      case 3: return tags(id, i);
      case 4: return many(number + i);
      case 5: return a_product(id);
      case 6: return hot_keys(id);
      default: return with_.owned ? owned(id, i) : behind_a_fence(id);
    }
  }

  void disturb(std::string const& id) {
    names_.invalidate(id);
    if (with_.grace) {
      products_.expire(id);
      pages_.expire_tag("author:ada");
    } else {
      products_.put(id, {1, "put"});
    }
  }

  // README.md, cache.md
  void readme(std::string const& id) {
    auto mine = locals_for(id);
    attempt([&] {
      auto name = names_.get_or_load(id, [&] {
        use const it(mine);
        return database.find_name(mine.wanted);
      });
      name.value_or("there is no such thing");
    });
  }

  // loaders.md: load_context::stop(). Each third one throws by itself.
  void loaders_that_are_stopped(std::string const& id, unsigned i) {
    auto mine = locals_for(id);
    bool const fails = i / 8 % 3 == 0;
    attempt([&] {
      names_.get_or_load(id, [&](herdlock::load_context& of) -> maybe_text {
        use const it(mine);
        auto const until = std::chrono::steady_clock::now() + load_time();
        while (std::chrono::steady_clock::now() < until) {
          if (of.stop().stop_requested()) {
            ++seen.asked_to_stop;
            throw std::runtime_error("stopped: " + mine.wanted);
          }
          std::this_thread::sleep_for(1ms);
        }
        if (fails) throw std::runtime_error("no connection for " + mine.wanted);
        return row(of.key().str());
      });
    });
  }

  // near-cache.md
  void near_cache(std::string const& id) {
    names_.pin(id);
    auto mine = locals_for(id);
    attempt([&] {
      std::shared_ptr<std::string const> name = names_.get_or_load_shared(id, [&] {
        use const it(mine);
        return database.find_name(mine.wanted);
      });
      if (name) mine.notes.push_back(*name);
    });
    names_.unpin(id);
  }

  // tags.md
  void tags(std::string const& id, unsigned i) {
    auto mine = locals_for(id);
    attempt([&] {
      auto page = pages_.get_or_load("ada/" + id, [&] {
        use const it(mine);
        return database.find_name(mine.wanted);
      });
      if (page) mine.notes.push_back(*page);
    });
    if (i % 3 == 0) pages_.invalidate_tag("author:ada");
  }

  // cache.md: the values of many keys
  void many(unsigned first) {
    auto mine = locals_for("many");
    std::vector<std::string> wanted;
    for (unsigned i = 0; i < 3; ++i) wanted.push_back(std::to_string((first + i) % keys));
    ++seen.calls;
    auto const got =
        names_.get_many_or_load(wanted, [&](std::vector<std::string> const& missing) {
          use const it(mine);
          std::this_thread::sleep_for(load_time());
          texts found;
          for (auto const& id : missing) {
            mine.notes.push_back(id);
            if (auto name = row(id)) found.emplace(id, *name);
          }
          return found;
        });
    count(got);
  }

  // examples/2_guarded_cache.cpp
  void a_product(std::string const& id) {
    auto mine = locals_for(id);
    auto from_database = [&]() -> std::optional<product> {
      use const it(mine);
      std::this_thread::sleep_for(load_time());
      return product{42, mine.wanted};
    };
    attempt([&] { products_.get_or_load(id, from_database); });
  }

  // hot-keys.md
  void hot_keys(std::string const& id) {
    auto mine = locals_for(id);
    attempt([&] {
      maybe_text name = names_.get_or_load(id, [&] {
        use const it(mine);
        return database.find_name(mine.wanted);
      });
      if (name) mine.notes.push_back(*name);
    });
    for (herdlock::hot_key const& one : names_.most_read(10)) mine.notes.push_back(one.key);
  }

  // loaders.md: calls that bring none
  void owned(std::string const& id, unsigned i) {
    if (i % 3 == 0) return attempt([&] { names_.get_or_load(id); });
    if (i % 3 == 1) return attempt([&] { lamps_.get_or_load(id); });
    ++seen.calls;
    count(names_.get_many_or_load({"0", "1", "2"}));
  }

  // near-cache.md: fence(). Who comes behind it joins none that ran before.
  void behind_a_fence(std::string const& id) {
    names_.fence();
    readme(id);
  }

  static void count(std::vector<herdlock::result<maybe_text>> const& got) {
    for (auto const& one : got) {
      if (one.has_error()) return seen.failed(one.error().code, one.error().message);
    }
  }
  static void count(herdlock::failure const& why) {
    if (why) seen.failed(why.code, why.message);
  }

  // A call in a coroutine, with a loader that refers to the locals of the coroutine. Half of the
  // loaders end when they are cancelled, half of them go on.
  template <class Token>
  asio::awaitable<void> ask(unsigned i, Token token) {
    auto const id = std::to_string(i * 3 % keys);
    auto mine = locals_for(id);
    auto loader = [&]() -> asio::awaitable<maybe_text> {
      use const it(mine);
      if (i % 2 == 0) {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      }
      asio::steady_timer timer(co_await asio::this_coro::executor, load_time());
      auto const waited = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      auto const& [cut] = waited;
      if (cut) {
        ++seen.asked_to_stop;
        throw std::runtime_error("stopped: " + mine.wanted);
      }
      co_return row(mine.wanted);
    };
    ++seen.calls;
    switch (i / 2 % 4) {
      case 0: {
        auto const got = co_await names_.async_get_or_load(id, loader, token);
        auto const& [why, name] = got;
        if (name) mine.notes.push_back(*name);
        count(why);
        break;
      }
      case 1: {
        auto const got = co_await names_.async_get_or_load_shared(id, loader, token);
        auto const& [why, name] = got;
        if (name) mine.notes.push_back(*name);
        count(why);
        break;
      }
      case 2: {
        auto many = [&](std::vector<std::string> const& missing) -> asio::awaitable<texts> {
          use const it(mine);
          asio::steady_timer timer(co_await asio::this_coro::executor, load_time());
          co_await timer.async_wait(asio::use_awaitable);
          texts found;
          for (auto const& one : missing) {
            mine.notes.push_back(one);
            if (auto name = row(one)) found.emplace(one, *name);
          }
          co_return found;
        };
        std::vector<std::string> wanted;
        for (unsigned k = 0; k < 3; ++k) wanted.push_back(std::to_string((i + k) % keys));
        auto const got = co_await names_.async_get_many_or_load(wanted, many, token);
        auto const& [why, values] = got;
        // Its failure is never set; the keys have theirs.
        if (why) seen.surprised_by(why.message);
        count(values);
        break;
      }
      default: {
        if (with_.owned) {
          auto const got = co_await lamps_.async_get_or_load(id, token);
          auto const& [why, lamp] = got;
          if (lamp) mine.notes.push_back(*lamp);
          count(why);
        } else {
          auto const key = "ada/" + id;
          auto const got = co_await pages_.async_get_or_load(key, loader, token);
          auto const& [why, page] = got;
          if (page) mine.notes.push_back(*page);
          count(why);
        }
      }
    }
  }

  variant with_;
  herdlock::cache<std::string> names_, lamps_, pages_;
  herdlock::cache<product> products_;
};

void play(herdlock::store const& store, variant const& with, bool on_redis) {
  asio::thread_pool pool(1);  // of the owned coroutine
  {
    round_of_calls calls(store, with, on_redis, pool.get_executor());
    asio::io_context io(1);
    auto const ended = [](std::exception_ptr thrown) {
      if (!thrown) return;
      try {
        std::rethrow_exception(thrown);
      } catch (std::exception const& e) {
        seen.surprised_by(e.what());
      }
    };
    asio::co_spawn(io, calls.by_deadline(), ended);
    asio::co_spawn(io, calls.by_cancelled_coroutines(), ended);
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i) all.emplace_back([&, i] { calls.by_thread(i); });
    all.emplace_back([&] { io.run(); });
    all.clear();
    calls.add_stats();
  }
  pool.join();
}

}  // namespace

int main(int argc, char** argv) try {
  std::string const url = argc > 1 ? argv[1] : "memory:";
  bool const on_redis = url.starts_with("redis");
  {
    auto const store = herdlock::open_store(url);
    for (unsigned i = 0; i < 8; ++i) {
      variant const with{std::to_string(i), (i & 1) != 0, (i & 2) != 0, (i & 4) != 0};
      play(store, with, on_redis);
    }
    for (auto const& one : store.warnings()) std::printf("warning: %s\n", one.c_str());
  }
  std::printf("%s: %d calls, %d without a value\n", url.c_str(), seen.calls.load(),
              seen.without.load());
  std::printf("  %d timed_out, %d canceled, %d load_failed, %d others\n", seen.timed_out.load(),
              seen.canceled.load(), seen.load_failed.load(), seen.unexpected.load());
  std::printf(
      "  %d loaders begun, %d of them saw that they were asked to stop; joined %llu, stale hits "
      "%llu, near hits %llu, refreshes %llu, soft timeouts %llu, became hot %llu, superseded "
      "%llu\n",
      seen.loaders.load(), seen.asked_to_stop.load(), static_cast<unsigned long long>(seen.joined),
      static_cast<unsigned long long>(seen.stale), static_cast<unsigned long long>(seen.near),
      static_cast<unsigned long long>(seen.refreshes), static_cast<unsigned long long>(seen.soft),
      static_cast<unsigned long long>(seen.hot),
      static_cast<unsigned long long>(seen.superseded));
  return seen.calls == expected_calls && seen.unexpected == 0 ? 0 : 1;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
