// A thousand waiters in twenty processes, half of which are killed. B8.
#include <support/child_process.hpp>

#include <algorithm>
#include <random>
#include <sstream>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

constexpr int processes = 20;
constexpr int waiters_each = 50;

struct served {
  std::uint64_t fencing;
  std::string owner;
  friend auto operator<=>(served const&, served const&) = default;
};

std::vector<served> grants_in(std::string const& output) {
  std::vector<served> all;
  std::istringstream lines(output);
  std::string word;
  served one{};
  while (lines >> word >> one.fencing >> one.owner) all.push_back(one);
  return all;
}

// `HUB TTL OWNER` of each member, in the queue's order.
std::vector<std::string> owners_in(std::string const& members) {
  std::vector<std::string> all;
  std::istringstream words(members);
  std::string hub;
  std::string ttl;
  std::string owner;
  while (words >> hub >> ttl >> owner) all.push_back(owner);
  return all;
}

bool belongs_to(std::string const& owner, pid_t pid) {
  return owner.find("/" + std::to_string(pid) + ":") != std::string::npos;
}

TEST(redis_waiters, TheSurvivorsOfAMassacreAreServedInOrderAndTheDeadNotAtAll) {
  redis_server server;
  redis_ports holder(server.url());
  auto const mine = owner_token::generate();
  auto const before = fence_of(holder.acquire("r", mine, 10min));
  std::vector<child_process> peers;
  for (int i = 0; i < processes; ++i) {
    peers.emplace_back(
        child_options{.argv = {QUEUE_PEER, server.url(), "r", std::to_string(waiters_each)}});
  }
  auto const queue = [&] { return "\n" + server.cli("ZRANGE {r}:herdlock:queue 0 -1"); };
  ASSERT_TRUE(eventually(3 * patience, [&] {
    return server.cli("ZCARD {r}:herdlock:queue") == std::to_string(processes * waiters_each) &&
           queue().find("\n- ") == std::string::npos;
  }));

  std::random_device seed_source;
  auto const seed = seed_source();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::shuffle(peers.begin(), peers.end(), std::minstd_rand(seed));
  std::vector<pid_t> dead;
  for (int i = 0; i < processes / 2; ++i) {
    dead.push_back(peers.back().pid());
    peers.back().kill();
    peers.pop_back();
  }
  std::string const channels = "return #redis.call('PUBSUB', 'CHANNELS', 'herdlock:grants:*')";
  ASSERT_TRUE(eventually([&] {
    return server.command({"EVAL", channels, "0"}) == std::to_string(peers.size());
  }));
  auto expected = owners_in(queue());
  std::erase_if(expected, [&](std::string const& owner) {
    return std::any_of(dead.begin(), dead.end(), [&](pid_t pid) { return belongs_to(owner, pid); });
  });
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(processes * waiters_each / 2));

  holder.release("r", mine);
  std::vector<served> got;
  EXPECT_TRUE(eventually(3 * patience, [&] {
    got.clear();
    for (auto const& each : peers) {
      auto const some = grants_in(each.output());
      got.insert(got.end(), some.begin(), some.end());
    }
    return got.size() == expected.size();
  })) << got.size();
  std::sort(got.begin(), got.end());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].owner, expected[i]) << "out of turn at " << i;
    // By one, or, at a process that has connected since the counter began, to the server's time:
    // a jump of some milliseconds at least. A turn that was given to the dead would make a gap
    // of 2.
    auto const step = got[i].fencing - (i == 0 ? before : got[i - 1].fencing);
    ASSERT_TRUE(step == 1 || step > 100) << "a dead waiter was given a turn before " << i;
  }
}

}  // namespace
}  // namespace herdlock_test
