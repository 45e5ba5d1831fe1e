// Bad input: one clear line, the right exit code, nothing left behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <support/free_port.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

// The leak check looks at every thread, and says so of one that has been joined and that the kernel
// has not taken off its list yet.
bool is_of_the_sanitizer(std::string const& line) {
  return line.starts_with("==") && line.find("Unable to get registers") != line.npos;
}

// One line that begins with the program's name, says `part`, and shows no password.
void expect_refused(words const& arguments, int code, std::string const& part,
                    environment const& env = {}) {
  auto const refused = run_herdlock(arguments, env);
  std::string const what = ::testing::PrintToString(arguments);
  EXPECT_EQ(refused.code, code) << what << "\n" << refused.err;
  auto lines = lines_of(refused.err);
  std::erase_if(lines, is_of_the_sanitizer);
  ASSERT_EQ(lines.size(), 1u) << what << "\n" << refused.err;
  EXPECT_EQ(lines[0].rfind("herdlock: ", 0), 0u) << lines[0];
  EXPECT_NE(lines[0].find(part), std::string::npos) << what << "\n" << lines[0];
  EXPECT_EQ(lines[0].find("s3cret"), std::string::npos) << lines[0];
  EXPECT_EQ(refused.out, "") << what;
}

class BadInput : public ::testing::Test {
 protected:
  words run(words options, std::string const& name = "job") const {
    words all{"run", name, "--store", "sqlite:" + (folder_ / "s.db").string()};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "touch", (folder_ / "ran").string()});
    return all;
  }
  void TearDown() override { EXPECT_FALSE(std::filesystem::exists(folder_ / "ran")); }

  temp_dir folder_;
};

TEST_F(BadInput, UnknownCommandsAndOptionsAreUsageErrors) {
  expect_refused({"frobnicate"}, 64, "frobnicate");
  expect_refused({"hot", "frobnicate"}, 64, "frobnicate");
  expect_refused({"doctor", "--frobnicate"}, 64, "frobnicate");
  expect_refused({"--frobnicate"}, 64, "frobnicate");
  expect_refused(run({"--frobnicate"}), 64, "frobnicate");
  expect_refused({"run"}, 64, "NAME");
}

TEST_F(BadInput, ARunWithoutACommandIsAUsageError) {
  expect_refused({"run", "job"}, 64, "after --");
  expect_refused({"run", "job", "--"}, 64, "after --");
  expect_refused({"run", "job", "make"}, 64, "make");
}

TEST_F(BadInput, NamesOutsideTheLimitsAreUsageErrors) {
  expect_refused(run({}, ""), 64, "empty");
  expect_refused(run({}, std::string(513, 'n')), 64, "512");
}

TEST_F(BadInput, DurationsOutsideTheLimitsAreUsageErrors) {
  for (char const* ttl : {"0", "-5s", "1ms", "9999999h", "30", "soon", "", "1e9s"}) {
    expect_refused(run({std::string("--ttl=") + ttl}), 64, "ttl");
  }
  expect_refused(run({"--wait", "eternally"}), 64, "--wait");
  expect_refused(run({"--ttl", "10s", "--grace", "5s"}), 64, "--grace");
}

TEST_F(BadInput, StoreUrlsThatMeanNothingAreUsageErrors) {
  for (char const* url : {"gopher://x", "redis", "redis://:s3cret@h:99999",
                          "sqlite:", "redis://u:s3cret@h?nonsense=1", "://"}) {
    expect_refused({"run", "job", "--store", url, "--", "touch", (folder_ / "ran").string()}, 64,
                   "");
  }
}

TEST_F(BadInput, AStoreThatCannotBeReachedIsUnavailable) {
  std::string const url = "redis://user:s3cret@127.0.0.1:" + std::to_string(dead_port());
  expect_refused({"run", "job", "--store", url, "--", "true"}, 69, "127.0.0.1");
  expect_refused({"run", "job", "--", "true"}, 69, "127.0.0.1", {{"HERDLOCK_STORE", url}});
}

TEST_F(BadInput, AWrongPasswordIsUnavailableAndIsNotShown) {
  redis_server server({.password = "right"});
  std::string const url = "redis://:s3cret@127.0.0.1:" + std::to_string(server.port());
  expect_refused({"run", "job", "--store", url, "--", "true"}, 69, "password");
}

TEST_F(BadInput, AnUnwritableSqlitePathIsUnavailable) {
  expect_refused({"run", "job", "--store", "sqlite:/proc/nowhere/s.db", "--", "true"}, 69,
                 "/proc/nowhere");
  expect_refused({"run", "job", "--", "true"}, 69, "/proc/nowhere",
                 {{"XDG_STATE_HOME", "/proc/nowhere"}});
}

TEST_F(BadInput, CommandsThatCannotBeExecutedEndAsInAShell) {
  expect_refused({"run", "job", "--", "no-such-command-anywhere"}, 127, "not found");
  expect_refused({"run", "job", "--", "/no/such/file"}, 127, "not found");
  expect_refused({"run", "job", "--", "/"}, 126, "cannot be executed");
  auto const file = folder_ / "not-executable";
  std::ofstream(file) << "#!/bin/sh\n";
  expect_refused({"run", "job", "--", file.string()}, 126, "cannot be executed");
  auto const broken = folder_ / "broken";
  std::ofstream(broken) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(broken, std::filesystem::perms::owner_all);
  words const late{"run", "job",          "--store", "sqlite:" + (folder_ / "s.db").string(),
                   "--",  broken.string()};
  expect_refused(late, 127, "not found");
  expect_refused(late, 127, "not found");  // not busy: the first gave the lease back
}

TEST_F(BadInput, LeavesNothingInTheStore) {
  auto& server = redis_server::shared();
  server.flush();
  auto const with = [&](words arguments) {
    arguments.insert(arguments.end(), {"--store", server.url(), "--"});
    return arguments;
  };
  words const bad[] = {with({"run", ""}), with({"run", std::string(513, 'n')}),
                       with({"run", "job", "--ttl", "0"}), with({"run", "job", "--ttl", "2y"})};
  for (words arguments : bad) {
    arguments.push_back("true");
    EXPECT_EQ(run_herdlock(arguments).code, 64);
  }
  words missing = with({"run", "job"});
  missing.push_back("no-such-command-anywhere");
  EXPECT_EQ(run_herdlock(missing).code, 127);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

}  // namespace
