// A wait at a Redis store, started and watched from the test's own thread.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>

#include "redis_ports.hpp"

namespace herdlock_test {

/// It has to outlive the store that it is started on.
struct redis_wait {
  owner_token owner = owner_token::generate();
  std::optional<result<acquire_reply>> outcome;
  asio::cancellation_signal cancel;

  bool granted() const {
    return outcome && outcome->has_value() && std::holds_alternative<grant>(**outcome);
  }
  grant const& got() const { return std::get<grant>(**outcome); }

  void start(redis_ports& ports, resource name, milliseconds wait, milliseconds ttl = 30s) {
    ports.leases().acquire({std::move(name), owner, ttl, wait},
                           asio::bind_cancellation_slot(cancel.slot(), [this](auto reply) {
                             EXPECT_FALSE(outcome.has_value()) << "the handler was called twice";
                             outcome = std::move(reply);
                           }));
  }
};

}  // namespace herdlock_test
