// `herdlock run` when the lease is lost: the command ends before the lease can be another's.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

// A command that runs for ever in two processes; both refuse SIGTERM if told to.
class RunLoss : public ::testing::Test {
 protected:
  void SetUp() override { redis_server::shared().flush(); }

  fs::path file(char const* name) const { return folder_ / name; }

  child_process start(std::string const& url, words options, std::string const& on_term) const {
    std::string const script = "trap '" + on_term + "' TERM; echo $$ > " + file("leader").string() +
                               "; sh -c 'trap \"\" TERM; echo $$ > " + file("second").string() +
                               "; while :; do sleep 0.05; done' & "
                               "while :; do wait; done";
    words all{"run", "job", "--store", url};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    auto child = start_herdlock(all);
    EXPECT_TRUE(eventually([&] { return pid("leader") && pid("second"); })) << child.errors();
    return child;
  }

  // Whoever gets the lease next looks whether anything of the first is still there.
  command_result next(std::string const& url) const {
    std::string const script =
        "for p in $(cat " + file("leader").string() + " " + file("second").string() +
        "); do kill -0 $p 2>/dev/null && echo $p still runs; done; echo done";
    return run_herdlock({"run", "job", "--store", url, "--wait", "20s", "--", "sh", "-c", script});
  }

  int pid(char const* name) const {
    auto const text = content(file(name));
    return text.find('\n') == std::string::npos ? 0 : std::stoi(text);
  }
  bool alive(char const* name) const { return ::kill(pid(name), 0) == 0; }

  temp_dir folder_;
};

// B1, B23: the store hangs, the command refuses SIGTERM; nothing of it sees the next holder.
TEST_F(RunLoss, WithoutTheStoreTheWholeGroupIsGoneBeforeTheNextHolderStarts) {
  auto& server = redis_server::shared();
  relay cut(server.port());
  auto holder = start("redis://127.0.0.1:" + std::to_string(cut.port()),
                      {"--ttl", "4s", "--grace", "1s"}, "");
  cut.stop_forwarding();
  auto const second = next(server.url());
  EXPECT_EQ(second.out, "done\n") << second.err;
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_EQ(lines_of(holder.errors()).size(), 1u) << holder.errors();
  EXPECT_NE(holder.errors().find("lost"), std::string::npos) << holder.errors();
}

TEST_F(RunLoss, TheCommandIsAskedToEndFirst) {
  auto& server = redis_server::shared();
  relay cut(server.port());
  auto holder =
      start("redis://127.0.0.1:" + std::to_string(cut.port()), {"--ttl", "4s", "--grace", "1900ms"},
            "echo cleaned > " + file("cleaned").string() + "; exit 0");
  cut.refuse();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_EQ(content(file("cleaned")), "cleaned\n");
  EXPECT_FALSE(alive("second")) << "it refused SIGTERM, and its leader has ended";
}

// B1, B4: the store says that the lease is gone. There is no time for a grace.
TEST_F(RunLoss, TakenAwayByAnOperatorItIsKilledAtOnce) {
  auto& server = redis_server::shared();
  auto holder = start(server.url(), {"--ttl", "3s", "--grace", "1400ms"},
                      "echo asked > " + file("asked").string());
  herdlock::lock const job(herdlock::open_store(server.url()), "job");
  EXPECT_TRUE(job.force_release());
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_FALSE(fs::exists(file("asked")));
  EXPECT_FALSE(alive("leader"));
  EXPECT_FALSE(alive("second"));
}

// Nobody reads what herdlock says: the command ends in time all the same.
class RunLossUnread : public RunLoss, public ::testing::WithParamInterface<std::string> {};

TEST_P(RunLossUnread, TheCommandIsKilledAllTheSame) {
  auto& server = redis_server::shared();
  auto const fifo = file("fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  int const reader = ::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  child_process holder(
      {.argv = {"sh", "-c", "exec \"$0\" \"$@\" 2>" + fifo, HERDLOCK_COMMAND, "run", "job",
                "--store", server.url(), "--ttl", "3s", "--", "sh", "-c",
                "echo $$ > " + file("leader").string() + "; exec sleep 1000"}});
  ASSERT_TRUE(eventually([&] { return pid("leader") != 0; }));
  if (GetParam() == "closed") {
    ::close(reader);
  } else {
    while (::write(reader, "x", 1) == 1) {
    }
  }
  herdlock::lock const job(herdlock::open_store(server.url()), "job");
  EXPECT_TRUE(job.force_release());
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}}));
  EXPECT_FALSE(alive("leader"));
  if (GetParam() == "full") ::close(reader);
}

INSTANTIATE_TEST_SUITE_P(StandardError, RunLossUnread, ::testing::Values("full", "closed"),
                         [](auto const& each) { return each.param; });

// B17: a machine that slept. Everything of it wakes up at the same time.
TEST_F(RunLoss, AfterAPauseLongerThanTheTtlItIsKilledAtOnce) {
  auto const url = "sqlite:" + file("s.db").string();
  auto holder = start(url, {"--ttl", "3s"}, "echo asked > " + file("asked").string());
  holder.pause_between_transactions();
  ::kill(-pid("leader"), SIGSTOP);
  herdlock::lock const job(herdlock::open_store(url), "job");
  auto mine = job.acquire({.wait = patience});
  ASSERT_TRUE(mine);
  holder.resume();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_FALSE(fs::exists(file("asked")));
  EXPECT_FALSE(alive("leader"));
  EXPECT_FALSE(alive("second"));
  EXPECT_TRUE(mine->valid()) << "B5: it did not touch the new holder's lease";
}

// B23: no orphan, not even of what the command has started, and which refuses SIGTERM.
TEST_F(RunLoss, KilledItselfItLeavesNothingOfTheGroup) {
  auto holder = start("sqlite:" + file("s.db").string(), {"--ttl", "1h"}, "");
  holder.kill();
  EXPECT_TRUE(eventually([&] { return !alive("leader") && !alive("second"); }));
}

// B17: herdlock stands still, the command does not. It is not reaped yet, but dead.
TEST_F(RunLoss, StoppedItselfItsCommandIsGoneBeforeTheNextHolderStarts) {
  auto const url = "sqlite:" + file("s.db").string();
  auto holder = start(url, {"--ttl", "4s", "--grace", "1s"}, "");
  holder.pause_between_transactions();
  herdlock::lock const job(herdlock::open_store(url), "job");
  auto const mine = job.acquire({.wait = patience});
  ASSERT_TRUE(mine);
  for (char const* each : {"leader", "second"}) {
    auto const status = content("/proc/" + std::to_string(pid(each)) + "/status");
    EXPECT_TRUE(status.empty() || status.find("State:\tZ") != std::string::npos) << status;
  }
  holder.resume();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
}

// The command ends by itself after the lease was taken away, before a renewal has noticed.
TEST_F(RunLoss, FoundOutAtTheReleaseIsLostToo) {
  auto const url = "sqlite:" + file("s.db").string();
  auto holder = start_herdlock({"run", "job", "--store", url, "--ttl", "1h", "--", "sh", "-c",
                                "touch " + file("held").string() + "; while [ ! -e " +
                                    file("go").string() + " ]; do sleep 0.01; done"});
  ASSERT_TRUE(eventually([&] { return fs::exists(file("held")); }));
  herdlock::lock const job(herdlock::open_store(url), "job");
  EXPECT_TRUE(job.force_release());
  std::ofstream(file("go")) << "go";
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
}

}  // namespace
