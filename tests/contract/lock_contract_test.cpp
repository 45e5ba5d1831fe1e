// The public lock over every store: blocking calls, several threads, real time.
#include <atomic>
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>
#include <set>
#include <thread>

#include "fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock_test {
namespace {

class lock_contract : public testing::TestWithParam<store_case> {
 protected:
  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  store store_ = open_store(url_);
  lock const where{store_, "stock/1"};
};

INSTANTIATE_TEST_SUITE_P(stores, lock_contract, testing::ValuesIn(all_stores()), case_name);

TEST_P(lock_contract, TryAcquireTakesAFreeResourceAndNotAHeldOne) {
  auto held = where.try_acquire();
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->valid());
  EXPECT_FALSE(where.try_acquire());
  EXPECT_EQ(held->release(), release_reply::released);
  EXPECT_TRUE(where.try_acquire());
}

TEST_P(lock_contract, TheStoreListsWhatIsHeld) {
  EXPECT_TRUE(store_.list().names.empty());
  auto held = where.try_acquire();
  ASSERT_TRUE(held);
  std::set<std::string> seen;
  list_request next;
  do {
    auto page = store_.async_list(next, as_result(asio::use_future)).get().value();
    for (auto const& each : page.names) seen.insert(each.str());
    next.cursor = page.cursor;
  } while (!next.cursor.empty());
  EXPECT_EQ(seen, std::set{where.name().str()});
}

TEST_P(lock_contract, ABlockedAcquireGetsTheResourceWhenItIsReleased) {
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  std::atomic<std::uint64_t> later{0};
  std::thread waiter([&] {
    if (auto mine = where.acquire({.ttl = 1min, .wait = patience})) later = mine->fencing().value;
  });
  EXPECT_FALSE(where.acquire({.ttl = 1min, .wait = 30ms}))
      << "another waiter's deadline is its own";
  auto const first = held->fencing().value;
  held->release();
  waiter.join();
  expect_fencing_after(GetParam(), {first}, {later.load()});
}

TEST_P(lock_contract, OnlyOneOfManyThreadsIsInside) {
  int inside = 0;  // unsynchronised on purpose: the lock is what is tested
  int entered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        EXPECT_TRUE(where.with({.ttl = 1min, .wait = patience}, [&](lease&) {
          EXPECT_EQ(++inside, 1);
          ++entered;
          --inside;
        }));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(entered, 40);
}

TEST_P(lock_contract, WithGivesBackItsValueAndTheResource) {
  auto const value = where.with({.ttl = 1min}, [](lease& held) { return held.valid() ? 42 : 0; });
  EXPECT_EQ(value, 42);
  EXPECT_FALSE(where.inspect().has_value());
}

TEST_P(lock_contract, WithGivesTheResourceBackWhenTheWorkThrows) {
  auto const fails = [](lease&) { throw std::runtime_error("work"); };
  EXPECT_THROW(std::ignore = where.with({.ttl = 1min}, fails), std::runtime_error);
  EXPECT_TRUE(where.acquire({.ttl = 1min, .wait = patience}));
}

TEST_P(lock_contract, WithDoesNothingWhileAnotherHolds) {
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  bool called = false;
  EXPECT_FALSE(where.with({.ttl = 1min, .wait = 0ms}, [&](lease&) { called = true; }));
  EXPECT_FALSE(called);
}

// B1, B4: an operator took it away; the holder learns it from its next renewal.
TEST_P(lock_contract, TheHolderIsToldWhenItsLeaseWasTakenAway) {
  auto held = where.try_acquire({.ttl = 600ms});
  ASSERT_TRUE(held);
  std::atomic<bool> told{false};
  std::stop_callback on_loss(held->lost_token(), [&] { told = true; });
  EXPECT_TRUE(where.force_release());
  ASSERT_TRUE(eventually([&] { return told.load(); }));
  EXPECT_FALSE(held->valid());
  EXPECT_EQ(held->lost_reason(), errc::lost);
  EXPECT_EQ(held->release(), release_reply::lost);
  EXPECT_FALSE(where.inspect()) << "what is lost is not taken again";
}

TEST_P(lock_contract, WithThrowsLostWhenTheLeaseWasTakenAwayMeanwhile) {
  try {
    std::ignore = where.with({.ttl = 1min}, [&](lease&) { where.force_release(); });
    FAIL() << "the loss was not reported";
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::lost);
    auto const text = std::string(e.what());
    EXPECT_NE(text.find(where.where().display_name()), std::string::npos) << text;
  }
}

TEST_P(lock_contract, ALeaseOutlivesItsTtlByRenewal) {
  auto held = where.try_acquire({.ttl = 1s});
  ASSERT_TRUE(held);
  auto const first_end = held->valid_until();
  ASSERT_TRUE(eventually([&] { return clock::now() > first_end + 300ms; }));
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(held->release(), release_reply::released);
}

TEST_P(lock_contract, FirstOrCreateCreatesOnceAmongManyThreads) {
  std::mutex guard;
  std::optional<int> row;
  std::atomic<int> created{0};
  auto find = [&]() -> std::optional<int> {
    std::lock_guard const inside(guard);
    return row;
  };
  auto create = [&](fencing_token) {
    std::lock_guard const inside(guard);
    ++created;
    return *(row = 7);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(first_or_create(where, find, create, {.ttl = 1min, .wait = patience}), 7);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(created, 1);
}

TEST_P(lock_contract, ALeaseDroppedWithItsStoreIsGivenBack) {
  {
    lock const brief(open_store(url_), "stock/2");
    auto held = brief.try_acquire({.ttl = 1min});
    ASSERT_TRUE(held);
  }
  // For `memory:NAME` another handle keeps the data; for the others the data stays anyway.
  EXPECT_FALSE(lock(store_, "stock/2").inspect()) << "released before the destructor returned";
}

TEST_P(lock_contract, NamesOutsideTheBoundsAreRefused) {
  EXPECT_NO_THROW(lock(store_, std::string(limits::max_name_bytes, 'x')).try_acquire());
  EXPECT_THROW(lock(store_, std::string(limits::max_name_bytes + 1, 'x')), error);
  EXPECT_THROW(lock(store_, ""), error);
}

}  // namespace
}  // namespace herdlock_test
