// The pending operations of a store, without a store.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <stdexcept>
#include <vector>

#include "stores/common/lease_ends.hpp"
#include "stores/common/pending_operations.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

class pending_operations_test : public testing::Test {
 protected:
  using one_operation = stores::operation<int>;
  using answers = std::vector<result<int>>;

  std::shared_ptr<one_operation> make(answers& told, clock::duration time = 1h) {
    handler<int> done([&told](result<int> outcome) { told.push_back(std::move(outcome)); });
    stores::order<int> what{"acquire", "stock", std::move(done)};
    return std::make_shared<one_operation>(pending, std::move(what), clock::now() + time);
  }

  // Its handler throws, as its user's may.
  std::shared_ptr<one_operation> make_throwing(answers& told, clock::duration time = 1h) {
    handler<int> done([&told](result<int> outcome) {
      told.push_back(std::move(outcome));
      throw std::runtime_error("from a handler");
    });
    stores::order<int> what{"acquire", "stock", std::move(done)};
    return std::make_shared<one_operation>(pending, std::move(what), clock::now() + time);
  }

  // A strand lets what a handler throws through to whoever dispatched it.
  asio::io_context io;
  std::shared_ptr<stores::pending_operations> const pending =
      std::make_shared<stores::pending_operations>(asio::make_strand(io),
                                                   stores::pending_settings{});
  answers first;
  answers second;
};

TEST_F(pending_operations_test, OneThatWasNeverAddedEndsWithoutTouchingThoseThatWere) {
  auto const listed = make(first);
  ASSERT_TRUE(listed->admit());
  make(second)->complete(7);
  io.poll();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].value(), 7);
  EXPECT_TRUE(first.empty());
  pending->close();
  io.run();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].error(), errc::canceled);
}

// B20: listed, it would be ended again and again when the store is closed.
TEST_F(pending_operations_test, OneThatHasEndedIsNotAdmitted) {
  auto const ended = make(first);
  ended->complete(1);
  ASSERT_FALSE(ended->admit());
  pending->close();
  io.restart();  // it had nothing to wait for when the operation ended
  io.run();
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].value(), 1);
}

// Whoever is told of the end of a lease that it has not been given yet can do nothing with it.
TEST_F(pending_operations_test, TheEndOfALeaseIsToldBehindTheAnswerThatWasGivenBeforeIt) {
  stores::lease_ends ends(pending->executor());
  std::vector<std::size_t> answers_before;
  ends.listen([&](lease_end const&) { answers_before.push_back(first.size() + second.size()); });
  auto const granted = make(first);
  auto const proved = make(second);
  granted->complete(1);
  proved->complete_later(2);
  ends.tell(resource("stock"), owner_token::generate(), "its session has ended");
  io.run();
  EXPECT_EQ(answers_before, std::vector<std::size_t>{2});
}

TEST_F(pending_operations_test, WhatIsNotListedAnyMoreIsNotRemovedOnceMore) {
  auto const one = make(first);
  auto const other = make(second);
  ASSERT_TRUE(one->admit());
  ASSERT_TRUE(other->admit());
  one->complete(1);
  pending->remove(*one);
  other->complete(2);
  io.run();
  EXPECT_EQ(first.at(0).value(), 1);
  EXPECT_EQ(second.at(0).value(), 2);
}

TEST_F(pending_operations_test, WhatAHandlerThrowsIsNothingToWhoeverCompletesIt) {
  auto const one = make_throwing(first);
  ASSERT_TRUE(one->admit());
  bool went_on = false;
  asio::post(pending->executor(), [&] {
    one->complete(1);
    went_on = true;
  });
  EXPECT_THROW(io.run(), std::runtime_error);
  EXPECT_TRUE(went_on);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].value(), 1);
}

TEST_F(pending_operations_test, AHandlerThatThrowsAtTheEndKeepsNobodyFromBeingTold) {
  ASSERT_TRUE(make_throwing(first)->admit());
  ASSERT_TRUE(make(second)->admit());
  asio::post(pending->executor(), [this] { pending->close(); });
  EXPECT_THROW(io.run(), std::runtime_error);
  io.run();
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].error(), errc::canceled);
}

TEST_F(pending_operations_test, AHandlerThatThrowsForBeingLateKeepsNobodyFromBeingTold) {
  ASSERT_TRUE(make_throwing(first, 5ms)->admit());
  ASSERT_TRUE(make(second, 5ms)->admit());
  EXPECT_THROW(io.run_for(20s), std::runtime_error);
  io.run_for(20s);
  EXPECT_TRUE(io.stopped());
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].error(), errc::timed_out);
}

// A walk over all waiters for each renewal is a thousand million steps here, on the executor that
// all leases depend on.
TEST_F(pending_operations_test, RenewalsBesideAsManyWaitersAsThereMayBeEndInTheirOrder) {
  answers waited, renewed;
  std::vector<std::shared_ptr<one_operation>> waiters;
  while (!pending->full()) {
    waiters.push_back(make(waited, 24h + 1ms * (waiters.size() * 7 % 1000)));
    ASSERT_TRUE(waiters.back()->admit());
  }
  EXPECT_EQ(waiters.size(), pending->settings().max_pending);
  for (std::size_t i = 0; i < 20'000; ++i) {
    waiters[i]->complete(1);
    waiters[i] = make(waited);
    ASSERT_TRUE(waiters[i]->admit());
  }
  waiters.back()->complete(1);
  auto const late = make(renewed, 5ms);
  ASSERT_TRUE(late->admit());
  while (renewed.empty() && io.run_one_for(20s) > 0) {
  }
  ASSERT_EQ(renewed.size(), 1U);
  EXPECT_EQ(renewed[0].error(), errc::timed_out);
  EXPECT_EQ(waited.size(), 20'001U) << "somebody ended before its time";
  pending->close();
  io.run();
  EXPECT_EQ(waited.size(), 65'536U + 20'000U);
}

// The timer stands for the one before, and must do for this one, whose deadline is sooner or later.
TEST_F(pending_operations_test, EachEndsByItsOwnDeadlineWhateverTheOneBeforeHad) {
  for (auto const& [before, own] :
       {std::pair<clock::duration, clock::duration>{1h, 5ms}, {5ms, 10ms}}) {
    answers past, late;
    auto const gone = make(past, before);
    auto const stays = make(late, own);
    ASSERT_TRUE(gone->admit());
    gone->complete(1);
    ASSERT_TRUE(stays->admit());
    io.restart();
    io.run_for(20s);
    EXPECT_TRUE(io.stopped());
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].error(), errc::timed_out);
  }
}

}  // namespace
}  // namespace herdlock_test
