// A held lease over a store that answers only what the test says: renewal, loss, release.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <herdlock/while_held.hpp>

#include "scripted_lock.hpp"
#include "support/as_result.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using LeaseTest = herdlock::scripted::LockTest;

TEST_F(LeaseTest, TheLeaseIsRenewedInTheBackground) {
  auto lease = take({.ttl = 1s});
  auto const first_end = lease.valid_until();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_EQ(f.script->renews.front().owner, lease.owner());
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_GT(lease.valid_until(), first_end);
}

// B1: the store says no.
TEST_F(LeaseTest, TheLossSignalFiresWhenTheStoreSaysItIsLost) {
  auto lease = take({.ttl = 1s});
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_FALSE(lease.lost_token().stop_requested());
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_TRUE(lease.lost_token().stop_requested());
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.lost_reason(), errc::lost);
}

// B1: the store says nothing. Also B20: the hanging renewal settles nothing and blocks nothing.
TEST_F(LeaseTest, TheLossSignalFiresInTimeWhenTheRenewalHangs) {
  auto lease = take({.ttl = 60ms});
  bool fired = false;
  std::stop_callback on_loss(lease.lost_token(), [&] {
    fired = true;
    EXPECT_FALSE(lease.valid()) << "the right is over when it is told";
  });
  ASSERT_TRUE(f.run_until([&] { return fired; }));
  EXPECT_FALSE(lease.valid());
}

// B1: the store knows that the session has ended, long before a renewal would be due.
TEST_F(LeaseTest, TheEndOfItsSessionIsTheLossAtOnceAndOfNoOtherLease) {
  auto lease = take({.ttl = 1h});
  auto other = take({.ttl = 1h});
  std::optional<result<void>> told;
  lease.async_wait_lost(herdlock_test::as_result([&](result<void> r) { told = r; }));
  f.settle();
  f.script->end_session_of(lease.name(), lease.owner());
  f.settle();
  EXPECT_FALSE(lease.valid());
  EXPECT_TRUE(lease.lost_token().stop_requested());
  ASSERT_TRUE(told.has_value());
  EXPECT_TRUE(told->has_value());
  EXPECT_EQ(lease.lost_reason(), errc::lost);
  EXPECT_NE(lease.lost_reason().message.find("its session has ended"), std::string::npos);
  EXPECT_TRUE(f.script->acquires.empty()) << "never taken again behind the holder's back";
  EXPECT_TRUE(other.valid());
}

// B3: news of a session that comes behind the release.
TEST_F(LeaseTest, TheEndOfASessionBehindTheReleaseIsNoLoss) {
  auto lease = take({.ttl = 1h});
  lease.async_release(herdlock_test::as_result([](result<release_reply>) {}));
  f.settle();
  f.script->end_session_of(lease.name(), lease.owner());
  f.script->end_session_of(lease.name(), lease.owner());
  f.settle();
  EXPECT_FALSE(lease.lost_token().stop_requested());
}

// The handle may go in the middle of the news.
TEST_F(LeaseTest, AHandleThatIsDroppedByTheLossIsHarmless) {
  std::optional<lease> held = take({.ttl = 1h});
  auto const name = held->name();
  auto const owner = held->owner();
  held->async_wait_lost(herdlock_test::as_result([&](result<void>) { held.reset(); }));
  f.settle();
  f.script->end_session_of(name, owner);
  f.settle();
  EXPECT_FALSE(held.has_value());
  EXPECT_EQ(f.script->releases.size(), 1u);
}

// B4: what is lost stays lost, and nothing is acquired behind the holder's back.
TEST_F(LeaseTest, ALostLeaseIsNeverTakenAgain) {
  auto lease = take({.ttl = 1s});
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  ASSERT_TRUE(f.run_until([&] { return lease.lost_token().stop_requested(); }));
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_FALSE(lease.valid());
  EXPECT_TRUE(f.script->acquires.empty());
  EXPECT_TRUE(f.script->renews.empty());
}

// B2: errors of the store do not end the renewing.
TEST_F(LeaseTest, RenewingGoesOnAfterErrors) {
  auto lease = take({.ttl = 2s});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
    f.script->renew_next(make_failure(errc::unavailable, "scripted"));
  }
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_TRUE(lease.valid());
}

TEST_F(LeaseTest, WaitLostCompletesAtTheLoss) {
  auto lease = take({.ttl = 60ms});
  std::optional<result<void>> told;
  lease.async_wait_lost(herdlock_test::as_result([&](result<void> r) { told = r; }));
  ASSERT_TRUE(f.run_until([&] { return told.has_value(); }));
  EXPECT_TRUE(told->has_value());
  EXPECT_EQ(lease.lost_reason(), errc::lost);
}

