// Many acquires and releases at once share a script call: each gets the answer that it would have
// got alone, whatever happens to its neighbours.
#include <memory>
#include <vector>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

struct redis_bundle : testing::Test {
  redis_bundle() { server.flush(); }

  using granted = std::optional<result<acquire_reply>>;
  using let_go = std::optional<result<release_reply>>;

  // The first one is sent at once and alone; what is asked for meanwhile goes together.
  void acquire_all(redis_ports& ports, std::vector<std::string> const& names) {
    replies.assign(names.size(), {});
    owners.clear();
    for (std::size_t i = 0; i < names.size(); ++i) {
      owners.push_back(owner_token::generate());
      ports.start<acquire_reply>(replies[i], [&](auto h) {
        ports.leases().acquire({resource(names[i]), owners[i], 30s}, std::move(h));
      });
    }
    EXPECT_TRUE(ports.wait_for(
        [&] { return std::ranges::all_of(replies, [](auto& one) { return one.has_value(); }); }));
  }

  void release_all(redis_ports& ports, std::vector<std::string> const& names) {
    released.assign(names.size(), {});
    for (std::size_t i = 0; i < names.size(); ++i) {
      ports.start<release_reply>(released[i], [&](auto h) {
        ports.leases().release(resource(names[i]), owners[i], std::move(h));
      });
    }
    EXPECT_TRUE(ports.wait_for(
        [&] { return std::ranges::all_of(released, [](auto& one) { return one.has_value(); }); }));
  }

  long script_calls() { return server.calls("evalsha") + server.calls("eval"); }

  static std::vector<std::string> numbered(std::string const& stem, int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(stem + std::to_string(i));
    return names;
  }

  redis_server& server = redis_server::shared();
  std::vector<granted> replies;
  std::vector<owner_token> owners;
  std::vector<let_go> released;
};

TEST_F(redis_bundle, ManyAtOnceTakeFewServerCommandsAndEachHasItsOwn) {
  redis_ports ports(server.url());
  auto const names = numbered("r", 64);
  for (int round = 0; round < 3; ++round) {
    server.cli("CONFIG RESETSTAT");
    acquire_all(ports, names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_GT(fence_of(*replies[i]), 0u);
      EXPECT_EQ(server.cli("GET " + names[i]), owners[i].str());
    }
    release_all(ports, names);
    for (auto const& one : released) EXPECT_EQ(one->value(), release_reply::released);
    EXPECT_EQ(server.cli("EXISTS r0 r1 r63"), "0");
    EXPECT_LT(script_calls(), 32) << "128 steps";
  }
}

TEST_F(redis_bundle, WhatIsHeldIsBusyAndTheRestIsGranted) {
  redis_ports ports(server.url());
  auto const names = numbered("r", 20);
  server.cli("SET r7 theirs PX 3600000");
  server.cli("SET r8 theirs");
  acquire_all(ports, names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    bool const is_busy = std::holds_alternative<busy>(replies[i]->value());
    EXPECT_EQ(is_busy, i == 7 || i == 8) << i;
  }
  EXPECT_GT(std::get<busy>(replies[7]->value()).remaining, 55min);
  EXPECT_EQ(std::get<busy>(replies[8]->value()).remaining, 0ms);
  release_all(ports, names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto const wanted = i == 7 || i == 8 ? release_reply::lost : release_reply::released;
    EXPECT_EQ(released[i]->value(), wanted) << i;
  }
}

TEST_F(redis_bundle, TheSameResourceTwiceIsGrantedOnce) {
  redis_ports ports(server.url());
  acquire_all(ports, {"a", "r", "r", "r", "b"});
  int grants = 0;
  for (auto const& one : replies) grants += std::holds_alternative<grant>(one->value()) ? 1 : 0;
  EXPECT_EQ(grants, 3);
  EXPECT_TRUE(std::holds_alternative<grant>(replies[1]->value())) << "the first one to ask";
}

TEST_F(redis_bundle, AnErrorIsThatOfOneOnly) {
  redis_ports ports(server.url());
  server.cli("RPUSH r3 a");
  server.cli("RPUSH {r5}:herdlock:fence junk");
  auto const names = numbered("r", 12);
  acquire_all(ports, names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(replies[i]->has_error(), i == 3 || i == 5) << i;
  }
  EXPECT_EQ(replies[3]->error(), errc::wrong_type);
  EXPECT_NE(replies[3]->error().message.find("'r3'"), std::string::npos);
  EXPECT_EQ(server.cli("EXISTS r5"), "0") << "no ghost";  // B7
}

// The whole script call is refused for the sake of one key.
TEST_F(redis_bundle, AKeyThatTheUserMayNotTouchDoesNotHurtItsNeighbours) {
  ASSERT_EQ(server.cli("ACL SETUSER few on >pw ~r* ~{r* +@all &*"), "OK");
  std::string url = server.url();
  url.insert(url.find("://") + 3, "few:pw@");
  {
    redis_ports ports(url);
    acquire_all(ports, {"r0", "r1", "r2", "secret", "r4", "r5"});
    for (std::size_t i = 0; i < replies.size(); ++i) EXPECT_EQ(replies[i]->has_error(), i == 3);
    EXPECT_EQ(replies[3]->error(), errc::access_denied);
  }
  server.cli("ACL DELUSER few");
}

TEST_F(redis_bundle, AServerThatForgotItsScriptsIsToldThemAgain) {
  redis_ports ports(server.url());
  auto const names = numbered("r", 40);
  acquire_all(ports, names);
  server.cli("SCRIPT FLUSH");
  release_all(ports, names);
  for (auto const& one : released) EXPECT_EQ(one->value(), release_reply::released);
  server.cli("CONFIG RESETSTAT");
  acquire_all(ports, names);
  for (auto const& one : replies) EXPECT_GT(fence_of(*one), 0u);
  EXPECT_LT(script_calls(), 20);
}

TEST_F(redis_bundle, AWipedCounterIsSeededAndFencingStillRises) {
  redis_ports ports(server.url());
  auto const names = numbered("r", 10);
  acquire_all(ports, names);
  std::vector<std::uint64_t> before;
  for (auto const& one : replies) before.push_back(fence_of(*one));
  server.flush();
  acquire_all(ports, names);
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_GT(fence_of(*replies[i]), before[i]);
}

TEST_F(redis_bundle, AReleaseAmongOthersHandsOverToWhoWaits) {
  redis_ports ports(server.url());
  redis_ports waiting(server.url());
  auto const names = numbered("r", 8);
  acquire_all(ports, names);
  auto const next = owner_token::generate();
  granted got;
  waiting.start<acquire_reply>(got, [&](auto h) {
    waiting.leases().acquire({resource("r4"), next, 30s, 20s}, std::move(h));
  });
  ASSERT_TRUE(waiting.wait_for([&] { return server.cli("EXISTS {r4}:herdlock:queue") == "1"; }));
  release_all(ports, names);
  EXPECT_EQ(released[4]->value(), release_reply::released);
  EXPECT_EQ(server.cli("GET r4"), next.str()) << "in the step of the release";
  ASSERT_TRUE(waiting.wait_for([&] { return got.has_value(); }));
  EXPECT_GT(fence_of(*got), fence_of(*replies[4]));
}

}  // namespace
}  // namespace herdlock_test
