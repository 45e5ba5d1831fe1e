// Leases that are left behind, on every store that can keep one which nobody holds.
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>

#include "fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock_test {
namespace {

class leave_contract : public testing::TestWithParam<store_case> {
 protected:
  std::optional<lease_info> seen() const { return where.inspect(); }
  // False, and the lease is as it was, where leases cannot be left.
  bool left(lease& held, milliseconds time, left_as how) {
    if (store_.traits().leaves_leases) {
      EXPECT_EQ(held.leave(time, how), release_reply::released);
      EXPECT_FALSE(held.valid());
      return true;
    }
    auto const refused = held.async_leave(time, how, as_result(asio::use_future)).get();
    EXPECT_TRUE(!refused && refused.error() == errc::not_supported);
    EXPECT_TRUE(held.valid());
    return false;
  }

  temp_dir scratch_;
  store store_ = open_store(GetParam().url(scratch_.path()));
  lock const where{store_, "stock/1"};
};

INSTANTIATE_TEST_SUITE_P(stores, leave_contract, testing::ValuesIn(all_stores()), case_name);

TEST_P(leave_contract, ALeftLeaseIsBusyUntilItsGrantIsOldEnoughAlsoWhereTheTtlWasLonger) {
  auto const began = clock::now();
  auto held = where.try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  if (!left(*held, 1s, left_as::held)) return;
  EXPECT_FALSE(where.try_acquire() && clock::now() < began + 1s);
  ASSERT_TRUE(eventually([&] { return where.try_acquire().has_value(); }));
  EXPECT_GE(clock::now() - began, 998ms);  // servers count in whole milliseconds
}

TEST_P(leave_contract, ALeaseThatIsLeftForLongerThanItsTtlOutlivesIt) {
  auto held = where.try_acquire({.ttl = 10s});
  ASSERT_TRUE(held);
  auto const fencing = held->fencing();
  auto const holder = std::string(held->owner().label());
  if (!left(*held, 1h, left_as::held)) return;
  auto const now = seen();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->holder, holder);
  EXPECT_FALSE(now->done);
  EXPECT_GT(now->remaining, 59min);
  EXPECT_LE(now->remaining, 1h);
  if (GetParam().fences) {
    EXPECT_EQ(now->fencing, fencing);
  }
}

TEST_P(leave_contract, WhatIsLeftAsDoneTellsWhoDidItAndHowLongAgo) {
  auto const began = clock::now();
  auto held = where.try_acquire();
  ASSERT_TRUE(held);
  auto const holder = std::string(held->owner().label());
  if (!left(*held, 1h, left_as::done)) return;
  auto const now = seen();
  ASSERT_TRUE(now && now->done);
  EXPECT_EQ(now->holder, holder);
  EXPECT_GE(*now->done, 0ms);
  // Both ends of it are told in whole milliseconds, or seconds.
  milliseconds const rounded_up = 1ms + GetParam().counts_in;
  EXPECT_LE(*now->done, std::chrono::ceil<milliseconds>(clock::now() - began) + rounded_up);
  EXPECT_FALSE(where.try_acquire());
}

TEST_P(leave_contract, NothingOfTheFormerHolderTouchesIt) {
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  lease_ticket const before{where.name(), held->owner(), held->fencing(), 1min};
  if (!left(*held, 1h, left_as::done)) return;
  EXPECT_EQ(held->release(), release_reply::released) << "the first outcome";
  held.reset();
  EXPECT_FALSE(where.restore(before));
  EXPECT_TRUE(seen() && seen()->done);
}

TEST_P(leave_contract, ATimeThatIsOverGivesItBack) {
  auto held = where.try_acquire();
  ASSERT_TRUE(held);
  auto const granted = clock::now();
  ASSERT_TRUE(eventually([&] { return clock::now() > granted + 20ms; }));
  if (!left(*held, 10ms, left_as::done)) return;
  EXPECT_TRUE(where.try_acquire());
}

