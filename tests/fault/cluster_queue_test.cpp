// The queue of a Redis Cluster: one channel for each node, and names that go along with a slot.
#include <support/child_process.hpp>

#include "cluster_waiting.hpp"
#include "owners.hpp"

namespace herdlock_test {
namespace {

std::string only_node(redis_cluster& cluster, std::size_t i) {
  return "redis+cluster://127.0.0.1:" + std::to_string(cluster.node(i).port());
}

std::string grant_channels_at(redis_server const& server) {
  return server.cli("PUBSUB CHANNELS herdlock:grants:*");
}

struct RedisClusterQueue : testing::Test {
  RedisClusterQueue() { cluster.flush(); }
  cluster_line line_at(std::size_t node) { return {cluster, cluster.name_at(node)}; }

  redis_cluster& cluster = redis_cluster::shared();
};

// Everybody in turn, and each of them pushed by the step that released.
void serve_all(cluster_line& line, std::vector<redis_wait*> const& all,
               std::vector<redis_ports*> const& of) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(line.holder(), all[i]->owner.str()) << "waiter " << i;
    ASSERT_TRUE(of[i]->wait_for([&] { return all[i]->granted(); })) << "waiter " << i;
    EXPECT_GT(all[i]->got().fencing.value, last);
    last = all[i]->got().fencing.value;
    EXPECT_EQ(of[i]->release(line.name(), all[i]->owner).value(), release_reply::released);
  }
  EXPECT_EQ(line.holder(), "(nil)");
}

TEST_F(RedisClusterQueue, ServesInTheOrderOfArrivalAcrossStores) {
  auto line = line_at(1);
  redis_ports holder(cluster.node(1).url());
  cluster_ports one(cluster.url());
  cluster_ports two(cluster.url());
  fence_of(holder.acquire(line.name(), mine));
  std::vector<redis_wait*> all;
  std::vector<redis_ports*> of;
  for (int i = 0; i < 12; ++i) {
    of.push_back(i * 7 % 4 < 2 ? &one : &two);
    all.push_back(line.enqueue(*of.back()));
  }
  EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
  serve_all(line, all, of);
}

// A look each second is all that a waiter asks; what is granted comes by itself.
TEST_F(RedisClusterQueue, EachNodePushesItsGrantsAndNobodyPolls) {
  std::vector<cluster_line> lines;
  for (std::size_t i = 0; i < 3; ++i) lines.push_back(line_at(i));
  cluster_ports holder(cluster.url());
  cluster_ports waiter(cluster.url());
  std::vector<redis_wait*> waits;
  std::vector<std::string> hubs;
  for (auto& line : lines) {
    fence_of(holder.acquire(line.name(), mine));
    waits.push_back(line.enqueue(waiter));
    hubs.push_back(line.subscriber_of(waits.back()->owner));
  }
  EXPECT_NE(hubs[0], hubs[1]);
  EXPECT_NE(hubs[1], hubs[2]);
  auto const before = cluster.node(0).calls("evalsha");
  auto const begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(waiter.wait_for([&] { return cluster.node(0).calls("evalsha") >= before + 4; }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1500ms) << "four looks, half a second each";

  constexpr int turns = 30;
  auto const first = cluster.node(0).calls("evalsha");
  auto const start = std::chrono::steady_clock::now();
  auto last = mine;
  for (int i = 0; i < turns; ++i) {
    auto* const next = lines[0].start(waiter);
    EXPECT_EQ(waiter.release(lines[0].name(), last).value(), release_reply::released);
    ASSERT_TRUE(waiter.wait_for([&] { return waits[0]->granted(); }));
    last = waits[0]->owner;
    waits[0] = next;
  }
  auto const seconds = (std::chrono::steady_clock::now() - start) / 1s;
  auto const asked = cluster.node(0).calls("evalsha") - first;
  EXPECT_LE(asked, 2 * turns + 3 * (seconds + 1)) << "more than an entering and a release each";
}

TEST_F(RedisClusterQueue, AWaiterOfADeadProcessIsSkippedInTheStepOfTheRelease) {
  auto line = line_at(2);
  redis_ports holder(cluster.node(2).url());
  cluster_ports living(cluster.url());
  auto const before = fence_of(holder.acquire(line.name(), mine));
  child_process dead({.argv = {HERDLOCK_LOCK_HOLDER, cluster.url(), line.name(), "30000", "hold"}});
  ASSERT_TRUE(eventually([&] { return line.length() == 1 && !line.members().starts_with("- "); }));
  auto const channel = grant_channels_at(cluster.node(2));
  auto* const a = line.enqueue(living);
  dead.kill();
  ASSERT_TRUE(eventually(
      [&] { return grant_channels_at(cluster.node(2)).find(channel) == std::string::npos; }));
  EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
  EXPECT_EQ(line.holder(), a->owner.str());
  ASSERT_TRUE(living.wait_for([&] { return a->granted(); }));
  EXPECT_EQ(a->got().fencing.value, before + 1) << "the dead one was given a grant";
}

TEST_F(RedisClusterQueue, WaitersKeepTheirPlacesAndArePushedToWhereTheirSlotHasMoved) {
  cluster_line line(cluster, "moves");
  cluster_ports holder(cluster.url());
  cluster_ports one(cluster.url());
  cluster_ports two(cluster.url());
  fence_of(holder.acquire(line.name(), mine));
  std::vector<redis_ports*> const of{&one, &two, &two, &one, &one, &two};
  std::vector<redis_wait*> all;
  for (auto* ports : of) all.push_back(line.enqueue(*ports));
  auto const old_subscriber = line.subscriber_of(all[0]->owner);
  auto const old_home = &line.home();
  // To nodes that they have not waited at yet, and back to those where they listen already.
  for (int move = 0; move < 4; ++move) {
    cluster.move_slot(cluster.slot_of(line.name()), (cluster.home_of(line.name()) + 1) % 3);
    ASSERT_TRUE(line.stands_in_order(all)) << line.members();
    auto const heard = [&](std::size_t i) { return line.is_heard(all[i]->owner); };
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(of[i]->wait_for([&] { return heard(i); })) << i << ":\n" << line.members();
    }
    EXPECT_EQ(line.length(), 6) << line.members();
    EXPECT_TRUE(line.stands_in_order(all)) << "a position was lost\n" << line.members();
  }
  EXPECT_NE(&line.home(), old_home);
  EXPECT_NE(line.subscriber_of(all[0]->owner), old_subscriber)
      << "a subscriber belongs to its node";
  EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
  serve_all(line, all, of);
}

