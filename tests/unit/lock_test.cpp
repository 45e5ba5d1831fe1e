// Lock and lease over a store that answers only what the test says.
#include <gtest/gtest.h>

#include <boost/asio/cancel_after.hpp>

#include "runtime/store_context.hpp"
#include "scripted_lock.hpp"
#include "support/as_result.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using herdlock::scripted::LockTest;
using herdlock::scripted::outcome;
using herdlock::scripted::scripted_fixture;

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

// B17: a proof that failed proves nothing: the lease runs since the request that was granted.
TEST_F(LockTest, AfterAFailedProofTheLeaseStillRunsSinceItsGrant) {
  outcome o;
  o.start(where, {.ttl = 600ms, .wait = 1min});
  f.settle();
  auto const asked = clock::now();
  ASSERT_TRUE(f.run_until([&] { return clock::now() > asked + 210ms; }));
  f.script->grant_next(7);
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(make_failure(errc::unavailable, "scripted"));
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(7);  // the same one, not prolonged
  f.settle();
  EXPECT_FALSE(o.held()) << "more than a third of it is gone: it is proved first";
  ASSERT_EQ(f.script->renews.size(), 1u);
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_TRUE(o.held());
}

// B7: a first request without an answer may arrive after the release of what the second was
// granted.
TEST_F(LockTest, AfterARetryTheReleaseIsRepeatedAgainstALateRequest) {
  outcome o;
  o.start(where, {.wait = 1min});
  f.settle();
  f.script->fail_next_acquire(errc::unavailable);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(7);
  f.settle();
  ASSERT_TRUE(o.held());
  o.got.reset();
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); })) << turn;
    f.script->release_next(release_reply::released);
    f.settle();
  }
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
  o.start(where, {.ttl = 10s, .wait = 0ms});
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
  o.start(where, {.ttl = 30ms, .wait = 0ms});
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
  o.start(where, {.ttl = 30ms, .wait = 0ms});
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
  where.async_acquire({.wait = 10s},
                      herdlock_test::as_result(asio::cancel_after(
                          5ms, [&](result<acquired> r) { got.emplace(std::move(r)); })));
  ASSERT_TRUE(f.run_until([&] { return got.has_value(); }));
  ASSERT_TRUE(got->has_error());
  EXPECT_EQ(got->error(), errc::canceled);
}

TEST_F(LockTest, InvalidTimesAreRefusedBeforeAnythingIsSent) {
  for (auto const& options :
       {acquire_options{.ttl = 0ms}, acquire_options{.ttl = -5ms}, acquire_options{.ttl = 9ms},
        acquire_options{.ttl = limits::max_ttl + 1ms}, acquire_options{.wait = -1ms},
        acquire_options{.ttl = 10s, .loss_margin = 5s}, acquire_options{.max_hold = 0ms},
        acquire_options{.ttl = milliseconds::max()}, acquire_options{.ttl = milliseconds::min()},
        acquire_options{.wait = milliseconds::min()},
        acquire_options{.loss_margin = milliseconds::max()},
        acquire_options{.loss_margin = milliseconds::min()},
        acquire_options{.loss_margin = milliseconds::max() / 2 + 1ms}}) {
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
    o.start(where, {.ttl = ttl, .wait = 0ms});
    f.settle();
    EXPECT_EQ(f.script->acquires.size(), 1u);
    f.script->busy_next();
    f.settle();
  }
}

// B7: the first request may have been granted although the later ones were turned away.
TEST_F(LockTest, AnUnansweredRequestIsCleanedUpAlsoWhenALaterOneIsBusy) {
  outcome o;
  o.start(where, {.wait = 60ms});
  f.settle();
  f.script->fail_next_acquire(errc::unavailable);
  ASSERT_TRUE(f.run_until([&] {
    if (!f.script->acquires.empty()) f.script->busy_next();
    return o.got.has_value();
  }));
  ASSERT_TRUE(o.got->has_value());
  EXPECT_FALSE((*o.got)->has_value());
  EXPECT_EQ(f.script->releases.size(), 1u);
}

