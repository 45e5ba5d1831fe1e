// Slots of a Redis Cluster that are moved while their locks are in use.
#include <atomic>
#include <thread>

#include <herdlock/cache.hpp>
#include "cluster_ports.hpp"

namespace herdlock_test {
namespace {

// What the lock guards: lost updates, overlaps and fencing tokens that do not rise show in it.
struct guarded {
  std::atomic<std::uint64_t> counter{0};
  std::atomic<int> inside{0};
  std::atomic<std::uint64_t> last_fence{0};
  std::atomic<int> overlaps{0};
  std::atomic<int> stale_fences{0};

  void touch(std::uint64_t fence) {
    if (inside.fetch_add(1) != 0) ++overlaps;
    if (last_fence.exchange(fence) >= fence) ++stale_fences;
    auto const seen = counter.load();
    std::this_thread::yield();
    counter.store(seen + 1);
    inside.fetch_sub(1);
  }
};

// One client after the other's lock; stops when told to.
class worker {
 public:
  worker(std::string const& url, std::string const& name, milliseconds wait, guarded& state)
      : thread_([=, this, &state] { work(url, name, wait, state); }) {}
  ~worker() { stop(); }
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t rounds() const { return rounds_; }
  int failures() const { return failures_; }

 private:
  void work(std::string const& url, std::string const& name, milliseconds wait, guarded& state) {
    cluster_ports ports(url);
    while (!stopping_) {
      auto const me = owner_token::generate();
      auto const reply = ports.get<acquire_reply>([&](auto h) {
        ports.leases().acquire({resource(name), me, 30s, wait}, std::move(h));
      });
      if (reply.has_error()) {
        ++failures_;
        ADD_FAILURE() << reply.error().message;
      } else if (auto const* held = std::get_if<grant>(&*reply)) {
        state.touch(held->fencing.value);
        ++rounds_;
      } else {
        continue;
      }
      auto const end = ports.release(name, me);
      if (end.has_value() && *end == release_reply::released) continue;
      ++failures_;
      ADD_FAILURE() << (end.has_error() ? end.error().message : "lost");
    }
  }

  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<int> failures_{0};
  std::thread thread_;
};

void work_while_a_slot_moves(std::string const& name, milliseconds wait) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  int const slot = cluster.slot_of(name);
  guarded state;
  std::vector<std::unique_ptr<worker>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(std::make_unique<worker>(cluster.url() + "?timeout=20s", name, wait, state));
  }
  auto const rounds = [&] {
    std::uint64_t sum = 0;
    for (auto const& one : workers) sum += one->rounds();
    return sum;
  };
  auto const before =
      std::array{cluster.errors("MOVED"), cluster.errors("ASK"), cluster.errors("TRYAGAIN")};
  for (int move = 0; move < 6; ++move) {
    auto const start = rounds();
    ASSERT_TRUE(eventually([&] { return rounds() > start + 20; }));
    // Each stage of the move lasts until the clients have run into it.
    auto const refusals = [&] { return cluster.errors("ASK") + cluster.errors("TRYAGAIN"); };
    cluster.move_slot(slot, (cluster.home_of(name) + 1) % 3, [&] {
      auto const seen = refusals();
      EXPECT_TRUE(eventually([&] { return refusals() > seen + 5; }));
    });
  }
  auto const start = rounds();
  ASSERT_TRUE(eventually([&] { return rounds() > start + 20; }));
  for (auto& one : workers) one->stop();
  EXPECT_EQ(state.overlaps, 0);
  EXPECT_EQ(state.stale_fences, 0);
  EXPECT_EQ(state.counter, rounds());
  EXPECT_GT(cluster.errors("MOVED"), before[0]);
  EXPECT_GT(cluster.errors("ASK"), before[1]);
  EXPECT_GT(cluster.errors("TRYAGAIN"), before[2]);
}

TEST(RedisClusterMove, LocksHoldWhileTheirSlotMovesFromNodeToNode) {
  work_while_a_slot_moves("moving", 0s);
}

TEST(RedisClusterMove, WaitersAreServedWhileTheirSlotMovesFromNodeToNode) {
  work_while_a_slot_moves("queued", 1min);
}

