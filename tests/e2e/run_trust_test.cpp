// `herdlock run` where an operator must be able to trust it: what it does at a loss, what it tells,
// what it keeps to itself, and where it runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <support/zookeeper_server.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
namespace fs = std::filesystem;
using nlohmann::json;
using words = std::vector<std::string>;

class RunTrust : public ::testing::Test {
 protected:
  std::string file(char const* name) const { return (folder_ / name).string(); }
  std::string url() const { return "sqlite:" + file("s.db"); }
  words arguments(words options, std::string const& script) const {
    words all{"run", "job", "--store", url()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }
  void take_away() const {
    herdlock::lock const job(herdlock::open_store(url()), "job");
    EXPECT_TRUE(job.force_release());
  }
  bool there(char const* name) const {
    return eventually([&] { return fs::exists(folder_ / name); });
  }
  temp_dir folder_;
};

// A session proves a lease for a third of its time only, whatever the ttl.
TEST_F(RunTrust, AStoreThatProvesLeasesForLessHasLessGrace) {
  auto& server = zookeeper_server::shared();
  auto const at = server.url(server.fresh_chroot());
  auto const run = [&](words options) {
    words all{"run", "job", "--store", at + "?session_timeout=6s"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", "sleep 0.5; echo done"});
    return run_herdlock(all);
  };
  auto const usual = run({});
  EXPECT_EQ(usual.code, 0) << usual.err;
  EXPECT_EQ(usual.out, "done\n");
  auto const patient = run({"--grace", "1s"});
  EXPECT_EQ(patient.code, 64) << patient.err;
  EXPECT_NE(patient.err.find("proves a lease"), std::string::npos) << patient.err;
}

words events_of(std::string const& errors) {
  words told;
  for (auto const& line : lines_of(errors)) {
    auto const each = json::parse(line, nullptr, false);
    EXPECT_TRUE(each.is_object()) << line;
    if (!each.is_object()) continue;
    for (char const* key :
         {"event", "from", "to", "action", "resource", "holder", "fencing", "candidate", "term"}) {
      EXPECT_TRUE(each.contains(key)) << key << line;
    }
    told.push_back(each.at("event"));
  }
  return told;
}

TEST_F(RunTrust, TellsItsLeaseAsLinesOfJson) {
  auto const ended = run_herdlock(arguments({"--json"}, "exit 5"));
  EXPECT_EQ(ended.code, 5);
  EXPECT_EQ(events_of(ended.err), (words{"campaign", "granted", "finished", "released"}))
      << ended.err;
  auto const last = json::parse(lines_of(ended.err).back());
  EXPECT_EQ(last.at("to"), "idle");
  EXPECT_EQ(last.at("status"), 5);
  EXPECT_GT(last.at("term").get<std::uint64_t>(), 0u);
}

TEST_F(RunTrust, TellsALossAsLinesOfJson) {
  auto holder = start_herdlock(
      arguments({"--json", "--ttl", "2s"}, "touch " + file("held") + "; exec sleep 1000"));
  ASSERT_TRUE(there("held"));
  take_away();
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}}));
  EXPECT_EQ(events_of(holder.errors()), (words{"campaign", "granted", "lost", "stopped"}));
}

TEST_F(RunTrust, VerboseTellsPeople) {
  auto const ended = run_herdlock(arguments({"--verbose"}, "true"));
  EXPECT_EQ(ended.code, 0);
  for (char const* part : {"asks", "fencing token", "status 0", "given back"}) {
    EXPECT_NE(ended.err.find(part), std::string::npos) << part << ended.err;
  }
}

TEST_F(RunTrust, TriesOnce) {
  auto holder = start_herdlock(arguments({}, "touch " + file("held") + "; exec sleep 1000"));
  ASSERT_TRUE(there("held"));
  EXPECT_EQ(run_herdlock(arguments({"--try"}, "true")).code, 75);
  EXPECT_EQ(run_herdlock(arguments({"--try", "--wait", "1s"}, "true")).code, 64);
}

