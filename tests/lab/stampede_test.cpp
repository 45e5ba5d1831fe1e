// `herdlock-lab stampede`, for real: one load for each expiry, and what becomes of its processes.
#include <signal.h>

#include <filesystem>
#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>

#include "e2e/process_tree.hpp"
#include "stampede_play.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

// The promise of the project, on its embedded default. S1: the fleet is guarded, not the machine's
// processes one by one.
TEST_F(Stampede, OnTheEmbeddedDefaultTheFleetLoadsOncePerExpiry) {
  json const list = play_stampede(on_a_file(
      {"--processes", "3", "--requests", "30", "--expiries", "3", "--load-time", "200ms"}));
  ASSERT_EQ(list.size(), 3u) << list;
  expect_all_answered(list);
  // Nearly all: on a slow machine a request may come when the first load has ended.
  EXPECT_GE(mode_of(list, "naive")["loads"], 3 * 90 * 8 / 10) << list;
  // One for each process; a process that is late by a whole load finds the other's value.
  EXPECT_LE(mode_of(list, "process")["loads"], 3 * 3) << list;
  EXPECT_GE(mode_of(list, "process")["loads"], 3 * 2) << list;
  EXPECT_EQ(mode_of(list, "fleet")["loads"], 3) << list;
  for (json const& each : list) expect_waits_for_the_new(each);
  EXPECT_EQ(mode_of(list, "naive")["waited"], mode_of(list, "naive")["loads"]) << list;
}

