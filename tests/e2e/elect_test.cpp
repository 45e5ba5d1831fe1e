// `herdlock elect`: somebody always does the work, never two. Judged by what the command guards: a
// folder that only one may be in.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>

#include "each_store.hpp"
#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

// Two lines for each leader: "begins TERM CANDIDATE PID", and, when it was let to, "ends TERM". A
// leader that finds a process of the one before it alive says "overlap".
class Elect : public each_store {
 protected:
  fs::path journal() const { return folder_ / "journal"; }

  // Does not end by itself, in two processes, of which the second refuses SIGTERM.
  std::string work() const {
    std::string const file = journal().string();
    return "for p in $(sed -n 's/^begins .* //p' " + file +
           " 2>/dev/null); do grep -q '^State:.[^Z]' /proc/$p/status 2>/dev/null && "
           "echo overlap >> " +
           file +
           "; done; sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & second=$!; "
           "trap 'echo ends $HERDLOCK_TERM >> " +
           file + "; exit 0' TERM; echo begins $HERDLOCK_TERM $HERDLOCK_CANDIDATE $second >> " +
           file + "; while :; do wait; done";
  }
  child_process stand(std::string const& id, words options, std::string const& store) const {
    words all{"elect", "job", "--store", store, "--candidate", id, "--rest", "20ms"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", work()});
    return start_herdlock(all);
  }
  child_process stand(std::string const& id, words options = {}) const {
    return stand(id, std::move(options), url());
  }
  words lines(std::string const& beginning = "") const {
    words chosen;
    for (auto const& line : lines_of(content(journal()))) {
      if (line.rfind(beginning, 0) == 0) chosen.push_back(line);
    }
    return chosen;
  }
  bool leads(std::string const& id, std::size_t term_count) const {
    return eventually([&] {
      auto const begun = lines("begins");
      return begun.size() == term_count && begun.back().find(" " + id + " ") != std::string::npos;
    });
  }
  int process(std::size_t term) const {
    auto const line = lines("begins").at(term);
    return std::stoi(line.substr(line.rfind(' ') + 1));
  }
  void expect_order() const {
    EXPECT_TRUE(lines("overlap").empty()) << content(journal());
    std::uint64_t before = 0;
    for (auto const& line : lines("begins")) {
      auto const term = std::stoull(line.substr(7));
      EXPECT_GT(term, before) << content(journal());
      before = term;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, Elect, ::testing::Values("sqlite", "redis"),
                         [](auto const& each) { return each.param; });

// The ttl is an hour: who waits for it does not lead in time.
TEST_P(Elect, AResignationHandsOverAtOnce) {
  auto a = stand("a", {"--ttl", "1h", "--grace", "200ms"});
  ASSERT_TRUE(leads("a", 1)) << a.errors();
  auto b = stand("b", {"--ttl", "1h", "--grace", "200ms"});
  a.signal(SIGTERM);
  EXPECT_EQ(a.wait(), (exit_status{.code = 0, .signal = {}})) << a.errors();
  EXPECT_EQ(lines("ends").size(), 1u) << "it was asked first";
  ASSERT_TRUE(leads("b", 2)) << b.errors();
  b.signal(SIGINT);
  EXPECT_EQ(b.wait(), (exit_status{.code = 0, .signal = {}})) << b.errors();
  EXPECT_NE(::kill(process(1), 0), 0) << "it refused SIGTERM";
  expect_order();
}

// B23: no orphan, not even of what the command has started.
TEST_P(Elect, AKilledLeaderLeavesNothingAndIsReplaced) {
  auto a = stand("a", {"--ttl", "2s"});
  ASSERT_TRUE(leads("a", 1)) << a.errors();
  auto b = stand("b", {"--ttl", "2s"});
  a.kill();
  EXPECT_TRUE(eventually([&] { return ::kill(process(0), 0) != 0; }));
  ASSERT_TRUE(leads("b", 2)) << b.errors();
  expect_order();
}

// B17: herdlock stands still, the command does not: it is killed before the next one begins; and
// herdlock, continued, stands anew.
TEST_P(Elect, AFrozenLeadersCommandIsGoneBeforeTheNextOneBegins) {
  auto a = stand("a", {"--ttl", "4s", "--grace", "1s"});
  ASSERT_TRUE(leads("a", 1)) << a.errors();
  auto b = stand("b", {"--ttl", "4s", "--grace", "1s"});
  a.pause_between_transactions();
  ASSERT_TRUE(leads("b", 2)) << b.errors();
  a.resume();
  b.signal(SIGTERM);
  EXPECT_EQ(b.wait(), (exit_status{.code = 0, .signal = {}})) << b.errors();
  ASSERT_TRUE(leads("a", 3)) << a.errors();
  expect_order();
}

TEST_P(Elect, WorkThatEndsByItselfIsStartedAgainInANewTerm) {
  auto const ended = run_herdlock({"elect", "job", "--store", url(), "--rest", "10ms", "--terms",
                                   "3", "--", "sh", "-c", "echo $HERDLOCK_FENCING_TOKEN; exit 5"});
  EXPECT_EQ(ended.code, 5) << ended.err;
  auto const terms = lines_of(ended.out);
  ASSERT_EQ(terms.size(), 3u) << ended.err;
  EXPECT_LT(std::stoull(terms[0]), std::stoull(terms[1]));
  EXPECT_LT(std::stoull(terms[1]), std::stoull(terms[2]));
  EXPECT_EQ(
      run_herdlock({"elect", "job", "--store", url(), "--once", "--", "sh", "-c", "exit 7"}).code,
      7);
}

TEST_P(Elect, TellsEachTransitionAsALineOfJson) {
  auto const ended = run_herdlock(
      {"elect", "job", "--store", url(), "--candidate", "me", "--json", "--once", "--", "true"});
  EXPECT_EQ(ended.code, 0);
  words path;
  for (auto const& line : lines_of(ended.err)) {
    auto const told = nlohmann::json::parse(line);
    EXPECT_EQ(told.at("holder"), "me");
    EXPECT_EQ(told.at("candidate"), told.at("holder")) << "by its old name";
    EXPECT_EQ(told.at("resource"), "job");
    path.push_back(told.at("to"));
    EXPECT_TRUE(path.back() != "working" || told.at("fencing").get<std::uint64_t>() > 0) << line;
    EXPECT_EQ(told.at("term"), told.at("fencing")) << "by its old name";
  }
  EXPECT_EQ(path, (words{"acquiring", "working", "cleanup", "releasing", "idle"}));
}

TEST_P(Elect, ACandidateThatWaitsResignsAtOnce) {
  auto a = stand("a", {"--ttl", "1h"});
  ASSERT_TRUE(leads("a", 1)) << a.errors();
  auto b = stand("b", {"--ttl", "1h", "--verbose"});
  ASSERT_TRUE(eventually([&] { return b.errors().find("stands") != std::string::npos; }));
  b.signal(SIGTERM);
  EXPECT_EQ(b.wait(), (exit_status{.code = 0, .signal = {}})) << b.errors();
  EXPECT_TRUE(a.running());
  EXPECT_EQ(lines("begins").size(), 1u);
}

// B1, B14, B23: only the leader is cut off; its work is gone before the next one's begins, and it
// stands anew when the store is back.
class ElectFarAway : public Elect {};
INSTANTIATE_TEST_SUITE_P(Stores, ElectFarAway, ::testing::Values("redis"));

TEST_P(ElectFarAway, ALeaderThatIsCutOffHasStoppedBeforeTheNextOneBegins) {
  auto& server = redis_server::shared();
  relay cut(server.port());
  auto const through = "redis://127.0.0.1:" + std::to_string(cut.port());
  auto a = stand("a", {"--ttl", "4s", "--grace", "1900ms"}, through);
  ASSERT_TRUE(leads("a", 1)) << a.errors();
  auto b = stand("b", {"--ttl", "4s", "--grace", "1900ms"});
  cut.stop_forwarding();
  ASSERT_TRUE(leads("b", 2)) << b.errors();
  EXPECT_EQ(lines("ends").size(), 1u) << "asked before it was killed";
  EXPECT_TRUE(a.running()) << a.errors();
  EXPECT_NE(a.errors().find("lost"), std::string::npos) << a.errors();
  cut.resume_forwarding();  // a's renewals come late, and must not harm
  b.signal(SIGTERM);
  ASSERT_TRUE(leads("a", 3)) << a.errors();
  expect_order();
}

class ElectAlone : public ::testing::Test {
 protected:
  temp_dir folder_;
};

TEST_F(ElectAlone, AKilledStoreStopsTheCommandBeforeTheTtlIsOver) {
  redis_server server;
  auto const begun = folder_ / "begun";
  auto const ended = folder_ / "ended";
  // The ttl is longer than this test waits for anything.
  auto a = start_herdlock({"elect", "job", "--store", server.url(), "--ttl", "6s", "--grace",
                           "2900ms", "--", "sh", "-c",
                           "trap 'echo x > " + ended.string() + "; exit' TERM; echo x > " +
                               begun.string() + "; while :; do sleep 0.02; done"});
  ASSERT_TRUE(eventually([&] { return fs::exists(begun); })) << a.errors();
  auto const until = herdlock::clock::now() + std::chrono::seconds(6);
  server.kill();
  ASSERT_TRUE(eventually([&] { return fs::exists(ended); })) << a.errors();
  EXPECT_LT(herdlock::clock::now(), until);
  EXPECT_TRUE(a.running());
  a.signal(SIGTERM);
  EXPECT_EQ(a.wait(), (exit_status{.code = 0, .signal = {}})) << a.errors();
}

TEST_F(ElectAlone, TellsAboutItselfAndDrawsItsTable) {
  auto const help = run_herdlock({"elect", "--help"});
  EXPECT_EQ(help.code, 0);
  for (char const* part : {"NAME [OPTIONS] -- CMD", "--ttl", "--grace", "--candidate", "--once",
                           "--terms", "--json", "HERDLOCK_TERM", "HERDLOCK_FENCING_TOKEN", "69",
                           "76", "127", "list of processes", "Examples"}) {
    EXPECT_NE(help.out.find(part), std::string::npos) << part << "\n" << help.out;
  }
  EXPECT_EQ(run_herdlock({"elect", "--diagram", "mermaid"}).out.rfind("stateDiagram-v2\n", 0), 0u);
  EXPECT_EQ(run_herdlock({"elect", "--diagram", "graphviz"}).out.rfind("digraph election", 0), 0u);
}

TEST_F(ElectAlone, RefusesBadInputWithOneLineAndTheRightExitCode) {
  std::string const store = "sqlite:" + (folder_ / "s.db").string();
  auto const refused = [&](words options, int code, std::string const& part) {
    options.insert(options.begin(), "elect");
    auto const ended = run_herdlock(options);
    auto const what = ::testing::PrintToString(options);
    EXPECT_EQ(ended.code, code) << what << ended.err;
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << what << ended.err;
    EXPECT_NE(ended.err.find(part), std::string::npos) << what << ended.err;
    EXPECT_EQ(ended.err.find("s3cret"), std::string::npos) << ended.err;
    EXPECT_EQ(ended.out, "");
  };
  auto const with = [&](words options) {
    options.insert(options.begin(), {"job", "--store", store});
    options.insert(options.end(), {"--", "true"});
    return options;
  };
  refused({"--store", store, "--", "true"}, 64, "NAME");
  refused({"job", "--store", store}, 64, "after --");
  refused({"job", "--store", store, "--"}, 64, "after --");
  refused({std::string(513, 'n'), "--store", store, "--", "true"}, 64, "512");
  refused({"job", "--store", "memory:", "--", "true"}, 64, "one process");
  refused({"job", "--store", "redis://:s3cret@h:99999", "--", "true"}, 64, "");
  refused({"job", "--store", "sqlite:/proc/nowhere/s.db", "--", "true"}, 69, "/proc/nowhere");
  refused({"job", "--store", store, "--", "no-such-command-anywhere"}, 127, "not found");
  refused({"job", "--store", store, "--", "/"}, 126, "cannot be executed");
  refused(with({"--ttl", "0"}), 64, "ttl");
  refused(with({"--ttl", "10"}), 64, "--ttl");
  refused(with({"--ttl", "10s", "--grace", "5s"}), 64, "--grace");
  refused(with({"--rest", "0"}), 64, "--rest");
  refused(with({"--terms", "-1"}), 64, "--terms");
  refused(with({"--candidate", "a\nb"}), 64, "candidate");
  refused(with({"--candidate", std::string(81, 'c')}), 64, "80");
  refused(with({"--frobnicate"}), 64, "frobnicate");
  refused({"--diagram", "watercolour"}, 64, "watercolour");
}

// A wrong password will not be right later: the campaign ends.
TEST_F(ElectAlone, AStoreThatRefusesEndsTheCampaign) {
  redis_server server({.password = "right"});
  auto const ended =
      run_herdlock({"elect", "job", "--store",
                    "redis://:s3cret@127.0.0.1:" + std::to_string(server.port()), "--", "true"});
  EXPECT_EQ(ended.code, 69) << ended.err;
  EXPECT_EQ(ended.err.find("s3cret"), std::string::npos) << ended.err;
}

}  // namespace
