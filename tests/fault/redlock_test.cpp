// Leases over five real servers, some of which are killed, stopped, restarted empty or cut off.
#include "redlock_nodes.hpp"

namespace herdlock_test {
namespace {

// A counter that is missing begins with the node's own time, which may be past the number of the
// attempt where a node is asked late. Where there are counters, all nodes take that number.
void begin_counters(redis_nodes& nodes) {
  for (std::size_t i = 0; i < 5; ++i) {
    nodes[i].command({"SET", "{r}:herdlock:quorum", std::to_string(100 + i) + " 1"});
  }
}

TEST_F(redlock, IsAPlainStringAtEachNodeThatOtherClientsUnderstand) {
  redis_ports ports(nodes.url(), &open_redlock);
  EXPECT_GT(fence_of(ports.acquire("r", mine, 30s)), 0u);
  EXPECT_TRUE(eventually([&] { return nodes.count("GET r", mine.str()) == 5; }));
  EXPECT_EQ(nodes.count("SET r x NX PX 1000", "(nil)"), 5u);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_TRUE(gone_soon(ports));
  for (std::size_t i : {1, 2, 4}) nodes[i].cli("SET r theirs NX PX 3600000");
  auto const reply = ports.acquire("r", other).value();
  ASSERT_TRUE(std::holds_alternative<busy>(reply));
  EXPECT_EQ(std::get<busy>(reply).holder, "another client");
  EXPECT_GT(std::get<busy>(reply).remaining, 55min);
  EXPECT_EQ(ports.release("r", other).value(), release_reply::lost);
  EXPECT_EQ(nodes.count("GET r", "theirs"), 3u);
}

// Without doctor, too: a majority of names is not one of servers.
TEST_F(redlock, OneServerUnderTwoNamesIsAWarning) {
  auto const port = std::to_string(nodes[0].port());
  auto const third = std::to_string(nodes[1].port());
  auto const store = open_store("redlock://127.0.0.1:" + port + ",localhost:" + port +
                                ",127.0.0.1:" + third + "?restart_delay=0");
  static_cast<void>(lock(store, "r").try_acquire());
  EXPECT_TRUE(eventually([&] {
    auto const all = store.warnings();
    return std::any_of(all.begin(), all.end(), [&](std::string const& one) {
      return one.find("127.0.0.1:" + port + " and localhost:" + port + " are one server") !=
             one.npos;
    });
  }));
}

TEST_F(redlock, AllNodesTakeTheSameTokenWithoutASecondRound) {
  redis_ports ports(nodes.url(), &open_redlock);
  begin_counters(nodes);
  for (int i = 0; i < 3; ++i) {
    auto const fence = std::to_string(fence_of(ports.acquire("r", mine)));
    EXPECT_TRUE(ports.wait_for([&] { return nodes.count("GET r", mine.str()) == 5; }));
    for (auto const& counter : nodes.each("GET {r}:herdlock:quorum")) {
      EXPECT_EQ(counter.substr(0, counter.find(' ')), fence);
    }
    ports.release("r", mine);
  }
}

// A node that was asked late by the acquire began with a later time.
TEST_F(redlock, TheTokenIsShownAsItWasGrantedAlthoughANodeIsAhead) {
  redis_ports ports(nodes.url(), &open_redlock);
  auto const fence = fence_of(ports.acquire("r", mine));
  EXPECT_TRUE(ports.wait_for([&] { return nodes.count("GET r", mine.str()) == 5; }));
  auto const was = nodes[1].cli("GET {r}:herdlock:quorum");
  auto const attempt = was.substr(was.find(' ') + 1);
  for (std::size_t i = 1; i < 5; ++i) {
    nodes[i].command({"SET", "{r}:herdlock:quorum", std::to_string(fence) + " " + attempt});
  }
  nodes[0].command({"SET", "{r}:herdlock:quorum", std::to_string(fence + 500) + " " + attempt});
  auto const shown = [&]() -> std::uint64_t {
    auto const seen = ports.get<std::optional<lease_info>>(
        [&](auto h) { ports.leases().inspect(resource("r"), std::move(h)); });
    return seen.has_value() && seen->has_value() ? (*seen)->fencing.value : 0;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(shown(), fence);
  nodes[4].pause();
  EXPECT_EQ(shown(), fence);
  nodes[4].resume();
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

TEST_F(redlock, TwoDeadNodesOfFiveDoNotMatter) {
  redis_ports ports(nodes.url(), &open_redlock);
  auto const first = fence_of(ports.acquire("r", mine));
  nodes[0].kill();
  nodes[3].kill();
  EXPECT_EQ(ports.renew("r", mine, 30s).value(), renew_reply::renewed);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  auto const second = fence_of(ports.acquire("r", other));
  EXPECT_GT(second, first);
  EXPECT_TRUE(std::holds_alternative<busy>(ports.acquire("r", mine).value()));
  nodes[0].restart();
  nodes[3].restart();
  EXPECT_TRUE(std::holds_alternative<busy>(ports.acquire("r", mine).value()));
  EXPECT_EQ(ports.release("r", other).value(), release_reply::released);
  EXPECT_TRUE(gone_soon(ports));
}

TEST_F(redlock, TwoHangingNodesOfFiveDoNotMatterAndKeepNothing) {
  redis_ports ports(nodes.url(), &open_redlock);
  fence_of(ports.acquire("r", mine));
  ports.release("r", mine);
  nodes[1].pause();
  nodes[2].pause();
  std::uint64_t last = 0;
  for (int round = 0; round < 50; ++round) {
    auto const owner = owner_token::generate();
    auto const fence = fence_of(ports.acquire("r", owner));
    EXPECT_GT(fence, last);
    last = fence;
    EXPECT_EQ(ports.renew("r", owner, 30s).value(), renew_reply::renewed);
    EXPECT_EQ(ports.release("r", owner).value(), release_reply::released);
  }
  nodes[1].resume();
  nodes[2].resume();
  EXPECT_TRUE(gone_soon(ports)) << "a ghost at a node that woke up";
}

TEST_F(redlock, ThreeNodesDownIsAnErrorThatSaysSoAndLeavesNothing) {
  redis_ports ports(nodes.url(), &open_redlock);
  fence_of(ports.acquire("warm", mine));
  for (std::size_t i : {0, 1, 2}) nodes[i].kill();
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::unavailable) << reply.error().message;
  auto const& text = reply.error().message;
  for (auto const* part : {"'r'", "redlock://", "2 of 5 nodes answered", "3 are needed"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_TRUE(
      ports.wait_for([&] { return nodes[3].cli("EXISTS r") + nodes[4].cli("EXISTS r") == "00"; }));
  EXPECT_TRUE(ports.release("r", mine).has_error());
  EXPECT_TRUE(ports.renew("r", mine, 30s).has_error()) << "not lost: nobody can say";
  for (std::size_t i : {0, 1, 2}) nodes[i].restart();
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

TEST_F(redlock, WhatHangingNodesWereAskedByAFailedAcquireIsGivenBack) {  // B7
  redis_ports ports(nodes.url("timeout=500ms"), &open_redlock);
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("warm", mine).has_value(); }));
  for (std::size_t i : {0, 1, 2}) nodes[i].pause();
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  for (std::size_t i : {0, 1, 2}) nodes[i].resume();
  EXPECT_TRUE(gone_soon(ports));
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

// The same when the connections over which they were asked have been given up meanwhile.
TEST_F(redlock, WhatHangingNodesWereAskedIsGivenBackOverNewConnections) {  // B7
  redis_ports ports(nodes.url("timeout=1s&node_timeout=500ms"), &open_redlock);
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("warm", mine).has_value(); }));
  for (std::size_t i : {0, 1, 2}) nodes[i].pause();
  EXPECT_TRUE(ports.acquire("r", mine).has_error());
  EXPECT_TRUE(ports.wait_for([&] {
    auto const again = ports.acquire("warm2", mine);
    return again.has_error() && again.error().message.find("hangs") == std::string::npos;
  })) << "the connections are not given up";
  for (std::size_t i : {0, 1, 2}) nodes[i].resume();
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("s", mine).has_value(); }));
  EXPECT_TRUE(gone_soon(ports));
}

