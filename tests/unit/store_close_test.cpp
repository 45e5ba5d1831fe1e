// Closing a store under its handles; waiting for another leader.
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>

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