TEST_P(leave_contract, TimesThatAreNoTtlAreRefusedAndTheLeaseGoesOn) {
  auto held = where.try_acquire();
  ASSERT_TRUE(held);
  for (milliseconds const time : {0ms, limits::min_ttl - 1ms, limits::max_ttl + 1ms}) {
    auto const refused = held->async_leave(time, left_as::done, as_result(asio::use_future)).get();
    EXPECT_TRUE(!refused && refused.error() == errc::invalid_ttl);
  }
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(held->release(), release_reply::released);
}

TEST_P(leave_contract, WhoWaitsGetsItWhenItEnds) {
  auto held = where.try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  auto next = where.async_acquire({.wait = 1h}, as_result(asio::use_future));
  if (!left(*held, 500ms, left_as::held)) {
    EXPECT_EQ(held->release(), release_reply::released);
  }
  auto got = next.get();
  EXPECT_TRUE(got && *got);
}

TEST_P(leave_contract, AnOperatorTakesItAway) {
  auto held = where.try_acquire();
  ASSERT_TRUE(held);
  if (!left(*held, 1h, left_as::done)) return;
  EXPECT_TRUE(where.force_release());
  EXPECT_TRUE(where.try_acquire());
}

TEST_P(leave_contract, ALostLeaseCannotBeLeft) {
  auto held = where.try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  ASSERT_TRUE(where.force_release());
  auto other = where.try_acquire();
  ASSERT_TRUE(other);
  auto const told = held->async_leave(1h, left_as::done, as_result(asio::use_future)).get();
  EXPECT_TRUE(!told || *told == release_reply::lost);
  auto const now = seen();
  EXPECT_TRUE(now && !now->done);
}

// The port itself.
class pass_on_contract : public store_contract {
 protected:
  result<release_reply> pass_on(owner_token const& from, owner_token const& to, milliseconds ttl) {
    leave_request const request{stock, from, to, ttl};
    return c.get(c.start<release_reply>(
        [&](auto done) { c.store().leases->leave(request, std::move(done)); }));
  }
  bool leaves_leases() { return c.store().traits.leaves_leases; }
  resource const stock{"stock:1"};
};

INSTANTIATE_TEST_SUITE_P(stores, pass_on_contract, testing::ValuesIn(stores_that(is_exact)),
                         case_name);

// B7: an answer that was lost is asked for again.
TEST_P(pass_on_contract, AskedAgainItTellsTheFirstAnswerAndDoesNotProlong) {
  if (!leaves_leases()) return;
  as<grant>(c.acquire(stock, alice, 1min));
  EXPECT_EQ(pass_on(alice, bob, 10s).value(), release_reply::released);
  EXPECT_EQ(pass_on(alice, bob, 1h).value(), release_reply::released);
  EXPECT_LE(c.inspect(stock).value()->remaining, 10s);
}

TEST_P(pass_on_contract, AStrangerPassesNothingOn) {
  if (!leaves_leases()) return;
  EXPECT_EQ(pass_on(alice, bob, 10s).value(), release_reply::lost) << "nobody has it";
  as<grant>(c.acquire(stock, alice, 10s));
  EXPECT_EQ(pass_on(bob, carol, 1h).value(), release_reply::lost);
  EXPECT_LE(c.inspect(stock).value()->remaining, 10s);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
}

TEST_P(pass_on_contract, TheFormerOwnerHasNothingAnyMore) {
  if (!leaves_leases()) return;
  as<grant>(c.acquire(stock, alice, 1min));
  EXPECT_EQ(pass_on(alice, bob, 1min).value(), release_reply::released);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
  EXPECT_TRUE(is<busy>(c.acquire(stock, alice)));
  EXPECT_EQ(c.release(stock, bob).value(), release_reply::released);
}

}  // namespace
}  // namespace herdlock_test
