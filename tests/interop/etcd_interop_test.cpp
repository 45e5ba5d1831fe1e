// etcd's own lock clients, run for real: `etcdctl lock`, and the server's lock service.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/use_future.hpp>
#include <herdlock/herdlock.hpp>
#include <support/etcd_server.hpp>

#include "support/as_result.hpp"

namespace herdlock_test {
namespace {

using namespace std::chrono_literals;
using namespace herdlock;

class EtcdInteropTest : public testing::Test {
 protected:
  EtcdInteropTest() { server().flush(); }
  static etcd_server& server() { return etcd_server::shared(); }

  // Prints the key when it has the lock, and holds it until a signal.
  static child_process etcdctl_lock(std::string const& name) {
    return child_process(server().member().ctl_process({"lock", name, "--ttl=5"}));
  }
  static bool holds(child_process const& other) { return other.output().ends_with("\n"); }
  std::size_t waiting() const {
    auto const info = where.inspect();
    return info ? info->waiting : 0;
  }

  store store_ = open_store(server().url());
  lock const where{store_, "stock/1"};
};

TEST_F(EtcdInteropTest, EtcdctlLockWaitsForOurLease) {
  auto mine = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(mine);
  auto other = etcdctl_lock("stock/1");
  ASSERT_TRUE(eventually([&] { return waiting() == 1; })) << other.errors();
  EXPECT_FALSE(holds(other));
  EXPECT_EQ(mine->release(), release_reply::released);
  EXPECT_TRUE(eventually([&] { return holds(other); })) << other.errors();
}

TEST_F(EtcdInteropTest, WeWaitForEtcdctlLock) {
  auto other = etcdctl_lock("stock/1");
  ASSERT_TRUE(eventually([&] { return holds(other); })) << other.errors();
  EXPECT_FALSE(where.try_acquire({.ttl = 1min}));
  auto const info = where.inspect();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->holder, "another client");
  EXPECT_GT(info->fencing.value, 0u);
  auto waiter = where.async_acquire({.ttl = 1min, .wait = patience}, as_result(asio::use_future));
  ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  other.signal(SIGINT);
  auto mine = waiter.get();
  ASSERT_TRUE(mine && *mine);
  EXPECT_GT((*mine)->fencing(), info->fencing);
  EXPECT_TRUE((*mine)->valid());
}

// Through the JSON gateway, as curl does it; "c3RvY2svMQ==" is stock/1.
TEST_F(EtcdInteropTest, TheServersLockServiceAndWeExcludeEachOther) {
  auto const post = [](std::string const& path, std::string const& body) {
    return child_options{
        .argv = {find_program("curl", "curl"), "--silent", "--show-error", "--fail",
                 "http://127.0.0.1:" + std::to_string(server().port()) + path, "--data", body}};
  };
  run_command(post("/v3/lease/grant", R"({"ID":"4711","TTL":"60"})"));
  std::string const ask = R"({"name":"c3RvY2svMQ==","lease":"4711"})";

  auto mine = where.try_acquire({.ttl = 1min});
  ASSERT_TRUE(mine);
  child_process service(post("/v3/lock/lock", ask));
  ASSERT_TRUE(eventually([&] { return waiting() == 1; })) << service.errors();
  EXPECT_TRUE(service.running());
  EXPECT_EQ(mine->release(), release_reply::released);
  ASSERT_TRUE(service.wait());
  EXPECT_NE(service.output().find("\"key\""), std::string::npos) << service.errors();

  EXPECT_FALSE(where.try_acquire({.ttl = 1min}));
  auto waiter = where.async_acquire({.ttl = 1min, .wait = patience}, as_result(asio::use_future));
  ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  run_command(post("/v3/lease/revoke", R"({"ID":"4711"})"));
  auto again = waiter.get();
  EXPECT_TRUE(again && *again);
}

}  // namespace
}  // namespace herdlock_test
