// Other projects' clients and ours on one lock, in both directions: real processes, one server, or
// five for redlock://.
#include <gtest/gtest.h>
#include <herdlock/herdlock.hpp>

#include <support/redis_nodes.hpp>
#include <support/redis_server.hpp>
#include <thread>

#include "foreign_client.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

/// One of the other clients, and the dialect that it speaks; none: it is over the five nodes.
struct foreign_kind {
  std::string name;
  std::string dialect;
  std::vector<std::string> argv;
  bool over_nodes() const { return dialect.empty(); }
};

void PrintTo(foreign_kind const& kind, std::ostream* out) { *out << kind.name; }

std::vector<foreign_kind> kinds() {
  return {{"redis_py", "plain", {"/usr/bin/python3", "-B", interop_file("redis_py_lock.py")}},
          {"redlock", "plain", {"node", interop_file("redlock_client.js")}},
          {"redlock_of_five", "", {"node", interop_file("redlock_client.js")}},
          {"setnx_getset", "getset", {"/usr/bin/python3", "-B", interop_file("getset_client.py")}}};
}

foreign_client start_client(std::vector<std::string> argv,
                            std::vector<std::uint16_t> const& ports) {
  for (auto const port : ports) argv.push_back(std::to_string(port));
  return foreign_client({.argv = argv, .env = {{"NODE_PATH", INTEROP_NODE_MODULES}}});
}

class dialect_interop : public testing::TestWithParam<foreign_kind> {
 protected:
  // After a flush of what the last test has left; each kind starts what it needs alone.
  static foreign_client client() {
    if (GetParam().over_nodes()) {
      redis_nodes::shared().reset();
      return start_client(GetParam().argv, redis_nodes::shared().ports());
    }
    redis_server::shared().flush();
    return start_client(GetParam().argv, {redis_server::shared().port()});
  }
  static std::string url() {
    if (GetParam().over_nodes()) return redis_nodes::shared().url();
    return redis_server::shared().url() + "?dialect=" + GetParam().dialect;
  }
  static lock ours() { return {open_store(url()), "stock/1"}; }

  foreign_client theirs_ = client();
  std::string const name_ = "stock/1";
};

INSTANTIATE_TEST_SUITE_P(clients, dialect_interop, testing::ValuesIn(kinds()),
                         [](auto const& of) { return of.param.name; });

TEST_P(dialect_interop, WhatWeHoldTheyDoNotGetUntilWeGiveItBack) {
  lock const where = ours();
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  EXPECT_FALSE(theirs_.take(name_, 10s));
  EXPECT_EQ(held->release(), release_reply::released);
  EXPECT_TRUE(theirs_.take(name_, 10s));
}

TEST_P(dialect_interop, WhatTheyHoldWeDoNotGetUntilTheyGiveItBack) {
  lock const where = ours();
  ASSERT_TRUE(theirs_.take(name_, 3600s));
  EXPECT_FALSE(where.try_acquire());
  auto const holder = where.inspect();
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->holder, "another client");
  EXPECT_GT(holder->remaining, 55min);
  EXPECT_TRUE(theirs_.release(name_));
  EXPECT_TRUE(where.try_acquire());
}

TEST_P(dialect_interop, AWaiterOfOursGetsItWhenTheyGiveItBack) {
  lock const where = ours();
  ASSERT_TRUE(theirs_.take(name_, 60s));
  std::optional<lease> mine;
  std::thread waiter([&] { mine = where.acquire({.ttl = 1min, .wait = patience}); });
  EXPECT_FALSE(where.acquire({.ttl = 1min, .wait = 50ms}));
  EXPECT_TRUE(theirs_.release(name_));
  waiter.join();
  ASSERT_TRUE(mine.has_value());
  EXPECT_FALSE(theirs_.take(name_, 10s));
}

TEST_P(dialect_interop, TheirExtensionKeepsUsOutPastTheirFirstTtl) {
  lock const where = ours();
  ASSERT_TRUE(theirs_.take(name_, 10s));
  ASSERT_TRUE(theirs_.extend(name_, 3600s));
  auto const holder = where.inspect();
  ASSERT_TRUE(holder.has_value());
  EXPECT_GT(holder->remaining, 55min);
  EXPECT_FALSE(where.try_acquire());
  EXPECT_TRUE(theirs_.release(name_));
}

TEST_P(dialect_interop, OurRenewalKeepsThemOutPastOurFirstTtl) {
  lock const where = ours();
  auto held = where.try_acquire({.ttl = 3s});
  ASSERT_TRUE(held);
  auto const well_past = held->valid_until() + 2s;  // and the skew, and a rounded second
  ASSERT_TRUE(eventually([&] {
    EXPECT_FALSE(theirs_.take(name_, 10s));
    return herdlock::clock::now() > well_past || testing::Test::HasFailure();
  }));
  EXPECT_TRUE(held->valid());
  EXPECT_EQ(held->release(), release_reply::released);
  EXPECT_TRUE(theirs_.take(name_, 10s));
}

