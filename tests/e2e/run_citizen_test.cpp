// `herdlock run` among other processes: whoever works in an unusual way is of the command all the
// same, and is ended or named.
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <support/system_user.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

// Also one whose first thread has ended.
bool works(int pid) {
  std::error_code none;
  for (auto const& thread :
       fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", none)) {
    auto const status = content(thread.path() / "status");
    if (!status.empty() && status.find("State:\tZ") == std::string::npos) return true;
  }
  return false;
}

class Citizen : public ::testing::Test {
 protected:
  std::string file(char const* name) const { return (folder_ / name).string(); }
  std::string url() const { return "sqlite:" + file("s.db"); }
  words run(words options, std::string const& script) const {
    words all{"run", "job", "--store", url()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }
  int pid() const {
    auto const text = content(file("pid"));
    return text.find('\n') == std::string::npos ? 0 : std::stoi(text);
  }
  void take_away() const {
    herdlock::lock const job(herdlock::open_store(url()), "job");
    EXPECT_TRUE(job.force_release());
  }
  temp_dir folder_;
};

// A process whose first thread has ended, outside the group and without parents of the command's.
class Headless : public Citizen {
 protected:
  child_process start() const {
    auto holder = start_herdlock(
        run({"--ttl", "3s"}, "setsid sh -c '" HEADLESS " " + file("pid") + "; true' & exit 0"));
    EXPECT_TRUE(eventually([&] { return pid() != 0; })) << holder.errors();
    return holder;
  }
};

// B1, B23
TEST_F(Headless, WorkIsGoneWhenTheLeaseIsLost) {
  auto holder = start();
  take_away();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_FALSE(works(pid()));
  if (works(pid())) ::kill(pid(), SIGKILL);
}

// The watchdog finds it by its mark alone.
TEST_F(Headless, WorkDoesNotOutliveAKilledHerdlock) {
  auto holder = start();
  holder.kill();
  EXPECT_TRUE(eventually([&] { return !works(pid()); }));
  if (works(pid())) ::kill(pid(), SIGKILL);
}

// As `pkill -9 herdlock` and `pkill -9 -f herdlock` go by: the name and the arguments.
bool is_hit_by_pkill(fs::path const& process) {
  return content(process / "comm").find("herdlock") != std::string::npos ||
         content(process / "cmdline").find("herdlock") != std::string::npos;
}

words born_of(int parent) {
  words found;
  std::string const wanted = "\nPPid:\t" + std::to_string(parent) + "\n";
  for (auto const& each : fs::directory_iterator("/proc")) {
    if (content(each.path() / "status").find(wanted) != std::string::npos) {
      found.push_back(each.path().string());
    }
  }
  return found;
}

// B23: whoever kills herdlock by its name leaves the one that ends the command.
TEST_F(Citizen, TheWatchdogIsNotHitByWhatKillsHerdlockByName) {
  auto holder = start_herdlock(
      run({"--ttl", "1h"}, "setsid sh -c 'echo $$ > " + file("pid") + "; exec sleep 1000' & wait"));
  ASSERT_TRUE(eventually([&] { return pid() != 0; })) << holder.errors();
  auto const children = born_of(holder.pid());
  EXPECT_EQ(children.size(), 2u) << "the command and the watchdog";
  for (fs::path const child : children) {
    if (is_hit_by_pkill(child)) ::kill(std::stoi(child.filename()), SIGKILL);
  }
  holder.kill();
  EXPECT_TRUE(eventually([&] { return !works(pid()); }));
  if (works(pid())) ::kill(pid(), SIGKILL);
}

// Only root can make a program that changes its user.
bool can_be_made() { return ::geteuid() == 0; }

// What sudo does: no signal of herdlock's reaches it.
class OtherUser : public Citizen {
 protected:
  void SetUp() override {
    if (!can_be_made()) return;
    give_to("nobody", folder_.path());
    fs::copy_file(HEADLESS, file("as_root"));
    fs::permissions(file("as_root"), fs::perms(04755));
    fs::copy_file(HERDLOCK_COMMAND, file("herdlock"));
  }
  void TearDown() override {
    if (pid() != 0) ::kill(pid(), SIGKILL);
  }
  child_process start(words options) const {
    words all{file("herdlock"), "run", "job", "--store", url()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", file("as_root"), file("pid")});
    child_process holder({.argv = all, .user = "nobody"});
    EXPECT_TRUE(eventually([&] { return pid() != 0; })) << holder.errors();
    auto const status = content("/proc/" + std::to_string(pid()) + "/status");
    EXPECT_NE(status.find("\nUid:\t0\t0\t0\t0\n"), std::string::npos)
        << "the temporary folder is mounted without set-user-id: " << status;
    return holder;
  }
  bool is_told(child_process const& by) const {
    return eventually([&] {
      return by.errors().find("runs as another user and cannot be stopped") != std::string::npos;
    });
  }
};

TEST_F(OtherUser, WorkIsToldOfBeforeAnythingDependsOnIt) {
  if (!can_be_made()) return;
  auto holder = start({"--ttl", "1h", "--json"});
  EXPECT_TRUE(is_told(holder)) << holder.errors();
  auto const last = nlohmann::json::parse(lines_of(holder.errors()).back(), nullptr, false);
  ASSERT_TRUE(last.is_object()) << holder.errors();
  EXPECT_EQ(last.at("event"), "warning");
  EXPECT_EQ(last.at("to"), "working");
  EXPECT_GT(last.at("term").get<std::uint64_t>(), 0u);
}

// B1: it runs on beside the next holder. Nobody can help that, but it is not silent.
TEST_F(OtherUser, WorkThatOutlivesItsLeaseIsNamed) {
  if (!can_be_made()) return;
  auto holder = start({"--ttl", "1h"});
  take_away();
  EXPECT_TRUE(is_told(holder)) << holder.errors();
  EXPECT_NE(holder.errors().find("process " + std::to_string(pid())), std::string::npos);
}

TEST_F(Citizen, AStoppedCommandHearsOfTheEnd) {
  auto holder =
      start_herdlock(run({"--ttl", "1h"}, "echo $$ > " + file("pid") + "; kill -STOP $$"));
  ASSERT_TRUE(eventually([&] {
    auto const status = content("/proc/" + std::to_string(pid()) + "/status");
    return status.find("State:\tT") != std::string::npos;
  })) << holder.errors();
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait(), (exit_status{.code = 143, .signal = {}})) << holder.errors();
}

TEST_F(Citizen, ACommandThatWantsTheTerminalInVainIsNamed) {
  auto holder = start_herdlock(run({"--ttl", "1h"}, "kill -TTIN $$"));
  EXPECT_TRUE(eventually([&] {
    return holder.errors().find("it wants the terminal") != std::string::npos;
  })) << holder.errors();
  holder.signal(SIGTERM);
  EXPECT_EQ(holder.wait(), (exit_status{.code = 143, .signal = {}})) << holder.errors();
}

// Starts it on a terminal of its own, of which `input` is typed, and waits for its end.
std::string on_a_terminal(std::string const& script, std::string const& input) {
  int terminal = -1;
  pid_t const shell = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (shell == 0) {
    ::alarm(60);
    ::execlp("sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  EXPECT_EQ(::write(terminal, input.data(), input.size()), static_cast<ssize_t>(input.size()));
  std::string shown;
  char text[1024];
  for (ssize_t got = 1; (got = ::read(terminal, text, sizeof text)) > 0;) {
    shown.append(text, static_cast<std::size_t>(got));
  }
  ::waitpid(shell, nullptr, 0);
  ::close(terminal);
  return shown;
}

// What sudo, ssh and gpg do behind a pipe.
TEST_F(Citizen, ACommandBehindAPipeReadsFromTheTerminal) {
  std::string const script = "echo | " HERDLOCK_COMMAND " run job --ttl 1h --store " + url() +
                             " -- sh -c 'read a </dev/tty; echo got $a > " + file("got") + "'";
  auto const shown = on_a_terminal(script, "word\n");
  EXPECT_EQ(content(file("got")), "got word\n") << shown;
}

TEST_F(Citizen, ANoticeFromTheBackgroundDoesNotStopHerdlock) {
  std::string const script = "stty tostop; set -m; " HERDLOCK_COMMAND
                             " run job --ttl 1h --verbose --store " +
                             url() + " -- touch " + file("done") + " </dev/null & wait";
  auto const shown = on_a_terminal(script, "");
  EXPECT_TRUE(fs::exists(file("done"))) << shown;
}

// As from a parent that uses signalfd and forgets the mask.
TEST_F(Citizen, SignalsThatAParentBlockedAreHeardAndStayBlockedForTheCommand) {
  child_process once({.argv = {"env", "--block-signal=CHLD,TERM", HERDLOCK_COMMAND, "run", "job",
                               "--store", url(), "--", "grep", "SigBlk", "/proc/self/status"}});
  EXPECT_EQ(once.wait(), (exit_status{.code = 0, .signal = {}})) << once.errors();
  EXPECT_EQ(once.output(), "SigBlk:\t0000000000014000\n");
}

TEST_F(Citizen, AClosedOutputIsNoFileOfTheStores) {
  child_process watching({.argv = {"sh", "-c", "exec \"$0\" \"$@\" >&-", HERDLOCK_COMMAND, "watch",
                                   "job", "--store", url()}});
  ASSERT_TRUE(eventually([&] { return fs::exists(file("s.db")); })) << watching.errors();
  std::error_code none;
  auto const output = fs::read_symlink("/proc/" + std::to_string(watching.pid()) + "/fd/1", none);
  EXPECT_EQ(output, "/dev/null");
}

// Whoever can write to the store chooses what is shown.
TEST_F(Citizen, LabelsOfOthersDoNothingToTheTerminal) {
  auto holder =
      start_herdlock(run({"--ttl", "1h"}, "echo $$ > " + file("pid") + "; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return pid() != 0; })) << holder.errors();
  run_command({.argv = {"python3", "-c",
                        "import sqlite3, sys\n"
                        "db = sqlite3.connect(sys.argv[1], timeout=10)\n"
                        "owner = '\\x1b]0;title\\x07 \\x9b31m:' + '0' * 32\n"
                        "db.execute('UPDATE herdlock_leases_3 SET owner = ?', (owner,))\n"
                        "db.commit()",
                        file("s.db")}});
  std::string seen;
  for (words const& look :
       {words{"show", "job"}, words{"show"}, words{"wait", "job", "--timeout", "1ms"},
        words{"run", "job", "--", "true"}}) {
    words all{look.front(), "--store", url()};
    all.insert(all.end(), look.begin() + 1, look.end());
    auto const told = run_herdlock(all);
    seen += told.out + told.err;
  }
  EXPECT_NE(seen.find("\\x1b]0;title"), std::string::npos) << seen;
  EXPECT_EQ(seen.find('\x1b'), std::string::npos);
  EXPECT_EQ(seen.find("\xc2\x9b"), std::string::npos);
}

TEST_F(Citizen, TimesThatNoClockCanCountToAreRefused) {
  auto const wait = run_herdlock({"wait", "job", "--store", url(), "--timeout", "9999999h"});
  EXPECT_EQ(wait.code, 64) << wait.err;
  for (char const* grace : {"5000000000000000000ms", "9223372036854775807ms"}) {
    auto const ended = run_herdlock(run({"--grace", grace}, "true"));
    EXPECT_EQ(ended.code, 64) << ended.err;
  }
}

TEST_F(Citizen, BusyCanBeQuietAndADeadStoreCannot) {
  auto holder =
      start_herdlock(run({"--ttl", "1h"}, "echo $$ > " + file("pid") + "; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return pid() != 0; })) << holder.errors();
  auto const busy = run_herdlock(run({"--if-busy", "quiet"}, "true"));
  EXPECT_EQ(busy.code, 0);
  EXPECT_EQ(busy.err + busy.out, "");
  auto const dead = run_herdlock({"run", "job", "--store", "redis://127.0.0.1:1?timeout=200ms",
                                  "--if-busy", "quiet", "--", "true"});
  EXPECT_EQ(dead.code, 69);
  EXPECT_NE(dead.err, "");
  EXPECT_EQ(run_herdlock(run({"--if-busy", "loud"}, "true")).code, 64);
}

TEST_F(Citizen, WithoutAStoreItSaysWhomItExcludes) {
  environment const home{
      {"XDG_STATE_HOME", file("state")}, {"HOME", file("home")}, {"HERDLOCK_STORE_FILE", ""}};
  fs::create_directory(file("home"));
  // Quiet is for what another holds. That nobody elsewhere is excluded is said to cron, too.
  for (words const& options : {words{}, words{"--if-busy", "quiet"}}) {
    words all{"run", "job"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "true"});
    auto const unnamed = run_herdlock(all, home);
    EXPECT_EQ(unnamed.code, 0) << unnamed.err;
    ASSERT_EQ(lines_of(unnamed.err).size(), 1u) << unnamed.err;
    EXPECT_NE(unnamed.err.find("no store is named"), std::string::npos) << unnamed.err;
  }
  EXPECT_EQ(run_herdlock(run({}, "true")).err, "");
}

TEST_F(Citizen, TheFirstLineTellsTheStoreWithoutItsPassword) {
  std::string const dead = "redis://:s3cret@127.0.0.1:1?timeout=200ms";
  for (char const* form : {"--verbose", "--json"}) {
    auto const told = run_herdlock({"run", "job", "--store", dead, form, "--", "true"});
    ASSERT_FALSE(lines_of(told.err).empty());
    EXPECT_NE(lines_of(told.err).front().find("127.0.0.1:1"), std::string::npos) << told.err;
    EXPECT_EQ(told.err.find("s3cret"), std::string::npos) << told.err;
  }
}

TEST_F(Citizen, AStatusAfterALossIsNotCalledTheCommands) {
  auto holder = start_herdlock(
      run({"--ttl", "3s", "--verbose"}, "echo $$ > " + file("pid") + "; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return pid() != 0; })) << holder.errors();
  take_away();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_NE(holder.errors().find("herdlock's status is 76"), std::string::npos) << holder.errors();
}

}  // namespace