TEST_F(LeaseTest, WaitLostIsCancelledByTheRelease) {
  auto lease = take();
  std::optional<result<void>> told;
  lease.async_wait_lost(herdlock_test::as_result([&](result<void> r) { told = r; }));
  f.settle();
  lease.async_release(herdlock_test::as_result([](result<release_reply>) {}));
  f.settle();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->error(), errc::canceled);
  EXPECT_FALSE(lease.lost_token().stop_requested());
}

TEST_F(LeaseTest, AReleaseIsOwnerCheckedAndTellsItsOutcome) {
  auto lease = take();
  std::optional<result<release_reply>> told;
  lease.async_release(herdlock_test::as_result([&](result<release_reply> r) { told = r; }));
  EXPECT_FALSE(lease.valid()) << "not valid from the moment the release is asked for";
  f.settle();
  ASSERT_EQ(f.script->releases.size(), 1u);
  EXPECT_EQ(f.script->releases.front().owner, lease.owner());
  f.script->release_next(release_reply::released);
  f.settle();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->value(), release_reply::released);
}

TEST_F(LeaseTest, ASecondReleaseGetsTheFirstOutcomeWithoutAnotherRequest) {
  auto lease = take();
  int answers = 0;
  auto count = [&](result<release_reply> r) {
    ++answers;
    EXPECT_EQ(r.value(), release_reply::released);
  };
  lease.async_release(herdlock_test::as_result(count));
  lease.async_release(herdlock_test::as_result(count));
  f.settle();
  ASSERT_EQ(f.script->releases.size(), 1u);
  f.script->release_next(release_reply::released);
  f.settle();
  lease.async_release(herdlock_test::as_result(count));
  f.settle();
  EXPECT_EQ(answers, 3);
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LeaseTest, AReleaseAfterTheLossReportsLost) {
  auto lease = take({.ttl = 20ms, .renew = renewal::none});
  ASSERT_TRUE(f.run_until([&] { return lease.lost_token().stop_requested(); }));
  std::optional<result<release_reply>> told;
  lease.async_release(herdlock_test::as_result([&](result<release_reply> r) { told = r; }));
  f.settle();
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_EQ(told->value(), release_reply::lost);
}

TEST_F(LeaseTest, TheDestructorGivesTheResourceBack) {
  { auto lease = take(); }
  f.settle();
  EXPECT_EQ(f.script->releases.size(), 1u);
}

// B3: no renewal after the release.
TEST_F(LeaseTest, NothingIsRenewedAfterARelease) {
  std::size_t renewed_before = 0;  // by a machine that stood still
  {
    auto lease = take({.ttl = 30ms});
    renewed_before = f.script->renews.size();
  }
  f.settle();
  f.script->release_next(release_reply::released);
  auto const later = clock::now() + 60ms;
  ASSERT_TRUE(f.run_until([&] { return clock::now() > later; }));
  EXPECT_EQ(f.script->renews.size(), renewed_before);
}

TEST_F(LeaseTest, ADetachedLeaseIsNeitherRenewedNorReleased) {
  auto held = take({.ttl = 30ms});
  auto const owner = held.owner();
  auto const renewed_before = f.script->renews.size();
  auto const ticket = std::move(held).detach();
  EXPECT_EQ(ticket.owner, owner);
  auto const later = clock::now() + 60ms;
  ASSERT_TRUE(f.run_until([&] { return clock::now() > later; }));
  EXPECT_EQ(f.script->renews.size(), renewed_before);
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LeaseTest, ATicketSurvivesItsText) {
  auto const ticket = take().detach();
  auto const again = lease_ticket::parse(ticket.str());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->name, ticket.name);
  EXPECT_EQ(again->owner, ticket.owner);
  EXPECT_EQ(again->fencing, ticket.fencing);
  EXPECT_EQ(again->ttl, ticket.ttl);
}

TEST(LeaseTicket, RefusesWhatIsNotATicket) {
  for (auto bad : {"", ":", "1:2:3", "30000:1:99999999999999999999:x:y", "30000:1:5:ab",
                   "0:1:38:host/1:00000000000000000000000000000000:x", "x:1:2:ab:c"}) {
    EXPECT_EQ(lease_ticket::parse(bad).error(), errc::invalid_owner) << bad;
  }
}

TEST_F(LeaseTest, RestoringProvesTheLeaseByARenewalOfTheSameOwner) {
  auto const ticket = take().detach();
  f.settle();
  std::optional<result<acquired>> got;
  where.async_restore(
      ticket, {}, herdlock_test::as_result([&](result<acquired> r) { got.emplace(std::move(r)); }));
  f.settle();
  ASSERT_EQ(f.script->renews.size(), 1u);
  EXPECT_EQ(f.script->renews.front().owner, ticket.owner);
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  ASSERT_TRUE(got && got->has_value() && (*got)->has_value());
  EXPECT_EQ((**got)->fencing(), ticket.fencing);
}

