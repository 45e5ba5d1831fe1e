// Keys that their owner left to another one, and what the former owner's requests do to them that
// come late, or have no answer.
#include <limits>

#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

class EtcdLeaveTest : public testing::Test {
 protected:
  EtcdLeaveTest() { server().flush(); }
  static etcd_server& server() { return etcd_server::shared(); }

  pending<release_reply> start_leave(etcd_client& c, owner_token const& to, milliseconds ttl) {
    leave_request const request{stock, alice, to, ttl};
    return c.start<release_reply>(
        [&](auto done) { c.store().leases->leave(request, std::move(done)); });
  }
  result<release_reply> leave(etcd_client& c, milliseconds ttl) {
    return c.get(start_leave(c, heir, ttl));
  }
  std::string holder() {
    auto const seen = judge.inspect(stock);
    return seen && *seen ? (*seen)->holder : std::string();
  }
  // The first key with its lease and revisions, as etcdctl writes them.
  static std::string first_key() {
    return server().member().ctl(
        {"get", "stock/1/", "--prefix", "--sort-by=CREATE", "--limit=1", "--write-out=fields"});
  }
  static std::string lease_of(std::string const& key) {
    auto const at = key.find("\"Lease\"");
    return key.substr(at, key.find('\n', at) - at);
  }
  // Some turns, in which requests go as far as they get.
  static void run(etcd_client& one) {
    int turns = 0;
    one.run_until([&] { return ++turns > 40; });
  }

  static void go_on(relay& path) {
    path.stop_after_bytes(direction::to_server, std::numeric_limits<std::size_t>::max());
    path.resume_forwarding();
  }

  etcd_client judge{server().url()};
  resource const stock{"stock/1"};
  resource const till{"till"};
  owner_token const alice = owner_token::generate();
  owner_token const carol = owner_token::generate();
  owner_token const heir = owner_token::generate("herdlock-done:3600000:vm/7");
};

// Wherever it is held up: it came before the key was left, or does nothing.
TEST_F(EtcdLeaveTest, ARenewalThatComesLateDoesNotProlongWhatWasLeft) {
  relay path(server().port());
  etcd_client slow(through(path, "?timeout=60s"));
  etcd_client other(server().url());
  int too_late = 0;
  for (std::size_t bytes = 0; bytes < 2000; bytes += 199) {
    as<grant>(slow.acquire(stock, alice, 1min));
    path.stop_after_bytes(direction::to_server, bytes);
    auto late = slow.start<renew_reply>(
        [&](auto done) { slow.store().leases->renew(stock, alice, 2h, std::move(done)); });
    run(slow);
    ASSERT_EQ(leave(other, 1h).value(), release_reply::released) << bytes;
    auto const lease = lease_of(first_key());
    go_on(path);
    ASSERT_TRUE(slow.run_until([&] { return late.done(); })) << bytes;
    too_late += late.outcome().value() == renew_reply::lost;
    EXPECT_EQ(lease_of(first_key()), lease) << bytes;
    EXPECT_EQ(holder(), heir.label()) << bytes;
    EXPECT_LE(judge.inspect(stock).value()->remaining, 1h) << bytes;
    EXPECT_EQ(slow.renew(stock, alice).value(), renew_reply::lost) << bytes;
    EXPECT_EQ(judge.release(stock, heir).value(), release_reply::released) << bytes;
  }
  EXPECT_GT(too_late, 0);
}

TEST_F(EtcdLeaveTest, AReleaseThatComesLateDoesNotEndWhatWasLeft) {
  relay path(server().port());
  etcd_client slow(through(path, "?timeout=60s"));
  etcd_client other(server().url());
  int left = 0;
  for (std::size_t bytes = 0; bytes < 500; bytes += 99) {
    as<grant>(slow.acquire(stock, alice, 1min));
    path.stop_after_bytes(direction::to_server, bytes);
    auto late = slow.start<release_reply>(
        [&](auto done) { slow.store().leases->release(stock, alice, std::move(done)); });
    run(slow);
    auto const told = leave(other, 1h).value();
    go_on(path);
    ASSERT_TRUE(slow.run_until([&] { return late.done(); })) << bytes;
    bool const too_late = told == release_reply::released;
    auto const heard = too_late ? release_reply::lost : release_reply::released;
    EXPECT_EQ(late.outcome().value(), heard) << bytes;
    if (!too_late) continue;
    ++left;
    EXPECT_EQ(holder(), heir.label()) << bytes;
    EXPECT_EQ(judge.release(stock, heir).value(), release_reply::released) << bytes;
  }
  EXPECT_GT(left, 0);
}

