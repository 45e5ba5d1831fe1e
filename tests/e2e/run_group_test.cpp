// `herdlock run` and `elect` with commands whose processes leave the group: the work is gone only
// when none of them is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <common/watchdog.hpp>
#include <common/work_processes.hpp>
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

bool lives(int pid) {
  auto const status = content("/proc/" + std::to_string(pid) + "/status");
  return !status.empty() && status.find("State:\tZ") == std::string::npos;
}

// How the work leaves the group of the command; `sleeper` writes its number and never ends.
struct way_out {
  char const* name;
  char const* script;
};

void PrintTo(way_out const& way, std::ostream* to) { *to << way.name; }

// Of a shell that ends at once, so that what it started is nobody's child but herdlock's.
constexpr way_out ways[] = {
    {"Timeout", "timeout 1000 sh $0 & exit 3"},
    {"JobControl", "set -m; sh $0 & exit 3"},
    {"OwnSession", "setsid sh $0 & exit 3"},
    {"DaemonsGrandchild", "setsid sh -c 'setsid sh '$0' & exit 0' & exit 3"},
};

class Leavers : public ::testing::TestWithParam<way_out> {
 protected:
  void SetUp() override {
    std::ofstream(sleeper()) << "trap '' TERM INT HUP\necho $$ > " << file("pid")
                             << "\nwhile [ ! -e " << file("go") << " ]; do sleep 0.02; done\n";
  }
  std::string file(char const* name) const { return (folder_ / name).string(); }
  std::string sleeper() const { return file("sleeper.sh"); }
  std::string url() const { return "sqlite:" + file("s.db"); }
  words command(words start) const {
    start.insert(start.end(), {"--", "sh", "-c", GetParam().script, sleeper()});
    return start;
  }
  int pid() const {
    auto const text = content(file("pid"));
    return text.find('\n') == std::string::npos ? 0 : std::stoi(text);
  }
  // The shell's own end is seen, too: from then on only the leaver is left.
  child_process start(words options, std::string const& store) {
    words all{"run", "job", "--store", store};
    all.insert(all.end(), options.begin(), options.end());
    auto child = start_herdlock(command(all));
    EXPECT_TRUE(eventually([&] { return pid() != 0; })) << child.errors();
    return child;
  }

  temp_dir folder_;
};

TEST_P(Leavers, KeepTheLeaseUntilTheyHaveEnded) {
  auto holder = start({"--ttl", "1h"}, url());
  auto const refused =
      run_herdlock({"run", "job", "--store", url(), "--wait", "200ms", "--", "true"});
  EXPECT_EQ(refused.code, 75) << refused.err;
  EXPECT_TRUE(holder.running());
  std::ofstream(file("go")) << "go";
  EXPECT_EQ(holder.wait(), (exit_status{.code = 3, .signal = {}})) << holder.errors();
}

TEST_P(Leavers, AreGoneBeforeTheNextHolderStarts) {
  auto& server = redis_server::shared();
  server.flush();
  relay cut(server.port());
  // Nothing is left a quarter of the grace before the end, 250 ms at most: what a busy machine may
  // take from a promise that is kept in time.
  auto holder =
      start({"--ttl", "4s", "--grace", "1s"}, "redis://127.0.0.1:" + std::to_string(cut.port()));
  cut.stop_forwarding();
  herdlock::lock const job(herdlock::open_store(server.url()), "job");
  auto const mine = job.acquire({.wait = patience});
  ASSERT_TRUE(mine);
  EXPECT_FALSE(lives(pid()));
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
}

// The watchdog alone: there is no ancestor any more to know them by.
TEST_P(Leavers, DoNotOutliveAKilledHerdlock) {
  auto holder = start({"--ttl", "1h"}, url());
  holder.kill();
  EXPECT_TRUE(eventually([&] { return !lives(pid()); }));
}

TEST_P(Leavers, OfAStoppedHerdlockAreGoneBeforeTheNextHolderStarts) {
  auto holder = start({"--ttl", "4s", "--grace", "1s"}, url());
  holder.pause_between_transactions();
  herdlock::lock const job(herdlock::open_store(url()), "job");
  auto const mine = job.acquire({.wait = patience});
  ASSERT_TRUE(mine);
  EXPECT_FALSE(lives(pid()));
  holder.resume();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
}

TEST_P(Leavers, AreKilledWhenALeaderResigns) {
  auto leader = start_herdlock(
      command({"elect", "job", "--store", url(), "--ttl", "1h", "--grace", "100ms"}));
  ASSERT_TRUE(eventually([&] { return pid() != 0; })) << leader.errors();
  leader.signal(SIGTERM);
  EXPECT_EQ(leader.wait(), (exit_status{.code = 0, .signal = {}})) << leader.errors();
  EXPECT_FALSE(lives(pid()));
}

INSTANTIATE_TEST_SUITE_P(Ways, Leavers, ::testing::ValuesIn(ways),
                         [](auto const& each) { return each.param.name; });

