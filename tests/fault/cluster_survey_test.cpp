// Which keys are used most, asked of all masters of a real cluster.
#include <herdlock/survey.hpp>
#include <string>
#include <support/redis_cluster.hpp>
#include <vector>

#include "redis_ports.hpp"
#include "redis_surveys.hpp"

namespace herdlock_test {
namespace {

// A key at each master, in their order.
std::vector<std::string> set_at_each_master(redis_cluster& cluster, std::string const& prefix) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    names.push_back(cluster.name_at(i, prefix));
    cluster.node(i).command({"SET", names.back(), "value"});
  }
  return names;
}

// The nodes count uses as long as it lives.
class counted_uses {
 public:
  explicit counted_uses(redis_cluster& of) : cluster_(of) { set("allkeys-lfu"); }
  ~counted_uses() { set("noeviction"); }
  counted_uses(counted_uses const&) = delete;
  counted_uses& operator=(counted_uses const&) = delete;

 private:
  void set(std::string const& policy) {
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      cluster_.node(i).command({"CONFIG", "SET", "maxmemory-policy", policy});
    }
  }

  redis_cluster& cluster_;
};

TEST(RedisClusterSurvey, AsksAllMasters) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const names = set_at_each_master(cluster, "survey");
  auto const commands = [&] {
    for (std::size_t i = 0; i < names.size(); ++i) cluster.node(i).command({"GET", names[i]});
  };
  auto const found = survey_store(cluster.url(), meanwhile({.source = survey_source::monitor,
                                                            .prefix = "survey",
                                                            .lasts = 2s,
                                                            .with_sizes = true},
                                                           commands))
                         .value();
  ASSERT_EQ(found.keys.size(), 3u);
  for (auto const& name : names) {
    EXPECT_EQ(key_of(found, name).key, name);
    EXPECT_TRUE(key_of(found, name).bytes);
  }
  EXPECT_TRUE(survey_store(cluster.url()).value().keys.empty()) << "nobody reports";
}

TEST(RedisClusterSurvey, LfuFindsTheKeysOfAllMasters) {
  auto& cluster = redis_cluster::shared();
  counted_uses const counting(cluster);
  cluster.flush();
  auto const names = set_at_each_master(cluster, "lfu");
  for (std::size_t i = 0; i < names.size(); ++i) {
    redis_survey::get_often(cluster.node(i), names[i], 1000);
  }
  auto const found =
      survey_store(cluster.url(), {.source = survey_source::lfu, .with_sizes = true}).value();
  ASSERT_EQ(found.keys.size(), 3u);
  for (auto const& name : names) {
    auto const one = key_of(found, name);
    EXPECT_EQ(one.key, name);
    EXPECT_GT(one.low, 0);
    EXPECT_TRUE(one.bytes);
  }
  EXPECT_NE(found.cost.find("for the counters of 3 keys"), std::string::npos) << found.cost;
}

// Not the first one, which would be asked by mistake.
TEST(RedisClusterSurvey, ClientsTellWhatIsReportedAtTheLastMaster) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const url = cluster.url() + "?timeout=20s";
  std::string const prefix = "p:";
  two_caches const both(url, prefix);
  survey found;
  EXPECT_TRUE(eventually([&] {
    both.read("k");
    found = survey_store(url).value();
    return key_of(found, prefix + "k").processes == 2u;
  }));
  EXPECT_EQ(found.processes, 2u);
  EXPECT_GT(key_of(found, prefix + "k").rate, 0);
  EXPECT_TRUE(eventually([&] {
    both.read("k");
    found = survey_store(url, {.prefix = prefix}).value();
    return key_of(found, prefix + "k").processes == 2u;
  }));
}

}  // namespace
}  // namespace herdlock_test
