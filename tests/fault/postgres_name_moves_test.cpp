// A name that leads new connections to another server, while the old ones stay where they are; and
// one that leads to a standby first.
#include <filesystem>
#include <fstream>
#include <support/free_port.hpp>
#include <support/temp_dir.hpp>

#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

class postgres_name_moves : public postgres_faults {
 protected:
  postgres_server after_;
  relay name_{server().port()};
  std::string const direct_ = postgres_server::through(url(), server().port(), after_.port());

  bool is_lost(client& c) const {
    return c.run_until([&] {
      auto const told = c.renew(stock, alice);
      return told.has_value() && *told == renew_reply::lost;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(modes, postgres_name_moves, testing::Values("advisory", "row"), mode_name);

// The connections of one handle led to two servers, and what was held at the old one was
// renewed there, beside the holder at the new one, for as long as the old one answered.
TEST_P(postgres_name_moves, WhatIsHeldAtTheOldServerIsLostWhenASessionLeadsElsewhere) {
  client c(postgres, through(name_));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  client other(postgres, direct_);
  ASSERT_TRUE(is<grant>(other.acquire(stock, bob)));
  name_.lead_to(after_.port());
  c.acquire(resource("another"), alice);
  EXPECT_TRUE(is_lost(c)) << "the lease is still renewed at the old server";
  EXPECT_TRUE(is<busy>(c.acquire(stock, alice)));
}

TEST_P(postgres_name_moves, WhatIsHeldAtTheOldServerIsLostWhenTheCommandsLeadElsewhere) {
  client c(postgres, through(name_));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  client other(postgres, direct_);
  ASSERT_TRUE(is<grant>(other.acquire(stock, bob)));
  name_.lead_to(after_.port());
  // The connection for commands has no holder's mark.
  ASSERT_NE(sql("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE "
                "application_name = 'herdlock' AND pid <> pg_backend_pid()"),
            "0\n");
  ASSERT_TRUE(in_the_end([&] { return c.inspect(resource("another")).has_value(); }));
  EXPECT_TRUE(is_lost(c)) << "the lease is still renewed at the old server";
}

// One of its own, whose tables are there, and which can be made a standby.
struct postgres_standby : testing::TestWithParam<std::string> {
  postgres_server& primary = postgres_server::shared();
  postgres_server first;
  relay name{first.port()};
  // A table of its own, of the same name at both.
  std::string const there = primary.fresh_url() + "&timeout=1s&mode=" + GetParam();
  std::string const direct = postgres_server::through(there, primary.port(), first.port());
  std::string const url = postgres_server::through(there, primary.port(), name.port());
  resource const stock{"stock:1"};
  owner_token const alice = owner_token::generate();

  static bool is_granted(client& c, resource const& what, owner_token const& who) {
    return c.run_until([&] { return is<grant>(c.acquire(what, who)); });
  }
  void make_tables() const {
    for (auto const& each : {direct, there}) {
      client c(postgres, each);
      ASSERT_TRUE(is_granted(c, resource("first"), alice));
      ASSERT_EQ(c.release(resource("first"), alice).value(), release_reply::released);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(modes, postgres_standby, testing::Values("table", "advisory", "row"),
                         mode_name);

// The handle stayed at the standby that the name led to for a moment, for as long as that answered.
TEST_P(postgres_standby, IsLeftAsSoonAsTheNameLeadsToThePrimary) {
  make_tables();
  first.sql(direct, "COPY (SELECT '') TO PROGRAM 'cat > standby.signal'");
  first.restart();
  client c(postgres, url);
  std::string last;
  ASSERT_TRUE(c.run_until([&] {
    auto const told = c.acquire(stock, alice);
    last = told.has_error() ? told.error().message : "granted";
    return last.find("this server is a standby: name the primary") != std::string::npos;
  })) << last;
  name.lead_to(primary.port());
  EXPECT_TRUE(is_granted(c, stock, alice)) << "it is still asked";
}

TEST_P(postgres_standby, AServerThatWasMadeReadOnlyIsLeftToo) {
  make_tables();
  client c(postgres, url);
  ASSERT_TRUE(is_granted(c, stock, alice));
  first.sql(direct, "ALTER SYSTEM SET default_transaction_read_only = on");
  first.sql(direct, "SELECT pg_reload_conf()");
  // Only a name that is new is written where the setting counts; of one that it knows a session
  // takes the lock without. And what is granted is not kept, as sessions are few.
  int asked = 0;
  auto const newest = [&] { return resource("more:" + std::to_string(asked)); };
  std::string last = "granted";
  ASSERT_TRUE(c.run_until([&] {
    ++asked;
    auto const told = c.acquire(newest(), alice);
    if (told.has_value()) c.release(newest(), alice);
    if (told.has_error()) last = told.error().message;
    return last.find("this server is a standby: name the primary") != std::string::npos;
  })) << last;
  name.lead_to(primary.port());
  EXPECT_TRUE(is_granted(c, newest(), alice)) << "it is still asked";
}

// Commands share a connection, and it stays until what was asked on it has its answer.
struct postgres_read_only : postgres_standby {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_read_only, testing::Values("table"), mode_name);

TEST_P(postgres_read_only, ARefusedWriteDoesNotCutOffThoseWhoRead) {
  make_tables();
  client c(postgres, direct);
  ASSERT_TRUE(is_granted(c, stock, alice));
  first.sql(direct, "ALTER SYSTEM SET default_transaction_read_only = on");
  first.sql(direct, "SELECT pg_reload_conf()");
  ASSERT_TRUE(eventually(
      [&] { return first.sql(direct, "SHOW default_transaction_read_only") == "on\n"; }));
  for (int i = 0; i < 5; ++i) {
    auto const write = c.start_acquire({resource("more"), alice, 1min});
    auto const read = c.start_list({});
    EXPECT_TRUE(c.get(write).has_error());
    auto const told = c.get(read);
    EXPECT_TRUE(told.has_value()) << told.error().message;
  }
}

// It tells each client what its first connection heard of the server: that it is a standby.
TEST_P(postgres_standby, ThatIsPromotedBehindAPoolerIsUsed) {
  make_tables();
  first.sql(direct, "COPY (SELECT '') TO PROGRAM 'cat > standby.signal'");
  first.restart();
  temp_dir folder;
  kept_ports ports;
  auto const port = ports.add();
  std::ofstream(folder / "p.ini") << "[databases]\n* = host=127.0.0.1 port=" << first.port()
                                  << " user=postgres\n[pgbouncer]\nlisten_addr=127.0.0.1\n"
                                     "auth_type=any\nunix_socket_dir=\npool_mode=session\n"
                                     "ignore_startup_parameters=extra_float_digits,options\n"
                                     "listen_port="
                                  << port << "\n";
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  child_process const pooler(
      {.argv = {find_program("pgbouncer", "pgbouncer"), (folder / "p.ini").string()},
       .user = "postgres"});
  client c(postgres, postgres_server::through(there, primary.port(), port));
  ASSERT_TRUE(c.run_until([&] {
    auto const told = c.acquire(stock, alice);
    return told.has_error() && told.error().message.find("standby") != std::string::npos;
  })) << pooler.errors();
  first.sql(direct, "SELECT pg_promote()");
  std::string last;
  EXPECT_TRUE(c.run_until([&] {
    auto const told = c.acquire(stock, alice);
    last = told.has_error() ? told.error().message : "";
    return is<grant>(told);
  })) << last;
}

}  // namespace
}  // namespace herdlock_test
