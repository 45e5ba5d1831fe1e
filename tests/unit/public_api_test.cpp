// What all public operations have in common: a failure first and a harmless value behind it, thrown
// by co_await and futures, seen by groups.
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>
#include <set>
#include <sstream>
#include <support/thread_names.hpp>

#include "scripted_lock.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using RenewNowTest = herdlock::scripted::LockTest;

static_assert(asio::is_disposition_v<failure>);
static_assert(renew_reply() == renew_reply::lost && release_reply() == release_reply::lost);

// ------------------------------------------------------------- a failure, and the harmless value

// Every operation on a store that has been closed.
class ClosedStore : public ::testing::Test {
 protected:
  template <class Start>
  auto run(Start start) {
    auto got = start(opened)(asio::as_tuple(asio::use_future));
    io.restart();
    io.run();
    return got.get();
  }

  void SetUp() override {
    std::ignore = run([](store const& s) { return s.async_close(); });
  }

  static auto loader() {
    return []() -> asio::awaitable<std::optional<std::string>> {
      ADD_FAILURE() << "a load on a closed store";
      co_return "loaded";
    };
  }

  asio::io_context io;
  store opened = open_store("memory:", {.executor = io.get_executor()});
  lock orders{opened, "orders"};
  cache<std::string> names{opened};
};

TEST_F(ClosedStore, NothingIsHeldByWhoIgnoresTheFailure) {
  auto const asked = run([&](auto const&) { return orders.async_acquire(); });
  EXPECT_EQ(std::get<0>(asked), errc::canceled);
  EXPECT_FALSE(std::get<1>(asked));
  auto const tried = run([&](auto const&) { return orders.async_try_acquire(); });
  EXPECT_EQ(std::get<0>(tried), errc::canceled);
  EXPECT_FALSE(std::get<1>(tried));
  lease_ticket const ticket{orders.name(), owner_token::generate(), {}, 1s};
  auto const restored = run([&](auto const&) { return orders.async_restore(ticket); });
  EXPECT_EQ(std::get<0>(restored), errc::canceled);
  EXPECT_FALSE(std::get<1>(restored));
}

TEST_F(ClosedStore, NothingIsKnownByWhoIgnoresTheFailure) {
  auto const seen = run([&](auto const&) { return orders.async_inspect(); });
  EXPECT_EQ(std::get<0>(seen), errc::canceled);
  EXPECT_FALSE(std::get<1>(seen));
  auto const page = run([](store const& s) { return s.async_list(); });
  EXPECT_EQ(std::get<0>(page), errc::canceled);
  EXPECT_TRUE(std::get<1>(page).names.empty() && std::get<1>(page).cursor.empty());
  auto const leads = run([](store const& s) { return async_observe(s, "job", std::nullopt); });
  EXPECT_EQ(std::get<0>(leads), errc::canceled);
  EXPECT_FALSE(std::get<1>(leads));
  auto const ruled = run([](store const& s) { return async_read_hot_rules(s, "p:"); });
  EXPECT_EQ(std::get<0>(ruled), errc::canceled);
  EXPECT_EQ(std::get<1>(ruled), hot_rules());
}

TEST_F(ClosedStore, AMissIsWhatACacheGivesWhoIgnoresTheFailure) {
  auto const load = loader();
  auto const loaded = run([&](auto const&) { return names.async_get_or_load("k", load); });
  EXPECT_EQ(std::get<0>(loaded), errc::canceled);
  EXPECT_FALSE(std::get<1>(loaded));
  auto const found = run([&](auto const&) { return names.async_get("k"); });
  EXPECT_EQ(std::get<0>(found), errc::canceled);
  EXPECT_TRUE(std::get<1>(found).is_miss());
  auto const gone = run([&](auto const&) { return names.async_invalidate("k"); });
  EXPECT_EQ(std::get<0>(gone), errc::canceled);
  EXPECT_FALSE(std::get<1>(gone));
  EXPECT_EQ(std::get<0>(run([&](auto const&) { return names.async_put("k", "v"); })),
            errc::canceled);
}

TEST_F(ClosedStore, ANameThatIsNoneIsTheCallersFailureNotAnException) {
  auto const load = loader();
  auto const loaded = run([&](auto const&) { return names.async_get_or_load("", load); });
  EXPECT_EQ(std::get<0>(loaded), errc::invalid_name);
  EXPECT_EQ(std::get<0>(run([&](auto const&) { return names.async_put("", "v"); })),
            errc::invalid_name);
}

