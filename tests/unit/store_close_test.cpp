// Closing a store under its handles; waiting for another leader.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>
#include <stdexcept>
#include <vector>

#include "scripted_lock.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using StoreCloseTest = herdlock::scripted::LockTest;

// --------------------------------------------------------------------------------- closing a store

TEST(StoreClose, RunReturnsAlthoughHandlesAreKept) {
  asio::io_context io;
  auto const opened = open_store("memory:", {.executor = io.get_executor()});
  cache<std::string> names(opened);
  election job(opened, "job", {.start_work = in_thread([](election_term&) {})});
  bool closed = false;
  auto body = [&]() -> asio::awaitable<void> {
    co_await names.async_put("k", "v");
    co_await opened.async_close();
    co_await opened.async_close();
    closed = true;
  };
  asio::co_spawn(io, body, asio::detached);
  io.run();
  EXPECT_TRUE(closed);
}

TEST_F(StoreCloseTest, ClosingTellsTheHolderThenGivesTheLeaseBack) {
  auto lease = take({.ttl = 1h});
  bool told = false;
  lease.async_wait_lost([&](failure const& why) {
    EXPECT_FALSE(why);
    told = true;
  });
  bool closed = false;
  f.settle();
  f.opened->async_close([&](failure const& why) {
    EXPECT_FALSE(why);
    closed = true;
  });
  f.settle();
  EXPECT_TRUE(told);
  EXPECT_FALSE(lease.valid());
  EXPECT_NE(lease.lost_reason().message.find("the store was closed"), std::string::npos);
  ASSERT_EQ(f.script->releases.size(), 1u);
  EXPECT_EQ(f.script->releases.front().owner, lease.owner());
  EXPECT_FALSE(closed) << "it waits for the release";
  f.script->release_next(release_reply::released);
  f.settle();
  EXPECT_TRUE(closed);
}

TEST_F(StoreCloseTest, ClosingEndsWhatWaitsAndAsksForNothingMore) {
  scripted::outcome waiting;
  waiting.start(where, {.wait = 1h});
  f.settle();
  ASSERT_EQ(f.script->acquires.size(), 1u);
  bool closed = false;
  f.opened->async_close([&](failure const&) { closed = true; });
  scripted::outcome late;
  late.start(where, {.wait = 1h});
  f.settle();
  ASSERT_TRUE(waiting.got && late.got);
  EXPECT_EQ(waiting.got->error(), errc::canceled);
  EXPECT_EQ(late.got->error(), errc::canceled);
  EXPECT_EQ(f.script->acquires.size(), 1u) << "nothing new is asked of a store that closes";
  EXPECT_FALSE(closed);
  f.script->busy_next();
  f.settle();
  EXPECT_TRUE(closed);
}

// B1: a lease that nobody would tell of its loss.
TEST_F(StoreCloseTest, ARestoreThatIsUnderWayGivesNoLease) {
  lease_ticket const ticket{where.name(), owner_token::generate(), {7}, 1h};
  std::optional<failure> told;
  auto const note = [&](failure const& why, acquired const& got) {
    told = why;
    EXPECT_FALSE(got);
  };
  where.async_restore(ticket, {}, note);
  f.settle();
  ASSERT_EQ(f.script->renews.size(), 1u);
  f.opened->async_close([](failure const&) {});
  f.settle();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::canceled);
  told.reset();
  where.async_restore(ticket, {}, note);
  f.settle();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::canceled);
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_TRUE(f.script->releases.empty()) << "the ticket's lease is not ours to give back";
}

TEST(StoreClose, RunReturnsUnderObserversAndCandidates) {
  asio::io_context io;
  auto const opened = open_store("memory:", {.executor = io.get_executor()});
  int told = 0;
  auto const seeing =
      observe(opened, "job", [&](auto const& seen) { told += seen.has_error(); }, {.look = 1h});
  std::vector<failure> ends;
  auto const note = [&](failure const& why, auto const&...) { ends.push_back(why); };
  async_observe(opened, "nobody's", std::nullopt, {.look = 1h}, note);
  auto leads = [](election_term& term) { return term.until_stop(); };
  auto fails = [](election_term&) -> asio::awaitable<void> { throw std::runtime_error("work"); };
  election leader(opened, "job", {.start_work = leads});
  election waiter(opened, "job", {.start_work = leads});
  election_options const long_rests{.back_off_first = 1h, .back_off_most = 1h};
  election rester(opened, "other", {.start_work = fails}, long_rests);
  leader.async_campaign(note);
  waiter.async_campaign(note);
  rester.async_campaign(note);
  auto const stands = [&] {
    return leader.state() == election_state::working &&
           waiter.state() == election_state::acquiring && rester.state() == election_state::waiting;
  };
  while (!stands()) io.run_one();
  opened.async_close(note);
  io.run_for(1min);
  EXPECT_TRUE(io.stopped());
  ASSERT_EQ(ends.size(), 5u);
  EXPECT_EQ(std::count(ends.begin(), ends.end(), errc::canceled), 4) << "and the close itself";
  EXPECT_EQ(told, 1) << "the observer is told, once";
}

