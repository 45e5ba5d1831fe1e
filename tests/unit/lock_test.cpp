// Lock and lease over a store that answers only what the test says.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <herdlock/while_held.hpp>

#include "scripted_lease_store.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using herdlock::testing::scripted_fixture;

// What an asynchronous acquisition came to.
struct outcome {
  std::optional<result<acquired>> got;
  asio::cancellation_signal cancel;

  void start(lock const& where, acquire_options const& options = {}) {
    where.async_acquire(options, asio::bind_cancellation_slot(
                                     cancel.slot(), [this](result<acquired> r) {
                                       EXPECT_FALSE(got.has_value()) << "answered twice";
                                       got.emplace(std::move(r));
                                     }));
  }
  bool held() const { return got && got->has_value() && (*got)->has_value(); }
  lease& the_lease() { return **(*got); }
};

class LockTest : public ::testing::Test {
 protected:
  lease take(acquire_options const& options = {}) {
    outcome o;
    o.start(where, options);
    f.settle();
    f.script->grant_next(7);
    f.settle();
    EXPECT_TRUE(o.held());
    return std::move(o.the_lease());
  }

  scripted_fixture f;
  lock where{*f.opened, "orders/42"};
};

TEST_F(LockTest, AGrantBecomesALeaseWithItsFencingToken) {
  auto lease = take();
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(lease.fencing().value, 7u);
  EXPECT_EQ(lease.name().str(), "orders/42");
  EXPECT_GT(lease.valid_until(), clock::now() + 29s);
}

TEST_F(LockTest, TryAcquireOfABusyResourceGivesNothingAndNoError) {
  outcome o;
  o.start(where);
  f.settle();
  f.script->busy_next();
  f.settle();
  ASSERT_TRUE(o.got && o.got->has_value());
  EXPECT_FALSE((*o.got)->has_value());
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LockTest, WaitingAsksAgainUntilItIsGranted) {
  outcome o;
  o.start(where, {.wait = 10s});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
    f.script->busy_next();
  }
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(9);
  f.settle();
  ASSERT_TRUE(o.held());
  EXPECT_EQ(o.the_lease().fencing().value, 9u);
}

TEST_F(LockTest, WaitingEndsWithNothingWhenTheWaitIsOver) {
  outcome o;
  o.start(where, {.wait = 30ms});
  ASSERT_TRUE(f.run_until([&] {
    if (!f.script->acquires.empty()) f.script->busy_next();
    return o.got.has_value();
  }));
  ASSERT_TRUE(o.got->has_value());
  EXPECT_FALSE((*o.got)->has_value());
}

// B7: the reply is lost, the grant may be there: the library releases it.
TEST_F(LockTest, AnAcquisitionWithoutAnAnswerIsReleased) {
  outcome o;
  o.start(where);
  f.settle();
  auto const owner = f.script->acquires.front().request.owner;
  f.script->fail_next_acquire(errc::timed_out);
  f.settle();
  ASSERT_TRUE(o.got && o.got->has_error());
  EXPECT_EQ(o.got->error(), errc::timed_out);
  ASSERT_EQ(f.script->releases.size(), 1u);
  EXPECT_EQ(f.script->releases.front().owner, owner);
}

TEST_F(LockTest, CleaningUpGoesOnUntilTheStoreHasAnswered) {
  outcome o;
  o.start(where, {.ttl = 10s});
  f.settle();
  f.script->fail_next_acquire(errc::unavailable);
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
    f.script->release_next(make_failure(errc::unavailable, "scripted"));
  }
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_TRUE(f.script->releases.empty());
}

// B7: a retry under a new token would be turned away by our own first grant.
TEST_F(LockTest, ARetryAfterALostReplyUsesTheSameOwnerToken) {
  outcome o;
  o.start(where, {.wait = 10s});
  f.settle();
  auto const owner = f.script->acquires.front().request.owner;
  f.script->fail_next_acquire(errc::unavailable);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  EXPECT_EQ(f.script->acquires.front().request.owner, owner);
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LockTest, ADefiniteErrorIsNotRetried) {
  outcome o;
  o.start(where, {.wait = 10s});
  f.settle();
  f.script->fail_next_acquire(errc::access_denied);
  f.settle();
  ASSERT_TRUE(o.got && o.got->has_error());
  EXPECT_EQ(o.got->error(), errc::access_denied);
}