// Its connection is kept, since a part of the answer came in time; nobody waits for the rest.
TEST_F(redlock, ANodeThatWasLateWithTheRestOfAnAnswerIsAskedAgain) {
  for (std::size_t i : {3, 4}) nodes[i].kill();
  relay through(nodes[0].port());
  auto all = nodes.ports();
  all[0] = through.port();
  redis_ports ports(redis_nodes::url_of(all, "timeout=200ms&node_timeout=100ms"), &open_redlock);
  ASSERT_TRUE(ports.wait_for([&] { return ports.acquire("warm", mine).has_value(); }));
  through.stop_after_bytes(direction::to_client, 1);
  EXPECT_TRUE(ports.acquire("late", mine).has_error());
  ports.wait_for([] { return false; }, 150ms);  // for its request at that node
  through.resume_forwarding();
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

TEST_F(redlock, ANodeThatHangsAtTheStartIsNotWaitedForLong) {
  nodes[4].pause();
  redis_ports ports(nodes.url(), &open_redlock);
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

TEST_F(redlock, CountersThatDifferAreRaisedAtAMajorityFirst) {
  constexpr char high[] = "5000000000000000 1";
  redis_ports ports(nodes.url(), &open_redlock);
  fence_of(ports.acquire("warm", mine));
  for (std::size_t i : {0, 1}) nodes[i].command({"SET", "{r}:herdlock:quorum", high});
  for (std::size_t i : {3, 4}) nodes[i].kill();
  auto const fence = fence_of(ports.acquire("r", mine));
  EXPECT_EQ(fence, 5'000'000'000'000'001u);
  EXPECT_TRUE(nodes[2].cli("GET {r}:herdlock:quorum").starts_with("5000000000000001 "));
  EXPECT_EQ(fence_of(ports.acquire("r", mine)), fence) << "the same grant again";
  ports.release("r", mine);
  // The next holder's majority shares one node with ours.
  nodes[3].restart();
  nodes[4].restart();
  nodes[0].kill();
  nodes[1].kill();
  EXPECT_TRUE(ports.wait_for([&] {
    auto const reply = ports.acquire("r", other);
    return reply.has_value() && std::holds_alternative<grant>(*reply) &&
           std::get<grant>(*reply).fencing.value > fence;
  }));
}

TEST_F(redlock, FencingRisesThroughWipedNodes) {
  redis_ports ports(nodes.url(), &open_redlock);
  auto last = fence_of(ports.acquire("r", mine));
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < 5; ++i) nodes[i].flush();
    redis_ports another(nodes.url(), &open_redlock);
    auto const next = fence_of(another.acquire("r", owner_token::generate()));
    EXPECT_GT(next, last);
    last = next;
  }
}

TEST_F(redlock, AGrantAskedForAgainCountsWhatIsLeft) {
  redis_ports ports(nodes.url(), &open_redlock);
  begin_counters(nodes);
  auto const first = std::get<grant>(ports.acquire("r", mine, 5s).value());
  ASSERT_TRUE(first.validity.has_value());
  EXPECT_EQ(first.validity->ttl, 5s);
  auto const again = std::get<grant>(ports.acquire("r", mine, 60s).value());
  EXPECT_EQ(again.fencing, first.fencing);
  ASSERT_TRUE(again.validity.has_value());
  EXPECT_LE(again.validity->ttl, 5s);
}

TEST_F(redlock, KeyOfAnotherTypeIsNamed) {
  redis_ports ports(nodes.url(), &open_redlock);
  for (std::size_t i = 0; i < 5; ++i) nodes[i].cli("RPUSH r a");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::wrong_type) << reply.error().message;
  EXPECT_EQ(nodes.count("LLEN r", "1"), 5u);
}