TEST_F(Stampede, OnRedisAndMariaDbTheFleetLoadsOncePerExpiryAndTheDatabaseSaysSo) {
  auto& redis = redis_server::shared();
  auto& database = mariadb_server::shared();
  redis.flush();
  json const list =
      play_stampede({"--store", redis.url(), "--origin", database.url("demo"), "--processes", "3",
                     "--requests", "40", "--expiries", "4", "--load-time", "100ms"});
  ASSERT_EQ(list.size(), 3u) << list;
  expect_all_answered(list);
  EXPECT_GE(mode_of(list, "naive")["loads"], 4 * 120 * 8 / 10) << list;
  EXPECT_LE(mode_of(list, "process")["loads"], 4 * 3) << list;
  EXPECT_EQ(mode_of(list, "fleet")["loads"], 4) << list;
  // The log is in the database for everybody to read.
  EXPECT_EQ(database.sql("SELECT COUNT(*) FROM demo.herdlock_demo_load WHERE mode = 'fleet'"),
            "4\n");
  // The scene takes its entry away: no key of a value is left.
  EXPECT_EQ(redis.command({"GET", "herdlock-demo"}), "(nil)");
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

TEST_F(Stampede, InOneProcessTheMemoryStoreWillDo) {
  json const list = play_stampede({"--store", "memory:", "--processes", "1", "--requests", "200",
                                   "--expiries", "2", "--mode", "fleet"});
  ASSERT_EQ(list.size(), 1u) << list;
  expect_all_answered(list);
  EXPECT_EQ(list[0]["loads"], 2);
}

// Who comes first has the old product as his answer, and the load runs behind it.
void expect_waits_for_nothing(json const& mode) {
  EXPECT_EQ(mode["waited"], 0) << mode;
  EXPECT_GE(mode["stale"], mode["expiries"]) << mode;
}

// The entry of `early` ends two load times behind the first request, and the load that it begins is
// to end before, also on a slow machine.
void play_the_classical(words options) {
  options.insert(options.end(), {"--processes", "3", "--requests", "30", "--expiries", "2"});
  auto const with = [&](words more) {
    more.insert(more.end(), options.begin(), options.end());
    return play_stampede(more);
  };
  json list = with({"--mode", "logical,double-lock,hash", "--load-time", "200ms"});
  list.push_back(with({"--mode", "early", "--load-time", "2500ms"}).at(0));
  ASSERT_EQ(list.size(), 4u) << list;
  expect_all_answered(list);
  for (json const& each : list) expect_one_load_per_expiry(each);
  for (auto const* mode : {"early", "logical"}) expect_waits_for_nothing(mode_of(list, mode));
  for (auto const* mode : {"double-lock", "hash"}) expect_waits_for_the_new(mode_of(list, mode));
}

TEST_F(Stampede, OnTheEmbeddedDefaultTheClassicalSchemesLoadOncePerExpiryToo) {
  play_the_classical(on_a_file({}));
}

TEST_F(Stampede, OnRedisWithLocksInMariaDbTheClassicalSchemesLoadOncePerExpiryToo) {
  auto& redis = redis_server::shared();
  auto& database = mariadb_server::shared();
  redis.flush();
  play_the_classical(
      {"--store", redis.url(), "--locks", database.url("locks"), "--origin", database.url("demo")});
  EXPECT_EQ(redis.command({"KEYS", "*product:42"}), "") << "the entry";
}

// S2: a dead loader does not block the key; S5: and its waiters do not load one by one.
void kill_the_loader(words options) {
  options.insert(options.end(),
                 {"--mode", "fleet", "--kill-loader", "--processes", "3", "--requests", "20",
                  "--expiries", "2", "--load-time", "1s", "--claim-ttl", "3s"});
  json const list = play_stampede(options);
  ASSERT_EQ(list.size(), 1u) << list;
  // First expiry: 2 processes of 3 are left, and the killed load and one more; then as ever.
  EXPECT_EQ(list[0]["answers"], 2 * 20 + 3 * 20) << list;
  EXPECT_EQ(list[0]["errors"], 0) << list;
  EXPECT_EQ(list[0]["loads"], 2 + 1) << list;
}

TEST_F(Stampede, AKilledLoaderIsReplacedByExactlyOneOnSqlite) { kill_the_loader(on_a_file({})); }

TEST_F(Stampede, AKilledLoaderIsReplacedByExactlyOneOnRedis) {
  kill_the_loader({"--store", redis_server::shared().url()});
}

// So long that it is met while it plays. The store's server is one of its processes, if it has one.
class LongStampede : public Stampede {
 protected:
  child_process start(words options) const {
    options.insert(options.begin(),
                   {"stampede", "--mode", "fleet", "--processes", "3", "--expiries", "10000"});
    return start_lab(options, {{"TMPDIR", folder_.path().string()}});
  }
  static std::vector<std::string> processes_of(child_process& played, std::size_t count) {
    EXPECT_TRUE(eventually([&] { return children_of(played.pid()).size() == count; }))
        << played.errors();
    return children_of(played.pid());
  }
};

// B23: a command that ends leaves no process behind.
TEST_F(LongStampede, InterruptedItEndsItsProcessesAndItsServerAndRemovesItsFiles) {
  auto played = start({});
  auto const processes = processes_of(played, 4);
  played.signal(SIGINT);
  EXPECT_EQ(played.wait(), (exit_status{.code = 128 + SIGINT, .signal = {}}));
  expect_all_gone(processes);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(LongStampede, KilledItTakesItsProcessesAndItsServerAlong) {
  auto played = start({});
  auto const processes = processes_of(played, 4);
  played.kill();
  expect_all_gone(processes);
}

TEST_F(LongStampede, AProcessThatDiesUnexpectedlyIsReportedInOneLine) {
  auto played = start(on_a_file({}));
  auto const processes = processes_of(played, 3);
  ::kill(std::stoi(processes[1]), SIGKILL);
  EXPECT_EQ(played.wait(), (exit_status{.code = 69, .signal = {}}));
  EXPECT_EQ(lines_of(played.errors()).size(), 1u) << played.errors();
  EXPECT_NE(played.errors().find("process 2 (fleet) died"), std::string::npos) << played.errors();
  expect_all_gone(processes);
}

}  // namespace
