// `herdlock run` while all goes well.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <support/temp_dir.hpp>

#include "each_store.hpp"
#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

bool stopped(int pid) {
  return content("/proc/" + std::to_string(pid) + "/status").find("State:\tT") != std::string::npos;
}

class Run : public each_store {
 protected:
  words arguments(words options, std::string const& script) const {
    words all{"run", "job", "--store", url()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }
  command_result run(std::string const& script, words options = {}) const {
    return run_herdlock(arguments(std::move(options), script));
  }
  // Holds until it is ended; the file `held` says that it began.
  child_process hold(words options = {}) const {
    auto child = start_herdlock(arguments(
        std::move(options), "touch " + (folder_ / "held").string() + "; exec sleep 1000"));
    EXPECT_TRUE(eventually([&] { return fs::exists(folder_ / "held"); })) << child.errors();
    return child;
  }
};

TEST_P(Run, EndsWithTheCommandsExitCode) {
  EXPECT_EQ(run("exit 0").code, 0);
  EXPECT_EQ(run("exit 7").code, 7);
  EXPECT_EQ(run("exit 76").code, 76) << "the command's own 76";
  EXPECT_EQ(run("kill -TERM $$").code, 128 + SIGTERM);
  EXPECT_EQ(run("exit 0").err, "");
}

TEST_P(Run, TellsTheCommandItsResourceAndAGrowingFencingToken) {
  auto const first = run("echo $HERDLOCK_RESOURCE $HERDLOCK_FENCING_TOKEN");
  auto const second = run("echo $HERDLOCK_RESOURCE $HERDLOCK_FENCING_TOKEN");
  ASSERT_EQ(first.out.rfind("job ", 0), 0u) << first.out << first.err;
  EXPECT_LT(std::stoull(first.out.substr(4)), std::stoull(second.out.substr(4)));
}

TEST_P(Run, PassesWhatFollowsTheDashesAsItIs) {
  auto const shown = run_herdlock(
      {"run", "job", "--store", url(), "--", "printf", "%s|", "--", "-x", "--help", "demo", "a b"});
  EXPECT_EQ(shown.out, "--|-x|--help|demo|a b|") << shown.err;
}

TEST_P(Run, IsBusyWhileAnotherHoldsAndSaysWho) {
  auto holder = hold();
  auto const refused = run("echo never");
  EXPECT_EQ(refused.code, 75);
  EXPECT_EQ(refused.out, "");
  ASSERT_EQ(lines_of(refused.err).size(), 1u) << refused.err;
  EXPECT_NE(refused.err.find("/" + std::to_string(holder.pid())), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("at most"), std::string::npos) << refused.err;
  EXPECT_EQ(run("echo never", {"--wait", "50ms"}).code, 75);
}

TEST_P(Run, WaitsForTheHolderToEnd) {
  auto holder = hold();
  auto waiter = start_herdlock(arguments({"--wait", "forever"}, "echo mine"));
  // In the queue, as far as one can see from outside: it runs, and has said nothing.
  EXPECT_EQ(run("true", {"--wait", "100ms"}).code, 75);
  EXPECT_TRUE(waiter.running());
  EXPECT_EQ(waiter.output(), "");
  holder.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), (exit_status{.code = 0, .signal = {}})) << waiter.errors();
  EXPECT_EQ(waiter.output(), "mine\n");
}

// B7: an interrupted wait leaves no ghost.
TEST_P(Run, AnInterruptedWaitEndsAtOnceAndLeavesNothing) {
  auto holder = hold();
  auto waiter = start_herdlock(arguments({"--wait", "forever", "--verbose"}, "echo never"));
  // From here on it handles signals.
  ASSERT_TRUE(eventually([&] { return waiter.errors().find("asks ") != std::string::npos; }));
  EXPECT_EQ(run("true", {"--wait", "100ms"}).code, 75);
  waiter.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), (exit_status{.code = 128 + SIGTERM, .signal = {}}));
  EXPECT_EQ(waiter.output(), "");
  holder.signal(SIGTERM);
  holder.wait();
  EXPECT_EQ(run("exit 0").code, 0) << "free at once";
}

TEST_P(Run, ForwardsSignalsToTheWholeGroup) {
  for (int const number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    auto const name = std::to_string(number);
    auto const ready = folder_ / ("ready" + name);
    // The outer shell waits for the inner one: both must get it.
    std::string const script = "trap 'echo outer' " + name + "; sh -c \"trap 'echo inner; exit' " +
                               name + "; touch " + ready.string() +
                               "; while :; do sleep 0.01; done\"; exit 3";
    auto child = start_herdlock(arguments({}, script));
    ASSERT_TRUE(eventually([&] { return fs::exists(ready); })) << child.errors();
    child.signal(number);
    EXPECT_EQ(child.wait(), (exit_status{.code = 3, .signal = {}})) << number << child.errors();
    auto const said = child.output();
    EXPECT_NE(said.find("outer"), std::string::npos) << number << said;
    EXPECT_NE(said.find("inner"), std::string::npos) << number << said;
  }
}

