// Waits and locks at a Redis Cluster whose connections are cut after any byte.
#include <random>

#include "cluster_waiting.hpp"

namespace herdlock_test {
namespace {

/// The clients go through the relays; the holder, at the node itself, is never cut.
struct RedisClusterCut : testing::Test {
  redis_cluster& cluster = relayed();
  cluster_line line{cluster, cluster.name_at(1)};
  redis_server& node = cluster.node(1);
  relay& through = cluster.in_front_of(1);
  redis_ports holder{node.url()};  // behind the line, whose waits have to outlive the stores
  owner_token const mine = owner_token::generate();

  static redis_cluster& relayed() {
    static redis_cluster one({.ports = announced::relays});
    one.flush();
    return one;
  }
  // The node knows all scripts then: what is cut is the calls.
  void warm(redis_ports& waiter) {
    fence_of(holder.acquire(line.name(), mine));
    line.enqueue(waiter)->cancel.emit(asio::cancellation_type::all);
    ASSERT_TRUE(waiter.wait_for([&] { return waiting() == 0; }));
    auto* const served = line.enqueue(waiter);
    EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
    ASSERT_TRUE(waiter.wait_for([&] { return served->granted(); }));
    EXPECT_EQ(waiter.release(line.name(), served->owner).value(), release_reply::released);
  }
  bool is_free() { return node.command({"EXISTS", line.name()}) == "0" && waiting() == 0; }
  long waiting() { return std::stol(node.command({"ZCARD", line.queue_key()})); }
};

constexpr auto both_ways = {direction::to_server, direction::to_client};
// Each run cuts at some bytes, from another one on; many runs cut at each.
constexpr std::size_t step = 5;

std::size_t first_byte() { return std::random_device{}() % step; }

TEST_F(RedisClusterCut, AWaitThatIsCutAnywhereEndsWithALiveGrantOrLeavesNothing) {
  for (auto way : both_ways) {
    cluster_ports waiter(cluster.url());
    warm(waiter);
    std::size_t cuts = 0;
    for (std::size_t n = first_byte(), whole = 0; whole < 3; n += step) {
      bool const is_cancelled = n % 3 == 0;
      auto const first = owner_token::generate();
      fence_of(holder.acquire(line.name(), first));
      through.cut_after_bytes(way, n);
      auto* const a = line.start(waiter);
      ASSERT_TRUE(waiter.wait_for([&] { return waiting() == 1 || a->outcome; })) << n;
      if (is_cancelled) a->cancel.emit(asio::cancellation_type::all);
      ASSERT_EQ(holder.release(line.name(), first).value(), release_reply::released);
      ASSERT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); })) << "hangs at " << n;
      if (a->granted()) {
        ASSERT_EQ(node.command({"GET", line.name()}), a->owner.str()) << "not ours, cut at " << n;
        auto renewed = waiter.renew(line.name(), a->owner, 30s);
        if (renewed.has_error()) renewed = waiter.renew(line.name(), a->owner, 30s);
        ASSERT_EQ(renewed.value(), renew_reply::renewed) << n;
      }
      // As the runtime does after an error: nothing may be left.
      auto given_back = waiter.release(line.name(), a->owner);
      ++(through.cut_pending() ? whole : cuts);
      through.disarm();
      if (given_back.has_error()) given_back = waiter.release(line.name(), a->owner);
      ASSERT_TRUE(given_back.has_value()) << given_back.error().message;
      ASSERT_TRUE(waiter.wait_for([&] { return is_free(); })) << "a ghost, cut at " << n;
    }
    EXPECT_GT(cuts * step, 120u);
  }
}

TEST_F(RedisClusterCut, AnAcquisitionAndAReleaseThatAreCutAnywhereAreDoneOnce) {
  for (auto way : both_ways) {
    cluster_ports ports(cluster.url());
    std::uint64_t last = fence_of(ports.acquire(line.name(), mine));
    ports.release(line.name(), mine);
    for (std::size_t n = first_byte();; n += step) {
      auto const owner = owner_token::generate();
      through.cut_after_bytes(way, n);
      auto reply = ports.acquire(line.name(), owner);
      if (reply.has_error()) reply = ports.acquire(line.name(), owner);
      auto const fence = fence_of(reply);
      ASSERT_GT(fence, last) << n;
      last = fence;
      ASSERT_EQ(node.command({"GET", line.name()}), owner.str()) << n;
      auto released = ports.release(line.name(), owner);
      bool const was_cut = !through.cut_pending();
      through.disarm();
      if (released.has_error()) released = ports.release(line.name(), owner);
      ASSERT_TRUE(released.has_value()) << released.error().message;
      ASSERT_EQ(*released, release_reply::released) << "a false `lost` after " << n << " bytes";
      ASSERT_TRUE(is_free()) << "a ghost after " << n << " bytes";
      if (!was_cut) break;
    }
  }
}

}  // namespace
}  // namespace herdlock_test
