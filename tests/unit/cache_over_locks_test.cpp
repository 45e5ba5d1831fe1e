// Claims that are leases of another store.
#include "cache_fixture.hpp"
#include "scripted_lease_store.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

// Longer than it is proved, a claim could be another's before its end.
TEST(cache_over_locks, AClaimIsNoLongerThanItsStoreProves) {
  scripted_fixture locks({.longest_term = 400ms});
  store const values = open_store("memory:claims", {.executor = locks.io.get_executor()});
  cache<std::string> strings(values, *locks.opened, {.claim_ttl = 1min});
  held_loader loader(locks.io.get_executor());
  call one;
  strings.async_get_or_load(cache_key("k"), std::ref(loader), one.token());
  auto& script = *locks.script;
  ASSERT_TRUE(locks.run_until([&] { return !script.acquires.empty(); }));
  EXPECT_EQ(script.acquires.front().request.ttl, 400ms);
  script.grant_next(7);

  ASSERT_TRUE(locks.run_until([&] { return loader.runs == 1 && !script.renews.empty(); }));
  EXPECT_EQ(script.renews.front().ttl, 400ms) << "renewed while the loader runs";
  script.renew_next(renew_reply::renewed);
  locks.settle();

  loader.let_go();
  ASSERT_TRUE(locks.run_until([&] { return !script.renews.empty(); }));
  EXPECT_EQ(script.renews.front().ttl, 400ms) << "renewed to store the value";
  script.renew_next(renew_reply::renewed);
  ASSERT_TRUE(locks.run_until([&] { return !script.releases.empty(); }));
  script.release_next(release_reply::released);
  ASSERT_TRUE(locks.run_until([&] { return one.got.has_value(); }));
  EXPECT_EQ(one.value(), "loaded");
}

}  // namespace
}  // namespace herdlock::scripted
