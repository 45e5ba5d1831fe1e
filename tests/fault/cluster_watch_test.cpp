// Waiting for a load over a Redis Cluster, whose events pass through a bus between its nodes.
#include <support/child_process.hpp>
#include <support/eventually.hpp>

#include "cluster_ports.hpp"
#include "owners.hpp"
#include "stores/redis/cache/entry_codec.hpp"

namespace herdlock_test {
namespace {

class watching {
 public:
  watching(cluster_ports& ports, std::string const& key) : ports_(ports) {
    ports.start<watch_reply>(outcome_, [&](auto h) {
      ports.values().watch({cache_key(key), 10min}, std::move(h));
    });
  }
  bool done(milliseconds limit = patience) {
    return ports_.wait_for([&] { return outcome_.has_value(); }, limit);
  }
  watch_reply const& reply() { return outcome_->value(); }

 private:
  cluster_ports& ports_;
  std::optional<result<watch_reply>> outcome_;
};

// The node that somebody's events connection is with: where the channel has a subscriber.
std::optional<std::size_t> listener(redis_cluster& cluster, std::string const& key) {
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    auto const text = cluster.node(i).cli("PUBSUB NUMSUB {" + key + "}:herdlock:events:0");
    if (text.ends_with("\n1")) return i;
  }
  return std::nullopt;
}

// What a watcher is told of a fill. Of an event that comes before it knows of the claim it is told
// to look again.
watch_reply told_of_a_fill(redis_cluster& cluster, std::string const& key) {
  cluster_ports waiter(cluster.url());
  cluster_ports loader(cluster.url());
  loader.claim(key, mine, 10min).value();
  watching one(waiter, key);
  EXPECT_TRUE(waiter.wait_for([&] { return listener(cluster, key).has_value(); }));
  EXPECT_FALSE(one.done(20ms));
  EXPECT_EQ(loader.fill(key, mine, std::string("v")).value(), fill_reply::stored);
  EXPECT_TRUE(one.done());
  return one.reply();
}

// Whatever node the key is on, its event reaches the one that the watcher listens to.
TEST(RedisClusterWatch, AFillOnAnyNodeWakesTheWatcherWithTheValue) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    watch_reply told = look_again{};
    for (int tries = 0; tries < 20 && std::holds_alternative<look_again>(told); ++tries) {
      told = told_of_a_fill(cluster, cluster.name_at(i, "filled" + std::to_string(tries)));
    }
    ASSERT_TRUE(std::holds_alternative<cache_hit>(told));
    EXPECT_EQ(std::get<std::string>(std::get<cache_hit>(told).value), "v");
  }
}

// What redis-cli prints of the events of a key: each message in lines of its own.
class events_heard {
 public:
  events_heard(redis_server& node, std::string const& key)
      : cli_({.argv = {find_program("redis-cli", "redis-tools"), "-p", std::to_string(node.port()),
                       "SUBSCRIBE", "{" + key + "}:herdlock:events:0"}}) {}

  /// All that was heard once this has been; nothing when it does not come.
  std::string until(std::string const& last) {
    bool const came = eventually([&] { return cli_.output().find(last) != std::string::npos; });
    return came ? cli_.output() : std::string();
  }

 private:
  child_process cli_;
};

// Each node is told of each event; who waits reads the value from the node that has it.
TEST(RedisClusterWatch, WhatIsPublishedCarriesNoValue) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url());
  auto const key = cluster.name_at(0, "large");
  events_heard heard(cluster.node(1), key);
  ASSERT_TRUE(eventually([&] { return listener(cluster, key).has_value(); }));
  std::string const value(16'000, 'x');
  ASSERT_TRUE(ports.put(key, value).has_value());
  ASSERT_TRUE(ports.put(key, hash_fields{{"field", value}}).has_value());
  cluster.node(0).command({"DEL", key});
  auto const claim = std::get<claimed>(ports.claim(key, mine).value()).fencing.value;
  ASSERT_EQ(ports.fill(key, mine, value).value(), fill_reply::stored);
  auto const last = "#" + std::to_string(claim) + " " + redis::stored_event();
  auto const all = heard.until(last);
  ASSERT_FALSE(all.empty()) << "the fill was not heard of";
  EXPECT_EQ(all.find(value.substr(0, 100)), std::string::npos);
  EXPECT_LT(all.size(), 1000u) << all;
}

