// What a redlock store makes of nodes that say no, or whose answers are lost.
#include "redlock_nodes.hpp"

namespace herdlock_test {
namespace {

// The replies of three are lost: no majority says yes, and asked again, each says what it said.
TEST_F(redlock, AReleaseAskedAgainAfterLostRepliesIsNotCalledLost) {
  auto ports_of = nodes.ports();
  std::vector<std::unique_ptr<relay>> ways;
  for (std::size_t i = 0; i < 3; ++i) {
    ways.push_back(std::make_unique<relay>(nodes[i].port()));
    ports_of[i] = ways.back()->port();
  }
  redis_ports ports(redis_nodes::url_of(ports_of), &open_redlock);
  fence_of(ports.acquire("r", mine, 30s));
  ASSERT_TRUE(ports.wait_for([&] { return nodes.count("GET r", mine.str()) == 5; }));
  for (auto& one : ways) one->cut_after_bytes(direction::to_client, 0);
  EXPECT_TRUE(ports.release("r", mine).has_error());
  for (auto& one : ways) one->disarm();
  result<release_reply> again = release_reply::lost;
  ASSERT_TRUE(ports.wait_for([&] { return (again = ports.release("r", mine)).has_value(); }));
  EXPECT_EQ(*again, release_reply::released);
  EXPECT_TRUE(gone_soon(ports));
  EXPECT_EQ(ports.release("r", other).value(), release_reply::lost);
}

// What a node refuses for good is not asked for again and again.
TEST_F(redlock, AKeyOfAnotherTypeCostsTheNodesOneRequestAndItsUndo) {
  redis_ports ports(nodes.url(), &open_redlock);
  for (std::size_t i = 0; i < 5; ++i) nodes[i].cli("RPUSH r a");
  auto const before = nodes[0].calls("evalsha");
  constexpr int tries = 5;
  for (int i = 0; i < tries; ++i) EXPECT_TRUE(ports.acquire("r", mine).has_error());
  ports.wait_for([] { return false; }, 1200ms);
  EXPECT_LE(nodes[0].calls("evalsha") - before, 2 * tries);
}

TEST_F(redlock, AReplicaIsNoNodeAndAnEvictingPolicyIsAWarning) {
  nodes[0].cli("CONFIG SET maxmemory-policy allkeys-lru");
  nodes[1].cli("REPLICAOF 127.0.0.1 1");
  redis_ports ports(nodes.url(), &open_redlock);
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  EXPECT_TRUE(ports.wait_for([&] {
    auto const told = ports.ports().warnings->list();
    return std::ranges::any_of(
        told, [](auto const& text) { return text.find("allkeys-lru") != std::string::npos; });
  }));
  EXPECT_EQ(nodes[1].cli("EXISTS r"), "0") << "a replica is no node";
  nodes[0].cli("CONFIG SET maxmemory-policy noeviction");
  nodes[1].cli("REPLICAOF NO ONE");
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

}  // namespace
}  // namespace herdlock_test
