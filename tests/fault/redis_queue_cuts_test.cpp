// A waiter's connection that is cut at any byte: a live grant, or nothing is left in the server.
// B7.
#include "redis_waiting.hpp"

namespace herdlock_test {
namespace {

// B7: all of a waiter's connections go through the relay; whichever sends byte n is cut there.
TEST_F(redis_queue, AWaitThatIsCutAnywhereEndsWithALiveGrantOrLeavesNothing) {
  for (auto way : {direction::to_server, direction::to_client}) {
    relay through(server.port());
    redis_ports holder(server.url());
    redis_ports waiter(relay_url(through));
    fence_of(waiter.acquire("warm", mine));
    int cuts = 0;
    for (std::size_t n = 0; n < 600; n += 3) {
      auto const first = owner_token::generate();
      fence_of(holder.acquire("r", first));
      through.cut_after_bytes(way, n);
      auto* const a = start(waiter);
      waiter.wait_for([&] { return waiters() == 1 || a->outcome.has_value(); });
      ASSERT_EQ(holder.release("r", first).value(), release_reply::released);
      ASSERT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); })) << "hangs at " << n;
      cuts += through.cut_pending() ? 0 : 1;
      through.disarm();
      if (a->granted()) {
        ASSERT_EQ(server.cli("GET r"), a->owner.str()) << "not ours, cut at " << n;
        auto renewed = waiter.renew("r", a->owner, 30s);
        if (renewed.has_error()) renewed = waiter.renew("r", a->owner, 30s);  // cut just now
        ASSERT_EQ(renewed.value(), renew_reply::renewed) << n;
      }
      // As the runtime does after an error: nothing may be left.
      auto given_back = waiter.release("r", a->owner);
      if (given_back.has_error()) given_back = waiter.release("r", a->owner);
      ASSERT_TRUE(given_back.has_value()) << given_back.error().message;
      ASSERT_TRUE(waiter.wait_for([&] { return server.cli("EXISTS r") == "0" && waiters() == 0; }))
          << "a ghost, cut at " << n;
    }
    EXPECT_GT(cuts, 30);
  }
}

// B7: what it may have been granted is on its way to be given back when the owner asks once more,
// as the runtime does at the end of a wait. There is one decision for each grant.
TEST_F(redis_queue, AnOwnerWhoseWaitFailedAndWhoAsksWithoutAWaitKeepsWhatItIsGranted) {
  relay through(server.port());
  redis_ports waiter(relay_url(through));
  fence_of(waiter.acquire("warm", mine));
  for (int i = 0; i < 20; ++i) {
    through.cut_after_bytes(direction::to_client, 0);
    auto* const a = start(waiter);
    ASSERT_TRUE(waiter.wait_for([&] { return a->outcome.has_value(); }));
    through.disarm();
    auto const again = waiter.acquire("r", a->owner);
    bool const held = again.has_value() && std::holds_alternative<grant>(*again);
    if (held) {
      EXPECT_EQ(waiter.renew("r", a->owner, 30s).value(), renew_reply::renewed) << "given away";
      EXPECT_EQ(waiter.renew("r", a->owner, 30s).value(), renew_reply::renewed) << "given away";
      EXPECT_EQ(waiter.release("r", a->owner).value(), release_reply::released);
    }
    ASSERT_TRUE(waiter.wait_for([&] { return server.cli("EXISTS r") == "0"; })) << "a ghost";
  }
}

// B7: the server forgot its scripts, so the entering comes behind the leave; what it is granted
// then is given back, also when the connection is cut on the way.
TEST_F(redis_queue, WhatAWaiterThatHasGoneIsGrantedLateIsGivenBackAlsoOverACutConnection) {
  relay through(server.port());
  redis_ports waiter(relay_url(through));
  std::string names;
  for (std::size_t n = 0; n < 120; n += 9) {
    ASSERT_TRUE(waiter.wait_for([&] { return waiter.acquire("warm", mine).has_value(); }));
    server.cli("SCRIPT FLUSH");
    auto const name = "late:" + std::to_string(n);
    names += " " + name;
    through.cut_after_bytes(direction::to_client, n);
    auto* const a = kept.emplace_back(std::make_unique<redis_wait>()).get();
    a->start(waiter, resource(name), 1min);
    a->cancel.emit(asio::cancellation_type::terminal);
    ASSERT_TRUE(waiter.wait_for([&] { return !through.cut_pending(); })) << n;
  }
  EXPECT_TRUE(waiter.wait_for([&] { return server.cli("EXISTS" + names) == "0"; })) << "a ghost";
}

// B7: ... and so is what one is granted that has got the resource before, and released it.
TEST_F(redis_queue, WhatIsGrantedBehindAReleaseIsGivenBackAlsoOverACutConnection) {
  relay through(server.port());
  redis_ports other(server.url());
  redis_ports waiter(relay_url(through));
  for (std::size_t n = 0; n < 40; n += 4) {
    auto const name = "behind:" + std::to_string(n);
    auto const of = owner_token::generate();
    ASSERT_TRUE(waiter.wait_for([&] { return waiter.acquire("warm", mine).has_value(); }));
    through.cut_after_bytes(direction::to_client, 0);
    std::optional<result<acquire_reply>> first;
    waiter.start<acquire_reply>(first, [&](auto h) {
      waiter.leases().acquire({resource(name), of, 30s, 1min}, std::move(h));
    });
    ASSERT_TRUE(waiter.wait_for([&] { return first.has_value(); }));
    through.disarm();
    // Known by their hashes: the acquisition and the release, not the entering.
    server.cli("SCRIPT FLUSH");
    fence_of(other.acquire("other", mine));
    ASSERT_EQ(other.release("other", mine).value(), release_reply::released);
    std::optional<result<release_reply>> released;
    waiter.leases().acquire({resource(name), of, 30s}, [&](result<acquire_reply> got) {
      ASSERT_TRUE(got.has_value()) << got.error().message;
      through.cut_after_bytes(direction::to_client, n);
      waiter.leases().release(resource(name), of, [&](auto r) { released = std::move(r); });
    });
    ASSERT_TRUE(waiter.wait_for([&] { return released.has_value(); })) << n;
    through.disarm();
    if (released->has_error()) {  // as the runtime does
      ASSERT_TRUE(waiter.release(name, of).has_value());
    }
  }
  ASSERT_TRUE(waiter.wait_for([&] {
    return server.cli("EVAL return(#redis.call('KEYS','behind:*')) 0") == "0";
  })) << "a ghost";
}

}  // namespace
}  // namespace herdlock_test