// Between the move and its news: nobody listens there by that name, so nobody is given a grant that
// he would not hear of, and who was passed over comes back by himself.
TEST_F(RedisClusterQueue, AWaiterThatHasNotFollowedItsSlotIsPassedOverAndComesBack) {
  cluster_line line(cluster, "late");
  cluster_ports holder(cluster.url());
  cluster_ports waiter(cluster.url());
  auto const before = fence_of(holder.acquire(line.name(), mine));
  auto* const a = line.enqueue(waiter);
  auto* const b = line.enqueue(waiter);
  cluster.move_slot(cluster.slot_of(line.name()), (cluster.home_of(line.name()) + 1) % 3);
  EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
  EXPECT_EQ(line.holder(), "(nil)") << "granted to one who does not listen";
  EXPECT_EQ(line.length(), 0);
  ASSERT_TRUE(waiter.wait_for([&] { return a->outcome || b->outcome; }));
  auto* const first = a->outcome ? a : b;
  auto* const second = a->outcome ? b : a;
  ASSERT_TRUE(first->granted());
  EXPECT_GT(first->got().fencing.value, before);
  EXPECT_EQ(line.holder(), first->owner.str());
  EXPECT_FALSE(second->outcome);
  EXPECT_EQ(waiter.release(line.name(), first->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return second->granted(); })) << "asleep for ever";
}

TEST_F(RedisClusterQueue, WithoutThePushingConnectionOfANodeWaitersPollAndComeBackToIt) {
  auto line = line_at(0);
  cluster_ports holder(cluster.url());
  cluster_ports waiter(cluster.url());
  fence_of(holder.acquire(line.name(), mine));
  auto* const a = line.enqueue(waiter);
  auto* const b = line.enqueue(waiter);
  cluster.node(0).cli("CLIENT KILL TYPE pubsub");
  ASSERT_TRUE(waiter.wait_for([&] { return line.subscriber_of(a->owner) == "-"; }));
  ASSERT_TRUE(waiter.wait_for([&] { return line.is_heard(a->owner) && line.is_heard(b->owner); }));
  EXPECT_TRUE(line.stands_in_order({a, b})) << "a position was lost";
  EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
  serve_all(line, {a, b}, {&waiter, &waiter});
}

// Uncounted, a grant could reach its waiter over the bus, and prove its age by another node's
// beats.
TEST_F(RedisClusterQueue, WhereListenersMayNotBeCountedGrantsAreFoundByLooking) {
  auto line = line_at(0);
  auto const rules = "poor on >secret ~* &* +@all -pubsub";
  for (std::size_t i = 0; i < 3; ++i) {
    cluster.node(i).cli("ACL SETUSER " + std::string(rules));
  }
  auto const at = "poor:secret@127.0.0.1:" + std::to_string(cluster.node(0).port());
  cluster_ports holder("redis+cluster://" + at);
  cluster_ports waiter(cluster.url());
  // What is found in the millisecond of the grant looks as if it had been pushed.
  bool looked = false;
  for (int i = 0; i < 10 && !looked; ++i) {
    fence_of(holder.acquire(line.name(), mine));
    auto* const a = line.enqueue(waiter);
    EXPECT_EQ(holder.release(line.name(), mine).value(), release_reply::released);
    EXPECT_EQ(line.holder(), a->owner.str());
    ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
    looked = a->got().validity->ttl < 2s;
    EXPECT_EQ(waiter.release(line.name(), a->owner).value(), release_reply::released);
  }
  EXPECT_TRUE(looked) << "what was pushed has the whole heartbeat";
}

