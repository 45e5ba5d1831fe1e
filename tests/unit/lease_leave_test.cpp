// A lease that is left behind, over a store that answers only what the test says.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <support/eventually.hpp>

#include "runtime/left_lease.hpp"
#include "scripted_lock.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;

class LeaveTest : public ::testing::Test {
 protected:
  LeaveTest() {
    herdlock::scripted::outcome o;
    o.start(where, {.ttl = 1h, .wait = 0ms});
    f.settle();
    f.script->grant_next(7);
    f.settle();
    EXPECT_TRUE(o.held());
    held.emplace(std::move(o.the_lease()));
  }
  void leave(milliseconds time, left_as how) {
    held->async_leave(time, how,
                      herdlock_test::as_result([this](result<release_reply> r) { told = r; }));
    f.settle();
  }
  leave_request const& asked() const { return f.script->leaves.front().request; }

  herdlock::scripted::scripted_fixture f{store_traits{.leaves_leases = true}};
  lock where{*f.opened, "orders/42"};
  std::optional<lease> held;
  std::optional<result<release_reply>> told;
};

TEST_F(LeaveTest, TheStoreIsAskedOnceForWhatIsLeftOfTheTime) {
  auto const owner = held->owner();
  leave(23h, left_as::done);
  ASSERT_EQ(f.script->leaves.size(), 1u);
  EXPECT_EQ(asked().owner, owner);
  EXPECT_NE(asked().left_to, owner);
  EXPECT_GT(asked().ttl, 22h);
  EXPECT_LE(asked().ttl, 23h);
  EXPECT_FALSE(held->valid());
  EXPECT_FALSE(held->lost_token().stop_requested());
  f.script->leave_next(release_reply::released);
  f.settle();
  ASSERT_TRUE(told && *told);
  EXPECT_EQ(**told, release_reply::released);
  held.reset();
  f.settle();
  EXPECT_TRUE(f.script->releases.empty()) << "it would be given back";
}

// B7: asked again with another token it would be lost.
TEST_F(LeaveTest, AfterALostAnswerItAsksOnceMoreForTheSame) {
  leave(23h, left_as::done);
  auto const first = asked().left_to;
  f.script->leave_next(make_failure(errc::timed_out, "scripted"));
  f.settle();
  ASSERT_EQ(f.script->leaves.size(), 1u);
  EXPECT_EQ(asked().left_to, first);
  f.script->leave_next(make_failure(errc::timed_out, "scripted"));
  f.settle();
  EXPECT_TRUE(told && !*told);
  EXPECT_TRUE(f.script->releases.empty()) << "a clean-up would give back what was left";
}

// The first request may have been carried out; what it left may have ended since.
TEST_F(LeaveTest, ALossBehindALostAnswerIsNoneOnceTheTimeIsOver) {
  leave(2s, left_as::held);
  auto const over = herdlock::clock::now() + 2s;
  f.script->leave_next(make_failure(errc::timed_out, "scripted"));
  f.settle();
  ASSERT_TRUE(herdlock_test::eventually([&] { return herdlock::clock::now() >= over; }));
  f.script->leave_next(release_reply::lost);
  f.settle();
  ASSERT_TRUE(told && *told);
  EXPECT_EQ(**told, release_reply::released);
}

TEST_F(LeaveTest, ACancellationEndsTheWaitAndNotTheLeaving) {
  boost::asio::cancellation_signal cancel;
  auto const note = [this](result<release_reply> r) { told = r; };
  held->async_leave(
      23h, left_as::done,
      herdlock_test::as_result(boost::asio::bind_cancellation_slot(cancel.slot(), note)));
  f.settle();
  cancel.emit(boost::asio::cancellation_type::terminal);
  f.settle();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->error(), errc::canceled);
  f.script->leave_next(release_reply::released);
  f.settle();
  leave(23h, left_as::done);
  EXPECT_EQ(**told, release_reply::released) << "the outcome is remembered";
}

TEST_F(LeaveTest, WhatIsReleasedIsNotLeft) {
  held->async_release(herdlock_test::as_result([](result<release_reply>) {}));
  f.settle();
  leave(23h, left_as::done);
  EXPECT_TRUE(f.script->leaves.empty());
  f.script->release_next(release_reply::released);
  f.settle();
  ASSERT_TRUE(told && *told);
  EXPECT_EQ(**told, release_reply::released);
}

TEST_F(LeaveTest, ALeaseThatIsLostIsNotLeft) {
  held->async_renew(herdlock_test::as_result([](result<renew_reply>) {}));
  f.settle();
  f.script->renew_next(renew_reply::lost);
  f.settle();
  leave(23h, left_as::done);
  EXPECT_TRUE(f.script->leaves.empty());
  ASSERT_EQ(f.script->releases.size(), 1u);
  f.script->release_next(release_reply::lost);
  f.settle();
  ASSERT_TRUE(told && *told);
  EXPECT_EQ(**told, release_reply::lost);
}

TEST(LeftToken, TellsTheHolderAndHowLongAgo) {
  auto const holder = owner_token::generate();
  auto const left = herdlock::runtime::left_token(holder, left_as::done, 23h);
  EXPECT_TRUE(is_own_token(left.str())) << "caches know it for a lock's";
  lease_info seen{owner_label(left.str()), {}, 20h};
  herdlock::runtime::read_left_label(seen);
  EXPECT_EQ(seen.holder, holder.label());
  EXPECT_EQ(seen.done, std::optional<milliseconds>(3h));
}

TEST(LeftToken, OfWhatIsHeldTellsTheHolderAlone) {
  auto const holder = owner_token::generate("db");
  auto const left = herdlock::runtime::left_token(holder, left_as::held, 23h);
  EXPECT_NE(left, holder);
  lease_info seen{owner_label(left.str()), {}, 20h};
  herdlock::runtime::read_left_label(seen);
  EXPECT_EQ(seen.holder, "db");
  EXPECT_FALSE(seen.done);
}

TEST(LeftToken, KeepsTheEndOfALabelThatLeavesNoRoom) {
  auto const secret = std::string(32, 'a');
  auto const text = std::string(limits::max_owner_bytes - 39, 'h') + "/12345:" + secret;
  auto const holder = owner_token::parse(text.substr(text.size() - limits::max_owner_bytes));
  ASSERT_TRUE(holder.has_value());
  auto const left = herdlock::runtime::left_token(*holder, left_as::done, limits::max_ttl);
  EXPECT_EQ(left.str().size(), limits::max_owner_bytes);
  EXPECT_TRUE(is_own_token(left.str()));
}

TEST(LeftToken, OtherLabelsAreLeftAlone) {
  for (char const* label : {"vm/7", "herdlock-done:", "herdlock-done:x:vm", "herdlock-done:12"}) {
    lease_info seen{label, {}, 1h};
    herdlock::runtime::read_left_label(seen);
    EXPECT_EQ(seen.holder, label);
    EXPECT_FALSE(seen.done);
  }
}

}  // namespace
