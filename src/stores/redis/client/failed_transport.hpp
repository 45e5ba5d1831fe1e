// A configuration that cannot be used ends the attempt as a server does that says no.
#pragma once

#include "stores/redis/client/transport.hpp"

namespace herdlock::redis {

/// Sends nothing; whoever made it says why.
class failed_transport final : public transport {
 public:
  bool may_send() const override { return false; }
  void send(batch_ptr) override {}
  void subscription(std::string_view, std::string_view) override {}
  void stop() override {}
  void forget_unsent() override {}
  std::uint64_t reads() const override { return 0; }
};

}  // namespace herdlock::redis