TEST_F(redlock, AMinoritysLeftoversDoNotShowButCanBeForcedAway) {
  redis_ports ports(nodes.url(), &open_redlock);
  nodes[0].cli("SET r theirs PX 60000");
  auto const seen = ports.get<std::optional<lease_info>>(
      [&](auto h) { ports.leases().inspect(resource("r"), std::move(h)); });
  EXPECT_FALSE(seen.value().has_value());
  auto const forced = ports.get<release_reply>(
      [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); });
  EXPECT_EQ(forced.value(), release_reply::released);
  EXPECT_TRUE(gone());
}

// The promise of restart_delay, and what becomes of exclusion without it.
TEST_F(redlock, NodesRestartedEmptyLetNoSecondHolderIn) {
  redis_nodes fresh;
  auto const url = redis_nodes::url_of(fresh.ports(), "restart_delay=5s");
  redis_ports ports(url, &open_redlock);
  redis_ports patient(redis_nodes::url_of(fresh.ports(), "restart_delay=1h"), &open_redlock);
  auto const early = patient.acquire("r", mine, 5s);
  ASSERT_TRUE(early.has_error());
  EXPECT_NE(early.error().message.find("restart_delay"), std::string::npos)
      << early.error().message;
  EXPECT_EQ(ports.acquire("r", mine, 6s).error(), errc::invalid_ttl);
  auto const is_granted = [](result<acquire_reply> const& reply) {
    return reply.has_value() && std::holds_alternative<grant>(*reply);
  };
  // The lease is held until `held_until`, counted from before the request. Where the machine was
  // too slow to restart the nodes and ask in that time nothing is shown, and it is done once more.
  int refusals = 0;
  for (int round = 0; refusals == 0 && round < 5; ++round) {
    auto held_until = clock::now();
    ASSERT_TRUE(ports.wait_for([&] {
      held_until = clock::now() + 4900ms;
      return is_granted(ports.acquire("r", mine, 5s));
    }));
    for (std::size_t i : {0, 1, 2}) fresh[i].restart();
    redis_ports rival(url, &open_redlock);
    while (true) {
      auto const reply = rival.acquire("r", other, 5s);
      // It may well be granted once the lease is over: only what came before counts.
      if (clock::now() >= held_until) break;
      ++refusals;
      ASSERT_FALSE(is_granted(reply)) << "a second holder";
      rival.wait_for([] { return false; }, 20ms);
    }
    rival.release("r", other);
  }
  EXPECT_GT(refusals, 0);
  // Without the delay there is one: all nodes have the lease of another, a majority forgets it.
  for (std::size_t i = 0; i < fresh.size(); ++i) fresh[i].cli("SET r theirs PX 3600000");
  for (std::size_t i : {0, 1, 2}) fresh[i].restart();
  redis_ports careless(redis_nodes::url_of(fresh.ports()), &open_redlock);
  owner_token const third = owner_token::generate();
  EXPECT_TRUE(careless.wait_for([&] { return is_granted(careless.acquire("r", third, 5s)); }));
}