// What the former owner's handles end and use again is not about it.
TEST_F(EtcdLeaveTest, TheEndOfTheFormerOwnersHandlesDoesNotEndIt) {
  {
    etcd_client first(server().url());
    etcd_client second(server().url());
    as<grant>(first.acquire(stock, alice));
    as<grant>(second.acquire(stock, alice));
    ASSERT_EQ(leave(second, 1h).value(), release_reply::released);
    as<grant>(second.acquire(till, carol));
    EXPECT_EQ(second.release(till, carol).value(), release_reply::released);
    EXPECT_TRUE(is<busy>(first.acquire(stock, alice))) << "it held the key, as it believes";
    EXPECT_EQ(first.release(stock, alice).value(), release_reply::lost);
  }
  EXPECT_EQ(holder(), heir.label());
}

// B7: wherever the connection is cut, the answer is the first one's.
class EtcdLeaveCutTest : public EtcdLeaveTest, public testing::WithParamInterface<direction> {};

INSTANTIATE_TEST_SUITE_P(ways, EtcdLeaveCutTest,
                         testing::Values(direction::to_server, direction::to_client),
                         [](auto const& one) {
                           return one.param == direction::to_server ? "Requests" : "Answers";
                         });

TEST_P(EtcdLeaveCutTest, AConnectionCutAnywhereLeavesItOnce) {
  relay path(server().port());
  etcd_client c(through(path));
  for (std::size_t bytes = 0; bytes < 1800; bytes += 149) {
    auto const token = as<grant>(c.acquire(stock, alice)).fencing;
    path.cut_after_bytes(GetParam(), bytes);
    ASSERT_EQ(leave(c, 1h).value(), release_reply::released) << bytes;
    path.disarm();
    auto const key = first_key();
    ASSERT_EQ(leave(c, 2h).value(), release_reply::released) << bytes;
    EXPECT_EQ(lease_of(first_key()), lease_of(key)) << bytes;
    auto const seen = judge.inspect(stock).value();
    ASSERT_TRUE(seen.has_value()) << bytes;
    EXPECT_EQ(seen->holder, heir.label()) << bytes;
    EXPECT_EQ(seen->fencing, token) << bytes;
    EXPECT_LE(seen->remaining, 1h) << bytes;
    ASSERT_EQ(judge.release(stock, heir).value(), release_reply::released) << bytes;
  }
}

TEST_F(EtcdLeaveTest, WhoWasNotAnsweredAsksAgainAndHearsThatItWasLeft) {
  relay path(server().port());
  etcd_client c(through(path, "?timeout=1s"));
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  path.stop_forwarding();
  EXPECT_TRUE(leave(c, 1h).has_error());
  path.resume_forwarding();
  result<release_reply> again = release_reply::lost;
  ASSERT_TRUE(eventually([&] { return (again = leave(c, 1h)).has_value(); }));
  EXPECT_EQ(again.value(), release_reply::released);
  EXPECT_EQ(judge.get(start_leave(judge, carol, 1h)).value(), release_reply::lost);
  EXPECT_EQ(holder(), heir.label());
}

// The former owner's name in the queue is taken for so long.
TEST_F(EtcdLeaveTest, TheFormerOwnerWaitsForItAsOthersDo) {
  etcd_client c(server().url());
  auto const token = as<grant>(c.acquire(stock, alice)).fencing;
  ASSERT_EQ(leave(c, 1s).value(), release_reply::released);
  EXPECT_TRUE(is<busy>(c.acquire(stock, alice)));
  auto again = c.wait_for(stock, alice);
  auto const reply = c.get(again);
  ASSERT_TRUE(is<grant>(reply));
  EXPECT_GT(as<grant>(reply).fencing, token);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
}

}  // namespace
}  // namespace herdlock_test
