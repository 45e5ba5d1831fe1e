// Handlers that throw on an executor that several threads run: whatever one of them throws ends its
// thread's event, and the others are served.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <herdlock/cache.hpp>
#include <herdlock/lock.hpp>
#include <optional>
#include <support/eventually.hpp>
#include <support/redis_server.hpp>
#include <thread>
#include <tuple>
#include <vector>

#include "support/as_result.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

struct users_error {};

enum class kind { memory, redis };

class ThrowingThreads : public testing::TestWithParam<std::tuple<kind, int>> {
 protected:
  ThrowingThreads() {
    auto const [which, count] = GetParam();
    if (which == kind::redis) server.emplace();
    opened = open_store(server ? server->url() : "memory:", {.executor = io.get_executor()});
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { run(); });
  }
  ~ThrowingThreads() override {
    opened.reset();
    work.reset();
    threads.clear();
  }

  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (users_error const&) {
        is_caught = true;
      } catch (asio::multiple_exceptions const&) {  // a strand's, of several handlers in a row
        is_caught = true;
      }
    }
  }

  /// On the store's strand, or beside it on whatever thread is free.
  template <class Handler>
  void on_each_executor(int i, Handler&& start) {
    if (i % 2 == 0) return start(opened->get_executor());
    start(asio::any_io_executor(io.get_executor()));
  }

  std::atomic<bool> is_caught = false;
  std::optional<redis_server> server;
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
  std::optional<store> opened;
  std::vector<std::jthread> threads;
};

std::string case_of(testing::TestParamInfo<std::tuple<kind, int>> const& info) {
  auto const [which, count] = info.param;
  return (which == kind::redis ? "redis_" : "memory_") + std::to_string(count) + "_threads";
}

INSTANTIATE_TEST_SUITE_P(, ThrowingThreads,
                         testing::Combine(testing::Values(kind::memory, kind::redis),
                                          testing::Values(2, 4)),
                         case_of);

TEST_P(ThrowingThreads, EachWaiterOfALockGetsItsTurn) {
  constexpr int many = 60;
  std::atomic<int> released = 0;
  auto const on_release = [&](result<release_reply> told) {
    if (told.has_value()) ++released;
    throw users_error{};
  };
  for (int i = 0; i < many; ++i) {
    lock const where(*opened, "stock:" + std::to_string(i % 3));
    on_each_executor(i, [&](asio::any_io_executor const& executor) {
      auto on_grant = [&, executor](result<acquired> got) {
        auto held = std::move(got.value().value());
        held.async_release(as_result(asio::bind_executor(executor, on_release)));
        throw users_error{};
      };
      where.async_acquire({.ttl = 1min, .wait = 1min},
                          as_result(asio::bind_executor(executor, on_grant)));
    });
  }
  EXPECT_TRUE(eventually([&] { return released == many; }));
  EXPECT_TRUE(is_caught);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(lock(*opened, "stock:" + std::to_string(i)).try_acquire());
  }
}

// A lease that is dropped by a handler that throws is given back: it never reached anybody.
TEST_P(ThrowingThreads, ALeaseThatIsThrownAwayIsTheNextOnes) {
  constexpr int many = 30;
  std::atomic<int> granted = 0;
  lock const where(*opened, "stock");
  for (int i = 0; i < many; ++i) {
    on_each_executor(i, [&](asio::any_io_executor const& executor) {
      auto on_grant = [&](result<acquired> got) {
        if (got.has_value() && *got) ++granted;
        throw users_error{};
      };
      where.async_acquire({.ttl = 1min, .wait = 1min},
                          as_result(asio::bind_executor(executor, on_grant)));
    });
  }
  EXPECT_TRUE(eventually([&] { return granted == many; }));
  EXPECT_TRUE(is_caught);
  EXPECT_TRUE(where.acquire({.wait = 10s}));
}

TEST_P(ThrowingThreads, EachCallerOfACacheIsAnswered) {
  using text = std::optional<std::string>;
  constexpr int many = 200;
  cache<std::string> const strings(*opened, {.prefix = no_prefix, .error_back_off = 0ms});
  std::atomic<int> values = 0;
  std::atomic<int> errors = 0;
  auto const on_value = [&](result<text> got) {
    ++(got.has_value() && *got == "loaded" ? values : errors);
    throw users_error{};
  };
  for (int i = 0; i < many; ++i) {
    bool const breaks = i % 10 == 0;
    auto const load = [breaks](load_context) -> asio::awaitable<text> {
      if (breaks) throw std::runtime_error("scripted");
      co_return text("loaded");
    };
    on_each_executor(i, [&](asio::any_io_executor const& executor) {
      strings.async_get_or_load(cache_key("k" + std::to_string(i % 10)), load,
                                as_result(asio::bind_executor(executor, on_value)));
    });
  }
  EXPECT_TRUE(eventually([&] { return values + errors == many; }));
  EXPECT_TRUE(is_caught);
  EXPECT_EQ(errors, many / 10) << "the loads of one key";
  EXPECT_EQ(strings.get_or_load(cache_key("k0"), [](auto const&) { return text("at last"); }),
            "at last");
}

TEST_P(ThrowingThreads, EachWriteToACacheIsAnswered) {
  constexpr int many = 50;
  cache<std::string> const strings(*opened, {.prefix = no_prefix});
  std::atomic<int> done = 0;
  auto const on_done = [&](auto const& told) {
    if (told.has_value()) ++done;
    throw users_error{};
  };
  for (int i = 0; i < many; ++i) {
    cache_key const key("k" + std::to_string(i));
    on_each_executor(i, [&](asio::any_io_executor const& executor) {
      strings.async_put(key, "v", as_result(asio::bind_executor(executor, on_done)));
      strings.async_get(key, as_result(asio::bind_executor(executor, on_done)));
      strings.async_invalidate(key, as_result(asio::bind_executor(executor, on_done)));
    });
  }
  EXPECT_TRUE(eventually([&] { return done == 3 * many; }));
  EXPECT_TRUE(is_caught);
  strings.put(cache_key("last"), "v");
  EXPECT_EQ(*strings.get(cache_key("last")), "v");
}

}  // namespace
}  // namespace herdlock_test