class Work : public ::testing::Test {
 protected:
  std::string file(char const* name) const { return (folder_ / name).string(); }
  temp_dir folder_;
};

// A herdlock in a herdlock: the inner one's command has the marks of both.
TEST_F(Work, OfANestedRunEndsWithTheOuterOne) {
  std::string const store = "sqlite:" + file("s.db");
  auto outer =
      start_herdlock({"run", "outer", "--store", store, "--ttl", "1h", "--", HERDLOCK_COMMAND,
                      "run", "inner", "--store", store, "--ttl", "1h", "--", "sh", "-c",
                      "setsid sh -c 'echo $$ > " + file("pid") + "; exec sleep 1000' &"});
  ASSERT_TRUE(eventually([&] { return content(file("pid")).find('\n') != std::string::npos; }))
      << outer.errors();
  int const work = std::stoi(content(file("pid")));
  outer.kill();
  EXPECT_TRUE(eventually([&] { return !lives(work); }));
}

// `sleep 1000 & exec herdlock run …`: its children are not all the command's.
TEST_F(Work, DoesNotIncludeChildrenThatWereThereBefore) {
  child_process holder(
      {.argv = {"sh", "-c",
                "sleep 1000 & echo $! > " + file("before") +
                    "; exec \"$0\" run job --store sqlite:" + file("s.db") + " -- sh -c 'exit 4'",
                HERDLOCK_COMMAND}});
  EXPECT_EQ(holder.wait(), (exit_status{.code = 4, .signal = {}})) << holder.errors();
  int const before = std::stoi(content(file("before")));
  EXPECT_TRUE(lives(before));
  ::kill(before, SIGKILL);
}

TEST_F(Work, OfWhichTheGroupHasEndedHearsOfTheEnd) {
  auto holder =
      start_herdlock({"run", "job", "--store", "sqlite:" + file("s.db"), "--", "sh", "-c",
                      "setsid sh -c 'while kill -0 \"$1\" 2>/dev/null; do :; done; echo $$ > " +
                          file("pid") + "; exec sleep 1000' sh $$ & exit 3"});
  ASSERT_TRUE(eventually([&] { return content(file("pid")).find('\n') != std::string::npos; }))
      << "the group has ended";
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait(), (exit_status{.code = 3, .signal = {}})) << holder.errors();
}

// Reading the environment of one that sleeps in the kernel can make the reader sleep there, too:
// the others must be found without it. What vfork() waits in is such a sleep.
TEST_F(Work, IsFoundWithoutAskingWhoeverSleepsInTheKernel) {
  pid_t const sleeper = ::fork();
  if (sleeper == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // vfork() with memory of its own.
    bool const child = ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0;
    if (child) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }
  ::setpgid(sleeper, sleeper);
  auto const state = [&] { return content("/proc/" + std::to_string(sleeper) + "/status"); };
  namespace cli = herdlock::cli;
  cli::work_signs signs{.mark = "PATH=", .only_in = sleeper};
  // Either of them may sleep there for a moment for other reasons, too: for a page, say.
  EXPECT_TRUE(eventually([&] { return cli::signal_work(signs, 0).living == 2u; }));
  EXPECT_TRUE(eventually([&] { return state().find("State:\tD") != std::string::npos; }));
  signs.sleepers = cli::kernel_sleepers::passed_over;
  EXPECT_TRUE(eventually([&] { return cli::signal_work(signs, 0).living == 1u; }));
  ::kill(-sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
}

// As when the kernel holds a thread of herdlock's: its end must be seen by other signs.
TEST_F(Work, EndsWithHerdlockAlsoWhenTheWatchdogsPipeStaysOpen) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  pid_t const holder = ::fork();
  if (holder == 0) {
    auto const idle = [] {
      while (true) ::pause();
    };
    herdlock::cli::watchdog dog(herdlock::clock::time_point::max(), "4711-no-such-mark");
    pid_t made[2];
    for (auto& one : made) {
      one = ::fork();
      if (one == 0) ::setpgid(0, 0);
      if (one == 0) idle();
      ::setpgid(one, one);
    }
    dog.watch(made[0]);
    if (::write(ends[1], made, sizeof made) < 0) ::_exit(1);
    idle();
  }
  pid_t made[2] = {0, 0};
  ASSERT_EQ(::read(ends[0], made, sizeof made), static_cast<ssize_t>(sizeof made));
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return !lives(made[0]); }));
  EXPECT_TRUE(lives(made[1])) << "it has the pipe";
  for (pid_t const one : made) ::kill(one, SIGKILL);
  for (int const end : ends) ::close(end);
}

// Kernels before 5.9 have no close_range().
TEST_F(Work, ClosesDescriptorsOneByOneWhereItMust) {
  pid_t const child = ::fork();
  if (child == 0) {
    int const low = ::dup(1);
    int const high = ::dup2(1, 900);
    herdlock::cli::close_one_by_one_from(3);
    bool const closed = low >= 3 && ::write(low, "", 0) < 0 && ::write(high, "", 0) < 0;
    ::_exit(closed && ::write(2, "", 0) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
