// Scripts in a slot that is being moved: a key that a script has removed is not here any more, and
// must be somewhere else, so a script that names it again is cut in the middle, with all that it
// has done. What is usual is done on purpose here, on each way through each script that removes a
// key.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "cluster_waiting.hpp"

namespace herdlock_test {
namespace {

// All of its keys are still at the node that they are moved from.
class slot_on_the_move {
 public:
  slot_on_the_move(redis_cluster& cluster, std::string const& name)
      : cluster_(cluster),
        from_(cluster.home_of(name)),
        to_((from_ + 1) % 3),
        slot_(std::to_string(cluster.slot_of(name))) {
    set(to_, "IMPORTING " + id_of(from_));
    set(from_, "MIGRATING " + id_of(to_));
  }
  ~slot_on_the_move() { end(); }
  slot_on_the_move(slot_on_the_move const&) = delete;
  slot_on_the_move& operator=(slot_on_the_move const&) = delete;

  void end() {
    set(from_, "STABLE");
    set(to_, "STABLE");
  }

 private:
  std::string id_of(std::size_t node) const { return cluster_.node(node).cli("CLUSTER MYID"); }
  void set(std::size_t node, std::string const& what) {
    EXPECT_EQ(cluster_.node(node).cli("CLUSTER SETSLOT " + slot_ + " " + what), "OK");
  }

  redis_cluster& cluster_;
  std::size_t from_;
  std::size_t to_;
  std::string slot_;
};

struct RedisClusterScripts : testing::Test {
  RedisClusterScripts() {
    cluster.flush();
    fence_of(holder.acquire(line.name(), mine));
    // A script begins only where all of its keys are.
    node.command({"SET", "{" + line.name() + "}:herdlock:last", "nobody", "PX", "600000"});
  }
  void queue_a_dead_one(std::string const& score = "1") {
    node.command({"ZADD", line.queue_key(), score, "@dead 2000 host/1:x"});
  }
  release_reply release() { return release(mine); }
  release_reply release(owner_token const& owner) {
    auto const reply = holder.release(line.name(), owner);
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply.has_value() ? *reply : release_reply::lost;
  }
  release_reply force_release() {
    auto const reply = holder.get<release_reply>(
        [&](auto done) { holder.leases().force_release(resource(line.name()), std::move(done)); });
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply.has_value() ? *reply : release_reply::lost;
  }
  void expect_served(redis_wait const* one) {
    EXPECT_EQ(line.holder(), one->owner.str()) << "out of the queue without a grant";
    EXPECT_TRUE(waiter.wait_for([&] { return one->granted(); }));
  }
  void expect_free(slot_on_the_move& move) {
    move.end();
    EXPECT_EQ(line.holder(), "(nil)");
    EXPECT_EQ(node.command({"EXISTS", line.queue_key()}), "0");
  }

  owner_token const mine = owner_token::generate();
  redis_cluster& cluster = redis_cluster::shared();
  cluster_line line{cluster, cluster.name_at(1)};
  redis_server& node = cluster.node(1);
  cluster_ports holder{cluster.url()};
  cluster_ports waiter{cluster.url()};
};

TEST_F(RedisClusterScripts, AReleaseGivesTheResourceToTheOnlyWaiterInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  slot_on_the_move move(cluster, line.name());
  EXPECT_EQ(release(), release_reply::released);
  expect_served(a);
  move.end();
  EXPECT_EQ(release(), release_reply::released) << "asked again, it tells its first answer";
}

TEST_F(RedisClusterScripts, AReleaseSkipsTheDeadInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  queue_a_dead_one("0.5");
  slot_on_the_move move(cluster, line.name());
  EXPECT_EQ(release(), release_reply::released);
  expect_served(a);
}

TEST_F(RedisClusterScripts, AReleaseWithOnlyDeadWaitersIsOneInTheMiddleOfAMove) {
  queue_a_dead_one();
  slot_on_the_move move(cluster, line.name());
  EXPECT_EQ(release(), release_reply::released);
  expect_free(move);
}

TEST_F(RedisClusterScripts, TheLastOfSeveralWaitersIsServedInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  auto* const b = line.enqueue(waiter);
  slot_on_the_move move(cluster, line.name());
  EXPECT_EQ(release(), release_reply::released);
  expect_served(a);
  EXPECT_EQ(release(a->owner), release_reply::released);
  expect_served(b);
}

TEST_F(RedisClusterScripts, AForcedReleaseServesTheOnlyWaiterInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  slot_on_the_move move(cluster, line.name());
  EXPECT_EQ(force_release(), release_reply::released);
  expect_served(a);
}

TEST_F(RedisClusterScripts, AForcedReleaseWithOnlyDeadWaitersIsOneInTheMiddleOfAMove) {
  queue_a_dead_one();
  slot_on_the_move move(cluster, line.name());
  EXPECT_EQ(force_release(), release_reply::released);
  expect_free(move);
}

TEST_F(RedisClusterScripts, TheOnlyWaiterLeavesInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  slot_on_the_move move(cluster, line.name());
  a->cancel.emit(asio::cancellation_type::all);
  EXPECT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); }));
  EXPECT_TRUE(waiter.wait_for([&] { return node.cli("EXISTS " + line.queue_key()) != "1"; }));
  EXPECT_EQ(line.holder(), mine.str());
}

// The mark of who was granted last is all that is left of the queue.
TEST_F(RedisClusterScripts, TheLastOfSeveralWaitersLeavesInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  auto* const b = line.enqueue(waiter);
  EXPECT_EQ(release(), release_reply::released);
  expect_served(a);
  slot_on_the_move move(cluster, line.name());
  b->cancel.emit(asio::cancellation_type::all);
  EXPECT_TRUE(waiter.wait_for([&] { return b->outcome.has_value(); }));
  EXPECT_TRUE(waiter.wait_for([&] { return node.cli("EXISTS " + line.queue_key()) != "1"; }));
  EXPECT_EQ(line.holder(), a->owner.str());
}

// Its pushing connection breaks: it goes by another name until there is a new one.
TEST_F(RedisClusterScripts, TheOnlyWaiterChangesItsNameInTheMiddleOfAMove) {
  auto* const a = line.enqueue(waiter);
  slot_on_the_move move(cluster, line.name());
  node.cli("CLIENT KILL TYPE pubsub");
  ASSERT_TRUE(waiter.wait_for([&] { return !line.is_heard(a->owner); }));
  EXPECT_TRUE(waiter.wait_for([&] { return a->outcome || line.subscriber_of(a->owner) == "-"; }));
  EXPECT_TRUE(waiter.wait_for([&] { return a->outcome || line.is_heard(a->owner); }));
  EXPECT_FALSE(a->outcome.has_value()) << a->outcome->error().message;
  EXPECT_EQ(release(), release_reply::released);
  expect_served(a);
}

}  // namespace
}  // namespace herdlock_test
