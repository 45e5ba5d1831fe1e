// redis://…?dialect=getset against a real server: what stands in the key, what is taken over, what
// is left alone. The steps themselves are tested on the machine (tests/unit).
#include <algorithm>
#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct getset_dialect : testing::Test {
  getset_dialect() { server.flush(); }
  std::string url(std::string const& options = "") const {
    return server.url() + "?dialect=getset" + options;
  }
  std::int64_t stored(std::string const& key) const { return std::stoll(server.cli("GET " + key)); }

  redis_server& server = redis_server::shared();
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

bool is_grant(result<acquire_reply> const& reply) {
  if (reply.has_error()) throw error(reply.error());
  return std::holds_alternative<grant>(*reply);
}

TEST_F(getset_dialect, TheKeyHoldsTheUnixTimeAtWhichTheLockIsOver) {
  redis_ports ports(url());
  auto const before = unix_seconds();
  ASSERT_TRUE(is_grant(ports.acquire("r", mine, 30s)));
  EXPECT_GE(stored("r"), before + 31);
  EXPECT_LE(stored("r"), unix_seconds() + 32);
  EXPECT_EQ(server.cli("TTL r"), "-1");
  EXPECT_EQ(server.cli("KEYS *"), "r");
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

// The number is followed by blanks alone, which readers of numbers skip; the owner's secret is not
// in them.
TEST_F(getset_dialect, TheValueIsANumberToEveryReader) {
  redis_ports ports(url());
  ASSERT_TRUE(is_grant(ports.acquire("r", mine)));
  auto const text = server.cli("GET r");
  auto const digits = text.find_first_not_of("0123456789");
  EXPECT_EQ(digits, 10u);
  EXPECT_EQ(text.find_first_not_of(" \t", digits), std::string::npos);
  EXPECT_EQ(text.size(), digits + 64);
}

// A user with no right to a script, and none to another key.
TEST_F(getset_dialect, SendsTheFourHistoricalCommandsAndNothingElse) {
  redis_server guarded(
      {.users = {"app on >s3cret ~lock:r resetchannels -@all +@connection +setnx +get +getset "
                 "+del"}});
  redis_ports ports("redis://app:s3cret@127.0.0.1:" + std::to_string(guarded.port()) +
                    "?dialect=getset&prefix=lock:");
  ASSERT_TRUE(is_grant(ports.acquire("r", mine)));
  EXPECT_FALSE(is_grant(ports.acquire("r", other)));
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::renewed);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  guarded.cli("SET lock:r 1");
  EXPECT_TRUE(is_grant(ports.acquire("r", other)));
}

TEST_F(getset_dialect, AnotherClientsTimeIsBusyUntilItIsOverAndThenTakenOver) {
  redis_ports ports(url());
  auto const theirs = unix_seconds() + 3600;
  server.cli("SET r " + std::to_string(theirs));
  auto const reply = busy_of(ports.acquire("r", mine));
  EXPECT_EQ(reply.holder, "another client");
  EXPECT_GT(reply.remaining, 55min);
  EXPECT_LE(reply.remaining, 1h + 1s);  // and the skew
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::lost);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::lost);
  EXPECT_EQ(stored("r"), theirs);
  server.cli("SET r " + std::to_string(unix_seconds() - 3) + ".5");
  EXPECT_TRUE(is_grant(ports.acquire("r", mine)));
  EXPECT_GT(stored("r"), unix_seconds() + 29);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

TEST_F(getset_dialect, OfManyWhoFindItOverOneTakesItAndKeepsIt) {
  for (int round = 0; round < 20; ++round) {
    server.cli("SET r 1");
    constexpr int contenders = 8;
    std::vector<owner_token> owners;
    int grants = 0;
    {
      redis_ports ports(url());
      std::array<std::optional<result<acquire_reply>>, contenders> outcomes;
      for (auto& outcome : outcomes) {
        owners.push_back(owner_token::generate());
        ports.start<acquire_reply>(outcome, [&](auto h) {
          ports.leases().acquire({resource("r"), owners.back(), 30s}, std::move(h));
        });
      }
      ASSERT_TRUE(ports.wait_for([&] {
        return std::ranges::all_of(outcomes, [](auto const& o) { return o.has_value(); });
      }));
      for (int i = 0; i < contenders; ++i) {
        if (!is_grant(*outcomes[static_cast<std::size_t>(i)])) continue;
        ++grants;
        EXPECT_EQ(ports.renew("r", owners[static_cast<std::size_t>(i)], 30s).value(),
                  renew_reply::renewed);
      }
    }
    EXPECT_EQ(grants, 1);
  }
}

TEST_F(getset_dialect, AskedAgainTheOwnersOwnValueIsItsGrantAndIsNotProlonged) {  // B7
  redis_ports ports(url());
  ASSERT_TRUE(is_grant(ports.acquire("r", mine, 5s)));
  auto const first = stored("r");
  auto const again = ports.acquire("r", mine, 60s);
  ASSERT_TRUE(is_grant(again));
  ASSERT_TRUE(std::get<grant>(*again).validity.has_value());
  EXPECT_LE(std::get<grant>(*again).validity->ttl, 6s);
  EXPECT_EQ(stored("r"), first);
}

