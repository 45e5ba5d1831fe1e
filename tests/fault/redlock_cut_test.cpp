// The one node that makes the majority is cut off at each byte of the exchanges with it.
#include "redlock_nodes.hpp"

namespace herdlock_test {
namespace {

// Two nodes of five are down, and one of the others is behind a relay.
struct redlock_cut : redlock, testing::WithParamInterface<direction> {
  redlock_cut() {
    fence_of(ports.acquire("warm", mine));
    EXPECT_EQ(rival.renew("warm", other, 30s).value(), renew_reply::lost);
    nodes[3].kill();
    nodes[4].kill();
  }

  std::string url(std::size_t node, relay const& before) {
    auto all = nodes.ports();
    all[node] = before.port();
    return redis_nodes::url_of(all);
  }
  bool granted_soon(owner_token const& owner) {
    return ports.wait_for([&] {
      auto const reply = ports.acquire("r", owner);
      return reply.has_value() && std::holds_alternative<grant>(*reply);
    });
  }
  // True when it was cut off in `exchange`.
  template <class Exchange>
  bool cut(std::size_t bytes, Exchange exchange) {
    through.cut_after_bytes(GetParam(), bytes);
    exchange();
    bool const was_cut = !through.cut_pending();
    through.disarm();
    return was_cut;
  }
  bool nothing_is_left() {
    return ports.wait_for([&] {
      rival.wait_for([] { return false; }, 1ms);  // or nobody gives back its late vote
      return nodes[0].cli("EXISTS r") + nodes[1].cli("EXISTS r") + nodes[2].cli("EXISTS r") ==
             "000";
    });
  }

  relay through{nodes[0].port()};
  redis_ports ports{url(0, through), &open_redlock};
  relay late{nodes[2].port()};
  redis_ports rival{url(2, late), &open_redlock};
  std::size_t const step = GetParam() == direction::to_server ? 7 : 1;
  std::size_t const least = GetParam() == direction::to_server ? 100 : 4;  // bytes of an exchange
};
INSTANTIATE_TEST_SUITE_P(ways, redlock_cut,
                         testing::Values(direction::to_server, direction::to_client),
                         [](auto const& way) {
                           return way.param == direction::to_server ? "requests" : "replies";
                         });

// B7
TEST_P(redlock_cut, AnAcquireLeavesNoGhost) {
  std::size_t failed = 0;
  std::size_t n = 0;
  for (bool was_cut = true; was_cut; n += step) {
    auto const owner = owner_token::generate();
    ASSERT_TRUE(ports.wait_for([&] { return ports.renew("r", owner, 30s).has_value(); }));
    bool held = false;
    was_cut = cut(n, [&] {
      auto const reply = ports.acquire("r", owner);
      if (reply.has_error()) ++failed;
      held = reply.has_value() && std::holds_alternative<grant>(*reply);
    });
    if (held) ports.release("r", owner);
    ASSERT_TRUE(nothing_is_left()) << "a ghost after " << n << " bytes";
  }
  EXPECT_GT(failed, 0u);
  EXPECT_GT(n, least);
}

// B1: what is held is not `lost`, whatever became of the question.
TEST_P(redlock_cut, ARenewalAndAReleaseAreNeverFalselyLost) {
  std::size_t unanswered = 0;
  std::size_t n = 0;
  for (bool was_cut = true; was_cut; n += step) {
    auto const owner = owner_token::generate();
    ASSERT_TRUE(granted_soon(owner));
    result<renew_reply> renewed = renew_reply::lost;
    was_cut = cut(n, [&] { renewed = ports.renew("r", owner, 30s); });
    unanswered += renewed.has_error() ? 1 : 0;
    ASSERT_TRUE(ports.wait_for([&] {
      return renewed.has_value() || (renewed = ports.renew("r", owner, 30s)).has_value();
    }));
    ASSERT_EQ(*renewed, renew_reply::renewed) << n << " bytes";
    late.stop_forwarding();
    auto const reply = rival.acquire("r", other);
    ASSERT_FALSE(reply.has_value() && std::holds_alternative<grant>(*reply)) << "granted twice";
    result<release_reply> released = release_reply::lost;
    was_cut |= cut(n, [&] { released = ports.release("r", owner); });
    unanswered += released.has_error() ? 1 : 0;
    ASSERT_TRUE(ports.wait_for([&] {
      return released.has_value() || (released = ports.release("r", owner)).has_value();
    }));
    late.resume_forwarding();
    ASSERT_EQ(*released, release_reply::released) << n << " bytes";
    ASSERT_TRUE(nothing_is_left()) << "a ghost after " << n << " bytes";
  }
  EXPECT_GT(unanswered, 0u);
  EXPECT_GT(n, least);
}

}  // namespace
}  // namespace herdlock_test
