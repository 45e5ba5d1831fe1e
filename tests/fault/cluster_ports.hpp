// A Redis Cluster's ports, called one at a time from the test's own thread.
#pragma once

#include <support/free_port.hpp>
#include <support/redis_cluster.hpp>

#include "redis_ports.hpp"
#include "stores/redis/cluster/cluster_store.hpp"

namespace herdlock_test {

class cluster_ports : public redis_ports {
 public:
  explicit cluster_ports(std::string const& url) : redis_ports(url, open_redis_cluster) {}
};

inline bool mentions(failure const& why, std::string_view text) {
  return why.message.find(text) != std::string::npos;
}

}  // namespace herdlock_test
