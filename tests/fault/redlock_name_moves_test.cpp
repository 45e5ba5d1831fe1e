// A node's name leads to another server, which has run for long and knows nothing of the votes that
// the former one gave.
#include <contract/fixture.hpp>
#include <support/redis_nodes.hpp>
#include <support/relay.hpp>

#include "stores/redis/redlock/redlock_store.hpp"

namespace herdlock_test {
namespace {

TEST(RedlockNameMoves, AnotherServerInANodesPlaceGrantsNothingForTheRestartDelay) {
  store_case const kind{.name = "redlock", .url = {}, .open = &open_redlock};
  redis_nodes nodes(4);  // the first, which has run for longest, takes the place of the second
  relay first(nodes[1].port());
  auto const url = [&](std::uint16_t port) {
    return redis_nodes::url_of({port, nodes[2].port(), nodes[3].port()}, "restart_delay=5s");
  };
  resource const stock{"stock"};
  owner_token const alice = owner_token::generate();
  client holder(kind, url(nodes[1].port()));
  client other(kind, url(first.port()));
  // The other one has met the server whose place is taken; and a majority has run for the delay,
  // as it counts.
  resource const seen{"seen"};
  owner_token const bob = owner_token::generate();
  ASSERT_TRUE(other.run_until([&] {
    return is<grant>(other.acquire(seen, bob, 5s)) && nodes[1].cli("EXISTS seen") == "1";
  }));
  ASSERT_TRUE(holder.run_until([&] {
    return is<grant>(holder.acquire(stock, alice, 5s)) && nodes[3].cli("EXISTS stock") == "1";
  }));
  ASSERT_TRUE(is<busy>(other.acquire(stock, owner_token::generate(), 5s)));
  // The holder's majority are the first two; the third has lost its vote.
  nodes[3].cli("DEL stock");
  first.lead_to(nodes[0].port());
  // The second time it is the same server that is met again, in the middle of its delay.
  for (int cuts = 0; cuts < 2; ++cuts) {
    auto const loads = nodes[0].calls("script|load");
    first.cut_all();
    // Its scripts are loaded there, so its connection is up; then it is asked what it is, which the
    // answers of the others leave time for.
    ASSERT_TRUE(other.run_until([&] { return nodes[0].calls("script|load") > loads; }));
    for (int i = 0; i < (cuts == 0 ? 10 : 50); ++i) {
      if (!is<grant>(other.acquire(stock, owner_token::generate(), 5s))) continue;
      // On a slow machine the holder's lease may have ended meanwhile.
      ASSERT_NE(holder.renew(stock, alice, 5s).value(), renew_reply::renewed) << "two holders";
      return;
    }
  }
}

}  // namespace
}  // namespace herdlock_test
