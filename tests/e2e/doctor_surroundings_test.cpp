// `herdlock doctor` where the fault is not in the server alone: clocks, file systems, clusters.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <support/free_port.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>

#include "doctor_report.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;
namespace fs = std::filesystem;

command_result run(words argv, environment env = {}) {
  env.emplace_back("HERDLOCK_STORE", "");
  child_process child({.argv = std::move(argv), .env = std::move(env)});
  auto const ended = child.wait(std::chrono::minutes(2));
  return {ended && ended->code ? *ended->code : -1, child.output(), child.errors()};
}

// The machine's clock is an hour ahead of the server's; time goes by as usual. The library that
// does it is loaded first, where the address sanitizer wants to be.
doctor_report examined_an_hour_ahead(std::string const& url) {
  char const* const options = std::getenv("ASAN_OPTIONS");
  std::string const asan = (options ? std::string(options) + ":" : "") + "verify_asan_link_order=0";
  return read_report(run({find_program("faketime", "faketime"), "-f", "+1h", HERDLOCK_COMMAND,
                          "doctor", "--json", "--store", url},
                         {{"FAKETIME_DONT_FAKE_MONOTONIC", "1"}, {"ASAN_OPTIONS", asan}}));
}

TEST(DoctorClock, FindsAMachineThatIsAheadOfItsServer) {
  auto& redis = redis_server::shared();
  std::pair<std::string, std::string> const all[] = {
      {redis.url(), "warning redis.clock"},
      {redis.url() + "?dialect=getset", "error redis.clock"},
      {mariadb_server::shared().url("skewed"), "warning mysql.clock"},
      {postgres_server::shared().fresh_url(), "warning postgres.clock"}};
  for (auto const& [url, finding] : all) {
    EXPECT_FALSE(examined(url).has(finding)) << url;
    auto const report = examined_an_hour_ahead(url);
    EXPECT_TRUE(report.has(finding)) << url << report.text;
    EXPECT_NE(report.text.find(" differ by 3"), std::string::npos) << report.text;
  }
}

TEST(DoctorNetwork, FindsAStoreThatIsFarAway) {
  auto& server = redis_server::shared();
  relay path(server.port());
  path.set_delay(std::chrono::milliseconds(130));
  auto const report = examined("redis://127.0.0.1:" + std::to_string(path.port()) + "?timeout=10s");
  EXPECT_TRUE(report.has("warning store.round_trip")) << report.text;
}

// FUSE, as sshfs is; mounted read-only, in a mount namespace that goes with the command.
TEST(DoctorSqliteFolder, FindsANetworkFileSystem) {
  temp_dir folder;
  auto const ended =
      run({"unshare", "--mount", "python3", std::string(E2E_FOLDER) + "/network_folder.py",
           folder.path().string(), HERDLOCK_COMMAND, "doctor", "--json", "--store",
           "sqlite:" + (folder / "s.db").string()});
  // Where this user may not mount, only the table of file systems is tested (sqlite_test.cpp).
  if (ended.code == 77 || ended.err.find("unshare:") != std::string::npos) {
    std::cerr << "no network file system to be had: " << ended.err;
    return;
  }
  auto const report = read_report(ended);
  for (char const* finding : {"error sqlite.network", "error sqlite.folder", "error sqlite.file"}) {
    EXPECT_TRUE(report.has(finding)) << finding << report.text;
  }
}

// A cluster of one node is one.
TEST(DoctorGalera, FindsANodeOfACluster) {
  // Where the server's user can read it, which is not the one who runs the tests.
  temp_dir folder;
  fs::permissions(folder.path(), fs::perms(0755));
  fs::copy_file(find_program("libgalera_smm.so", "galera-4"), folder / "galera.so");
  fs::permissions(folder / "galera.so", fs::perms(0644));
  kept_ports ports;
  auto const place = "tcp://127.0.0.1:" + std::to_string(ports.add());
  mariadb_server node({"--wsrep-on=ON", "--wsrep-cluster-address=gcomm://", "--binlog-format=ROW",
                       "--innodb-autoinc-lock-mode=2", "--wsrep-node-address=127.0.0.1",
                       "--innodb-flush-log-at-trx-commit=1",
                       "--wsrep-provider=" + (folder / "galera.so").string(),
                       "--wsrep-provider-options=gmcast.listen_addr=" + place});
  auto const url = node.url("locks");
  EXPECT_EQ(examined(url + "?mode=table").findings(), words{"warning mysql.galera"});
  for (char const* mode : {"row", "named"}) {
    auto const report = examined(url + "?mode=" + mode);
    EXPECT_EQ(report.findings(), (words{"error mysql.galera", "error store.usable"}))
        << mode << report.text;
  }
}

}  // namespace
