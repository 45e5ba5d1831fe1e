// Kazoo's and Curator's locks and ours on one node, in both directions: real processes, one server.
#include <gtest/gtest.h>

#include <herdlock/herdlock.hpp>
#include <support/zookeeper_server.hpp>
#include <thread>

#include "foreign_client.hpp"

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

/// One of the other clients, and how our nodes are named beside it.
struct ensemble_client {
  std::string name;
  std::string names;
  std::vector<std::string> argv;
  std::vector<std::string> more{};  ///< behind the server's address
};

void PrintTo(ensemble_client const& kind, std::ostream* out) { *out << kind.name; }

std::string curator_class_path() {
  std::string path;
  for (char const* jar : {"curator-recipes", "curator-framework", "curator-client", "zookeeper",
                          "zookeeper-jute", "guava", "slf4j-api", "slf4j-nop"}) {
    path += (path.empty() ? "" : ":") + std::string("/usr/share/java/") + jar + ".jar";
  }
  return path;
}

std::vector<ensemble_client> ensemble_clients() {
  std::vector<std::string> const kazoo{"/usr/bin/python3", "-B", interop_file("kazoo_lock.py")};
  return {{"kazoo", "kazoo", kazoo},
          {"kazoo_with_pattern", "curator", kazoo, {"-lock-"}},
          {"curator",
           "curator",
           {"java", "-XX:TieredStopAtLevel=1", "-cp", curator_class_path(),
            interop_file("CuratorLock.java")}}};
}

class zookeeper_interop : public testing::TestWithParam<ensemble_client> {
 protected:
  foreign_client another() const {
    auto argv = GetParam().argv;
    argv.push_back("127.0.0.1:" + std::to_string(server_.port()));
    for (auto const& one : GetParam().more) argv.push_back(one);
    return foreign_client({.argv = argv});
  }
  lock ours(std::string const& more = "") const {
    return {open_store(server_.url(chroot_) + "?names=" + GetParam().names + more), "stock/1"};
  }

  zookeeper_server& server_ = zookeeper_server::shared();
  std::string const chroot_ = server_.fresh_chroot();
  std::string const path_ = chroot_ + "/stock%2F1";
  foreign_client theirs_ = another();
};

INSTANTIATE_TEST_SUITE_P(clients, zookeeper_interop, testing::ValuesIn(ensemble_clients()),
                         [](auto const& of) { return of.param.name; });

TEST_P(zookeeper_interop, WhatWeHoldTheyDoNotGetUntilWeGiveItBack) {
  lock const where = ours();
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  EXPECT_FALSE(theirs_.take(path_, 10s));
  EXPECT_EQ(held->release(), release_reply::released);
  EXPECT_TRUE(theirs_.take(path_, 10s));
}

TEST_P(zookeeper_interop, WhatTheyHoldWeDoNotGetUntilTheyGiveItBack) {
  lock const where = ours();
  ASSERT_TRUE(theirs_.take(path_, 60s));
  EXPECT_FALSE(where.try_acquire());
  EXPECT_FALSE(where.acquire({.wait = 50ms}));
  auto const holder = where.inspect();
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->holder, "another client");
  std::optional<lease> mine;
  std::thread waiter([&] { mine = where.acquire({.ttl = 1min, .wait = patience}); });
  EXPECT_TRUE(theirs_.release(path_));
  waiter.join();
  ASSERT_TRUE(mine.has_value());
  EXPECT_FALSE(theirs_.take(path_, 10s));
}

// It is a child of the same node.
TEST_P(zookeeper_interop, TheMarkOfTheSessionGraceDisturbsThemNot) {
  lock const where = ours("&session_grace=1ms");
  auto held = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(held);
  EXPECT_FALSE(theirs_.take(path_, 10s));
  EXPECT_TRUE(where.force_release()) << "which leaves it";
  EXPECT_TRUE(theirs_.take(path_, 60s));
  EXPECT_FALSE(where.try_acquire());
  EXPECT_FALSE(another().take(path_, 10s));
  EXPECT_TRUE(theirs_.release(path_));
  EXPECT_TRUE(where.acquire({.ttl = 1min, .wait = patience}));
}

TEST_P(zookeeper_interop, TheyAndWeTakeTurnsWithoutAnOverlap) {
  expect_turns_without_overlap(ours(), theirs_, path_);
}

}  // namespace
}  // namespace herdlock_test