// ---------------------------------------------------------------------------------- the URL

std::string refusal(std::string const& url) {
  asio::io_context io;
  auto const parsed = store_url::parse(url);
  if (parsed.has_error()) return parsed.error().message;
  auto const opened = open_redlock(*parsed, io.get_executor());
  return opened.has_error() ? opened.error().message : "";
}

bool says(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(RedlockUrl, SaysWhatIsWrongWithoutThePassword) {
  EXPECT_TRUE(says(refusal("redlock://a"), "redis://host"));
  EXPECT_TRUE(says(refusal("redlock://a,b"), "names 2 nodes"));
  EXPECT_TRUE(says(refusal("redlock://a,b,c,b"), "'b':6379 is named twice"));
  EXPECT_TRUE(says(refusal("redlock://a,b,c,b:6379"), "named twice"));
  EXPECT_TRUE(says(refusal("redlock://a,b,c?node_timeout=4ms"), "node_timeout"));
  EXPECT_TRUE(says(refusal("redlock://a,b,c?node_timeout=3s"), "node_timeout"));
  EXPECT_TRUE(says(refusal("redlock://a,b,c?tls=perhaps"), "tls="));
  EXPECT_TRUE(says(refusal("redlock://a,b,c?colour=red"), "colour"));
  EXPECT_TRUE(says(refusal("redlock://a,b,c/x"), "database"));
  std::string const secret = refusal("redlock://user:hidden@a,b,c/x");
  EXPECT_FALSE(says(secret, "hidden")) << secret;
  EXPECT_TRUE(says(secret, "redlock://user:***@a,b,c")) << secret;
  std::string many = "redlock://n0";
  for (int i = 1; i < 15; ++i) many += ",n" + std::to_string(i);
  EXPECT_EQ(refusal(many), "");
  EXPECT_TRUE(says(refusal(many + ",n15"), "names 16 nodes"));
  EXPECT_EQ(refusal("redlock://:password@a,b,c/2?timeout=1s&node_timeout=50ms&restart_delay=10s"),
            "");
}

TEST(RedlockUrl, WarnsOfAnEvenNumberAndOfNoRestartDelay) {
  asio::io_context io;
  auto const open = [&](char const* url) {
    return open_redlock(store_url::parse(url).value(), io.get_executor()).value();
  };
  EXPECT_TRUE(open("redlock://a,b,c").warnings->list().empty());
  EXPECT_TRUE(says(open("redlock://a,b,c,d").warnings->list().at(0), "odd"));
  EXPECT_TRUE(says(open("redlock://a,b,c?restart_delay=0").warnings->list().at(0), "restart"));
}

}  // namespace
}  // namespace herdlock_test
