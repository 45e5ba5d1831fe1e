// The unit and the crontab of examples/, run as systemd and cron run them: with the environment
// that these give, stopped as the unit says.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <map>
#include <sstream>
#include <support/eventually.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

std::string replaced(std::string text, std::string const& what, std::string const& by) {
  auto const at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " in: " << text;
  if (at != std::string::npos) text.replace(at, what.size(), by);
  return text;
}

words split(std::string const& line) {
  std::istringstream in(line);
  words all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

class Service : public ::testing::Test {
 protected:
  Service() { write("store", "sqlite:" + file("s.db") + "\n"); }
  std::string file(std::string const& name) const { return (folder_.path() / name).string(); }
  void write(std::string const& name, std::string const& text) const {
    std::ofstream(file(name)) << text;
  }
  std::string script(std::string const& name, std::string const& body) const {
    write(name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(file(name), fs::perms::owner_all);
    return file(name);
  }
  bool there(std::string const& name) const {
    return eventually([&] { return fs::exists(file(name)); });
  }
  bool is_held(std::string const& name) const {
    herdlock::lock const where(herdlock::open_store("sqlite:" + file("s.db")), name);
    return where.inspect().has_value();
  }
  temp_dir folder_;
};

// The settings of a unit, the last of each.
std::map<std::string, std::string> unit(std::string const& name) {
  std::map<std::string, std::string> all;
  for (auto const& line : lines_of(content(fs::path(EXAMPLES_FOLDER) / name))) {
    auto const equals = line.find('=');
    if (line.starts_with("#") || equals == std::string::npos) continue;
    all[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return all;
}

TEST_F(Service, TheUnitWorksStopsItsWorkerAndGivesTheTermBack) {
  auto const how = unit("herdlock-worker.service");
  EXPECT_EQ(how.at("LoadCredential").substr(0, 6), "store:");
  EXPECT_EQ(how.at("KillMode"), "mixed");
  auto const setting = replaced(how.at("Environment"), "%d", folder_.path().string());
  auto const worker = script("worker", "trap 'touch " + file("ended") + "; exit' TERM; touch " +
                                           file("works") + "; while :; do sleep 0.01; done");
  auto start = how.at("ExecStart");
  start = replaced(start, "/usr/bin/herdlock", HERDLOCK_COMMAND);
  start = replaced(start, "/usr/local/bin/worker", worker);
  words argv{"env",
             "-i",
             "PATH=/usr/local/bin:/usr/bin:/bin",
             "LANG=C.UTF-8",
             "INVOCATION_ID=0123456789abcdef",
             setting};
  auto const command = split(start);
  argv.insert(argv.end(), command.begin(), command.end());
  child_process service({.argv = argv});
  ASSERT_TRUE(there("works")) << service.errors();
  EXPECT_TRUE(is_held("worker"));
  service.signal(SIGTERM);
  EXPECT_EQ(service.wait(), (exit_status{.code = 0, .signal = {}})) << service.errors();
  EXPECT_TRUE(fs::exists(file("ended"))) << "the worker was not asked to end";
  EXPECT_FALSE(is_held("worker"));
}

// cron gives a line to /bin/sh, and mails what it prints.
TEST_F(Service, TheCrontabRunsTheReportOnOneMachineAndIsSilentOnTheOthers) {
  auto const lines = lines_of(content(fs::path(EXAMPLES_FOLDER) / "herdlock-report.cron"));
  auto line = lines.back().substr(lines.back().find("herdlock run"));
  line = replaced(line, "herdlock run", std::string(HERDLOCK_COMMAND) + " run");
  line = replaced(line, "--retry 15m", "--retry 1s");
  line = replaced(line, "/usr/local/bin/report",
                  script("report", "echo made >>" + file("made") + "; touch " + file("begun") +
                                       "; while [ ! -e " + file("go") + " ]; do sleep 0.01; done"));
  auto const variable = replaced(lines.at(lines.size() - 2), "/etc/herdlock/store", file("store"));
  words const argv{"env",
                   "-i",
                   "HOME=" + folder_.path().string(),
                   "LOGNAME=reporter",
                   "PATH=/usr/bin:/bin",
                   "SHELL=/bin/sh",
                   variable,
                   "setsid",
                   "-w",
                   "/bin/sh",
                   "-c",
                   line};
  child_process first({.argv = argv});
  ASSERT_TRUE(there("begun")) << first.errors() << content(file("report.log"));
  child_process second({.argv = argv});
  EXPECT_EQ(second.wait(), (exit_status{.code = 0, .signal = {}})) << content(file("report.log"));
  EXPECT_EQ(second.output() + second.errors(), "");
  write("go", "");
  EXPECT_EQ(first.wait(), (exit_status{.code = 0, .signal = {}})) << content(file("report.log"));
  EXPECT_EQ(first.output() + first.errors(), "");
  child_process late({.argv = argv});
  EXPECT_EQ(late.wait(), (exit_status{.code = 0, .signal = {}})) << content(file("report.log"));
  EXPECT_EQ(late.output() + late.errors(), "");
  EXPECT_EQ(content(file("made")), "made\n") << "a machine whose clock is behind made it again";
  write("store", "redis://127.0.0.1:1?timeout=200ms\n");
  child_process third({.argv = argv});
  EXPECT_EQ(third.wait(), (exit_status{.code = 69, .signal = {}}));
  EXPECT_NE(third.errors(), "") << "cron has nothing to send";
}

}  // namespace
