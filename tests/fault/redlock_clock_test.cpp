// A node whose clock is wrong by decades.
#include <sstream>

#include "redlock_nodes.hpp"

namespace herdlock_test {
namespace {

constexpr std::int64_t hour = std::int64_t{3600} * 1'000'000;

struct RedlockClock : redlock {
  // The second of them, in microseconds.
  std::int64_t time_of_nodes() {
    std::int64_t seconds = 0;
    std::istringstream(nodes[1].cli("TIME")) >> seconds;
    return seconds * 1'000'000;
  }
  void expect_token_of_now(std::uint64_t token) {
    EXPECT_LT(static_cast<std::int64_t>(token), time_of_nodes() + hour);
    EXPECT_GT(static_cast<std::int64_t>(token), time_of_nodes() - hour);
  }
};

// Else, once the clock is put right and the counters are gone (7 days unused, nodes that come back
// empty), what is guarded would refuse every holder until the years have passed.
TEST_F(RedlockClock, OneNodeThatIsDecadesAheadDoesNotCarryTheTokensWithIt) {
  relay wrong(nodes[0].port());
  wrong.replace_in_replies("server_time_usec:1", "server_time_usec:2");
  auto ports_of = nodes.ports();
  ports_of[0] = wrong.port();
  std::uint64_t last = 0;
  {
    redis_ports ports(redis_nodes::url_of(ports_of), &open_redlock);
    last = fence_of(ports.acquire("r", mine));
    expect_token_of_now(last);
    EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
    EXPECT_TRUE(gone_soon(ports));
    EXPECT_TRUE(ports.wait_for([&] { return ports.ports().warnings->list().size() == 2; }));
    auto const told = ports.ports().warnings->list().back();
    EXPECT_NE(told.find(std::to_string(wrong.port())), std::string::npos) << told;
    EXPECT_NE(told.find("clock"), std::string::npos) << told;
  }
  nodes.reset();
  redis_ports after(nodes.url(), &open_redlock);
  EXPECT_GT(fence_of(after.acquire("r", other)), last);
}

TEST_F(RedlockClock, ACounterThatOneNodeBeganInTheFutureIsLeftAloneWhileTheOthersAnswer) {
  redis_ports ports(nodes.url("timeout=10s&node_timeout=5s"), &open_redlock);
  std::uint64_t last = fence_of(ports.acquire("warm", mine));
  for (int round = 0; round < 20; ++round) {
    nodes[0].command({"SET", "{r}:herdlock:quorum", "5000000000000000 1"});
    auto const token = fence_of(ports.acquire("r", mine));
    expect_token_of_now(token);
    EXPECT_GT(token, last);
    last = token;
    EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
    EXPECT_TRUE(gone_soon(ports));
  }
}

// A majority cannot do without it, and a hanging node must not hold it up for ever.
TEST_F(RedlockClock, ACounterInTheFutureIsFollowedWhereTheMajorityNeedsIt) {
  redis_ports ports(nodes.url(), &open_redlock);
  fence_of(ports.acquire("warm", mine));
  nodes[0].command({"SET", "{r}:herdlock:quorum", "5000000000000000 1"});
  for (std::size_t i : {3, 4}) nodes[i].pause();
  EXPECT_EQ(fence_of(ports.acquire("r", mine)), 5'000'000'000'000'001u);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  for (std::size_t i : {3, 4}) nodes[i].resume();
  EXPECT_GT(fence_of(ports.acquire("r", other)), 5'000'000'000'000'001u);
}

}  // namespace
}  // namespace herdlock_test
