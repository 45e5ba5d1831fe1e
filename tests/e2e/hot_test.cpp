// `herdlock hot` against a real server, with caches of this process that report to each other.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <support/free_port.hpp>
#include <support/redis_server.hpp>

#include "herdlock_command.hpp"
#include "hot_caches.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

std::size_t words_in(std::string const& line) {
  std::istringstream in(line);
  std::size_t count = 0;
  for (std::string word; in >> word;) ++count;
  return count;
}

bool tells_the_cost(std::string const& line) { return has(line, ": the reports of "); }

/// A script with $0 for the command, and $1 for the URL of the store.
child_process in_a_shell(std::string const& script, std::string const& url) {
  return child_process({.argv = {"setsid", "sh", "-c", script, HERDLOCK_COMMAND, url}});
}

class Hot : public ::testing::Test {
 protected:
  words hot(words more) const {
    words all{"hot", "--store", server.url()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  void expect_reports() const {
    ASSERT_TRUE(caches.while_reading([&] {
      return caches.one.fleet_stats().processes == 2 &&
             caches.one.most_read_by_fleet(2).size() == 2;
    }));
  }
  command_result run_while_reading(words const& more) const {
    auto child = start_herdlock(hot(more));
    EXPECT_TRUE(caches.while_reading([&] { return !child.running(); })) << child.errors();
    auto const ended = child.wait();
    return {ended && ended->code ? *ended->code : -1, child.output(), child.errors()};
  }

  redis_server& server = empty_server();
  two_reporting_caches const caches{server.url()};

 private:
  static redis_server& empty_server() {
    redis_server::shared().flush();
    return redis_server::shared();
  }
};

TEST_F(Hot, TellsWhatTheCachesReportTheHottestFirst) {
  expect_reports();
  auto const shown = run_while_reading({});
  EXPECT_EQ(shown.code, 0) << shown.err;
  auto const lines = lines_of(shown.out);
  ASSERT_EQ(lines.size(), 3u) << shown.out << shown.err;
  EXPECT_TRUE(lines[0].starts_with("KEY ")) << lines[0];
  EXPECT_TRUE(has(lines[0], "RATE/S")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("p:hot ")) << shown.out;
  EXPECT_TRUE(lines[2].starts_with("p:warm ")) << shown.out;
  EXPECT_TRUE(shown.err.starts_with("herdlock: ")) << "what it has cost: " << shown.err;
}

TEST_F(Hot, HasTheDocumentedJson) {
  expect_reports();
  auto const shown = run_while_reading({"--json", "--top", "1"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  auto const list = json::parse(shown.out);
  ASSERT_EQ(list.size(), 1u) << shown.out;
  auto const& first = list[0];
  EXPECT_EQ(first["key"], "p:hot");
  EXPECT_EQ(first["source"], "clients");
  EXPECT_GT(first["rate"], 0);
  EXPECT_LE(first["low"], first["rate"]);
  for (char const* name : {"high", "reads", "writes"}) EXPECT_TRUE(first.contains(name)) << name;
}

TEST_F(Hot, APrefixThatNoCacheHasFindsNothing) {
  expect_reports();
  auto const shown = run_while_reading({"--prefix", "other:"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "no process reports")) << shown.out;
}

TEST_F(Hot, WithoutReportsItSaysHowToFindMore) {
  auto const shown = run_herdlock(hot({}));
  EXPECT_EQ(shown.code, 0) << shown.err;
  for (char const* part : {"no process reports", "fleet_threshold", "--source lfu"}) {
    EXPECT_TRUE(has(shown.out, part)) << part << shown.out;
  }
  auto const for_programs = run_herdlock(hot({"--json"}));
  EXPECT_EQ(for_programs.code, 0) << for_programs.err;
  EXPECT_EQ(json::parse(for_programs.out), json::array());
}

TEST_F(Hot, WatchInAPipePrintsALineForEachKeyAndEndsOnASignal) {
  expect_reports();
  auto watching = start_herdlock(hot({"--watch", "--interval", "20ms"}));
  ASSERT_TRUE(caches.while_reading([&] { return lines_of(watching.output()).size() >= 6; }))
      << watching.errors();
  watching.signal(SIGINT);
  EXPECT_EQ(watching.wait(), (exit_status{.code = 130, .signal = {}})) << watching.errors();
  auto const lines = lines_of(watching.output());
  for (auto const& line : lines) EXPECT_EQ(words_in(line), 5u) << line;
  EXPECT_TRUE(has(lines.front(), " p:hot ")) << lines.front();
  EXPECT_FALSE(has(watching.output(), "\x1b")) << "no screen in a pipe";
  auto const told = lines_of(watching.errors());
  EXPECT_EQ(std::count_if(told.begin(), told.end(), tells_the_cost), 1) << watching.errors();
}

TEST_F(Hot, WatchWithJsonPrintsAListInALineForEachLook) {
  auto watching = start_herdlock(hot({"--watch", "--json", "--interval", "20ms"}));
  ASSERT_TRUE(eventually([&] { return lines_of(watching.output()).size() >= 3; }))
      << watching.errors();
  watching.signal(SIGTERM);
  EXPECT_EQ(watching.wait(), (exit_status{.code = 143, .signal = {}})) << watching.errors();
  for (auto const& line : lines_of(watching.output())) {
    EXPECT_TRUE(json::parse(line, nullptr, false).is_array()) << line;
  }
}

TEST_F(Hot, WatchEndsWhenItsLinesHaveNoReaderAlsoWhileThereAreNoKeys) {
  struct world {
    char const* signals;
    char const* told;
  };
  for (auto const& [signals, told] :
       {world{"", "ended 141"}, world{"trap '' PIPE; ", "ended 70"}}) {
    auto shell = in_a_shell(std::string(signals) +
                                "{ \"$0\" hot --watch --interval 1h --store \"$1\"; "
                                "echo ended $? >&2; } | true",
                            server.url());
    EXPECT_TRUE(shell.wait()) << told;
    EXPECT_TRUE(has(shell.errors(), told)) << shell.errors();
  }
}

TEST_F(Hot, WhatCannotBeWrittenIsAnError) {
  for (char const* command : {"hot", "hot --json", "hot --watch --json", "show"}) {
    auto shell = in_a_shell(std::string("exec \"$0\" ") + command + " --store \"$1\" >/dev/full",
                            server.url());
    EXPECT_EQ(shell.wait(), (exit_status{.code = 70, .signal = {}})) << command;
    EXPECT_TRUE(has(shell.errors(), "standard output cannot be written: ")) << shell.errors();
  }
}

TEST_F(Hot, WatchIgnoresAHangUpThatIsIgnoredWhereItIsStarted) {
  auto watching = in_a_shell(
      "trap '' HUP; exec \"$0\" hot --watch --json --interval 20ms --store \"$1\"", server.url());
  ASSERT_TRUE(eventually([&] { return !watching.output().empty(); })) << watching.errors();
  watching.signal(SIGHUP);
  auto const before = lines_of(watching.output()).size();
  EXPECT_TRUE(eventually([&] { return lines_of(watching.output()).size() > before + 2; }));
  watching.signal(SIGTERM);
  EXPECT_EQ(watching.wait(), (exit_status{.code = 143, .signal = {}})) << watching.errors();
}

TEST_F(Hot, WatchGoesOnWhenTheServerIsBack) {
  redis_server own;
  auto watching =
      start_herdlock({"hot", "--store", own.url(), "--watch", "--json", "--interval", "20ms"});
  ASSERT_TRUE(eventually([&] { return !watching.output().empty(); })) << watching.errors();
  own.kill();
  auto const port = std::to_string(own.port());
  ASSERT_TRUE(eventually([&] { return has(watching.errors(), port); })) << watching.errors();
  auto const before = watching.output().size();
  own.restart();
  EXPECT_TRUE(eventually([&] { return watching.output().size() > before; })) << watching.errors();
  EXPECT_TRUE(watching.running());
}

TEST(HotBadInput, IsOneLineAndTheRightCode) {
  auto const refused = [](words arguments, int code, std::string const& part) {
    arguments.insert(arguments.begin(), "hot");
    auto const ended = run_herdlock(arguments);
    auto const what = ::testing::PrintToString(arguments);
    EXPECT_EQ(ended.code, code) << what << ended.err;
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << what << ended.err;
    EXPECT_TRUE(has(ended.err, part)) << what << ended.err;
    EXPECT_FALSE(has(ended.err, "s3cret")) << ended.err;
    EXPECT_EQ(ended.out, "") << what;
  };
  refused({"--source", "guess"}, 64, "clients, monitor, lfu, server");
  refused({"--top", "0"}, 64, "--top");
  refused({"--top", "1001"}, 64, "--top");
  refused({"--top", "some"}, 64, "--top");
  refused({"--source", "lfu", "--max-rate", "0"}, 64, "--max-rate must be from 1");
  refused({"--source", "monitor", "--for", "1ms"}, 64, "--for 1ms: must be between");
  refused({"--source", "monitor", "--for", "61s"}, 64, "--for 61s: must be between");
  refused({"--watch", "--interval", "soon"}, 64, "--interval 'soon' is not");
  refused({"--for", "2s"}, 64, "--for has no effect with --source clients, only with monitor and");
  refused({"--source", "lfu", "--for", "2s"}, 64, "only with monitor and server");
  refused({"--source", "lfu", "--yes"}, 64, "--yes has no effect with --source lfu, only with mon");
  refused({"--max-rate", "9"}, 64, "only with monitor and lfu");
  refused({"--source", "server", "--max-rate", "9"}, 64, "only with monitor and lfu");
  refused({"--interval", "2s"}, 64, "--interval has no effect without --watch");
  refused({"--frobnicate"}, 64, "--frobnicate");
  refused({"--store", "memory:"}, 64, "memory:");
  refused({"--store", "redis//h"}, 64, "redis");
  auto const gone = "redis://:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "?timeout=200ms";
  refused({"--store", gone}, 69, "127.0.0.1");
  refused({"--store", gone, "--watch"}, 69, "127.0.0.1");
}

TEST(HotHelp, TellsOfEachSourceAndTheExitCodes) {
  auto const help = run_herdlock({"hot", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part : {"  clients ", "  monitor ", "  lfu ", "  server ", "fleet_threshold",
                           "--max-rate", "Examples", "Exit status", "64", "69", "130"}) {
    EXPECT_TRUE(has(help.out, part)) << part << help.out;
  }
}

}  // namespace