TEST_F(LockTest, AnUnansweredRequestIsCleanedUpWhenTheCallerCancelsInThePause) {
  outcome o;
  o.start(where, {.wait = 10s});
  f.settle();
  f.script->fail_next_acquire(errc::unavailable);
  o.cancel.emit(asio::cancellation_type::terminal);
  f.settle();
  EXPECT_EQ(o.got->error(), errc::canceled);
  EXPECT_EQ(f.script->releases.size(), 1u);
}

TEST_F(LockTest, AnUnansweredRequestIsCleanedUpWhenALaterOneIsRefused) {
  outcome o;
  o.start(where, {.wait = 10s});
  f.settle();
  f.script->fail_next_acquire(errc::unavailable);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->fail_next_acquire(errc::overloaded);
  f.settle();
  EXPECT_EQ(o.got->error(), errc::overloaded);
  EXPECT_EQ(f.script->releases.size(), 1u);
}

// B7: "not held" does not prove that the unanswered request will not arrive later.
TEST_F(LockTest, CleaningUpAfterNoAnswerDoesNotTakeLostForTheEnd) {
  outcome o;
  o.start(where, {.ttl = 10s, .wait = 0ms});
  f.settle();
  f.script->fail_next_acquire(errc::timed_out);
  f.settle();
  f.script->release_next(release_reply::lost);
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); })) << "it asks again";
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_TRUE(f.script->releases.empty());
}

// The grant that a retry is told of may be the first request's, which ran since then.
TEST_F(LockTest, AfterAnUnansweredRequestValidityCountsFromItsSending) {
  outcome o;
  o.start(where, {.ttl = 10s, .wait = 10s});
  f.settle();
  auto const first_sent = clock::now();
  f.script->fail_next_acquire(errc::unavailable);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->busy_next();
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(1);
  f.settle();
  ASSERT_TRUE(o.held());
  EXPECT_LE(o.the_lease().valid_until(), first_sent + 10s);
}

TEST_F(LockTest, ForeverIsNoOverflow) {
  outcome o;
  o.start(where, {.wait = milliseconds(std::chrono::hours(2'600'000)), .max_hold = wait_forever});
  f.settle();
  f.script->busy_next();
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); })) << "it still waits";
  f.script->grant_next(1);
  f.settle();
  ASSERT_TRUE(o.held());
  EXPECT_TRUE(o.the_lease().valid());
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

// B7: what is under way when the store closes is taken back within close_limit.
TEST(StoreClosing, ARequestUnderWayIsCancelledAndItsGrantReleased) {
  scripted_fixture f;
  auto script = f.script;
  outcome o;
  o.start(lock(*f.opened, "x"), {.wait = 10s});
  f.settle();
  f.opened.reset();
  f.settle();
  ASSERT_TRUE(o.got.has_value());
  EXPECT_EQ(o.got->error(), errc::canceled);
  script->grant_next(1);
  f.settle();
  EXPECT_EQ(script->releases.size(), 1u);
  script->releases.clear();
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

// A request that never left has left nothing behind; one that may have left has.
TEST(StoreClosing, WaitsForNothingWhereNoServerWasEverReached) {
  for (bool const has_server : {true, false}) {
    scripted_fixture f;
    auto script = f.script;
    script->has_server = has_server;
    auto const core = detail::context_of(*f.opened)->core();
    outcome o;
    o.start(lock(*f.opened, "x"));
    f.settle();
    script->fail_next_acquire(errc::unavailable);
    f.settle();
    ASSERT_TRUE(o.got && o.got->has_error());
    ASSERT_EQ(script->releases.size(), 1u) << "the outcome is unknown";
    f.opened.reset();
    f.settle();
    EXPECT_EQ(core->leases() != nullptr, has_server) << "closing waits";
    script->releases.clear();
  }
}

}  // namespace
