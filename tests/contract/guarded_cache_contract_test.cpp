// The public cache over every store: with the claims in the same store, and with locks in another
// handle on it.
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/herdlock.hpp>
#include <thread>

#include "fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock_test {
namespace {

class guarded_cache_contract : public testing::TestWithParam<store_case> {
 protected:
  // Many threads of two "processes" miss at once.
  void herd(cache<std::string> const& one, cache<std::string> const& other) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&, i] {
        auto const& mine = i % 2 ? one : other;
        auto const got = mine.get_or_load(key, [&](load_context const& context) {
          ++loads;
          fencing = context.fencing().value;
          return std::optional<std::string>("loaded");
        });
        EXPECT_EQ(got, "loaded");
      });
    }
    for (auto& thread : threads) thread.join();
  }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  cache_key const key{"product:1"};
  std::atomic<int> loads{0};
  std::atomic<std::uint64_t> fencing{0};
};

INSTANTIATE_TEST_SUITE_P(stores, guarded_cache_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(guarded_cache_contract, AHerdInTwoHandlesLoadsOnce) {
  cache<std::string> const one(open_store(url_), {.prefix = no_prefix});
  cache<std::string> const other(open_store(url_), {.prefix = no_prefix});
  herd(one, other);
  EXPECT_EQ(loads, 1);
  EXPECT_GT(fencing, 0u);
  EXPECT_EQ(*one.get(key), "loaded");
}

// The lock and the entry have different names, also where both are keys of one Redis.
TEST_P(guarded_cache_contract, WithSeparateLocksAHerdLoadsOnceAndTheLockIsGivenBack) {
  auto const locks = open_store(url_);
  {
    cache<std::string> const one(open_store(url_), locks, {.prefix = no_prefix});
    cache<std::string> const other(open_store(url_), open_store(url_), {.prefix = no_prefix});
    herd(one, other);
    EXPECT_EQ(loads, 1);
    EXPECT_EQ(*one.get(key), "loaded");
  }
  EXPECT_FALSE(lock(locks, "product:1:lock").inspect());
}

// The closing of a cache whose loader still runs: its lock does not stay behind for its ttl.
TEST_P(guarded_cache_contract, DestroyedWhileItLoadsWithSeparateLocksItGivesTheLockBack) {
  auto const locks = open_store(url_);
  lock const where(locks, "product:1:lock");
  std::atomic<bool> answered{false};
  {
    cache<std::string> const brief(open_store(url_), open_store(url_),
                                   {.prefix = no_prefix, .claim_ttl = 1min});
    auto hang = [this](load_context) -> asio::awaitable<std::optional<std::string>> {
      ++loads;
      asio::steady_timer never(co_await asio::this_coro::executor, 1h);
      co_await never.async_wait(asio::use_awaitable);
      co_return std::nullopt;
    };
    brief.async_get_or_load(key, hang, as_result([&](result<std::optional<std::string>> got) {
                              EXPECT_EQ(got.error(), errc::canceled);
                              answered = true;
                            }));
    ASSERT_TRUE(eventually([&] { return loads == 1; }));
    EXPECT_TRUE(where.inspect());
  }
  EXPECT_TRUE(eventually([&] { return answered.load(); }));
  EXPECT_FALSE(where.inspect());
}

}  // namespace
}  // namespace herdlock_test