TEST_F(RenewNowTest, ALostLeaseIsWhatAReleaseAndARenewalGiveWhoIgnoresTheFailure) {
  auto lease = take({.ttl = 1h});
  std::optional<std::pair<failure, renew_reply>> renewed;
  lease.async_renew([&](failure why, renew_reply reply) { renewed.emplace(why, reply); });
  f.settle();
  f.script->renew_next(make_failure(errc::unavailable, "scripted"));
  f.settle();
  ASSERT_TRUE(renewed);
  EXPECT_EQ(renewed->first, errc::unavailable);
  EXPECT_EQ(renewed->second, renew_reply::lost);
  EXPECT_TRUE(lease.valid()) << "the right it had is not touched";

  std::optional<std::pair<failure, release_reply>> released;
  lease.async_release([&](failure why, release_reply reply) { released.emplace(why, reply); });
  f.settle();
  f.script->release_next(make_failure(errc::access_denied, "scripted"));
  f.settle();
  ASSERT_TRUE(released);
  EXPECT_EQ(released->first, errc::access_denied);
  EXPECT_EQ(released->second, release_reply::lost);
}

TEST(PublicApi, AGuardHoldsNothingWhenItsLockWasRefused) {
  asio::io_context io;
  keyed_mutex mutex({.max_waiters_per_key = 0, .executor = io.get_executor()});
  auto held = mutex.try_lock("a");
  std::optional<failure> told;
  mutex.async_lock("a", [&](failure why, keyed_mutex::guard none) {
    told = why;
    EXPECT_FALSE(none);
  });
  io.run();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::overloaded);
}

// ----------------------------------------------------------------- how completion tokens see it

TEST(PublicApi, CoAwaitAndFuturesThrowTheFailure) {
  asio::io_context io;  // outlives the store's thread, which lets go of its executors
  auto const opened = open_store("memory:");
  lock const orders(opened, "orders");
  acquire_options const nonsense{.ttl = 1ms};
  try {
    std::ignore = orders.async_acquire(nonsense, asio::use_future).get();
    FAIL() << "no exception";
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::invalid_ttl);
  }
  bool thrown = false;
  auto body = [&]() -> asio::awaitable<void> {
    try {
      std::ignore = co_await orders.async_acquire(nonsense);
    } catch (error const& e) {
      thrown = e.code() == errc::invalid_ttl;
    }
    acquired lease = co_await orders.async_try_acquire();
    EXPECT_TRUE(lease);
  };
  asio::co_spawn(io, body, asio::detached);
  io.run();
  EXPECT_TRUE(thrown);
}

TEST(PublicApi, AGroupThatWaitsForOneSuccessSeesAFailure) {
  asio::io_context io;
  auto const opened = open_store("memory:");
  lock const orders(opened, "orders");
  auto group = asio::experimental::make_parallel_group(orders.async_acquire({.ttl = 1ms}),
                                                       orders.async_acquire({.ttl = 1min}));
  bool ended = false;
  group.async_wait(asio::experimental::wait_for_one_success(),
                   asio::bind_executor(
                       io, [&](auto, failure refused, acquired none, failure why, acquired lease) {
                         ended = true;
                         EXPECT_EQ(refused, errc::invalid_ttl);
                         EXPECT_FALSE(none);
                         EXPECT_FALSE(why);
                         EXPECT_TRUE(lease) << "the failure of the other did not end it";
                       }));
  auto const work = asio::make_work_guard(io);
  while (!ended) io.run_one();
}

// ---------------------------------------------------------------------------- acquiring, renewing

TEST_F(RenewNowTest, AcquireWaitsByDefaultAndTryAcquireNever) {
  scripted::scripted_fixture queue(store_traits{.queues = true});
  lock const job(*queue.opened, "job");
  job.async_acquire({}, [](failure const&, acquired const&) {});
  job.async_try_acquire({.wait = 1min}, [](failure const&, acquired const&) {});
  queue.settle();
  ASSERT_EQ(queue.script->acquires.size(), 2u);
  EXPECT_GT(queue.script->acquires[0].request.wait, 25s);
  EXPECT_EQ(queue.script->acquires[1].request.wait, 0ms);
}

