// The stores whose commands go over a pool of connections, or whose server keeps its rows: behind a
// connection that was lost, the next one looks at what is held. With a ttl of an hour the planned
// renewal is 20 minutes off. (Redis: redis_new_connection_test.cpp.)
#include <boost/asio/use_future.hpp>
#include <functional>
#include <future>
#include <herdlock/herdlock.hpp>
#include <support/as_result.hpp>

#include "etcd_ports.hpp"
#include "mysql_ports.hpp"
#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

// `take_away` is what another program does to the lease "taken" while nobody is connected.
void expect_a_look(std::string const& url, relay& path, std::function<void()> const& take_away) {
  store const opened = open_store(url);
  auto const kept = lock(opened, "kept").try_acquire({.ttl = 1h});
  auto const taken = lock(opened, "taken").try_acquire({.ttl = 1h});
  ASSERT_TRUE(kept && taken);
  path.refuse();
  take_away();
  path.accept();
  // Some connect again with the next command alone.
  ASSERT_TRUE(eventually([&] {
    try {
      lock(opened, "another").inspect();
      return true;
    } catch (error const&) {
      return false;
    }
  }));
  EXPECT_TRUE(eventually([&] { return !taken->valid(); }));
  EXPECT_EQ(taken->lost_reason(), errc::lost);
  EXPECT_TRUE(kept->valid());
}

TEST(mysql_new_connection, ALeaseThatWasTakenAwayMeanwhileIsLost) {
  auto& server = mariadb_server::shared();
  relay path(server.port());
  auto const url = mysql_url("table");
  expect_a_look(mysql_through(path, url), path, [&] {
    server.sql("DELETE FROM `" + mysql_database(url) +
               "`.herdlock_leases WHERE resource = 'taken'");
  });
}

// The old one still answers, over the connection that is there.
TEST(mysql_new_connection, AServerInItsPlaceIsAskedForWhatIsHeld) {
  auto& before = mariadb_server::shared();
  mariadb_server after({"--server-id=2"});
  relay path(before.port());
  std::string const database = "in_its_place";
  after.url(database);  // makes it
  store const opened = open_store(mysql_through(path, before.url(database)));
  auto const held = lock(opened, "r").try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  path.lead_to(after.port());
  // More at once than there are connections.
  std::vector<std::future<result<acquired>>> more;
  for (int i = 0; i < 4; ++i) {
    lock const other(opened, "more:" + std::to_string(i));
    more.push_back(other.async_try_acquire({.ttl = 1min}, as_result(boost::asio::use_future)));
  }
  for (auto& one : more) one.get();
  EXPECT_TRUE(eventually([&] { return !held->valid(); }));
  EXPECT_EQ(held->lost_reason(), errc::lost);
}

TEST(postgres_new_connection, ALeaseThatWasTakenAwayMeanwhileIsLost) {
  auto& server = postgres_server::shared();
  relay path(server.port());
  auto const url = server.fresh_url();
  auto const table = url.substr(url.find("table=") + 6);
  expect_a_look(postgres_server::through(url, server.port(), path.port()), path,
                [&] { server.sql(url, "DELETE FROM " + table + " WHERE name = 'taken'"); });
}

TEST(EtcdNewConnection, ALeaseThatWasTakenAwayMeanwhileIsLost) {
  auto& server = etcd_server::shared();
  server.flush();
  relay path(server.port());
  expect_a_look(through(path), path, [&] { server.member().ctl({"del", "taken/", "--prefix"}); });
}

}  // namespace
}  // namespace herdlock_test