// A grant that spent most of its ttl in a queue is renewed before it is handed out.
TEST_F(LockTest, ALateGrantIsProvedByARenewalFirst) {
  outcome o;
  o.start(where, {.ttl = 30ms});
  f.settle();
  auto const late = clock::now() + 15ms;
  ASSERT_TRUE(f.run_until([&] { return clock::now() > late; }));
  f.script->grant_next(3);
  f.settle();
  EXPECT_FALSE(o.got.has_value());
  ASSERT_EQ(f.script->renews.size(), 1u);
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  ASSERT_TRUE(o.held());
}

TEST_F(LockTest, ALateGrantThatRanOutIsNotHandedOut) {
  outcome o;
  o.start(where, {.ttl = 30ms});
  f.settle();
  auto const late = clock::now() + 15ms;
  ASSERT_TRUE(f.run_until([&] { return clock::now() > late; }));
  f.script->grant_next(3);
  f.settle();
  f.script->renew_next(renew_reply::lost);
  f.settle();
  ASSERT_TRUE(o.got && o.got->has_value());
  EXPECT_FALSE((*o.got)->has_value());
}

TEST_F(LockTest, CancellingAnswersAtOnceAndGivesBackTheGrantThatCrosses) {
  outcome o;
  o.start(where, {.wait = 10s});
  f.settle();
  o.cancel.emit(asio::cancellation_type::terminal);
  f.settle();
  ASSERT_TRUE(o.got && o.got->has_error());
  EXPECT_EQ(o.got->error(), errc::canceled);
  auto const owner = f.script->acquires.front().request.owner;
  f.script->grant_next(5);
  f.settle();
  ASSERT_EQ(f.script->releases.size(), 1u);
  EXPECT_EQ(f.script->releases.front().owner, owner);
}

TEST_F(LockTest, CancellingWhileBackingOffEndsTheWait) {
  outcome o;
  o.start(where, {.wait = 10s});
  f.settle();
  f.script->busy_next();
  f.settle();
  o.cancel.emit(asio::cancellation_type::total);
  f.settle();
  ASSERT_TRUE(o.got && o.got->has_error());
  EXPECT_EQ(o.got->error(), errc::canceled);
}

TEST_F(LockTest, CancelAfterWorksOnAnAcquisition) {
  std::optional<result<acquired>> got;
  where.async_acquire({.wait = 10s}, asio::cancel_after(5ms, [&](result<acquired> r) {
                        got.emplace(std::move(r));
                      }));
  ASSERT_TRUE(f.run_until([&] { return got.has_value(); }));
  ASSERT_TRUE(got->has_error());
  EXPECT_EQ(got->error(), errc::canceled);
}

TEST_F(LockTest, InvalidTimesAreRefusedBeforeAnythingIsSent) {
  for (auto const& options :
       {acquire_options{.ttl = 0ms}, acquire_options{.ttl = -5ms}, acquire_options{.ttl = 9ms},
        acquire_options{.ttl = limits::max_ttl + 1ms}, acquire_options{.wait = -1ms},
        acquire_options{.ttl = 10s, .loss_margin = 5s}, acquire_options{.max_hold = 0ms}}) {
    outcome o;
    o.start(where, options);
    f.settle();
    ASSERT_TRUE(o.got && o.got->has_error());
    EXPECT_EQ(o.got->error(), errc::invalid_ttl);
  }
  EXPECT_TRUE(f.script->acquires.empty());
}

TEST_F(LockTest, TheTtlLimitsThemselvesAreAllowed) {
  for (auto ttl : {limits::min_ttl, limits::max_ttl}) {
    outcome o;
    o.start(where, {.ttl = ttl});
    f.settle();
    EXPECT_EQ(f.script->acquires.size(), 1u);
    f.script->busy_next();
    f.settle();
  }
}

TEST_F(LockTest, TheLeaseIsRenewedInTheBackground) {
  auto lease = take({.ttl = 60ms});
  auto const first_end = lease.valid_until();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_EQ(f.script->renews.front().owner, lease.owner());
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_GT(lease.valid_until(), first_end);
}

// B1: the store says no.
TEST_F(LockTest, TheLossSignalFiresWhenTheStoreSaysItIsLost) {
  auto lease = take({.ttl = 60ms});
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_FALSE(lease.lost_token().stop_requested());
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_TRUE(lease.lost_token().stop_requested());
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.lost_reason(), errc::lost);
}