TEST_F(RenewNowTest, ARenewalByHandProlongsALeaseThatIsNotRenewedByItself) {
  auto lease = take({.ttl = 1h, .renew = renewal::none});
  auto const first = lease.valid_until();
  int renewed = 0;
  auto const count = [&](failure const& why, renew_reply reply) {
    EXPECT_FALSE(why);
    EXPECT_EQ(reply, renew_reply::renewed);
    ++renewed;
  };
  lease.async_renew(count);
  lease.async_renew(count);
  f.settle();
  EXPECT_EQ(f.script->renews.size(), 1u) << "the second joins the first";
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_EQ(renewed, 2);
  EXPECT_GT(lease.valid_until(), first);
  EXPECT_GT(lease.remaining(), 58min);
}

TEST_F(RenewNowTest, ARenewalByHandMeetsTheLoss) {
  auto lease = take({.ttl = 1h});
  std::optional<renew_reply> told;
  lease.async_renew([&](failure const& why, renew_reply reply) {
    EXPECT_FALSE(why);
    told = reply;
  });
  f.settle();
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_EQ(told, renew_reply::lost);
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.remaining(), 0ms);
  told.reset();
  lease.async_renew([&](failure const&, renew_reply reply) { told = reply; });
  f.settle();
  EXPECT_EQ(told, renew_reply::lost);
  EXPECT_TRUE(f.script->renews.empty()) << "a lost lease is asked for no more";
}

TEST_F(RenewNowTest, ARenewalByHandEndsWithTheRelease) {
  auto lease = take({.ttl = 1h});
  std::optional<failure> told;
  lease.async_renew([&](failure const& why, renew_reply) { told = why; });
  f.settle();
  lease.async_release([](failure const&, release_reply) {});
  f.settle();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::canceled);
}

TEST_F(RenewNowTest, ARenewalByHandIsRefusedOnceMaxHoldIsOver) {
  auto lease = take({.ttl = 1h, .max_hold = 1ms});
  auto const began = clock::now();
  while (clock::now() < began + 2ms) f.settle();
  std::optional<failure> told;
  lease.async_renew([&](failure const& why, renew_reply) { told = why; });
  f.settle();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::not_supported);
  EXPECT_TRUE(f.script->renews.empty());
  EXPECT_TRUE(lease.valid());
}

// ------------------------------------------------------------------------- texts, loaders, threads

TEST(PublicApi, NamesTokensAndFailuresCanBePrinted) {
  std::ostringstream out;
  auto const secret = owner_token::parse("me:0123456789abcdef0123456789abcdef").value();
  out << resource("a\nb") << ' ' << cache_key("k") << ' ' << fencing_token{7} << ' ' << secret
      << ' ' << make_failure(errc::lost, "why it was lost") << ' ' << failure{};
  EXPECT_EQ(out.str(), "a\\x0ab k 7 me:*** why it was lost success");
}

TEST(PublicApi, LoadersTakeTheContextOrNothing) {
  asio::io_context io;
  auto const opened = open_store("memory:");
  cache<int> numbers(opened);
  EXPECT_EQ(numbers.get_or_load("plain", [] { return 1; }), 1);
  EXPECT_EQ(numbers.get_or_load("with",
                                [](load_context const& c) -> std::optional<int> {
                                  return static_cast<int>(c.key().str().size());
                                }),
            4);
  EXPECT_EQ(numbers.get_or_load("none", []() -> std::optional<int> { return std::nullopt; }),
            std::nullopt);
  int sum = 0;
  auto body = [&]() -> asio::awaitable<void> {
    auto plain = []() -> asio::awaitable<std::optional<int>> { co_return 10; };
    auto with = [](load_context const& c) -> asio::awaitable<std::optional<int>> {
      co_return static_cast<int>(c.fencing().value > 0);
    };
    std::optional<int> const first = co_await numbers.async_get_or_load("p", plain);
    std::optional<int> const second = co_await numbers.async_get_or_load("w", with);
    sum = first.value_or(0) + second.value_or(0);
  };
  asio::co_spawn(io, body, asio::detached);
  io.run();
  EXPECT_EQ(sum, 11);
}

TEST(PublicApi, ThreadsHaveNames) {
  auto const opened = open_store("memory:");
  std::set<std::string> during;
  cache<int> const numbers(opened, {}, [&] {
    during = herdlock_test::thread_names();
    return 1;
  });
  numbers.get_or_load("k");
  EXPECT_TRUE(during.contains("herdlock"));
  EXPECT_TRUE(during.contains("herdlock-load"));
}

}  // namespace