TEST_F(RedisClusterQueue, WithoutItsNodeAWaitEndsByItsDeadlineAndSaysWhy) {
  redis_cluster own;
  cluster_line line(own, own.name_at(1));
  cluster_line other(own, own.name_at(0));
  cluster_ports holder(own.url());
  cluster_ports waiter(own.url() + "?timeout=600ms");
  fence_of(holder.acquire(line.name(), mine));
  fence_of(holder.acquire(other.name(), mine));
  auto* const queued = line.start(waiter, 2s);
  ASSERT_TRUE(waiter.wait_for([&] { return line.is_heard(queued->owner); }));
  auto* const elsewhere = other.enqueue(waiter);
  own.node(1).kill();
  auto* const late = line.start(waiter, 300ms);
  ASSERT_TRUE(waiter.wait_for([&] { return queued->outcome && late->outcome; }));
  for (auto* one : {queued, late}) {
    ASSERT_TRUE(one->outcome->has_error());
    EXPECT_EQ(one->outcome->error(), errc::unavailable) << one->outcome->error().message;
    EXPECT_TRUE(mentions(one->outcome->error(), "'" + line.name() + "'"));
    EXPECT_TRUE(mentions(one->outcome->error(), std::to_string(own.node(1).port())) ||
                mentions(one->outcome->error(), "down"))
        << one->outcome->error().message;
  }
  EXPECT_EQ(holder.release(other.name(), mine).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return elsewhere->granted(); }));
  own.node(1).restart();
  own.wait_until_ok();
  auto* const again = line.start(waiter);
  ASSERT_TRUE(waiter.wait_for([&] { return again->outcome.has_value(); }));
  EXPECT_TRUE(again->granted() || again->outcome->has_error());
}

// The replica was met as a replica: what its counters must have reached is learned anew.
TEST_F(RedisClusterQueue, WaitersGoOnAtTheReplicaThatTakesOverAndTokensStillRise) {
  redis_cluster own({.masters = 3, .replicas = 1});
  cluster_line line(own, own.name_at(2));
  cluster_ports holder(only_node(own, 3) + "?timeout=20s");
  cluster_ports waiter(only_node(own, 3) + "?timeout=20s");
  EXPECT_TRUE(holder.look_up(own.name_at(0)).has_value() && waiter.look_up("x").has_value());
  auto const before = fence_of(holder.acquire(line.name(), mine));
  auto* const a = line.enqueue(waiter);
  auto* const b = line.enqueue(waiter);
  ASSERT_TRUE(eventually([&] { return own.node(3).cli("DBSIZE") == "3"; }));
  own.node(2).kill();
  auto const is_master = [&] {
    return own.node(3).cli("INFO replication").find("role:master") != std::string::npos &&
           own.node(3).cli("CLUSTER INFO").find("cluster_state:ok") != std::string::npos;
  };
  ASSERT_TRUE(eventually(is_master));
  // As if its replication had lagged.
  own.node(3).command({"SET", line.fence_key(), std::to_string(before - 10)});
  auto const heard = [&](redis_wait const* one) {
    auto const subscriber = one->owner.str();
    auto const all = own.node(3).command({"ZRANGE", line.queue_key(), "0", "-1"});
    return all.find(subscriber) != std::string::npos;
  };
  ASSERT_TRUE(waiter.wait_for([&] { return heard(a) && heard(b); }));
  ASSERT_TRUE(eventually([&] { return own.home_of(line.name()) == 3; }));
  ASSERT_TRUE(waiter.wait_for([&] { return line.is_heard(a->owner) && line.is_heard(b->owner); }));
  EXPECT_TRUE(line.stands_in_order({a, b})) << "a position was lost";
  auto released = holder.release(line.name(), mine);
  if (released.has_error()) released = holder.release(line.name(), mine);
  EXPECT_EQ(released.value(), release_reply::released);
  EXPECT_EQ(line.holder(), a->owner.str());
  ASSERT_TRUE(waiter.wait_for([&] { return a->granted(); }));
  EXPECT_GT(a->got().fencing.value, before) << "a token twice";
  EXPECT_EQ(waiter.release(line.name(), a->owner).value(), release_reply::released);
  ASSERT_TRUE(waiter.wait_for([&] { return b->granted(); }));
  EXPECT_GT(b->got().fencing.value, a->got().fencing.value);
}

}  // namespace
}  // namespace herdlock_test
