// Handlers and observers that throw, on an executor that goes on after it: others are served by the
// next event, and no lease but the handler's own is concerned.
#include <gtest/gtest.h>

#include <boost/asio/use_awaitable.hpp>
#include <herdlock/election.hpp>

#include "runtime/timer_queue.hpp"
#include "scripted_lock.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

struct thrown {};

class ThrowingUser : public ::testing::Test {
 protected:
  template <class Condition>
  bool run_until(Condition&& holds) {
    for (;;) {
      try {
        return f.run_until(holds);
      } catch (thrown const&) {
        ++caught;
      }
    }
  }

  std::size_t caught = 0;
  scripted_fixture f;
  lock where{*f.opened, "orders/42"};
};

// Called once, and throws.
struct failing final : runtime::timed {
  bool called = false;
  void on_due(clock::time_point) override {
    called = true;
    throw thrown{};
  }
};
struct waiting final : runtime::timed {
  bool called = false;
  void on_due(clock::time_point) override { called = true; }
};

TEST_F(ThrowingUser, WhoeverIsDueBehindAThrowingOneIsCalledInTheNextEvent) {
  auto const timers = std::make_shared<runtime::timer_queue>(f.io.get_executor());
  timers->start();
  failing first;
  waiting second;
  waiting third;
  auto const now = clock::now();
  timers->schedule(first, now);
  timers->schedule(second, now);
  timers->schedule(third, now + 1ms);
  EXPECT_TRUE(run_until([&] { return second.called && third.called; }));
  EXPECT_TRUE(first.called);
  EXPECT_EQ(caught, 1u);
  timers->close();
}

TEST_F(ThrowingUser, AGrantsHandlerThatThrowsLeavesTheOtherLeaseAlone) {
  std::optional<lease> other;
  where.async_acquire({.ttl = 1s}, herdlock_test::as_result([&](result<acquired> got) {
                        other = std::move(*got.value());
                      }));
  ASSERT_TRUE(run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(1);
  ASSERT_TRUE(run_until([&] { return other.has_value(); }));

  where.async_acquire({}, herdlock_test::as_result([](result<acquired>) { throw thrown{}; }));
  ASSERT_TRUE(run_until([&] { return !f.script->acquires.empty(); }));
  EXPECT_NO_THROW(f.script->grant_next(2)) << "the store's own event goes on";
  EXPECT_TRUE(run_until([&] { return caught == 1; }));
  // What the handler dropped is given back, and what is held is renewed.
  EXPECT_TRUE(run_until([&] { return !f.script->releases.empty(); }));
  ASSERT_TRUE(run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_EQ(f.script->renews.front().owner, other->owner());
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_TRUE(other->valid());
}

TEST_F(ThrowingUser, ClosingGoesOnToTheOthersThatWait) {
  bool second = false;
  where.async_acquire({.wait = 1min},
                      herdlock_test::as_result([](result<acquired>) { throw thrown{}; }));
  lock(*f.opened, "b")
      .async_acquire({.wait = 1min}, herdlock_test::as_result([&](result<acquired> got) {
                       second = got.has_error() && got.error() == errc::canceled;
                     }));
  ASSERT_TRUE(run_until([&] { return f.script->acquires.size() == 2; }));
  std::optional<lock>(std::move(where)).reset();
  f.opened.reset();
  EXPECT_TRUE(run_until([&] { return caught == 1 && second; }));
}

TEST_F(ThrowingUser, AnObserverOfEventsThatThrowsTakesNothingFromTheAnswer) {
  std::shared_ptr<scripted_lease_store> script;
  auto make = [&](asio::any_io_executor executor) -> result<backend> {
    script = std::make_shared<scripted_lease_store>(executor);
    return backend{script, nullptr, {}, "scripted:"};
  };
  open_options options{.executor = f.io.get_executor()};
  options.on_event = [](lease_event const&) { throw thrown{}; };
  std::optional<store> seen = store::over(make, options).value();
  bool answered = false;
  lock(*seen, "a").async_try_acquire({}, herdlock_test::as_result([&](result<acquired> got) {
                                       answered = got.has_value();
                                     }));
  ASSERT_TRUE(run_until([&] { return !script->acquires.empty(); }));
  script->busy_next();
  EXPECT_TRUE(run_until([&] { return answered && caught == 1; }));
  seen.reset();
  f.settle();
}

TEST_F(ThrowingUser, AnElectionGoesOnThoughItsObserverThrows) {
  election_options options;
  options.on_transition = [](election_transition const&) { throw thrown{}; };
  auto const work = [](election_term& term) -> asio::awaitable<void> {
    auto until = term.until_stop();
    co_await std::move(until);
  };
  bool over = false;
  election job(*f.opened, resource("job"), {.start_work = work}, options);
  job.async_campaign(herdlock_test::as_result([&](result<void>) { over = true; }));
  ASSERT_TRUE(run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(7);
  EXPECT_TRUE(run_until([&] { return job.state() == election_state::working; }));
  job.resign();
  ASSERT_TRUE(run_until([&] { return !f.script->releases.empty(); }));
  f.script->release_next(release_reply::released);
  EXPECT_TRUE(run_until([&] { return over; }));
  EXPECT_GE(caught, 4u);
}

TEST_F(ThrowingUser, AnObservationLooksAgainThoughItsCallbackThrows) {
  std::size_t told = 0;
  auto const on_change = [&](result<std::optional<leadership>> const&) {
    ++told;
    throw thrown{};
  };
  auto const opened = open_store("memory:", {.executor = f.io.get_executor()});
  auto const seen = observe(opened, resource("job"), on_change, {.look = 10ms});
  EXPECT_TRUE(run_until([&] { return told == 1 && caught == 1; }));
  std::optional<lease> leader;
  lock(opened, "job").async_acquire({}, herdlock_test::as_result([&](result<acquired> got) {
                                      leader = std::move(*got.value());
                                    }));
  EXPECT_TRUE(run_until([&] { return told == 2 && caught == 2; }));
}

// With a thread of its own there is nobody to catch it: the store goes on.
TEST(ThrowingUserOfAnOwnThread, TheProcessAndTheStoreGoOn) {
  auto const opened = open_store("memory:");
  asio::post(opened.get_executor(), [] { throw thrown{}; });
  lock(opened, "a").async_try_acquire({}, herdlock_test::as_result([](result<acquired>) {
                                        throw thrown{};
                                      }));
  EXPECT_TRUE(lock(opened, "b").try_acquire());
}

}  // namespace
}  // namespace herdlock::scripted