TEST_P(Run, AHolderThatIsKilledTakesItsCommandAlong) {
  auto const file = folder_ / "pid";
  auto holder = start_herdlock(arguments({}, "echo $$ > " + file.string() + "; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return content(file).find('\n') != std::string::npos; }));
  auto const command = std::stoi(content(file));
  holder.kill();
  EXPECT_TRUE(eventually([&] { return ::kill(command, 0) != 0; }));
}

TEST_P(Run, TheLeaseIsRenewedWhileTheCommandRuns) {
  auto holder = hold({"--ttl", "4s"});
  // Longer than the ttl by the store's own clock: a waiter would have got it.
  EXPECT_EQ(run("true", {"--wait", "6s"}).code, 75);
  EXPECT_TRUE(holder.running()) << holder.errors();
}

// What the command leaves in the background works under the lease, too.
TEST_P(Run, TheLeaseIsKeptUntilTheLastOfTheGroupHasEnded) {
  auto const left = folder_ / "left";
  auto const go = folder_ / "go";
  auto holder = start_herdlock(arguments(
      {}, "sh -c 'while kill -0 '$$'; do sleep 0.01; done; touch " + left.string() +
              "; while [ ! -e " + go.string() + " ]; do sleep 0.01; done' 2>/dev/null & exit 5"));
  ASSERT_TRUE(eventually([&] { return fs::exists(left); })) << holder.errors();
  EXPECT_EQ(run("echo never").code, 75) << "the leader has ended, and been reaped";
  EXPECT_TRUE(holder.running());
  std::ofstream(go) << "go";
  EXPECT_EQ(holder.wait(), (exit_status{.code = 5, .signal = {}})) << holder.errors();
  EXPECT_EQ(run("exit 0").code, 0);
}

// Nothing of the group works while nobody renews, not even what ignores SIGTSTP.
TEST_P(Run, AStoppedHolderHasStoppedTheWholeGroup) {
  auto const file = folder_ / "pid";
  auto holder = start_herdlock(
      arguments({"--ttl", "1h"}, "sh -c 'trap \"\" TSTP; echo $$ > " + file.string() +
                                     "; exec sleep 1000' & while :; do wait; done"));
  ASSERT_TRUE(eventually([&] { return content(file).find('\n') != std::string::npos; }));
  auto const second = std::stoi(content(file));
  holder.signal(SIGTSTP);
  ASSERT_TRUE(eventually([&] { return stopped(holder.pid()); })) << holder.errors();
  EXPECT_TRUE(eventually([&] { return stopped(second); }));
  holder.resume();
  EXPECT_TRUE(eventually([&] { return !stopped(second); }));
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait(), (exit_status{.code = 128 + SIGTERM, .signal = {}})) << holder.errors();
}

INSTANTIATE_TEST_SUITE_P(Stores, Run, ::testing::Values("sqlite", "redis"),
                         [](auto const& each) { return each.param; });

TEST(RunDefaults, TheStoreIsAFileInTheStateFolderThatOnlyItsOwnerCanRead) {
  temp_dir folder;
  environment const env{{"XDG_STATE_HOME", (folder / "state").string()}};
  EXPECT_EQ(run_herdlock({"run", "job", "--", "true"}, env).code, 0);
  EXPECT_TRUE(fs::exists(folder / "state" / "herdlock" / "herdlock.db"));
  struct stat about {};
  ASSERT_EQ(::stat((folder / "state" / "herdlock").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
}

// A login shell may set XDG_STATE_HOME where cron does not: then one user's job runs twice.
TEST(RunDefaults, WhoNamesNoStoreIsToldWhichFileItIs) {
  temp_dir folder;
  auto const file = (folder / "state" / "herdlock" / "herdlock.db").string();
  environment const env{{"XDG_STATE_HOME", (folder / "state").string()}};
  auto const run = run_herdlock({"run", "job", "--", "true"}, env);
  EXPECT_NE(run.err.find("use the same file are excluded: " + file + "\n"), std::string::npos)
      << run.err;
  auto const elected = run_herdlock({"elect", "job", "--once", "--", "true"}, env);
  EXPECT_NE(elected.err.find("use the same file are excluded: " + file + "\n"), std::string::npos)
      << elected.err;
  for (char const* command : {"run", "elect", "show", "wait", "watch", "release", "doctor"}) {
    auto const help = run_herdlock({command, "--help"}).out;
    EXPECT_NE(help.find("$XDG_STATE_HOME/herdlock"), std::string::npos) << command;
  }
}

TEST(RunDefaults, TheStateFolderIsInTheHomeFolder) {
  temp_dir folder;
  environment const env{{"XDG_STATE_HOME", ""}, {"HOME", folder.path().string()}};
  EXPECT_EQ(run_herdlock({"run", "job", "--", "true"}, env).code, 0);
  EXPECT_TRUE(fs::exists(folder / ".local/state/herdlock/herdlock.db"));
}

}  // namespace
