// The PostgreSQL store in its session modes, when its server and its sessions fail.
#include <signal.h>

#include <herdlock/herdlock.hpp>

#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

class postgres_sessions : public postgres_faults {
 protected:
  // The server's processes that hold or wait for something of this test, by what they say.
  std::string end_holders() const {
    return sql(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
        "WHERE application_name LIKE 'herdlock %' AND pid <> pg_backend_pid()");
  }
  // The process of the server that works for the only holder.
  pid_t backend_of_holder() const {
    return std::stoi(
        sql("SELECT pid FROM pg_stat_activity WHERE application_name LIKE "
            "'herdlock %' AND pid <> pg_backend_pid()"));
  }
  // With a ttl that no renewal is due of.
  lease held() const { return lock(open_store(url()), "stock:1").try_acquire({.ttl = 1h}).value(); }
  static bool told(lease const& mine) {
    return eventually([&] { return mine.lost_token().stop_requested(); });
  }
};
INSTANTIATE_TEST_SUITE_P(modes, postgres_sessions, testing::Values("advisory", "row"), mode_name);

// B1, B19: no silent reconnection; what the session held is lost.
TEST_P(postgres_sessions, AHolderWhoseSessionIsEndedHasLostAtOnce) {
  client c(postgres, url());
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  EXPECT_EQ(end_holders(), "1\n");
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
  EXPECT_GT(as<grant>(c.acquire(stock, bob)).fencing, first);
}

// B1: the server gives the lock to the next in the same moment; the holder knows as soon as it can.
TEST_P(postgres_sessions, TheEndOfTheSessionIsToldLongBeforeARenewalIsDue) {
  auto const mine = held();
  EXPECT_EQ(end_holders(), "1\n");
  EXPECT_TRUE(told(mine));
  EXPECT_FALSE(mine.valid());
  EXPECT_NE(mine.lost_reason().message.find("its session in the server has ended"),
            std::string::npos);
}

TEST_P(postgres_sessions, ASessionWhoseProcessIsKilledIsToldLongBeforeARenewalIsDue) {
  auto const mine = held();
  ASSERT_EQ(::kill(backend_of_holder(), SIGKILL), 0);
  EXPECT_TRUE(told(mine));
  EXPECT_FALSE(mine.valid());
  server().restart();
}

TEST_P(postgres_sessions, WhatIsTakenAwayByForceIsToldToItsHolderAtOnce) {
  auto const store = open_store(url());
  auto const mine = lock(store, "stock:1").try_acquire({.ttl = 1h}).value();
  auto const other = lock(store, "other").try_acquire({.ttl = 1h}).value();
  EXPECT_TRUE(lock(store, "stock:1").force_release());
  EXPECT_TRUE(told(mine));
  EXPECT_TRUE(other.valid());
}

// B1: with a grace longer than the test, so that nothing has to be timed.
TEST_P(postgres_sessions, WhoSucceedsAHolderThatDidNotReleaseWaitsForTheSessionGraceFirst) {
  client a(postgres, url("&session_grace=5m"));
  auto const first = as<grant>(a.acquire(stock, alice)).fencing;
  EXPECT_EQ(end_holders(), "1\n");
  ASSERT_EQ(a.renew(stock, alice).value(), renew_reply::lost);
  client b(postgres, url("&session_grace=5m"));
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(seen(b, [&] {
    auto const info = a.inspect(stock).value();
    return info && info->fencing > first &&
           sql("SELECT fencing FROM " + table() + "_open") ==
               std::to_string(info->fencing.value) + "\n";
  }));
  EXPECT_FALSE(bobs.done()) << "it has the lock, and waits";
  b.close();  // which is no release: the next one waits, too
  client c(postgres, url("&session_grace=500ms"));
  auto const carol = owner_token::generate();
  auto const begun = clock::now();
  EXPECT_GT(granted_in_the_end(c, carol), first);
  EXPECT_GE(as<grant>(c.acquire(stock, carol)).validity.value().since, begun + 500ms);
}

