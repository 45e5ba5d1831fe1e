// Nodes of a Redis Cluster whose map is not to be believed: cut off, behind, of another cluster.
#include "cluster_ports.hpp"
#include "owners.hpp"
#include "redis_waiting.hpp"
#include "scripted_redis.hpp"
#include "stores/redis/hot/survey_servers.hpp"

namespace herdlock_test {
namespace {

std::string local_address(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

bool is_warned_of(redis_ports const& ports, std::string const& what) {
  return std::ranges::any_of(ports.ports().warnings->list(), [&](auto const& text) {
    return text.find(what) != std::string::npos;
  });
}

/// A replica took over from the last master, which is back and hears nothing of the others.
struct RedisClusterCutOff : testing::Test {
  static constexpr std::size_t stale = 2;

  static redis_cluster& shared() {
    static redis_cluster one({.masters = 3, .replicas = 1, .ports = announced::relays});
    static bool const done = [] {
      one.fail_over();
      one.bring_back_cut_off(stale);
      return true;
    }();
    EXPECT_TRUE(done);
    return one;
  }

  // The node that is cut off, and the two that no failover touched.
  std::string seeds(std::string const& options) const {
    return "redis+cluster://" + local_address(cluster.in_front_of(stale).port()) + "," +
           local_address(cluster.in_front_of(0).port()) + "," +
           local_address(cluster.in_front_of(1).port()) + options;
  }
  void others(void (relay::*what)()) {
    for (std::size_t const i : {0U, 1U, 3U}) (cluster.in_front_of(i).*what)();
  }

  ~RedisClusterCutOff() override { others(&relay::accept); }

  redis_cluster& cluster = shared();
  std::string const name = cluster.name_at(3);  // the stale node's, as it believes
};

// B36: its map is the one of before, and whoever believed it asked it for the next one.
TEST_F(RedisClusterCutOff, IsNotBelievedByThoseWhoOpenTheStoreNow) {
  for (int i = 0; i < 12; ++i) {
    cluster_ports ports(seeds("?timeout=2s"));
    auto const owner = owner_token::generate();
    auto const reply = ports.acquire(name, owner);
    ASSERT_TRUE(reply.has_value()) << i << ": " << reply.error().message;
    EXPECT_GT(fence_of(reply), 0U) << i;
    EXPECT_EQ(ports.release(name, owner).value(), release_reply::released);
  }
}

// B36: they had nobody else to ask, and were at it for ever.
TEST_F(RedisClusterCutOff, IsLeftByThoseWhoKnewNobodyElse) {
  std::vector<std::unique_ptr<cluster_ports>> six;
  others(&relay::refuse);
  for (int i = 0; i < 6; ++i) {
    six.push_back(std::make_unique<cluster_ports>(seeds("?timeout=1s")));
    std::string said = "nothing";
    // On a slow machine its time may end before the node's answer.
    ASSERT_TRUE(eventually([&] {
      auto const reply = six.back()->acquire(name, mine);
      EXPECT_TRUE(reply.has_error());
      said = reply.has_error() ? reply.error().message : "granted";
      return said.find("CLUSTERDOWN") != std::string::npos;
    })) << said;
  }
  others(&relay::accept);
  for (auto& one : six) {
    auto const owner = owner_token::generate();
    auto const granted = [&] { return one->acquire(name, owner).has_value(); };
    ASSERT_TRUE(eventually(granted)) << one->acquire(name, owner).error().message;
    EXPECT_EQ(one->release(name, owner).value(), release_reply::released);
  }
}

// What is hot is asked of those who serve it, also when the URL names no other node.
TEST_F(RedisClusterCutOff, IsNotSurveyed) {
  for (auto const& text :
       {seeds(""), "redis+cluster://" + local_address(cluster.in_front_of(stale).port())}) {
    auto url = store_url::parse(text).value();
    auto const nodes = stores::hosts_of(url, 6379);
    auto const found =
        redis::find_cluster_servers(redis::parse_settings(std::move(url)).value(), nodes).value();
    auto const master = found.masters.at(found.home_of(name).value());
    EXPECT_EQ(master.port, cluster.in_front_of(3).port()) << text;
  }
}

// ---------------------------------------------------------------------------------- scripted nodes

std::string text_reply(std::string const& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// A node that says it serves all slots, and is asked for values.
class scripted_node {
 public:
  explicit scripted_node(std::string const& info) : info_(info) {}

  std::string url() const { return "redis+cluster" + peer_.url().substr(5); }
  std::string address() const { return peer_.url().substr(8); }
  int reads() const { return reads_; }
  int questions() const { return questions_; }
  /// At first, and again from begin_loading() on, it answers LOADING to the question for its map.
  void end_loading() { loading_ = false; }
  void begin_loading() { loading_ = true; }
  void go_down() { down_ = true; }  ///< CLUSTERDOWN

 private:
  std::string says(scripted_redis::command_words const& words) {
    if (words[0] == "TIME") return "*2\r\n$1\r\n1\r\n$1\r\n1\r\n";
    if (words[0] == "INFO") return text_reply("redis_version:7.0.15\r\nrole:master\r\n");
    if (words[0] == "CLUSTER" && words[1] == "INFO") return text_reply(info_);
    if (words[0] == "CLUSTER") return slots();
    if (words[0] != "GET") return "+OK\r\n";
    ++reads_;
    return down_ ? "-CLUSTERDOWN The cluster is down\r\n" : "$-1\r\n";
  }
  std::string slots() {
    ++questions_;
    if (loading_) return "-LOADING Redis is loading the dataset in memory\r\n";
    auto const port = address().substr(address().rfind(':') + 1);
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:" + port + "\r\n" +
           text_reply("id");
  }

  std::string const info_;
  std::atomic<int> reads_ = 0;
  std::atomic<int> questions_ = 0;
  std::atomic<bool> loading_ = true;
  std::atomic<bool> down_ = false;
  scripted_redis peer_{[this](auto const& words) { return says(words); }};
};

std::string cluster_info(std::string const& state, int epoch) {
  return "cluster_state:" + state + "\r\ncluster_current_epoch:" + std::to_string(epoch) + "\r\n";
}

// B36: it is at an old epoch, and sees no reason to be down.
TEST(RedisClusterMaps, AMapOfAnOldEpochIsNotTakenWhileANewerOneCanBeHad) {
  scripted_node old(cluster_info("ok", 5));
  scripted_node current(cluster_info("ok", 7));
  current.end_loading();
  std::optional<result<cache_lookup>> outcome;  // told at the latest when the store is closed
  cluster_ports ports(current.url() + "," + old.address() + "?timeout=20s");
  ASSERT_TRUE(ports.look_up("k").has_value());
  current.go_down();  // so the other one is asked first
  old.end_loading();
  auto const questions = old.questions();
  ports.start<cache_lookup>(
      outcome, [&](auto h) { ports.values().get(cache_key("k"), layout::string, std::move(h)); });
  ASSERT_TRUE(ports.wait_for([&] { return old.questions() > questions || outcome; }));
  auto const reads = current.reads();
  ASSERT_TRUE(ports.wait_for([&] { return current.reads() > reads + 3 || outcome; }));
  EXPECT_EQ(old.reads(), 0) << "its map was used";
  EXPECT_FALSE(outcome.has_value());
}

TEST(RedisClusterMaps, TheLargestOfTheSmallerEpochsCountsWhenThereIsNoOther) {
  scripted_node gone(cluster_info("ok", 7));
  scripted_node rebuilt(cluster_info("ok", 3));
  gone.end_loading();
  cluster_ports ports(gone.url() + "," + rebuilt.address() + "?timeout=20s");
  ASSERT_TRUE(ports.look_up("k").has_value());
  gone.go_down();
  gone.begin_loading();
  rebuilt.end_loading();
  EXPECT_TRUE(ports.look_up("k").has_value());
  EXPECT_EQ(rebuilt.reads(), 1);
}

// One that is silent must not take the time of a command that another could serve.
TEST(RedisClusterMaps, ASilentNodeDoesNotHoldUpTheOnlyMapThereIs) {
  scripted_node failing(cluster_info("fail", 5));
  failing.end_loading();
  relay silent(redis_server::shared().port());
  silent.stop_forwarding();
  cluster_ports ports(failing.url() + "," + local_address(silent.port()) + "?timeout=10m");
  EXPECT_TRUE(ports.look_up("k").has_value());
}

TEST(RedisClusterMaps, AWholeClusterThatIsDownIsUsedAsSoonAsItIsBack) {
  redis_cluster cluster;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    ASSERT_EQ(cluster.node(i).cli("CONFIG SET cluster-require-full-coverage yes"), "OK");
  }
  auto const name = cluster.name_at(0);
  cluster.node(2).kill();
  auto const is_down = [&](std::size_t i) {
    return cluster.node(i).cli("CLUSTER INFO").find("cluster_state:fail") != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] { return is_down(0) && is_down(1); }));
  cluster_ports ports(cluster.url() + "?timeout=10m");
  std::optional<result<acquire_reply>> outcome;
  ports.start<acquire_reply>(outcome, [&](auto h) {
    ports.leases().acquire({resource(name), mine, 1min}, std::move(h));
  });
  auto const refusals = [&] { return cluster.node(0).cli("INFO errorstats"); };
  ASSERT_TRUE(ports.sees([&] { return refusals().find("CLUSTERDOWN") != std::string::npos; }));
  cluster.node(2).restart();
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_GT(fence_of(*outcome), 0U);
}

// Whom it asked in the outage, and no command needs, is left again: else each process would stay
// connected to each master for ever.
TEST(RedisClusterMaps, WhoWasOnlyAskedInAnOutageIsLeftAfterIt) {
  redis_cluster cluster({.masters = 3, .ports = announced::relays});
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    ASSERT_EQ(cluster.node(i).cli("CONFIG SET cluster-require-full-coverage yes"), "OK");
  }
  auto const name = cluster.name_at(0);
  cluster_ports ports("redis+cluster://" + local_address(cluster.in_front_of(0).port()) +
                      "?timeout=1s");
  EXPECT_GT(fence_of(ports.acquire(name, mine)), 0U);
  cluster.node(2).kill();
  ASSERT_TRUE(eventually([&] {
    return ports.acquire(name, other).has_error() && cluster.in_front_of(1).connections() > 0;
  })) << "the other master was not asked";
  cluster.node(2).restart();
  ASSERT_TRUE(eventually([&] { return ports.renew(name, mine, 1min).has_value(); }));
  EXPECT_TRUE(ports.wait_for([&] { return cluster.in_front_of(1).connections() == 0; }))
      << "still connected to a master that no command needs";
  EXPECT_EQ(ports.renew(name, mine, 1min).value(), renew_reply::renewed);
}

