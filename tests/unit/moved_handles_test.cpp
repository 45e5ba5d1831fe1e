// A handle that was moved from answers; it does not crash.
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>

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
  EXPECT_EQ(code_of([&] { static_cast<void>(std::move(held).hand_over()); }), errc::lost);
  EXPECT_EQ(code_of([&] { held.async_release(boost::asio::use_future).get(); }), errc::lost);
  EXPECT_EQ(code_of([&] { held.async_wait_lost(boost::asio::use_future).get(); }), errc::lost);
  EXPECT_TRUE(other.valid());
}

TEST(MovedHandles, AStoreAndALockAreCopied) {
  auto first = open_store("memory:");
  store const second = std::move(first);
  lock at(std::move(first), "r");
  lock const also = std::move(at);
  EXPECT_TRUE(at.try_acquire());
  EXPECT_TRUE(also.try_acquire());
  EXPECT_EQ(first.display_name(), second.display_name());
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

}  // namespace
