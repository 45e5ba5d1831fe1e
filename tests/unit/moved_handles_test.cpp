// A handle that was moved from answers; it does not crash.
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>
#include <optional>
#include <string>

namespace {

using namespace herdlock;

template <class Call>
std::error_code code_of(Call call) {
  try {
    call();
  } catch (error const& why) {
    return why.code();
  }
  return {};
}

TEST(MovedHandles, ALeaseIsNoLeaseAnyMore) {
  auto const where = open_store("memory:");
  auto held = lock(where, "r").try_acquire().value();
  lease const other = std::move(held);
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.remaining(), milliseconds{0});
  EXPECT_FALSE(held.lost_token().stop_possible());
  EXPECT_EQ(code_of([&] { static_cast<void>(held.name()); }), errc::lost);
  EXPECT_EQ(code_of([&] { static_cast<void>(held.fencing()); }), errc::lost);
  EXPECT_EQ(code_of([&] { static_cast<void>(held.owner()); }), errc::lost);
  EXPECT_EQ(code_of([&] { static_cast<void>(held.lost_reason()); }), errc::lost);
  EXPECT_EQ(code_of([&] { held.renew(); }), errc::lost);
  EXPECT_EQ(code_of([&] { held.release(); }), errc::lost);
  EXPECT_EQ(code_of([&] { static_cast<void>(std::move(held).detach()); }), errc::lost);
  EXPECT_EQ(code_of([&] { held.async_release(boost::asio::use_future).get(); }), errc::lost);
  EXPECT_EQ(code_of([&] { held.async_wait_lost(boost::asio::use_future).get(); }), errc::lost);
  EXPECT_TRUE(other.valid());
}

TEST(MovedHandles, AStoreAndALockStandForNothing) {
  auto first = open_store("memory:");
  store second = std::move(first);
  EXPECT_EQ(code_of([&] { static_cast<void>(first.display_name()); }), errc::not_supported);
  EXPECT_EQ(code_of([&] { first.close(); }), errc::not_supported);
  EXPECT_EQ(code_of([&] { static_cast<void>(first.list()); }), errc::not_supported);
  EXPECT_EQ(code_of([&] { static_cast<void>(lock(first, "r").try_acquire()); }),
            errc::not_supported);
  EXPECT_EQ(code_of([&] { cache<std::string>(first, {.prefix = "p:"}); }), errc::not_supported);
  lock at(std::move(second), "r");
  lock const also = std::move(at);
  EXPECT_EQ(code_of([&] { static_cast<void>(at.try_acquire()); }), errc::not_supported);
  EXPECT_TRUE(also.try_acquire());
}

// Its last handle closes a store: one that was moved from is none.
TEST(MovedHandles, AStoreThatWasMovedFromKeepsNothingOpen) {
  boost::asio::io_context io;
  auto first = open_store("memory:", {.executor = io.get_executor()});
  std::optional<store> second = std::move(first);
  second.reset();
  io.run_for(std::chrono::seconds(10));
  EXPECT_TRUE(io.stopped()) << "something is left to do";
}

TEST(MovedHandles, AnElectionIsIdle) {
  election first(open_store("memory:"), "r",
                 {.start_work = [](election_term&) -> boost::asio::awaitable<void> { co_return; }});
  election const second = std::move(first);
  EXPECT_EQ(first.state(), election_state::idle);
  first.resign();
  EXPECT_EQ(code_of([&] { static_cast<void>(first.name()); }), errc::not_supported);
  EXPECT_EQ(code_of([&] { static_cast<void>(first.candidate()); }), errc::not_supported);
  EXPECT_EQ(code_of([&] { first.campaign(); }), errc::not_supported);
  EXPECT_EQ(code_of([&] { first.async_campaign(boost::asio::use_future).get(); }),
            errc::not_supported);
  EXPECT_EQ(second.name().str(), "r");
}

TEST(MovedHandles, ACacheAndASingleFlightAreWhatTheyWere) {
  cache<std::string> first(open_store("memory:"), {.prefix = "p:"});
  first.put("key", "value");
  cache<std::string> const second = std::move(first);
  EXPECT_EQ(*first.get("key"), "value");
  EXPECT_EQ(*second.get("key"), "value");
  single_flight<int> loads;
  single_flight<int> const also = std::move(loads);
  EXPECT_EQ(loads.run("key", [] { return 1; }), 1);
  EXPECT_EQ(also.waiting("key"), 0U);
}

}  // namespace