// A pending wait does not keep the store open.
TEST(StoreClose, TheLastHandleEndsAWaitForAnotherLeader) {
  asio::io_context io;
  std::optional<failure> told;
  {
    auto const opened = open_store("memory:", {.executor = io.get_executor()});
    async_observe(opened, "job", std::nullopt, {.look = 1h},
                  [&](failure const& why, auto const&) { told = why; });
    io.poll();
  }
  io.restart();
  io.run_for(1min);
  EXPECT_TRUE(io.stopped());
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::canceled);
}

TEST_F(StoreCloseTest, TheWorkOfATermHasStoppedBeforeTheTermIsGivenBack) {
  bool held_to_the_end = false;
  auto work = [&](election_term& term) -> asio::awaitable<void> {
    co_await term.until_stop();
    held_to_the_end = term.valid() && f.script->releases.empty();
  };
  election job(*f.opened, "job", {.start_work = work});
  job.async_campaign([](failure const&) {});
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  f.script->grant_next(1);
  ASSERT_TRUE(f.run_until([&] { return job.state() == election_state::working; }));
  bool closed = false;
  f.opened->async_close([&](failure const&) { closed = true; });
  ASSERT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
  EXPECT_TRUE(held_to_the_end);
  f.script->release_next(release_reply::released);
  EXPECT_TRUE(f.run_until([&] { return closed; }));
}

TEST(StoreClose, ABlockingCloseEndsACampaignAndWhatWaits) {
  auto const opened = open_store("memory:");
  auto held = lock(opened, "job").try_acquire();
  ASSERT_TRUE(held);
  election job(opened, "job", {.start_work = in_thread([](election_term&) {})});
  auto campaign = job.async_campaign(asio::use_future);
  opened.close();
  EXPECT_THROW(campaign.get(), error);
  EXPECT_FALSE(held->valid());
  EXPECT_THROW(std::ignore = lock(opened, "job").acquire(), error);
  opened.close();
}

// ------------------------------------------------------------------------------------- observing

TEST(Observe, AWaitForAChangeCompletesWhenAnotherLeads) {
  asio::io_context io;
  auto const opened = open_store("memory:", {.executor = io.get_executor()});
  lock const job(opened, "job");
  std::vector<bool> leads;
  std::optional<leadership> seen;
  auto body = [&]() -> asio::awaitable<void> {
    observe_options const often{.look = 10ms};
    acquired first = co_await job.async_try_acquire();
    seen = co_await async_observe(opened, "job", seen, often);
    leads.push_back(seen.has_value());
    EXPECT_FALSE(seen && seen->since) << "it was there at the first look";
    first.reset();
    seen = co_await async_observe(opened, "job", seen, often);
    leads.push_back(seen.has_value());
    async_observe(opened, "job", seen, often, [&](failure const& why, auto const& now) {
      EXPECT_FALSE(why);
      leads.push_back(now.has_value());
    });
    acquired second = co_await job.async_try_acquire();
    asio::steady_timer pause(io);
    while (leads.size() < 3) {
      pause.expires_after(1ms);
      co_await pause.async_wait(asio::use_awaitable);
    }
    co_await opened.async_close();
  };
  asio::co_spawn(io, body, asio::detached);
  io.run();
  EXPECT_EQ(leads, (std::vector<bool>{true, false, true}));
}

TEST(Observe, AWaitForAChangeIsCancelled) {
  asio::io_context io;
  auto const opened = open_store("memory:", {.executor = io.get_executor()});
  std::optional<failure> told;
  asio::cancellation_signal stop;
  async_observe(opened, "job", std::nullopt, {},
                asio::bind_cancellation_slot(stop.slot(),
                                             [&](failure const& why, auto const&) { told = why; }));
  io.poll();
  stop.emit(asio::cancellation_type::terminal);
  io.poll();
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, errc::canceled);
}

}  // namespace