// Here the claim ends without any event, which stands for one that the bus has lost.
TEST(RedisClusterWatch, ALostEventIsMadeGoodByALook) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url());
  auto const key = cluster.name_at(0, "lost");
  ASSERT_TRUE(std::holds_alternative<claimed>(ports.claim(key, mine, 10min).value()));
  watching one(ports, key);
  ASSERT_TRUE(ports.wait_for([&] { return listener(cluster, key).has_value(); }));
  ASSERT_FALSE(one.done(20ms));
  cluster.node(0).command({"DEL", "{" + key + "}:herdlock:claim"});
  ASSERT_TRUE(one.done());
  EXPECT_TRUE(std::holds_alternative<look_again>(one.reply()));
}

// An event of an earlier load arrives late: its value has been invalidated meanwhile.
TEST(RedisClusterWatch, ALateEventDoesNotBringAnOldValueBack) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url());
  auto const key = cluster.name_at(1, "late");
  auto const claim = std::get<claimed>(ports.claim(key, mine, 10min).value()).fencing.value;
  auto const event = "#" + std::to_string(claim) + " " + redis::value_event(std::string("old"));
  auto const answer = [&] {
    watching one(ports, key);
    EXPECT_TRUE(ports.wait_for([&] { return listener(cluster, key).has_value(); }));
    EXPECT_FALSE(one.done(20ms));
    cluster.node(2).command({"PUBLISH", "{" + key + "}:herdlock:events:0", event});
    EXPECT_TRUE(one.done());
    return one.reply();
  };
  EXPECT_TRUE(std::holds_alternative<look_again>(answer()));
  // Another has stored a newer one: that is the answer.
  cluster.node(1).command({"SET", key, "new"});
  auto const reply = answer();
  ASSERT_TRUE(std::holds_alternative<cache_hit>(reply));
  EXPECT_EQ(std::get<std::string>(std::get<cache_hit>(reply).value), "new");
}

TEST(RedisClusterWatch, AnotherNodeIsListenedToWhenTheFirstDies) {
  redis_cluster cluster;
  cluster_ports waiter(cluster.url());
  cluster_ports loader(cluster.url());
  auto const probe = cluster.name_at(0, "probe");
  ASSERT_TRUE(std::holds_alternative<claimed>(loader.claim(probe, mine, 10min).value()));
  watching first(waiter, probe);
  ASSERT_TRUE(waiter.wait_for([&] { return listener(cluster, probe).has_value(); }));
  auto const dead = *listener(cluster, probe);
  auto const key = cluster.name_at((dead + 1) % 3, "next");
  cluster.node(dead).kill();
  ASSERT_TRUE(first.done());  // what was published meanwhile would be missed: look again
  ASSERT_TRUE(std::holds_alternative<claimed>(loader.claim(key, mine, 10min).value()));
  auto const subscribed = [&] {
    for (std::size_t i = 0; i < cluster.size(); ++i) {
      if (i == dead) continue;
      auto const text = cluster.node(i).cli("PUBSUB NUMSUB {" + key + "}:herdlock:events:0");
      if (text.ends_with("\n1")) return true;
    }
    return false;
  };
  // Until the other node is found, watches end soon, and their callers ask again.
  std::optional<watching> second;
  ASSERT_TRUE(waiter.wait_for([&] {
    if (!second || second->done(0ms)) second.emplace(waiter, key);
    return subscribed();
  }));
  EXPECT_EQ(loader.fill(key, mine, std::string("v")).value(), fill_reply::stored);
  ASSERT_TRUE(second->done());
}

}  // namespace
}  // namespace herdlock_test
