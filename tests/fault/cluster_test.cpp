// A Redis Cluster whose nodes die, come back, are cut off, or are no cluster.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "cluster_ports.hpp"
#include "owners.hpp"

namespace herdlock_test {
namespace {

std::string at_port(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

TEST(RedisCluster, ServesManyKeysOverAllSlotsAtOnce) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const refusals = [&] { return cluster.errors("MOVED") + cluster.errors("CROSSSLOT"); };
  auto const before = refusals();
  cluster_ports ports(cluster.url() + "?timeout=20s");
  constexpr std::size_t keys = 3000;
  std::vector<std::optional<result<acquire_reply>>> granted(keys);
  std::vector<std::optional<result<void>>> stored(keys);
  auto const name = [](std::size_t i) { return "key:" + std::to_string(i); };
  for (std::size_t i = 0; i < keys; ++i) {
    ports.start<acquire_reply>(granted[i], [&](auto h) {
      ports.leases().acquire({resource(name(i)), mine, 1min}, std::move(h));
    });
    ports.start<void>(stored[i], [&](auto h) {
      ports.values().put({cache_key("v" + name(i)), name(i), 1min}, std::move(h));
    });
  }
  auto const all_done = [&] {
    auto const done = [](auto const& one) { return one.has_value(); };
    return std::ranges::all_of(granted, done) && std::ranges::all_of(stored, done);
  };
  ASSERT_TRUE(ports.wait_for(all_done));
  for (std::size_t i = 0; i < keys; ++i) {
    ASSERT_GT(fence_of(*granted[i]), 0u);
    ASSERT_TRUE(stored[i]->has_value());
  }
  for (std::size_t i = 0; i < keys; i += 100) {
    EXPECT_TRUE(std::holds_alternative<busy>(ports.acquire(name(i), other).value()));
    EXPECT_EQ(ports.release(name(i), mine).value(), release_reply::released);
    EXPECT_EQ(std::get<std::string>(*ports.look_up("v" + name(i)).value()), name(i));
  }
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    EXPECT_GT(std::stoi(cluster.node(i).cli("DBSIZE")), 1000) << "node " << i;
  }
  EXPECT_EQ(refusals(), before);
}

TEST(RedisCluster, NamesThatCannotKeepTheirSideKeysAreRefusedBeforeAnythingIsSent) {
  auto const nowhere = std::to_string(dead_port());
  cluster_ports ports("redis+cluster://127.0.0.1:" + nowhere + "?timeout=5m");
  auto const lease = ports.acquire("a}b", mine);
  ASSERT_TRUE(lease.has_error());
  EXPECT_EQ(lease.error(), errc::invalid_name);
  EXPECT_TRUE(mentions(lease.error(), "'a}b'") && mentions(lease.error(), "hash tag"));
  EXPECT_EQ(ports.look_up("a}b").error(), errc::invalid_name);
  auto const watched = ports.get<watch_reply>([&](auto h) {
    ports.values().watch({cache_key("a}b"), 1min}, std::move(h));
  });
  ASSERT_TRUE(watched.has_error());
  EXPECT_EQ(watched.error(), errc::invalid_name);
}

TEST(RedisCluster, NamesWithHashTagsLiveTogether) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  cluster_ports ports(cluster.url());
  for (auto const* name : {"{order}1", "a{order}b{c}", "x{y", "{order}}"}) {
    EXPECT_GT(fence_of(ports.acquire(name, mine)), 0u) << name;
    EXPECT_TRUE(
        std::holds_alternative<claimed>(ports.claim("v" + std::string(name), mine).value()));
  }
  EXPECT_EQ(cluster.home_of("{order}1"), cluster.home_of("a{order}b{c}"));
}

TEST(RedisCluster, OneLiveSeedIsEnough) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const dead = [] { return at_port(dead_port()); };
  cluster_ports ports("redis+cluster://" + dead() + "," + dead() + "," +
                      at_port(cluster.node(1).port()));
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    EXPECT_GT(fence_of(ports.acquire(cluster.name_at(i), mine)), 0u);
  }
}