// B1: the store says nothing. Also B20: the hanging renewal settles nothing and blocks nothing.
TEST_F(LockTest, TheLossSignalFiresInTimeWhenTheRenewalHangs) {
  auto lease = take({.ttl = 60ms});
  bool fired = false;
  std::stop_callback on_loss(lease.lost_token(), [&] {
    fired = true;
    EXPECT_GE(clock::now(), lease.valid_until());
  });
  ASSERT_TRUE(f.run_until([&] { return fired; }));
  EXPECT_FALSE(lease.valid());
}

// B4: what is lost stays lost, and nothing is acquired behind the holder's back.
TEST_F(LockTest, ALostLeaseIsNeverTakenAgain) {
  auto lease = take({.ttl = 60ms});
  ASSERT_TRUE(f.run_until([&] { return lease.lost_token().stop_requested(); }));
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_FALSE(lease.valid());
  EXPECT_TRUE(f.script->acquires.empty());
  EXPECT_TRUE(f.script->renews.empty());
}

// B2: errors of the store do not end the renewing.
TEST_F(LockTest, RenewingGoesOnAfterErrors) {
  auto lease = take({.ttl = 300ms});
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
    f.script->renew_next(make_failure(errc::unavailable, "scripted"));
  }
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_TRUE(lease.valid());
}

TEST_F(LockTest, WaitLostCompletesAtTheLoss) {
  auto lease = take({.ttl = 60ms});
  std::optional<result<void>> told;
  lease.async_wait_lost([&](result<void> r) { told = r; });
  ASSERT_TRUE(f.run_until([&] { return told.has_value(); }));
  EXPECT_EQ(told->error(), errc::lost);
}

TEST_F(LockTest, WaitLostIsCancelledByTheRelease) {
  auto lease = take();
  std::optional<result<void>> told;
  lease.async_wait_lost([&](result<void> r) { told = r; });
  f.settle();
  lease.async_release([](result<release_reply>) {});
  f.settle();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->error(), errc::canceled);
  EXPECT_FALSE(lease.lost_token().stop_requested());
}

TEST_F(LockTest, AReleaseIsOwnerCheckedAndTellsItsOutcome) {
  auto lease = take();
  std::optional<result<release_reply>> told;
  lease.async_release([&](result<release_reply> r) { told = r; });
  EXPECT_FALSE(lease.valid()) << "not valid from the moment the release is asked for";
  f.settle();
  ASSERT_EQ(f.script->releases.size(), 1u);
  EXPECT_EQ(f.script->releases.front().owner, lease.owner());
  f.script->release_next(release_reply::released);
  f.settle();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->value(), release_reply::released);
}

TEST_F(LockTest, ASecondReleaseGetsTheFirstOutcomeWithoutAnotherRequest) {
  auto lease = take();
  int answers = 0;
  auto count = [&](result<release_reply> r) {
    ++answers;
    EXPECT_EQ(r.value(), release_reply::released);
  };
  lease.async_release(count);
  lease.async_release(count);
  f.settle();
  ASSERT_EQ(f.script->releases.size(), 1u);
  f.script->release_next(release_reply::released);
  f.settle();
  lease.async_release(count);
  f.settle();
  EXPECT_EQ(answers, 3);
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LockTest, AReleaseAfterTheLossReportsLost) {
  auto lease = take({.ttl = 20ms, .renew = renewal::none});
  ASSERT_TRUE(f.run_until([&] { return lease.lost_token().stop_requested(); }));
  std::optional<result<release_reply>> told;
  lease.async_release([&](result<release_reply> r) { told = r; });
  f.settle();
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_EQ(told->value(), release_reply::lost);
}

TEST_F(LockTest, TheDestructorGivesTheResourceBack) {
  { auto lease = take(); }
  f.settle();
  EXPECT_EQ(f.script->releases.size(), 1u);
}

// B3: no renewal after the release.
TEST_F(LockTest, NothingIsRenewedAfterARelease) {
  { auto lease = take({.ttl = 30ms}); }
  f.settle();
  f.script->release_next(release_reply::released);
  auto const later = clock::now() + 60ms;
  ASSERT_TRUE(f.run_until([&] { return clock::now() > later; }));
  EXPECT_TRUE(f.script->renews.empty());
}