// A holder is not hurt by the move: its renewal and release go on at each of its stages.
TEST(RedisClusterMove, AHolderRenewsAndReleasesInTheMiddleOfAMove) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url() + "?timeout=2s");
  auto const mine = owner_token::generate();
  auto const other = owner_token::generate();
  std::string const held = "{middle}held";
  std::string const free = "{middle}free";
  auto const first = fence_of(ports.acquire(held, mine));
  auto const to = (cluster.home_of(held) + 1) % 3;
  int stage = 0;
  cluster.move_slot(cluster.slot_of(held), to, [&] {
    EXPECT_EQ(ports.renew(held, mine, 30s).value(), renew_reply::renewed) << stage;
    // What does not exist cannot be made until the move is over: Redis's own rule.
    auto const reply = ports.acquire(free, other);
    EXPECT_TRUE(reply.has_error()) << stage;
    if (reply.has_error()) {
      EXPECT_EQ(reply.error(), errc::unavailable);
      EXPECT_TRUE(mentions(reply.error(), "is being moved")) << reply.error().message;
    }
    ++stage;
  });
  EXPECT_EQ(stage, 3);
  EXPECT_TRUE(std::holds_alternative<busy>(ports.acquire(held, other).value()));
  EXPECT_EQ(ports.release(held, mine).value(), release_reply::released);
  EXPECT_GT(fence_of(ports.acquire(held, other)), first);
  EXPECT_GT(fence_of(ports.acquire(free, other)), 0u);
}

TEST(RedisClusterMove, CommandsWaitOutAMove) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url() + "?timeout=20s");
  auto const mine = owner_token::generate();
  auto const name = std::string("waits");
  std::optional<result<acquire_reply>> outcome;
  cluster.move_slot(cluster.slot_of(name), (cluster.home_of(name) + 1) % 3, [&] {
    ports.start<acquire_reply>(outcome, [&](auto h) {
      ports.leases().acquire({resource(name), mine, 30s}, std::move(h));
    });
    EXPECT_FALSE(ports.wait_for([&] { return outcome.has_value(); }, 200ms));
  });
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_GT(fence_of(*outcome), 0u);
}

// S15: a claim in that slot waits for the end of the move; what is in others is claimed meanwhile.
TEST(RedisClusterMove, AKeyThatCannotBeClaimedMeanwhileLeavesTheClaimsOfOthersAlone) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url());
  cache<std::string> const strings(open_store(cluster.url() + "?timeout=500ms"),
                                   {.prefix = no_prefix});
  auto const load = [](load_context const&) { return std::optional<std::string>("loaded"); };
  std::string const there = "{moves}there", missing = "{moves}missing";
  ASSERT_TRUE(ports.acquire(there, owner_token::generate()).has_value());  // the slot is not empty
  std::uint64_t refused = 0;
  int other = 0;
  cluster.move_slot(cluster.slot_of(there), (cluster.home_of(there) + 1) % 3, [&] {
    EXPECT_EQ(strings.get_or_load(missing, load), "loaded");
    refused = strings.stats().unguarded_loads;
    for (int i = 0; i < 20; ++i) strings.get_or_load("other" + std::to_string(other++), load);
    EXPECT_EQ(strings.stats().unguarded_loads, refused);
  });
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(strings.last_store_error(), errc::moving) << strings.last_store_error().message;
}

// Scripts are unknown to a node that just got the slot: NOSCRIPT after a redirection.
TEST(RedisClusterMove, TheNewNodeLearnsTheScripts) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url() + "?timeout=20s");
  auto const mine = owner_token::generate();
  auto const name = std::string("scripts");
  EXPECT_GT(fence_of(ports.acquire(name, mine)), 0u);
  auto const to = (cluster.home_of(name) + 1) % 3;
  int stage = 0;
  cluster.move_slot(cluster.slot_of(name), to, [&] {
    // With ASKING in front of both tries.
    cluster.node(to).cli("SCRIPT FLUSH");
    EXPECT_EQ(ports.renew(name, mine, 30s).value(), renew_reply::renewed) << stage++;
  });
  cluster.node(to).cli("SCRIPT FLUSH");
  EXPECT_EQ(ports.release(name, mine).value(), release_reply::released);
}

// Two nodes that both say the other one has the slot.
TEST(RedisClusterMove, ACommandThatIsSentToAndFroEndsWithAClearError) {
  redis_cluster cluster;
  cluster_ports ports(cluster.url() + "?timeout=10m");
  auto const name = cluster.name_at(0, "loop");
  auto const mine = owner_token::generate();
  EXPECT_TRUE(ports.look_up(name).has_value());
  auto const set = [&](std::size_t at, std::size_t owner) {
    cluster.node(at).cli("CLUSTER SETSLOT " + std::to_string(cluster.slot_of(name)) + " NODE " +
                         cluster.node(owner).cli("CLUSTER MYID"));
  };
  set(1, 0);
  set(0, 1);
  auto const reply = ports.acquire(name, mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::unavailable);
  EXPECT_TRUE(mentions(reply.error(), "to and fro")) << reply.error().message;
  set(0, 0);
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire(name, mine).has_value(); }));
}

}  // namespace
}  // namespace herdlock_test