// A seed that takes connections and says nothing costs no more than a moment.
TEST(RedisCluster, ASeedThatHangsIsPassedOver) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  relay silent(cluster.node(0).port());
  silent.stop_forwarding();
  cluster_ports ports("redis+cluster://" + at_port(silent.port()) + "," +
                      at_port(cluster.node(2).port()) + "?timeout=10m");
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
}

TEST(RedisCluster, WithoutAnySeedTheErrorSaysWhatIsWrong) {
  auto const first = at_port(dead_port());
  cluster_ports ports("redis+cluster://user:sesame@" + first + "?timeout=300ms");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::unavailable);
  EXPECT_TRUE(mentions(reply.error(), "Connection refused") && mentions(reply.error(), first));
  EXPECT_TRUE(mentions(reply.error(), "cannot acquire 'r'")) << reply.error().message;
  EXPECT_FALSE(mentions(reply.error(), "sesame")) << reply.error().message;
}

TEST(RedisCluster, AWaitForTheMapCanBeCancelled) {
  cluster_ports ports("redis+cluster://" + at_port(dead_port()) + "?timeout=10m");
  asio::cancellation_signal stop;
  std::optional<result<acquire_reply>> outcome;
  ports.start<acquire_reply>(outcome, [&](handler<acquire_reply> h) {
    ports.leases().acquire({resource("r"), mine, 30s},
                           asio::bind_cancellation_slot(stop.slot(), std::move(h)));
  });
  EXPECT_FALSE(ports.wait_for([&] { return outcome.has_value(); }, 100ms));
  stop.emit(asio::cancellation_type::all);
  ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome->error(), errc::canceled);
}

TEST(RedisCluster, AWrongPasswordIsSaidAtOnce) {
  redis_cluster cluster({.masters = 1, .password = "sesame"});
  auto const port = at_port(cluster.node(0).port());
  cluster_ports right(cluster.url());
  EXPECT_GT(fence_of(right.acquire("r", mine)), 0u);
  cluster_ports wrong("redis+cluster://:wrong@" + port + "?timeout=10m");
  auto const reply = wrong.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::access_denied) << reply.error().message;
  EXPECT_FALSE(mentions(reply.error(), ":wrong@")) << reply.error().message;
  cluster_ports none("redis+cluster://" + port + "?timeout=10m");
  EXPECT_EQ(none.acquire("r", mine).error(), errc::access_denied);
}

TEST(RedisCluster, SpeaksTlsToEachNode) {
  redis_cluster cluster({.password = "sesame", .tls = redis_tls::on});
  cluster_ports ports(cluster.tls_url() + "&timeout=20s");
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    EXPECT_GT(fence_of(ports.acquire(cluster.name_at(i), mine)), 0u);
  }
  std::string url = cluster.tls_url();
  auto const& files = cluster.node(0).tls();
  auto const right = files.authority.string();
  url.replace(url.find(right), right.size(), files.other_authority.string());
  cluster_ports strangers(url + "&timeout=5m");
  auto const refused = strangers.acquire("r", mine);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error(), errc::access_denied) << refused.error().message;
  EXPECT_TRUE(mentions(refused.error(), "the certificate of 127.0.0.1:"))
      << refused.error().message;
}

TEST(RedisCluster, ASingleServerIsNoClusterAndAClusterNoSingleServer) {
  redis_cluster& cluster = redis_cluster::shared();
  redis_server& single = redis_server::shared();
  cluster_ports ports("redis+cluster://" + at_port(single.port()) + "?timeout=10m");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::not_supported) << reply.error().message;
  EXPECT_TRUE(mentions(reply.error(), "open it with redis://")) << reply.error().message;

  redis_ports alone(cluster.node(0).url());
  auto const moved = alone.acquire(cluster.name_at(1), mine);
  ASSERT_TRUE(moved.has_error());
  EXPECT_EQ(moved.error(), errc::not_supported) << moved.error().message;
  EXPECT_TRUE(mentions(moved.error(), "redis+cluster://")) << moved.error().message;
}