TEST_F(getset_dialect, RenewSetsTheTimeAndAStrangerCannot) {
  redis_ports ports(url());
  ASSERT_TRUE(is_grant(ports.acquire("r", mine, 5s)));
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::renewed);
  EXPECT_GE(stored("r"), unix_seconds() + 59);
  EXPECT_EQ(ports.renew("r", other, 600s).value(), renew_reply::lost);
  EXPECT_EQ(ports.release("r", other).value(), release_reply::lost);
  EXPECT_LE(stored("r"), unix_seconds() + 62);
}

TEST_F(getset_dialect, ALeaseThatIsOverIsLostAndLeftToTheNext) {
  redis_ports ports(url("&skew=0ms"));
  ASSERT_TRUE(is_grant(ports.acquire("r", mine, 10ms)));
  ASSERT_TRUE(eventually([&] { return is_grant(ports.acquire("r", other, 30s)); }));
  EXPECT_EQ(ports.renew("r", mine, 30s).value(), renew_reply::lost);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::lost);
  EXPECT_EQ(ports.renew("r", other, 30s).value(), renew_reply::renewed);
}

TEST_F(getset_dialect, InspectAndForceSeeWhatIsNotOver) {
  redis_ports ports(url());
  auto const inspect = [&] {
    return ports
        .get<std::optional<lease_info>>(
            [&](auto h) { ports.leases().inspect(resource("r"), std::move(h)); })
        .value();
  };
  auto const force = [&] {
    return ports
        .get<release_reply>(
            [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); })
        .value();
  };
  EXPECT_FALSE(inspect());
  server.cli("SET r 1");
  EXPECT_FALSE(inspect());
  EXPECT_EQ(force(), release_reply::lost);
  ASSERT_TRUE(is_grant(ports.acquire("r", mine, 1h)));
  ASSERT_TRUE(inspect());
  EXPECT_EQ(inspect()->holder, "another client");
  EXPECT_GT(inspect()->remaining, 55min);
  EXPECT_EQ(force(), release_reply::released);
  EXPECT_EQ(ports.renew("r", mine, 30s).value(), renew_reply::lost);  // B4
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

TEST_F(getset_dialect, WhatIsNoTimeOrNoStringIsNeverTakenOver) {
  redis_ports ports(url());
  server.cli("SET r theirs");
  EXPECT_EQ(busy_of(ports.acquire("r", mine)).remaining, 0ms);
  EXPECT_EQ(server.cli("GET r"), "theirs");
  server.cli("RPUSH list a");
  auto const reply = ports.acquire("list", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::wrong_type);
  EXPECT_NE(reply.error().message.find("'list'"), std::string::npos) << reply.error().message;
}

// B7: a SETNX whose reply was lost is found again by its owner and released.
TEST_F(getset_dialect, ALostReplyLeavesNoGhost) {
  relay between(server.port());
  redis_ports ports(relay_url(between, "?dialect=getset"));
  ASSERT_TRUE(is_grant(ports.acquire("warm", mine)));
  between.cut_after_bytes(direction::to_client, 0);
  ASSERT_TRUE(ports.acquire("r", mine).has_error());
  EXPECT_EQ(server.cli("EXISTS r"), "1");
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

// Each step has the store's timeout; all of them end within two.
TEST_F(getset_dialect, ASlowServerEndsTheOperationAndSaysWhy) {
  relay between(server.port());
  server.cli("SET r 1");  // four steps
  redis_ports ports(relay_url(between, "?dialect=getset&timeout=300ms"));
  ASSERT_TRUE(ports.wait_for([&] { return is_grant(ports.acquire("warm", mine)); }));
  between.set_delay(90ms);
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::timed_out);
  EXPECT_NE(reply.error().message.find("'r'"), std::string::npos) << reply.error().message;
  between.set_delay(0ms);
}

TEST_F(getset_dialect, CancellingBetweenTheStepsEndsTheOperationOnce) {
  relay between(server.port());
  redis_ports ports(relay_url(between, "?dialect=getset"));
  ASSERT_TRUE(is_grant(ports.acquire("warm", mine)));
  server.cli("SET r " + std::to_string(unix_seconds() + 30));
  for (auto pause : {0ms, 20ms, 40ms}) {
    between.set_delay(10ms);
    asio::cancellation_signal stop;
    std::optional<result<acquire_reply>> outcome;
    ports.start<acquire_reply>(outcome, [&](handler<acquire_reply> h) {
      auto bound = asio::bind_cancellation_slot(stop.slot(), std::move(h));
      ports.leases().acquire({resource("r"), mine, 30s}, handler<acquire_reply>(std::move(bound)));
    });
    ports.wait_for([&] { return outcome.has_value(); }, pause);
    stop.emit(asio::cancellation_type::all);
    ASSERT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
    if (outcome->has_error()) {
      EXPECT_EQ(outcome->error(), errc::canceled);
    }
    between.set_delay(0ms);
  }
}

}  // namespace
}  // namespace herdlock_test
