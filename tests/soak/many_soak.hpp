// What the cases of many_soak share.
#pragma once

#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdint>
#include <future>
#include <herdlock/herdlock.hpp>
#include <map>
#include <memory>
#include <string>
#include <support/as_result.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_server.hpp>
#include <vector>

#include "verdict.hpp"

namespace herdlock_test {

struct many_options {
  std::string what = "fleet";
  std::string store = "redis";
  std::uint64_t rounds = 10;
  int processes = 8;
  int keys = 100;    // of one call
  int missing = 30;  // of these
  std::uint64_t seed = 0;
  std::chrono::milliseconds deadline{20'000};
  std::chrono::milliseconds latency{30};

  std::string url, shared;  // of a worker
  int number = 0;
};

/// A Redis, or a cluster of three; one of the two is set.
struct many_store {
  std::unique_ptr<redis_server> redis;
  std::unique_ptr<redis_cluster> cluster;

  explicit many_store(std::string const& kind) {
    if (kind == "redis") {
      redis = std::make_unique<redis_server>();
    } else {
      cluster = std::make_unique<redis_cluster>();
    }
  }
  std::string url() const { return redis ? redis->url() : cluster->url(); }
};

using names = std::vector<std::string>;

inline std::string value_of(std::string const& key) { return "value of " + key; }

inline std::map<std::string, std::string> values_of(names const& keys) {
  std::map<std::string, std::string> values;
  for (auto const& key : keys) values[key] = value_of(key);
  return values;
}

/// Together. Throws when one fails.
inline void put_all(herdlock::cache<std::string> const& cached, names const& keys) {
  std::vector<std::future<herdlock::result<void>>> puts;
  for (auto const& key : keys) {
    puts.push_back(cached.async_put(key, value_of(key), as_result(boost::asio::use_future)));
  }
  for (auto& put : puts) put.get().value();
}

/// Of one call in a fleet that is quiet.
void judge_trips(many_options const& options, verdict& how);

}  // namespace herdlock_test
