// The lease protocol against a real server: what other clients see and do, what a wiped server, a
// lost script and a cut connection leave.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

struct redis_lease : testing::Test {
  redis_lease() { server.flush(); }
  redis_server& server = redis_server::shared();
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

TEST_F(redis_lease, IsAPlainStringThatOtherClientsUnderstand) {
  redis_ports ports(server.url());
  EXPECT_GT(fence_of(ports.acquire("r", mine, 1h)), 0u);
  EXPECT_EQ(server.cli("GET r"), mine.str());
  EXPECT_GT(std::stol(server.cli("PTTL r")), 3'300'000);
  EXPECT_EQ(server.cli("SET r x NX PX 1000"), "(nil)");
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("SET r theirs NX PX 3600000"), "OK");
  auto const reply = ports.acquire("r", mine).value();
  ASSERT_TRUE(std::holds_alternative<busy>(reply));
  EXPECT_EQ(std::get<busy>(reply).holder, "another client");
  EXPECT_GT(std::get<busy>(reply).remaining, 55min);
  EXPECT_EQ(ports.release("r", other).value(), release_reply::lost);  // B5
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released) << "its first answer";
  EXPECT_EQ(server.cli("GET r"), "theirs");
}

TEST_F(redis_lease, ForeignLockWithoutTtlIsBusyWithUnknownRemaining) {
  redis_ports ports(server.url());
  server.cli("SET r theirs");
  auto const reply = ports.acquire("r", mine).value();
  ASSERT_TRUE(std::holds_alternative<busy>(reply));
  EXPECT_EQ(std::get<busy>(reply).remaining, 0ms);
}

TEST_F(redis_lease, KeyOfAnotherTypeIsNamedAndNotTouched) {
  redis_ports ports(server.url());
  server.cli("RPUSH r a b");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::wrong_type);
  EXPECT_NE(reply.error().message.find("'r'"), std::string::npos) << reply.error().message;
  auto const forced = ports.get<release_reply>(
      [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); });
  EXPECT_EQ(forced.error(), errc::wrong_type);
  EXPECT_EQ(server.cli("LLEN r"), "2");
}

TEST_F(redis_lease, FenceKeyWithJunkLeavesNoGhostBehind) {  // B7
  redis_ports ports(server.url());
  server.cli("RPUSH {r}:herdlock:fence junk");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

TEST_F(redis_lease, AskingAgainReturnsTheSameGrantAndDoesNotProlongIt) {  // B7
  redis_ports ports(server.url());
  auto const first = fence_of(ports.acquire("r", mine, 5s));
  EXPECT_EQ(fence_of(ports.acquire("r", mine, 60s)), first);
  EXPECT_LE(std::stol(server.cli("PTTL r")), 5000);
}

TEST_F(redis_lease, FencingIncreasesThroughAWipedServer) {
  redis_ports ports(server.url());
  auto const first = fence_of(ports.acquire("r", mine));
  ports.release("r", mine);
  auto const second = fence_of(ports.acquire("r", other));
  EXPECT_EQ(second, first + 1);
  server.cli("FLUSHALL");
  EXPECT_GT(fence_of(ports.acquire("r", mine)), second);
  server.cli("DEL {r}:herdlock:fence");  // expired or evicted under a holder
  EXPECT_GT(fence_of(ports.acquire("r", mine)), second);
}

TEST_F(redis_lease, LeavesNoKeyWithoutTtl) {  // S8
  redis_ports ports(server.url());
  fence_of(ports.acquire("r", mine));
  fence_of(ports.acquire("{tagged}r", mine));
  EXPECT_GT(std::stol(server.cli("TTL {r}:herdlock:fence")), 600'000);
  EXPECT_GT(std::stol(server.cli("TTL {tagged}r::herdlock:fence")), 600'000);
  ports.release("r", mine);
  fence_of(ports.acquire("r", mine));
  EXPECT_GT(std::stol(server.cli("TTL {r}:herdlock:fence")), 600'000);
}

TEST_F(redis_lease, SurvivesScriptFlushInBothDirections) {
  redis_ports ports(server.url());
  for (int i = 0; i < 3; ++i) {
    EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
    server.cli("SCRIPT FLUSH");
    EXPECT_EQ(ports.renew("r", mine, 10s).value(), renew_reply::renewed);
    server.cli("SCRIPT FLUSH");
    EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  }
}

TEST_F(redis_lease, RenewAndReleaseOfAnothersLeaseReportLost) {  // B5, B6
  redis_ports ports(server.url());
  fence_of(ports.acquire("r", mine, 20s));
  EXPECT_EQ(ports.renew("r", other, 60s).value(), renew_reply::lost);
  EXPECT_EQ(ports.release("r", other).value(), release_reply::lost);
  EXPECT_EQ(server.cli("GET r"), mine.str());
  EXPECT_LE(std::stol(server.cli("PTTL r")), 20'000);
  server.cli("DEL r");
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::lost);  // B4: never taken anew
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

TEST_F(redis_lease, CommandIsCompletedOnceWhenCancelled) {
  redis_ports ports(server.url());
  fence_of(ports.acquire("warm", mine));
  asio::cancellation_signal signal;
  std::optional<result<acquire_reply>> outcome;
  ports.leases().acquire({resource("r"), mine, 30s},
                         asio::bind_cancellation_slot(signal.slot(), [&](result<acquire_reply> r) {
                           outcome = std::move(r);
                         }));
  signal.emit(asio::cancellation_type::total);
  EXPECT_FALSE(outcome.has_value());
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->error(), errc::canceled);
  auto const given_back = ports.release("r", mine);
  EXPECT_TRUE(given_back.has_value());
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

// B7: the connection is cut after each byte of the request, and after each byte of the reply.
TEST_F(redis_lease, CutAtEveryByteOfAnAcquireLeavesNoGhostAfterRelease) {
  for (auto way : {direction::to_server, direction::to_client}) {
    relay through(server.port());
    redis_ports ports(relay_url(through));
    fence_of(ports.acquire("warm", mine));
    auto const before = through.bytes(way);
    fence_of(ports.acquire("r", mine));
    auto const length = through.bytes(way) - before;
    ports.release("r", mine);
    std::size_t failed = 0;
    for (std::size_t n = 0; n <= length; ++n) {
      auto const owner = owner_token::generate();
      through.cut_after_bytes(way, n);
      auto const reply = ports.acquire("r", owner);
      if (reply.has_error()) {
        ++failed;
        EXPECT_EQ(reply.error(), errc::unavailable) << reply.error().message;
      }
      through.disarm();
      auto const given_back = ports.release("r", owner);
      ASSERT_TRUE(given_back.has_value()) << given_back.error().message;
      ASSERT_EQ(server.cli("EXISTS r"), "0") << "a ghost after " << n << " bytes";
    }
    EXPECT_GE(failed, length / 2);
  }
}

}  // namespace
}  // namespace herdlock_test
