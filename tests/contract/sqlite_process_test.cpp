// The SQLite store between processes.
#include <support/child_process.hpp>

#include <fstream>

#include "fixture.hpp"
#include "stores/sqlite/sqlite_store.hpp"

namespace herdlock_test {
namespace {

store_case const sqlite{"sqlite", {}, &open_sqlite};

class sqlite_processes : public testing::Test {
 protected:
  std::string file(char const* name) const { return (scratch_ / name).string(); }
  std::string url() const { return "sqlite:" + file("store.db"); }
  child_process peer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), CONTRACT_PEER);
    return child_process(child_options{.argv = std::move(arguments)});
  }
  temp_dir scratch_;
};

// Ten processes open one new file at the same time and take turns at a number in another file: with
// any overlap an increment is lost, and no command may fail because the file is busy.
TEST_F(sqlite_processes, TenProcessesTakeTurnsWithoutAnOverlapOrAnError) {
  constexpr int processes = 10;
  constexpr int rounds = 20;
  std::ofstream(file("number")) << 0;
  std::vector<child_process> peers;
  for (int i = 0; i < processes; ++i) {
    peers.push_back(
        peer({"count", url() + "?timeout=20s", file("number"), std::to_string(rounds)}));
  }
  for (auto& one : peers) {
    auto ended = one.wait(std::chrono::minutes(2));
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->code, 0) << one.errors();
  }
  int number = 0;
  std::ifstream(file("number")) >> number;
  EXPECT_EQ(number, processes * rounds);
}

// A process that is killed while it holds a lease: it stays held for its ttl, then is free.
TEST_F(sqlite_processes, TheLeaseOfAKilledProcessEndsByItsTtl) {
  auto holder = peer({"hold", url(), "stock:1", "1000"});
  ASSERT_TRUE(eventually([&] { return holder.output().find("held") != std::string::npos; }));
  holder.kill();
  client c(sqlite, url());
  EXPECT_TRUE(eventually(
      [&] { return is<grant>(c.acquire(resource("stock:1"), owner_token::generate())); }));
}

// A process that is killed inside a write transaction: its write lock goes with it, and what it had
// written is not seen.
TEST_F(sqlite_processes, AProcessKilledInsideATransactionBlocksNobody) {
  client c(sqlite, url());
  auto writer = peer({"stop-in-transaction", file("store.db")});
  ASSERT_TRUE(eventually([&] { return writer.output().find("inside") != std::string::npos; }));
  writer.kill();
  EXPECT_TRUE(is<grant>(c.acquire(resource("stock:1"), owner_token::generate())));
  EXPECT_FALSE(c.inspect(resource("half written")).value().has_value());
}

// B7, B14: what it had half done to a lease that somebody holds is undone; those who came meanwhile
// wait for it, and go on.
TEST_F(sqlite_processes, AProcessKilledInsideATransactionChangesNobodysLease) {
  client c(sqlite, url() + "?timeout=20s"), other(sqlite, url() + "?timeout=20s");
  auto const alice = owner_token::generate();
  auto const bob = owner_token::generate();
  resource const stock("stock:1");
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  auto writer = peer({"stop-in-transaction", file("store.db")});
  ASSERT_TRUE(eventually([&] { return writer.output().find("inside") != std::string::npos; }));
  auto const wanted = other.start_acquire({stock, bob, 1min});
  auto const renewing = c.start<renew_reply>(
      [&](auto done) { c.store().leases->renew(stock, alice, 1min, std::move(done)); });
  EXPECT_EQ(c.inspect(stock).value()->fencing, first) << "who only reads waits for nobody";
  EXPECT_FALSE(renewing.done());
  writer.kill();
  EXPECT_EQ(c.get(renewing).value(), renew_reply::renewed);
  EXPECT_TRUE(is<busy>(other.get(wanted)));
  EXPECT_EQ(c.inspect(stock).value()->fencing, first);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_GT(as<grant>(other.acquire(stock, bob)).fencing, first);
}

struct sqlite_full_disk : sqlite_processes, testing::WithParamInterface<char const*> {};
INSTANTIATE_TEST_SUITE_P(kinds, sqlite_full_disk, testing::Values("disk", "quota"),
                         [](auto const& kind) { return std::string(kind.param); });

TEST_P(sqlite_full_disk, IsToldAndTakesNothingOfWhatIsHeld) {
  auto filling = peer({"fill-the-disk", scratch_.path().string(), GetParam()});
  ASSERT_TRUE(filling.wait().has_value());
  std::string const said = filling.output();
  for (std::string const& part :
       std::vector<std::string>{"sqlite: acquire 'r", file("store.db"), "no room for", "free some",
                                "kept\n", "works\n"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said << filling.errors();
  }
}

// Others have filled it.
TEST_P(sqlite_full_disk, WhatIsHeldIsRenewedAndReleased) {
  auto holder = peer({"renew-on-a-full-disk", scratch_.path().string(), GetParam()});
  ASSERT_TRUE(holder.wait().has_value());
  EXPECT_EQ(holder.output(), "300 renewals\nreleased\n") << holder.errors();
}

}  // namespace
}  // namespace herdlock_test