// ---------------------------------------------------------------------------------- rights

// A user who was given rights before CLUSTER INFO was asked for.
TEST(RedisClusterMaps, WhoMayNotAskForTheStateWorksOnAndIsWarned) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    ASSERT_EQ(cluster.node(i).cli("ACL SETUSER old on >pass ~* &* +@all -cluster +cluster|slots"),
              "OK");
  }
  auto const hosts = cluster.url().substr(std::string("redis+cluster://").size());
  cluster_ports ports("redis+cluster://old:pass@" + hosts);
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    EXPECT_GT(fence_of(ports.acquire(cluster.name_at(i), mine)), 0U);
  }
  EXPECT_TRUE(is_warned_of(ports, "+cluster|info"));
  cluster_ports all(cluster.url());
  EXPECT_GT(fence_of(all.acquire(cluster.name_at(0, "s"), mine)), 0U);
  EXPECT_FALSE(is_warned_of(all, "+cluster|info"));
}

// ---------------------------------------------------------------------------------- strangers

// A pod's address is given to a node of another cluster, which would grant what is asked.
TEST(RedisClusterStranger, GrantsNothingAndIsNamed) {
  redis_cluster cluster;
  cluster_ports ports(cluster.url() + "?timeout=1s");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cluster.size(); ++i) names.push_back(cluster.name_at(i));
  for (auto const& one : names) EXPECT_GT(fence_of(ports.acquire(one, mine)), 0U);
  cluster.node(2).kill();
  cluster.replace_by_stranger(2);
  for (int i = 0; i < 3; ++i) {
    auto const reply = ports.acquire(names[2], other);
    ASSERT_TRUE(reply.has_error()) << "granted by a stranger";
    EXPECT_EQ(reply.error(), errc::unavailable);
    EXPECT_EQ(ports.renew(names[0], mine, 30s).value(), renew_reply::renewed);
    EXPECT_EQ(ports.renew(names[1], mine, 30s).value(), renew_reply::renewed);
  }
  auto const reply = ports.acquire(names[2], other);
  ASSERT_TRUE(reply.has_error());
  EXPECT_TRUE(mentions(reply.error(),
                       local_address(cluster.node(2).port()) + " belongs to another cluster"))
      << reply.error().message;
  EXPECT_TRUE(is_warned_of(ports, "belongs to another cluster"));
  EXPECT_EQ(cluster.node(2).cli("DBSIZE"), "0");
  cluster.bring_back_from_stranger(2);
  EXPECT_TRUE(eventually([&] { return ports.acquire(names[2], other).has_value(); }));
}

