// Five real servers as one redlock store, from empty to empty.
#pragma once

#include "redis_ports.hpp"
#include "stores/redis/redlock/redlock_store.hpp"
#include "support/redis_nodes.hpp"

namespace herdlock_test {

struct redlock : testing::Test {
  redlock() { nodes.reset(); }
  ~redlock() override { nodes.reset(); }

  // No node keeps the key, once all can be reached.
  bool gone() {
    return eventually([&] { return nodes.count("EXISTS r", "0") == nodes.size(); });
  }
  // The same while the store works on it.
  bool gone_soon(redis_ports& ports) {
    return ports.wait_for([&] { return nodes.count("EXISTS r", "0") == nodes.size(); });
  }

  redis_nodes& nodes = redis_nodes::shared();
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

}  // namespace herdlock_test