TEST(RedisCluster, HasOneDatabaseAndNoUnixSocket) {
  asio::io_context io;
  auto const refused = [&](std::string_view url) {
    auto const opened = open_redis_cluster(store_url::parse(url).value(), io.get_executor());
    EXPECT_TRUE(opened.has_error() && opened.error() == errc::invalid_url) << url;
    return opened.has_error() ? opened.error().message : "";
  };
  EXPECT_NE(refused("redis+cluster://a,b/3").find("leave out '/3'"), std::string::npos);
  EXPECT_NE(refused("redis+cluster:/run/redis.sock").find("redis+cluster://host"),
            std::string::npos);
  EXPECT_TRUE(
      open_redis_cluster(store_url::parse("redis+cluster://a,b:7/0").value(), io.get_executor())
          .has_value());
}

TEST(RedisCluster, ADeadNodeFailsItsOwnSlotsInTimeAndNoOthers) {
  redis_cluster cluster;
  cluster_ports ports(cluster.url() + "?timeout=2s");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 3; ++i) names.push_back(cluster.name_at(i));
  for (auto const& name : names) EXPECT_GT(fence_of(ports.acquire(name, mine)), 0u);
  cluster.node(1).kill();
  for (int round = 0; round < 3; ++round) {
    auto const reply = ports.acquire(names[1], other);
    ASSERT_TRUE(reply.has_error());
    EXPECT_EQ(reply.error(), errc::unavailable) << reply.error().message;
    EXPECT_TRUE(mentions(reply.error(), names[1])) << reply.error().message;
    EXPECT_EQ(ports.renew(names[0], mine, 30s).value(), renew_reply::renewed);
    EXPECT_EQ(ports.renew(names[2], mine, 30s).value(), renew_reply::renewed);
  }
  cluster.node(1).restart();
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire(names[1], other).has_value(); }));
  EXPECT_EQ(ports.release(names[0], mine).value(), release_reply::released);
}

TEST(RedisCluster, CommandsWaitForAReplicaThatTakesOver) {
  redis_cluster cluster({.masters = 3, .replicas = 1});
  cluster_ports ports(cluster.url() + "?timeout=20s");
  auto const name = cluster.name_at(2);
  auto const first = fence_of(ports.acquire(name, mine));
  auto const copied = [&] { return cluster.node(3).cli("DBSIZE") == "2"; };
  ASSERT_TRUE(eventually(copied));
  cluster.node(2).kill();
  // The first may have gone out on the dead connection; then it says so at once.
  auto reply = ports.acquire(name, other);
  if (reply.has_error()) reply = ports.acquire(name, other);
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_TRUE(std::holds_alternative<busy>(*reply));
  EXPECT_EQ(ports.release(name, mine).value(), release_reply::released);
  EXPECT_GT(fence_of(ports.acquire(name, other)), first);
}

TEST(RedisCluster, ACutConnectionToOneNodeFailsNothingElse) {
  redis_cluster cluster({.ports = announced::relays});
  cluster_ports ports(cluster.url() + "?timeout=5s");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < 3; ++i) names.push_back(cluster.name_at(i));
  for (auto const& name : names) EXPECT_GT(fence_of(ports.acquire(name, mine)), 0u);
  cluster.in_front_of(1).stop_forwarding();
  std::array<std::optional<result<renew_reply>>, 3> outcomes;
  for (std::size_t i = 0; i < 3; ++i) {
    ports.start<renew_reply>(outcomes.at(i), [&](auto h) {
      ports.leases().renew(resource(names[i]), mine, 30s, std::move(h));
    });
  }
  ASSERT_TRUE(ports.wait_for([&] { return outcomes[0] && outcomes[2]; }));
  EXPECT_FALSE(outcomes[1].has_value());
  cluster.in_front_of(1).cut_all();
  cluster.in_front_of(1).resume_forwarding();
  ASSERT_TRUE(ports.wait_for([&] { return outcomes[1].has_value(); }));
  EXPECT_EQ(outcomes[0]->value(), renew_reply::renewed);
  EXPECT_EQ(outcomes[2]->value(), renew_reply::renewed);
  EXPECT_EQ(outcomes[1]->error(), errc::unavailable);
  EXPECT_EQ(ports.renew(names[1], mine, 30s).value(), renew_reply::renewed);
}

}  // namespace
}  // namespace herdlock_test