TEST_P(dialect_interop, WhatTheyAbandonWeTakeAfterItsTtlAndNotBefore) {
  lock const where = ours();
  auto const before = herdlock::clock::now();
  ASSERT_TRUE(theirs_.take(name_, 1s));
  auto mine = where.acquire({.ttl = 1min, .wait = patience});
  ASSERT_TRUE(mine);
  EXPECT_GE(herdlock::clock::now() - before, 998ms);
  EXPECT_FALSE(theirs_.extend(name_, 10s));  // B6
  EXPECT_FALSE(theirs_.release(name_));      // B5
  EXPECT_TRUE(mine->valid());
  EXPECT_EQ(mine->release(), release_reply::released);
}

// B5: it was taken from us, they have it, and we give back late.
TEST_P(dialect_interop, OurLateReleaseLeavesTheirsAlone) {
  lock const where = ours();
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  EXPECT_TRUE(where.force_release());
  ASSERT_TRUE(theirs_.take(name_, 60s));
  EXPECT_EQ(held->release(), release_reply::lost);
  EXPECT_FALSE(where.try_acquire());
  EXPECT_TRUE(theirs_.release(name_));
}

// Ours is held by a process that is killed: nobody gives it back.
TEST_P(dialect_interop, WhatWeAbandonTheyTakeAfterItsTtlAndNotBefore) {
  auto const before = herdlock::clock::now();
  child_process holder({.argv = {HERDLOCK_LOCK_HOLDER, url(), name_, "2000", "hold"}});
  ASSERT_TRUE(eventually([&] { return holder.output().find('\n') != std::string::npos; }))
      << holder.errors();
  EXPECT_FALSE(theirs_.take(name_, 10s));
  holder.kill();
  ASSERT_TRUE(eventually([&] { return theirs_.take(name_, 30s); }));
  EXPECT_GE(herdlock::clock::now() - before, 1998ms);
  EXPECT_FALSE(ours().try_acquire());
}

TEST_P(dialect_interop, TheyAndWeTakeTurnsWithoutAnOverlap) {
  expect_turns_without_overlap(ours(), theirs_, name_);
}

// The same majority decides for both, also when it is the smallest that there is.
TEST(RedlockOfFive, WithTwoNodesDownTheyAndWeStillExcludeEachOther) {
  auto& nodes = redis_nodes::shared();
  nodes.reset();
  auto theirs = start_client({"node", interop_file("redlock_client.js")}, nodes.ports());
  lock const where(open_store(nodes.url()), "stock/1");
  EXPECT_TRUE(theirs.take("elsewhere", 10s));
  nodes[0].kill();
  nodes[4].kill();
  auto held = where.acquire({.ttl = 1min, .wait = patience});
  ASSERT_TRUE(held);
  EXPECT_FALSE(theirs.take("stock/1", 10s));
  EXPECT_EQ(held->release(), release_reply::released);
  ASSERT_TRUE(eventually([&] { return theirs.take("stock/1", 60s); }));
  EXPECT_FALSE(where.try_acquire());
  EXPECT_TRUE(theirs.release("stock/1"));
  EXPECT_TRUE(where.acquire({.ttl = 1min, .wait = patience}));
  nodes.reset();
}

// A minority of theirs is no lock, and does not keep us out; a majority of it is one.
TEST(RedlockOfFive, WhatCountsIsTheMajorityOfTheSameKey) {
  auto& nodes = redis_nodes::shared();
  nodes.reset();
  auto const all = nodes.ports();
  auto of_two = start_client({"node", interop_file("redlock_client.js")}, {all[0], all[1]});
  auto of_three =
      start_client({"node", interop_file("redlock_client.js")}, {all[2], all[3], all[4]});
  lock const where(open_store(nodes.url()), "stock/1");
  ASSERT_TRUE(of_two.take("stock/1", 60s));
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  EXPECT_FALSE(of_three.take("stock/1", 10s));
  EXPECT_EQ(held->release(), release_reply::released);
  ASSERT_TRUE(eventually([&] { return of_three.take("stock/1", 60s); }));
  EXPECT_FALSE(where.try_acquire());
}

// What getset needs: with a clock too far ahead the lock is taken over while it is held (B17). The
// holder is told at its next renewal (B1), and its release leaves the new one alone (B5).
TEST(GetsetClocks, APeerWhoseClockIsFarAheadTakesOverAndTheHolderIsTold) {
  auto& server = redis_server::shared();
  server.flush();
  auto const peer = [&](char const* ahead) {
    return foreign_client({.argv = {"/usr/bin/python3", "-B", interop_file("getset_client.py"),
                                    std::to_string(server.port()), ahead}});
  };
  lock const where(open_store(server.url() + "?dialect=getset"), "stock/1");
  auto held = where.try_acquire({.ttl = 10s});
  ASSERT_TRUE(held);
  EXPECT_FALSE(peer("0.9").take("stock/1", 10s));
  auto far_ahead = peer("3600");
  EXPECT_TRUE(far_ahead.take("stock/1", 10s));
  ASSERT_TRUE(eventually([&] { return !held->valid(); }));
  EXPECT_EQ(held->lost_reason(), errc::lost);
  EXPECT_EQ(held->release(), release_reply::lost);
  EXPECT_TRUE(far_ahead.release("stock/1"));
}

}  // namespace
}  // namespace herdlock_test