TEST_F(LockTest, AHandedOverLeaseIsNeitherRenewedNorReleased) {
  auto held = take({.ttl = 30ms});
  auto const owner = held.owner();
  auto const ticket = std::move(held).hand_over();
  EXPECT_EQ(ticket.owner, owner);
  auto const later = clock::now() + 60ms;
  ASSERT_TRUE(f.run_until([&] { return clock::now() > later; }));
  EXPECT_TRUE(f.script->renews.empty());
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LockTest, ATicketSurvivesItsText) {
  auto const ticket = take().hand_over();
  auto const again = lease_ticket::parse(ticket.str());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->name, ticket.name);
  EXPECT_EQ(again->owner, ticket.owner);
  EXPECT_EQ(again->fencing, ticket.fencing);
  EXPECT_EQ(again->ttl, ticket.ttl);
}

TEST(LeaseTicket, RefusesWhatIsNotATicket) {
  for (auto text : {"", ":", "1:2:3", "30000:1:99999999999999999999:x:y", "30000:1:5:ab",
                    "0:1:38:host/1:00000000000000000000000000000000:x", "x:1:2:ab:c"}) {
    EXPECT_EQ(lease_ticket::parse(text).error(), errc::invalid_owner) << text;
  }
}

TEST_F(LockTest, RestoringProvesTheLeaseByARenewalOfTheSameOwner) {
  auto const ticket = take().hand_over();
  f.settle();
  std::optional<result<acquired>> got;
  where.async_restore(ticket, {}, [&](result<acquired> r) { got.emplace(std::move(r)); });
  f.settle();
  ASSERT_EQ(f.script->renews.size(), 1u);
  EXPECT_EQ(f.script->renews.front().owner, ticket.owner);
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  ASSERT_TRUE(got && got->has_value() && (*got)->has_value());
  EXPECT_EQ((**got)->fencing(), ticket.fencing);
}

TEST_F(LockTest, RestoringALeaseThatIsGoneGivesNothingAndReleasesNothing) {
  auto const ticket = take().hand_over();
  f.settle();
  std::optional<result<acquired>> got;
  where.async_restore(ticket, {}, [&](result<acquired> r) { got.emplace(std::move(r)); });
  f.settle();
  f.script->renew_next(renew_reply::lost);
  f.settle();
  ASSERT_TRUE(got && got->has_value());
  EXPECT_FALSE((*got)->has_value());
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LockTest, ARestoreWithoutAnAnswerLeavesTheLeaseForTheNextTry) {
  auto const ticket = take().hand_over();
  f.settle();
  std::optional<result<acquired>> got;
  where.async_restore(ticket, {}, [&](result<acquired> r) { got.emplace(std::move(r)); });
  f.settle();
  f.script->renew_next(make_failure(errc::timed_out, "scripted"));
  f.settle();
  ASSERT_TRUE(got && got->has_error());
  EXPECT_TRUE(f.script->releases.empty());
}

TEST_F(LockTest, WhileHeldCancelsTheWorkAtTheLoss) {
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

TEST_F(LockTest, WhileHeldReturnsTheValueOfWorkThatEndsInTime) {
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

TEST_F(LockTest, AsyncWithReleasesAlsoWhenTheWorkThrows) {
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

// Closing the store answers everybody.
TEST(StoreClosing, AWaiterIsCancelledWhenTheLastHandleGoes) {
  auto f = std::make_unique<scripted_fixture>();
  outcome o;
  o.start(lock(*f->opened, "x"), {.wait = 10s});
  f->settle();
  f->script->busy_next();
  f->script.reset();
  f->opened.reset();
  ASSERT_TRUE(f->run_until([&] { return o.got.has_value(); }));
  EXPECT_EQ(o.got->error(), errc::canceled);
}

TEST(StoreClosing, ALeaseThatIsBeingGivenBackIsWaitedFor) {
  scripted_fixture f;
  auto script = f.script;
  {
    outcome o;
    o.start(lock(*f.opened, "x"));
    f.settle();
    script->grant_next(1);
    f.settle();
    ASSERT_TRUE(o.held());
    f.opened.reset();
  }
  f.settle();
  EXPECT_EQ(script->releases.size(), 1u);
}

}  // namespace