TEST(RedisClusterStranger, AClusterThatWasBuiltAnewHasToBeOpenedAnew) {
  redis_cluster cluster({.masters = 1});
  cluster_ports ports(cluster.url() + "?timeout=1s");
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0U);
  cluster.node(0).kill();
  cluster.replace_by_stranger(0);
  auto reply = ports.acquire("r", other);  // the first may go out on the dead connection
  if (reply.has_error()) reply = ports.acquire("r", other);
  ASSERT_TRUE(reply.has_error()) << "granted by a stranger";
  EXPECT_TRUE(mentions(reply.error(), "open the store again")) << reply.error().message;
  cluster_ports anew(cluster.url());
  EXPECT_GT(fence_of(anew.acquire("r", other)), 0U);
}

// A connection that stood all the time learns it from the map.
TEST(RedisClusterStranger, ANodeThatWasResetIsLeftWhenItIsAskedForTheMap) {
  redis_cluster cluster;
  auto& lost = cluster.node(2);
  cluster_ports ports(cluster.url() + "?timeout=1s");
  auto const name = cluster.name_at(2);
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    EXPECT_GT(fence_of(ports.acquire(cluster.name_at(i), mine)), 0U);
  }
  lost.flush();
  ASSERT_EQ(lost.cli("CLUSTER RESET HARD"), "OK");
  auto const reply = ports.acquire(name, other);  // CLUSTERDOWN: it serves nothing yet
  ASSERT_TRUE(reply.has_error());
  ASSERT_EQ(lost.cli("CLUSTER ADDSLOTSRANGE 0 16383"), "OK");
  cluster.node(0).kill();
  cluster.node(1).kill();
  auto const is_named = [&] {
    auto const next = ports.acquire(name, other);
    return next.has_error() && mentions(next.error(), "belongs to another cluster");
  };
  EXPECT_TRUE(eventually(is_named));
}

}  // namespace
}  // namespace herdlock_test