TEST_F(RunTrust, OnLossKillDoesNotAskFirst) {
  auto holder = start_herdlock(
      arguments({"--on-loss", "kill", "--max-hold", "10ms", "--ttl", "5s", "--grace", "400ms"},
                "trap 'touch " + file("asked") + "' TERM; while :; do sleep 0.02; done"));
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_FALSE(fs::exists(folder_ / "asked"));
}

// The same with the default: the kill above is no accident.
TEST_F(RunTrust, AtItsMaxHoldTheCommandIsAskedToEnd) {
  auto holder = start_herdlock(
      arguments({"--max-hold", "10ms", "--ttl", "10s", "--grace", "4s"},
                "trap 'touch " + file("asked") + "; exit' TERM; while :; do sleep 0.02; done"));
  EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
  EXPECT_TRUE(fs::exists(folder_ / "asked"));
  EXPECT_NE(holder.errors().find("max_hold"), std::string::npos) << holder.errors();
  herdlock::lock const job(herdlock::open_store(url()), "job");
  EXPECT_FALSE(job.inspect()) << "given back when its work has gone, not left to run out";
}

TEST_F(RunTrust, OnLossIgnoreTheCommandRunsOnAndItsStatusCounts) {
  // The ttl is longer than a slow disk takes for a grant; it hears of the loss at a third of it.
  auto holder = start_herdlock(arguments({"--on-loss", "ignore", "--ttl", "5s"},
                                         "touch " + file("held") + "; while [ ! -e " + file("go") +
                                             " ]; do sleep 0.02; done; exit 9"));
  ASSERT_TRUE(there("held")) << holder.errors();
  take_away();
  ASSERT_TRUE(eventually([&] { return holder.errors().find("lost") != std::string::npos; }));
  herdlock::lock const job(herdlock::open_store(url()), "job");
  EXPECT_TRUE(job.acquire({.wait = patience})) << "it is not taken back";
  EXPECT_TRUE(holder.running());
  std::ofstream(file("go")) << "go";
  EXPECT_EQ(holder.wait(), (exit_status{.code = 9, .signal = {}})) << holder.errors();
}

// ---- secrets

class RunSecrets : public RunTrust {
 protected:
  // What the command, and whoever lists processes, can see.
  void expect_hidden(words start, environment const& env) {
    start.insert(start.end(), {"--", "sh", "-c",
                               "tr '\\0' '\\n' < /proc/self/environ; tr '\\0' ' ' < "
                               "/proc/$PPID/cmdline; env; echo done"});
    auto const ended = run_herdlock(start, env);
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_NE(ended.out.find("done"), std::string::npos);
    EXPECT_NE(ended.out.find("HERDLOCK_FENCING_TOKEN="), std::string::npos);
    EXPECT_EQ(ended.out.find("s3cret"), std::string::npos) << ended.out;
  }
  redis_server server_{{.password = "s3cret"}};
  std::string const secret_ = "redis://:s3cret@127.0.0.1:" + std::to_string(server_.port());
};

TEST_F(RunSecrets, OfTheEnvironmentAreNotHandedOn) {
  expect_hidden({"run", "job"}, {{"HERDLOCK_STORE", secret_}});
  expect_hidden({"elect", "job", "--once"}, {{"HERDLOCK_STORE", secret_}});
}

TEST_F(RunSecrets, AreReadFromAFileThatNotEverybodyCanRead) {
  std::ofstream(file("url")) << secret_ << "\nnot this\n";
  ::chmod(file("url").c_str(), 0644);
  auto const refused = run_herdlock({"run", "job", "--store-file", file("url"), "--", "true"});
  EXPECT_EQ(refused.code, 64);
  EXPECT_NE(refused.err.find("chmod 600"), std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find("s3cret"), std::string::npos) << refused.err;
  ::chmod(file("url").c_str(), 0600);
  expect_hidden({"run", "job", "--store-file", file("url")}, {});
  expect_hidden({"run", "job"}, {{"HERDLOCK_STORE_FILE", file("url")}});
}

