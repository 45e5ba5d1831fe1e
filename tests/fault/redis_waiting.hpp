// Waiters of Redis stores, and the queue as the server sees it.
#pragma once

#include <memory>
#include <vector>

#include "redis_wait.hpp"

namespace herdlock_test {

struct redis_queue : testing::Test {
  redis_queue() { server.flush(); }

  // In the queue when it returns, under the name of the subscriber that hears the push.
  redis_wait* enqueue(redis_ports& ports, milliseconds wait = 1min, milliseconds ttl = 30s) {
    auto* const one = start(ports, wait, ttl);
    EXPECT_TRUE(ports.wait_for([&] { return is_pushed_to(*one); })) << queue();
    return one;
  }
  bool is_pushed_to(redis_wait const& one) {
    auto const members = "\n" + queue();
    auto const at = members.find(one.owner.str());
    return at != std::string::npos && members.compare(members.rfind('\n', at) + 1, 2, "- ") != 0;
  }
  redis_wait* start(redis_ports& ports, milliseconds wait = 1min, milliseconds ttl = 30s) {
    auto* const one = kept.emplace_back(std::make_unique<redis_wait>()).get();
    one->start(ports, resource("r"), wait, ttl);
    return one;
  }
  // Without the mark in front of them.
  long waiters() { return std::stol(server.cli("ZCOUNT {r}:herdlock:queue 0 +inf")); }
  std::string queue() { return server.cli("ZRANGE {r}:herdlock:queue 0 -1"); }

  redis_server& server = redis_server::shared();
  owner_token mine = owner_token::generate();
  std::vector<std::unique_ptr<redis_wait>> kept;  // until the stores are closed
};

}  // namespace herdlock_test