TEST_F(LeaseTest, RestoringALeaseThatIsGoneGivesNothingAndReleasesNothing) {
  auto const ticket = take().detach();
  f.settle();
  std::optional<result<acquired>> got;
  where.async_restore(
      ticket, {}, herdlock_test::as_result([&](result<acquired> r) { got.emplace(std::move(r)); }));
  f.settle();
  f.script->renew_next(renew_reply::lost);
  f.settle();
  ASSERT_TRUE(got && got->has_value());
  EXPECT_FALSE((*got)->has_value());
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LeaseTest, ARestoreWithoutAnAnswerLeavesTheLeaseForTheNextTry) {
  auto const ticket = take().detach();
  f.settle();
  std::optional<result<acquired>> got;
  where.async_restore(
      ticket, {}, herdlock_test::as_result([&](result<acquired> r) { got.emplace(std::move(r)); }));
  f.settle();
  f.script->renew_next(make_failure(errc::timed_out, "scripted"));
  f.settle();
  ASSERT_TRUE(got && got->has_error());
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LeaseTest, WhileHeldCancelsTheWorkAtTheLoss) {
  auto held = take({.ttl = 30ms, .renew = renewal::none});
  bool work_cancelled = false;
  errc thrown{};
  auto hang = [&]() -> asio::awaitable<void> {
    asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
    try {
      co_await timer.async_wait(asio::use_awaitable);
    } catch (boost::system::system_error const&) {
      work_cancelled = true;
    }
  };
  auto run = [&]() -> asio::awaitable<void> {
    try {
      auto work = hang();
      co_await while_held(held, std::move(work));
    } catch (error const& e) {
      thrown = static_cast<errc>(e.code().value());
    }
  };
  asio::co_spawn(f.io, run, asio::detached);
  ASSERT_TRUE(f.run_until([&] { return thrown != errc{}; }));
  EXPECT_EQ(thrown, errc::lost);
  EXPECT_TRUE(work_cancelled);
}

TEST_F(LeaseTest, WhileHeldReturnsTheValueOfWorkThatEndsInTime) {
  auto held = take();
  int value = 0;
  auto answer = []() -> asio::awaitable<int> { co_return 42; };
  auto run = [&]() -> asio::awaitable<void> {
    auto work = answer();
    value = co_await while_held(held, std::move(work));
  };
  asio::co_spawn(f.io, run, asio::detached);
  ASSERT_TRUE(f.run_until([&] { return value == 42; }));
  EXPECT_TRUE(held.valid());
}

TEST_F(LeaseTest, AsyncWithReleasesAlsoWhenTheWorkThrows) {
  bool thrown = false;
  auto fails = [](lease&) -> asio::awaitable<void> {
    throw std::runtime_error("work");
    co_return;
  };
  auto run = [&]() -> asio::awaitable<void> {
    try {
      co_await async_with(where, acquire_options{}, fails);
    } catch (std::runtime_error const& e) {
      thrown = std::string_view(e.what()) == "work";
    }
  };
  asio::co_spawn(f.io, run, asio::detached);
  f.settle();
  f.script->grant_next(1);
  f.settle();
  ASSERT_EQ(f.script->releases.size(), 1u);
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_TRUE(thrown);
}

// The wait for the loss is cancelled from another thread than the store's, at once.
TEST(WhileHeld, ReturnsAlsoWhenTheWorkEndsBeforeTheStoreHasTakenNotice) {
  auto const opened = open_store("memory:");
  auto held = lock(opened, "x").try_acquire();
  ASSERT_TRUE(held);
  asio::io_context io;
  int done = 0;
  auto nothing = []() -> asio::awaitable<void> { co_return; };
  auto run = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 200; ++i) {
      auto work = nothing();
      co_await while_held(*held, std::move(work));
      ++done;
    }
  };
  asio::co_spawn(io, run, asio::detached);
  io.run_for(20s);
  EXPECT_EQ(done, 200);
}

TEST_F(LeaseTest, WhileHeldGoesOnAfterAnEarlyRelease) {
  auto held = take();
  bool finished = false;
  auto releases_early = [&]() -> asio::awaitable<void> {
    auto released = co_await held.async_release(herdlock_test::as_result(asio::use_awaitable));
    EXPECT_TRUE(released.has_value());
    asio::steady_timer pause(co_await asio::this_coro::executor, 5ms);
    co_await pause.async_wait(asio::use_awaitable);
    finished = true;
  };
  bool returned = false;
  auto run = [&]() -> asio::awaitable<void> {
    auto work = releases_early();
    co_await while_held(held, std::move(work));
    returned = true;
  };
  asio::co_spawn(f.io, run, asio::detached);
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
  f.script->release_next(release_reply::released);
  ASSERT_TRUE(f.run_until([&] { return returned; }));
  EXPECT_TRUE(finished);
}

}  // namespace