TEST_P(postgres_sessions, ALeaseThatRanOutLeavesTheMarkOfTheSessionGrace) {
  client a(postgres, url("&session_grace=5m"));
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice, 500ms)));
  ASSERT_TRUE(a.run_until([&] { return !a.inspect(stock).value(); }));
  EXPECT_EQ(sql("SELECT count(*) FROM " + table() + "_open"), "1\n");
}

// The holder's time is up here, and a moment later at the server: the next one asks in a session
// that has ended.
TEST_P(postgres_sessions, WhoIsNextInASessionThatEndsMeanwhileIsGranted) {
  relay between(server().port());
  client c(postgres, through(between));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice, 500ms)));
  auto const bobs = c.start_acquire({stock, bob, 1min, 1min});
  between.stop_forwarding();
  ASSERT_TRUE(seen(c, [&] {
    return sql("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'herdlock %'"
               " AND pid <> pg_backend_pid()") == "0\n";
  }));
  between.resume_forwarding();
  EXPECT_TRUE(is<grant>(c.get(bobs)));
}

TEST_P(postgres_sessions, AWaiterThatGoesInTheSessionGraceDoesNotBeginItAnew) {
  client a(postgres, url("&session_grace=5m"));
  auto const first = as<grant>(a.acquire(stock, alice)).fencing;
  EXPECT_EQ(end_holders(), "1\n");
  client b(postgres, url("&session_grace=2s"));
  auto bobs = b.start_acquire({stock, bob, 1min, 1min});
  auto const row = "SELECT fencing FROM " + table() + "_open";
  ASSERT_TRUE(seen(b, [&] { return sql(row) != std::to_string(first.value) + "\n"; }));
  bobs.cancel();
  EXPECT_TRUE(seen(b, [&] { return sql(row).empty(); })) << "the next would wait again";
}

// B12
TEST_P(postgres_sessions, ASessionThatEndsInTheSessionGraceLeavesNobodyBehind) {
  client a(postgres, url("&session_grace=5m"));
  auto const first = as<grant>(a.acquire(stock, alice)).fencing;
  EXPECT_EQ(end_holders(), "1\n");
  client b(postgres, url("&session_grace=5m"));
  auto const row = "SELECT fencing FROM " + table() + "_open";
  auto before = std::to_string(first.value) + "\n";
  for (int turn = 0; turn < 2; ++turn) {
    auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
    ASSERT_TRUE(seen(b, [&] { return sql(row) != before; }))
        << turn << (bobs.done() ? ": " + bobs.outcome().error().message : "");
    before = sql(row);
    end_holders();
    EXPECT_TRUE(b.get(bobs).error() == errc::unavailable);
  }
}

TEST_P(postgres_sessions, ThereIsNoSessionGraceBehindAReleaseNorForAFreshName) {
  client a(postgres, url("&session_grace=5m"));
  client b(postgres, url("&session_grace=5m"));
  for (auto* const each : {&a, &b, &a}) {
    ASSERT_TRUE(is<grant>(each->acquire(stock, alice)));
    ASSERT_EQ(each->release(stock, alice).value(), release_reply::released);
  }
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  auto const bobs = b.start_acquire({stock, bob, 1min, 1min});
  auto const carols = a.start_acquire({stock, owner_token::generate(), 1min, 1min});
  ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(a.get(carols))) << "handed on in its own session";
  EXPECT_FALSE(bobs.done());
}

// The server's process for the commands is stopped; the one of the session is not.
TEST_P(postgres_sessions, AReleaseIsToldThoughTheMarkOfTheSessionGraceCannotBeTaken) {
  client c(postgres, url("&session_grace=5m&timeout=6s"));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const commands = std::stoi(
      sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'herdlock' AND query LIKE "
          "'INSERT INTO " +
          table() + "_open %'"));
  ASSERT_EQ(::kill(commands, SIGSTOP), 0);
  auto const released = c.release(stock, alice);
  ::kill(commands, SIGCONT);
  EXPECT_EQ(released.value(), release_reply::released);
}

// More than PostgreSQL logs of a sequence at a time, so that some are in no log that was written.
TEST_P(postgres_sessions, AServerThatCrashesWhileHeldLosesTheLockAndKeepsTheTokensRising) {
  client c(postgres, url());
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
    ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  }
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  server().restart();
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_GT(granted_in_the_end(c, bob), first);
}

