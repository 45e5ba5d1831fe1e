// Real processes that are killed, stopped and continued while they hold a lock.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <herdlock/herdlock.hpp>
#include <set>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using herdlock_test::child_process;
using herdlock_test::eventually;

class ProcessTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "redis") herdlock_test::redis_server::shared().flush();
    store_.emplace(open_store(url()));
  }

  std::string url() const {
    if (GetParam() == "redis") return herdlock_test::redis_server::shared().url();
    return "sqlite:" + (folder_ / "locks.db").string();
  }

  child_process holder(milliseconds ttl, std::vector<std::string> what) const {
    std::vector<std::string> argv{HERDLOCK_LOCK_HOLDER, url(), name, std::to_string(ttl.count())};
    argv.insert(argv.end(), what.begin(), what.end());
    return child_process({.argv = argv});
  }

  static bool said(child_process const& child, std::string const& text) {
    return child.output().find(text) != std::string::npos;
  }
  static std::uint64_t fencing_of(child_process const& child) {
    EXPECT_TRUE(eventually([&] { return said(child, "held ") && said(child, "\n"); }))
        << child.errors();
    auto const text = child.output();
    return std::stoull(text.substr(text.find("held ") + 5));
  }

  static constexpr char const* name = "shared/thing";
  herdlock_test::temp_dir folder_;
  std::optional<store> store_;
};

// S2: a dead holder does not block the resource for longer than its ttl.
TEST_P(ProcessTest, AKilledHolderIsSucceededByTheNextWithAGreaterFencingToken) {
  auto child = holder(1s, {"hold"});
  auto const before = fencing_of(child);
  lock const where(*store_, name);
  EXPECT_FALSE(where.try_acquire({.ttl = 10s})) << "held by the child";
  child.kill();
  auto mine = where.acquire({.ttl = 10s, .wait = herdlock_test::patience});
  ASSERT_TRUE(mine);
  EXPECT_GT(mine->fencing().value, before);
}

// B1, B17: a process that was stopped past its ttl knows that it lost before it can act.
TEST_P(ProcessTest, AStoppedHolderKnowsThatItLostBeforeItActs) {
  auto child = holder(500ms, {"hold"});
  auto const before = fencing_of(child);
  child.pause_between_transactions();
  lock const where(*store_, name);
  auto mine = where.acquire({.ttl = 30s, .wait = herdlock_test::patience});
  ASSERT_TRUE(mine);
  EXPECT_GT(mine->fencing().value, before);
  child.signal(SIGUSR1);  // is answered as the first thing after the pause
  child.resume();
  ASSERT_TRUE(eventually([&] { return said(child, "valid "); }));
  EXPECT_TRUE(said(child, "valid 0")) << child.output();
  ASSERT_TRUE(eventually([&] { return said(child, "lost"); }));
  // B5: and its release does not touch the new holder's lease.
  child.signal(SIGTERM);
  ASSERT_TRUE(child.wait());
  EXPECT_TRUE(said(child, "lost at release")) << child.output();
  EXPECT_TRUE(mine->valid());
  EXPECT_EQ(mine->release(), release_reply::released);
}

TEST_P(ProcessTest, AHolderRenewsForLongerThanItsTtl) {
  auto child = holder(1s, {"hold"});
  fencing_of(child);
  lock const where(*store_, name);
  // Longer than the ttl: it must never come free.
  EXPECT_FALSE(where.acquire({.ttl = 10s, .wait = 2s}));
  child.signal(SIGTERM);
  ASSERT_TRUE(child.wait());
  EXPECT_TRUE(said(child, "released")) << child.output();
  EXPECT_TRUE(where.acquire({.ttl = 10s, .wait = herdlock_test::patience}));
}

TEST_P(ProcessTest, WhatTheLastHandleGivesBackOnTheStoresThreadIsFreeWhenTheProcessHasEnded) {
  auto child = holder(60s, {"leave"});
  fencing_of(child);
  auto const ended = child.wait();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0) << child.errors();
  EXPECT_TRUE(store_->list().names.empty());
}

TEST_P(ProcessTest, ADetachedLeaseIsRestoredByAnotherProcess) {
  lock const where(*store_, name);
  auto mine = where.try_acquire({.ttl = 30s});
  ASSERT_TRUE(mine);
  auto const fencing = mine->fencing().value;
  auto const ticket = std::move(*mine).detach();
  auto child = holder(30s, {"restore", ticket.str()});
  EXPECT_EQ(fencing_of(child), fencing);
  EXPECT_FALSE(where.try_acquire()) << "held by the child now";
  child.signal(SIGTERM);
  ASSERT_TRUE(child.wait());
  EXPECT_TRUE(said(child, "released"));
  EXPECT_TRUE(where.try_acquire());
}

TEST_P(ProcessTest, NoTwoProcessesAreEverInsideTogetherAndFencingOnlyGrows) {
  constexpr int processes = 4;
  constexpr int rounds = 25;
  std::vector<child_process> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(holder(10s, {"work", std::to_string(rounds), folder_.path().string()}));
  }
  for (auto& child : children) {
    auto const ended = child.wait(60s);
    ASSERT_TRUE(ended) << child.output();
    EXPECT_EQ(ended->code, 0) << child.output() << child.errors();
  }
  std::ifstream log(folder_ / "log");
  std::vector<std::uint64_t> tokens;
  for (std::uint64_t token; log >> token;) tokens.push_back(token);
  ASSERT_EQ(tokens.size(), static_cast<std::size_t>(processes * rounds));
  EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end(), std::less_equal<>{}))
      << "each grant has a strictly greater token";
}

INSTANTIATE_TEST_SUITE_P(, ProcessTest, ::testing::Values("sqlite", "redis"),
                         [](auto const& param_info) { return param_info.param; });

}  // namespace
