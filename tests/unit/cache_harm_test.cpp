// What users' code may do without harm to others: handlers that throw, loaders that are destroyed.
#include <boost/asio/co_spawn.hpp>
#include <deque>
#include <system_error>
#include <thread>

#include "cache/engine/loader_pool.hpp"
#include "cache_fixture.hpp"
#include "support/as_result.hpp"
#include "support/gate.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

struct thrown {};

class CacheHarm : public CacheTest {
 protected:
  void load_and_throw(std::string_view name = "k") {
    strings->async_get_or_load(cache_key(name), loader_by_reference(),
                               herdlock_test::as_result([this](result<text> r) {
                                 ++answers;
                                 if (r.has_error() && r.error() == errc::overloaded) ++turned_away;
                                 throw thrown{};
                               }));
  }
  /// As an executor that goes on after an exception.
  void settle_through() {
    for (;;) {
      try {
        return settle();
      } catch (thrown const&) {
        ++caught;
      }
    }
  }
  int answers = 0;
  int turned_away = 0;
  int caught = 0;
};

TEST_F(CacheHarm, AHandlerThatThrowsKeepsNobodyFromBeingAnswered) {
  for (int i = 0; i < 10; ++i) load_and_throw();
  call other;
  load(other);
  settle_through();
  loader.let_go();
  settle_through();
  EXPECT_EQ(answers, 10);
  EXPECT_EQ(caught, 10);
  EXPECT_EQ(other.value(), "loaded");
}

TEST_F(CacheHarm, AllSlotsAreThereAfterAHundredThrows) {
  open({.bounds = {.max_loads = 2, .max_loads_without_store = 2}});
  loader.let_go();
  for (int i = 0; i < 100; ++i) {
    load_and_throw("guarded" + std::to_string(i));
    settle_through();
  }
  EXPECT_EQ(answers, 100);
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::refuse : fault::none;
  };
  for (int i = 0; i < 100; ++i) {
    load_and_throw("unguarded" + std::to_string(i));
    settle_through();
  }
  EXPECT_EQ(answers, 200);
  EXPECT_EQ(strings->stats().loads, 200u);
  loader.hold();
  loader.runs = 0;
  std::deque<call> calls(3);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "last" + std::to_string(i));
  settle_through();
  EXPECT_EQ(loader.runs, 2);
  loader.let_go();
  settle_through();
  for (auto const& c : calls) EXPECT_EQ(c.value(), "loaded");
}

TEST_F(CacheHarm, HandlersThatThrowWhenTurnedAwayLeaveTheNextCallersAlone) {
  open({.bounds = {.max_waiting = 1}});
  for (int round = 1; round <= 3; ++round) {
    call first;
    load(first);
    settle_through();
    load_and_throw();
    settle_through();
    EXPECT_EQ(turned_away, round);
    loader.let_go();
    settle_through();
    EXPECT_EQ(first.value(), "loaded");
    loader.hold();
    script->entries.clear();
  }
}

// B1: the lease keeper's timer serves deadlines of callers and renewals of leases.
TEST_F(CacheHarm, AHandlerThatThrowsAtItsDeadlineKeepsNoOtherDeadlineFromComing) {
  open({.wait = 20ms});
  loader.heeds = true;
  load_and_throw("a");
  load_and_throw("b");
  settle_through();
  call other;
  load(other, "c");
  auto const through = [&](auto const& holds) {
    for (;;) {
      try {
        return run_until(holds);
      } catch (thrown const&) {
        ++caught;
      }
    }
  };
  ASSERT_TRUE(through([&] { return other.answers == 1 && answers == 2; }));
  EXPECT_TRUE(other.failed_with(errc::timed_out));
}

// A process that goes down while its loader waits: a rolling restart is nobody else's error (S5).
TEST_F(CacheHarm, ALoaderThatIsDestroyedIsItsOwnCallsTroubleAlone) {
  call c, leaving;
  {
    asio::io_context gone;
    auto never = [](load_context) -> asio::awaitable<text> {
      asio::steady_timer timer(co_await asio::this_coro::executor,
                               asio::steady_timer::time_point::max());
      co_await timer.async_wait(asio::use_awaitable);
      co_return "never";
    };
    strings->async_get_or_load(
        cache_key("k"), never,
        herdlock_test::as_result(asio::bind_executor(gone.get_executor(), leaving.token())));
    settle();
    gone.poll();
    load(c);
    settle();
    ASSERT_EQ(c.answers, 0);
  }
  settle();
  EXPECT_EQ(leaving.answers, 0) << "its executor has gone, and its handler with it";
  EXPECT_EQ(loader.runs, 1) << "who waits here loads";
  EXPECT_EQ(script->count("claim"), 1u) << "under the same claim";
  loader.let_go();
  settle();
  EXPECT_EQ(c.value(), "loaded");
}

TEST(loader_pool, WorkRunsOnTheThreadsThatLiveWhenNoMoreCanBeMade) {
  int made = 0;
  herdlock_test::gate both_queued, done;
  runtime::loader_pool pool(4, [&](std::function<void()> body) {
    if (++made > 1) throw std::system_error(EAGAIN, std::generic_category());
    return std::thread(std::move(body));
  });
  pool.run([&] { EXPECT_TRUE(both_queued.wait()); });
  EXPECT_NO_THROW(pool.run([&] { done.open(); }));
  EXPECT_EQ(made, 2);
  both_queued.open();
  EXPECT_TRUE(done.wait());
}

TEST(loader_pool, WithoutAnyThreadItSaysSoAndKeepsNothing) {
  bool threads_to_be_had = false;
  runtime::loader_pool pool(4, [&](std::function<void()> body) {
    if (!threads_to_be_had) throw std::system_error(EAGAIN, std::generic_category());
    return std::thread(std::move(body));
  });
  auto work = std::make_shared<int>(0);
  EXPECT_THROW(pool.run([work] { ++*work; }), std::system_error);
  EXPECT_EQ(work.use_count(), 1);
  threads_to_be_had = true;
  herdlock_test::gate done;
  pool.run([&] { done.open(); });
  EXPECT_TRUE(done.wait());
}

}  // namespace
}  // namespace herdlock::scripted