TEST_P(postgres_sessions, AWaitThroughACrashOfTheServerFailsAndMayBeAskedAgain) {
  client holder(postgres, url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  client c(postgres, url());
  auto waiting = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(c.run_until([&] { return holder.inspect(stock).value()->waiting == 1; }));
  server().restart();
  EXPECT_FALSE(c.get(waiting).has_value());
  EXPECT_TRUE(in_the_end([&] { return is<grant>(c.acquire(stock, bob)); }));
}

TEST_P(postgres_sessions, AFullPoolSaysSoAndServesWhenASessionComesBack) {
  client c(postgres, url("&sessions=2&timeout=1s"));
  for (char const* name : {"a", "b"}) {
    ASSERT_TRUE(in_the_end([&] { return is<grant>(c.acquire(resource(name), alice)); }));
  }
  auto const refused = c.acquire(stock, alice);
  EXPECT_TRUE(refused.error() == errc::timed_out);
  EXPECT_NE(refused.error().message.find("sessions=2"), std::string::npos);
  EXPECT_TRUE(in_the_end([&] { return c.release(resource("a"), alice).has_value(); }));
  EXPECT_TRUE(in_the_end([&] { return is<grant>(c.acquire(stock, bob)); }));
}

// B8: while it waits for a lock the server does not look after its client by itself.
TEST_P(postgres_sessions, AKilledWaiterLeavesTheServer) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto dead = holder("60000");
  ASSERT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 1; }));
  dead.kill();
  EXPECT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 0; }));
}

// B7: the wait in the server ends with its caller.
TEST_P(postgres_sessions, ACancelledWaitLeavesNobodyWaitingInTheServer) {
  client holder(postgres, url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  client c(postgres, url());
  auto waiting = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(c.run_until([&] { return holder.inspect(stock).value()->waiting == 1; }));
  waiting.cancel();
  EXPECT_TRUE(c.get(waiting).error() == errc::canceled);
  EXPECT_TRUE(c.run_until([&] { return holder.inspect(stock).value()->waiting == 0; }));
  EXPECT_EQ(holder.release(stock, alice).value(), release_reply::released);
  EXPECT_FALSE(holder.inspect(stock).value().has_value());
}

// The lock was the releaser's until then, and its session is there to say so.
TEST_P(postgres_sessions, AReleaseWhoseSuccessorGetsNoTokenIsARelease) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto bobs = c.start_acquire({stock, bob, 1min, 1min});
  sql("SELECT setval('" + table() + "_fencing', 9223372036854775807)");
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_FALSE(c.get(bobs).has_value());
  EXPECT_TRUE(eventually([&] { return !c.inspect(stock).value().has_value(); }));
}

// B7: see the same test of the table mode. What is cut here is the session that asks.
TEST_P(postgres_sessions, ACutSessionLeavesNoGhost) {
  client judge(postgres, url());
  judge.inspect(stock).value();
  relay cutter(server().port());
  client c(postgres, through(cutter));
  for (auto const way : {direction::to_server, direction::to_client}) {
    int cuts = 0;
    for (std::size_t bytes = 0; bytes < 400; bytes += 20) {
      auto const owner = owner_token::generate();
      // It leaves a session behind that is set up, so that the next one begins with its lock.
      ASSERT_TRUE(in_the_end([&] { return is<grant>(c.acquire(stock, owner)); }));
      ASSERT_TRUE(in_the_end([&] { return c.release(stock, owner).has_value(); }));
      cutter.cut_after_bytes(way, bytes);
      static_cast<void>(c.acquire(stock, owner));
      cuts += cutter.cut_pending() ? 0 : 1;
      cutter.disarm();
      static_cast<void>(c.release(stock, owner));
      ASSERT_TRUE(eventually([&] { return !judge.inspect(stock).value().has_value(); }))
          << "a ghost after " << bytes;
    }
    EXPECT_GT(cuts, 3);
  }
}

}  // namespace
}  // namespace herdlock_test