TEST_F(RunTrust, AStoreWithoutASecretIsHandedOn) {
  auto const ended = run_herdlock({"run", "job", "--", "sh", "-c", "echo $HERDLOCK_STORE"},
                                  {{"HERDLOCK_STORE", url()}});
  EXPECT_EQ(ended.out, url() + "\n") << ended.err;
}

TEST_F(RunTrust, StoreFilesThatWillNotDoAreRefused) {
  auto const refused = [&](std::string const& name, int code) {
    auto const ended = run_herdlock({"run", "job", "--store-file", name, "--", "true"});
    EXPECT_EQ(ended.code, code) << ended.err;
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << ended.err;
  };
  refused("/no/such/file", 69);
  refused("/", 69);
  std::ofstream(file("empty")) << "\n" << url() << "\n";
  refused(file("empty"), 64);
  std::ofstream(file("long")) << std::string(4097, 'x');
  refused(file("long"), 64);
}

// ---- surroundings

// cron and systemd: no terminal, hardly an environment, a session of its own.
TEST_F(RunTrust, RunsWithoutTerminalAndEnvironment) {
  child_process job({.argv = {"env", "-i", "setsid", "-w", HERDLOCK_COMMAND, "run", "job",
                              "--store", url(), "--", "sh", "-c", "echo $HERDLOCK_RESOURCE"}});
  EXPECT_EQ(job.wait(), (exit_status{.code = 0, .signal = {}})) << job.errors();
  EXPECT_EQ(job.output(), "job\n");
}

TEST_F(RunTrust, StandardInputAndOutputAreTheCommands) {
  words argv = arguments({}, "read a; read b; echo $b $a; echo x >&2");
  argv.insert(argv.begin(), HERDLOCK_COMMAND);
  child_process job({.argv = argv, .input = process_input::pipe});
  job.write_line("first");
  job.write_line("second");
  EXPECT_EQ(job.wait(), (exit_status{.code = 0, .signal = {}})) << job.errors();
  EXPECT_EQ(job.output(), "second first\n");
  EXPECT_EQ(job.errors(), "x\n");
}

TEST_F(RunTrust, ClosedStandardStreamsDoNoHarm) {
  for (char const* how : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    child_process job(
        {.argv = {"sh", "-c",
                  std::string("exec \"$0\" run job --store ") + url() + " -- sh -c 'exit 6' " + how,
                  HERDLOCK_COMMAND}});
    EXPECT_EQ(job.wait(), (exit_status{.code = 6, .signal = {}})) << how << job.errors();
  }
}

// The terminal goes: SIGHUP ends the command, and the lease is given back.
TEST_F(RunTrust, AHangUpEndsTheCommandAndGivesTheLeaseBack) {
  auto holder =
      start_herdlock(arguments({"--ttl", "1h"}, "touch " + file("held") + "; exec sleep 1000"));
  ASSERT_TRUE(there("held"));
  holder.signal(SIGHUP);
  EXPECT_EQ(holder.wait(), (exit_status{.code = 128 + SIGHUP, .signal = {}})) << holder.errors();
  EXPECT_EQ(run_herdlock(arguments({"--try"}, "true")).code, 0);
}

// The terminal itself goes, as when an ssh connection ends: the kernel tells, nobody else does.
TEST_F(RunTrust, ATerminalThatGoesEndsTheCommandAndGivesTheLeaseBack) {
  std::string const script =
      "import os, pty, sys\n"
      "pid, fd = pty.fork()\n"
      "if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
      "text = b''\n"
      "while b'held' not in text: text += os.read(fd, 1024)\n"
      "os.close(fd)\n"
      "os.waitpid(pid, 0)\n";
  words argv{"python3", "-c", script, HERDLOCK_COMMAND};
  auto const run = arguments({"--ttl", "1h"}, "echo held; exec sleep 1000");
  argv.insert(argv.end(), run.begin(), run.end());
  child_process terminal({.argv = argv});
  EXPECT_EQ(terminal.wait(), (exit_status{.code = 0, .signal = {}})) << terminal.errors();
  EXPECT_EQ(run_herdlock(arguments({"--try"}, "true")).code, 0) << "free at once";
}

}  // namespace
