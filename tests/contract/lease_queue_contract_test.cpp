// Waiting inside the store: what store_traits::queues adds to the lease port, and what a store
// without a queue does instead.
#include "fixture.hpp"

namespace herdlock_test {
namespace {

class lease_queue_contract : public store_contract {
 protected:
  resource const stock{"stock:1"};

  pending<acquire_reply> wait_for_it(owner_token const& owner, milliseconds wait = 1min) {
    return c.start_acquire({stock, owner, 1min, wait});
  }
  // A round trip: everything that was started before has reached the store.
  void settle() { c.inspect(resource("another")).value(); }
  // Where joining takes several, so many of them that it is there; not every store tells.
  void settle_until_it_waits() {
    constexpr int most = 200;
    bool waits = false;
    for (int i = 0; i < most && !waits; ++i) {
      auto const seen = c.inspect(stock).value();
      waits = seen && seen->waiting > 0;
    }
  }
};

class lease_no_queue_contract : public lease_queue_contract {};
class lease_wait_anywhere_contract : public lease_queue_contract {};

bool queues(store_case const& kind) { return kind.queues; }
INSTANTIATE_TEST_SUITE_P(stores, lease_queue_contract, testing::ValuesIn(stores_that(queues)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(stores, lease_no_queue_contract,
                         testing::ValuesIn(stores_that(std::not_fn(queues))), case_name);
INSTANTIATE_TEST_SUITE_P(stores, lease_wait_anywhere_contract, testing::ValuesIn(all_stores()),
                         case_name);

TEST_P(lease_wait_anywhere_contract, TheTraitsSayWhetherItQueues) {
  EXPECT_EQ(c.store().traits.queues, GetParam().queues);
}

TEST_P(lease_no_queue_contract, AStoreWithoutAQueueAnswersBusyAtOnce) {
  c.acquire(stock, alice, 1h).value();
  EXPECT_TRUE(is<busy>(c.get(wait_for_it(bob, wait_forever))));
}

TEST_P(lease_wait_anywhere_contract, AFreeResourceIsGrantedWithoutWaiting) {
  EXPECT_TRUE(is<grant>(c.get(wait_for_it(alice, wait_forever))));
}

TEST_P(lease_queue_contract, WaitersAreServedInTheOrderTheyCame) {
  std::vector<owner_token> owners;
  std::vector<pending<acquire_reply>> waiting;
  c.acquire(stock, alice).value();
  for (int i = 0; i < 20; ++i) {
    owners.push_back(owner_token::generate());
    waiting.push_back(wait_for_it(owners.back()));
  }
  settle();
  fencing_token last{};
  c.release(stock, alice).value();
  for (std::size_t i = 0; i < owners.size(); ++i) {
    auto reply = c.get(waiting[i]);
    ASSERT_TRUE(is<grant>(reply)) << i;
    ASSERT_GT(as<grant>(reply).fencing, last);
    last = as<grant>(reply).fencing;
    for (std::size_t later = i + 1; later < owners.size(); ++later) {
      ASSERT_FALSE(waiting[later].done()) << "one hand-over ended two waits";
    }
    ASSERT_EQ(c.release(stock, owners[i]).value(), release_reply::released);
  }
}

// B9, B10: the release makes the next waiter the owner in the same step; nobody can push in.
TEST_P(lease_queue_contract, ReleaseHandsOverBeforeAnybodyElseCanAsk) {
  c.acquire(stock, alice).value();
  auto bobs = wait_for_it(bob);
  settle_until_it_waits();
  auto other = another();
  c.release(stock, alice).value();
  EXPECT_TRUE(is<busy>(other->acquire(stock, carol)));
  EXPECT_TRUE(is<grant>(c.get(bobs)));
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
}

TEST_P(lease_queue_contract, ExpiryOfADeadHolderHandsOver) {
  c.acquire(stock, alice, 50ms).value();
  auto bobs = wait_for_it(bob);
  EXPECT_TRUE(is<grant>(c.get(bobs)));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
}

TEST_P(lease_queue_contract, ForceReleaseHandsOver) {
  c.acquire(stock, alice).value();
  auto bobs = wait_for_it(bob);
  settle();
  EXPECT_EQ(c.force_release(stock).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(c.get(bobs)));
}

TEST_P(lease_queue_contract, AReleaseThroughAnotherHandleEndsTheWait) {
  auto other = another();
  other->acquire(stock, alice).value();
  auto bobs = wait_for_it(bob);
  settle();
  other->release(stock, alice).value();
  EXPECT_TRUE(is<grant>(c.get(bobs)));
}

// Whatever becomes of the wait: it held nothing, and who does is left alone.
TEST_P(lease_queue_contract, AReleaseOfAWaiterThroughAnotherHandleIsLost) {
  auto other = another();
  other->acquire(stock, alice).value();
  auto const bobs = wait_for_it(bob);
  settle_until_it_waits();
  EXPECT_EQ(other->release(stock, bob).value(), release_reply::lost);
  EXPECT_EQ(other->renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_FALSE(bobs.done() && is<grant>(bobs.outcome()));
}

// The holder shortens its lease after the wait began: the end must be noticed at the new time.
TEST_P(lease_queue_contract, AWaiterNoticesThatTheHoldersTtlWasShortened) {
  auto other = another();
  other->acquire(stock, alice, 1h).value();
  auto bobs = wait_for_it(bob);
  settle();
  other->renew(stock, alice, 50ms).value();
  EXPECT_TRUE(is<grant>(c.get(bobs)));
}

// A wait that was over before the server had answered names no holder.
TEST_P(lease_queue_contract, AWaitEndsWithBusyAtItsDeadlineAndLeavesTheQueue) {
  c.acquire(stock, alice).value();
  std::string holder;
  for (milliseconds wait = 30ms; holder.empty() && wait < 10s; wait *= 2) {
    holder = as<busy>(c.get(wait_for_it(bob, wait))).holder;
  }
  EXPECT_EQ(holder, alice.label());
  c.release(stock, alice).value();
  EXPECT_FALSE(c.inspect(stock).value().has_value());
}

// B7, B8: a cancelled waiter is skipped, and gets no ghost lease.
TEST_P(lease_queue_contract, ACancelledWaiterIsSkipped) {
  c.acquire(stock, alice).value();
  auto bobs = wait_for_it(bob);
  auto carols = wait_for_it(carol);
  settle();
  bobs.cancel();
  auto reply = c.get(bobs);
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error() == errc::canceled);
  c.release(stock, alice).value();
  EXPECT_TRUE(is<grant>(c.get(carols)));
  c.release(stock, carol).value();
  EXPECT_FALSE(c.inspect(stock).value().has_value());
}

// B8: a waiter whose handle has gone is skipped too.
TEST_P(lease_queue_contract, AWaiterWhoseHandleWasClosedIsSkipped) {
  c.acquire(stock, alice).value();
  auto other = another();
  auto bobs = other->start_acquire({stock, bob, 1min, 1min});
  other->inspect(stock).value();
  auto carols = wait_for_it(carol);
  settle();
  other->close();
  EXPECT_TRUE(bobs.outcome().error() == errc::canceled);
  c.release(stock, alice).value();
  EXPECT_TRUE(is<grant>(c.get(carols)));
}

// B7: one who asks twice gets one lease, not a second one after it has given back the first.
TEST_P(lease_queue_contract, ARetryOfAWaiterGetsTheSameGrant) {
  c.acquire(stock, alice).value();
  auto first = wait_for_it(bob);
  auto carols = wait_for_it(carol);
  auto second = wait_for_it(bob);
  settle();
  c.release(stock, alice).value();
  fencing_token fencing = as<grant>(c.get(first)).fencing;
  EXPECT_EQ(as<grant>(c.get(second)).fencing, fencing);
  c.release(stock, bob).value();
  EXPECT_TRUE(is<grant>(c.get(carols)));
}

}  // namespace
}  // namespace herdlock_test
