// `herdlock show`, `release`, `wait` and `watch`, against what a library's lock does.
#include <gtest/gtest.h>
#include <signal.h>

#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <support/free_port.hpp>
#include <support/redis_server.hpp>

#include "each_store.hpp"
#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using nlohmann::json;
using words = std::vector<std::string>;

class Look : public each_store {
 protected:
  command_result look(words arguments) const {
    arguments.insert(arguments.end(), {"--store", url()});
    return run_herdlock(arguments);
  }
  child_process start(words arguments) const {
    arguments.insert(arguments.end(), {"--store", url(), "--interval", "20ms"});
    return start_herdlock(arguments);
  }
  herdlock::lock job() const { return {herdlock::open_store(url()), "job"}; }
  std::string self() const { return "/" + std::to_string(::getpid()); }
};

bool says(child_process const& who, std::string const& part) {
  return eventually([&] { return who.output().find(part) != std::string::npos; });
}

TEST(LookAtOthers, AListOfAServerThatDoesNotRunSaysSo) {
  auto const shown =
      run_herdlock({"show", "--store", "redis://127.0.0.1:" + std::to_string(dead_port())});
  EXPECT_EQ(shown.code, 69) << shown.err;
  EXPECT_NE(shown.err.find("Connection refused"), std::string::npos) << shown.err;
}

// redis-py's Lock without a timeout.
TEST(LookAtOthers, ALockWithoutAnEndIsNotSaidToEndIn0Ms) {
  redis_server server;
  server.cli("SET job somebody");
  auto const run = run_herdlock(
      {"run", "job", "--try", "--store", server.url() + "?dialect=plain", "--", "true"});
  EXPECT_EQ(run.code, 75) << run.err;
  EXPECT_NE(run.err.find("held by another client"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("0 ms"), std::string::npos) << run.err;
}

TEST_P(Look, ShowTellsWhoHoldsAndWhatIsFree) {
  auto const mine = job().acquire({.ttl = std::chrono::hours(1)});
  ASSERT_TRUE(mine);
  auto const shown = look({"show", "job", "other"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  auto const lines = lines_of(shown.out);
  ASSERT_EQ(lines.size(), 2u) << shown.out;
  EXPECT_NE(lines[0].find("held by"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(self()), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(std::to_string(mine->fencing().value)), std::string::npos) << lines[0];
  EXPECT_EQ(lines[1], "'other': free");
}

TEST_P(Look, ShowHasTheDocumentedJson) {
  auto const mine = job().acquire({.ttl = std::chrono::hours(1)});
  ASSERT_TRUE(mine);
  auto const list = json::parse(look({"show", "job", "other", "--json"}).out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["resource"], "job");
  EXPECT_EQ(list[0]["held"], true);
  EXPECT_EQ(list[0]["fencing"], mine->fencing().value);
  EXPECT_GT(list[0]["remaining_ms"].get<std::int64_t>(), 3'000'000);
  EXPECT_EQ(list[0]["waiting"], 0);
  EXPECT_TRUE(list[0]["waiters"].empty());
  EXPECT_EQ(list[1], (json{{"resource", "other"}, {"held", false}}));
}

// U+0085 is a line break to some terminals, U+009B the start of a command.
TEST_P(Look, JsonHoldsNoControlCharacters) {
  std::string const name = "job\xC2\x85\xC2\x9B\x7F \u00E9";
  auto const mine = herdlock::lock(herdlock::open_store(url()), name).try_acquire();
  ASSERT_TRUE(mine);
  auto const out = look({"show", "--json"}).out;
  EXPECT_NE(out.find("job\\u0085\\u009b\\u007f \u00E9"), std::string::npos) << out;
  EXPECT_EQ(json::parse(out)[0]["resource"], name);
}

TEST_P(Look, ShowWithoutNamesListsWhatIsHeldInOrder) {
  auto const none = look({"show"});
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_EQ(none.out, "nothing is held\n");
  EXPECT_EQ(json::parse(look({"show", "--json"}).out), json::array());
  auto const where = herdlock::open_store(url());
  std::vector<herdlock::lease> held;
  for (char const* name : {"c", "a", "d", "b"}) {
    held.push_back(*herdlock::lock(where, name).acquire({.ttl = std::chrono::hours(1)}));
  }
  held.back().release();
  auto const shown = look({"show"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.err, "");
  auto const lines = lines_of(shown.out);
  ASSERT_EQ(lines.size(), 4u) << shown.out;
  EXPECT_TRUE(lines[0].starts_with("RESOURCE")) << lines[0];
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(lines[i + 1].starts_with("'" + std::string(1, "acd"[i]) + "'")) << shown.out;
    EXPECT_NE(lines[i + 1].find(self()), std::string::npos) << shown.out;
  }
}

TEST_P(Look, ShowWithoutNamesHasALimitAndSaysSo) {
  auto const where = herdlock::open_store(url());
  std::vector<herdlock::lease> held;
  for (char const* name : {"c", "a", "b"}) {
    held.push_back(*herdlock::lock(where, name).acquire({.ttl = std::chrono::hours(1)}));
  }
  auto const some = look({"show", "--limit", "2", "--json"});
  EXPECT_EQ(some.code, 0);
  EXPECT_EQ(lines_of(some.err), words{"herdlock: 1 more are held; --limit shows more"});
  auto const list = json::parse(some.out);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["resource"], "a");
  EXPECT_EQ(list[1]["resource"], "b");
  EXPECT_EQ(list[1]["fencing"], held[2].fencing().value);
  EXPECT_EQ(list[1]["held_for_ms"].is_number(), GetParam() == "sqlite") << "the others do not know";
  auto const all = look({"show", "--limit", "3"});
  EXPECT_EQ(all.err, "");
  EXPECT_EQ(lines_of(all.out).size(), 4u);
}

TEST_P(Look, ReleaseNeedsForceAndTellsTheHolder) {
  auto mine = job().acquire({.ttl = std::chrono::seconds(3)});
  ASSERT_TRUE(mine);
  EXPECT_EQ(look({"release", "job"}).code, 64);
  EXPECT_TRUE(mine->valid());
  auto const taken = look({"release", "job", "--force"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_NE(taken.out.find(self()), std::string::npos) << taken.out;
  EXPECT_TRUE(eventually([&] { return !mine->valid(); })) << "at its next renewal";
  auto const again = look({"release", "job", "--force", "--json"});
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(json::parse(again.out), (json{{"resource", "job"}, {"released", false}}));
}

TEST_P(Look, WaitEndsWhenItIsFree) {
  EXPECT_EQ(look({"wait", "job"}).code, 0);
  auto mine = job().acquire({.ttl = std::chrono::hours(1)});
  ASSERT_TRUE(mine);
  auto const late = look({"wait", "job", "--timeout", "50ms", "--json"});
  EXPECT_EQ(late.code, 75) << late.err;
  EXPECT_EQ(json::parse(late.out)["free"], false);
  auto waiter = start({"wait", "job"});
  auto seeing = start({"watch", "job"});
  ASSERT_TRUE(says(seeing, "held by"));
  EXPECT_TRUE(waiter.running());
  mine->release();
  EXPECT_EQ(waiter.wait(), (exit_status{.code = 0, .signal = {}})) << waiter.errors();
}

TEST_P(Look, WatchTellsEachChangeAndEndsOnASignal) {
  auto seeing = start({"watch", "job", "--json"});
  ASSERT_TRUE(says(seeing, "free")) << seeing.errors();
  auto first = job().acquire({.ttl = std::chrono::hours(1)});
  ASSERT_TRUE(says(seeing, "\"fencing\":" + std::to_string(first->fencing().value)));
  first->release();
  ASSERT_TRUE(eventually([&] { return lines_of(seeing.output()).size() == 3; }));
  seeing.signal(SIGINT);
  EXPECT_EQ(seeing.wait(), (exit_status{.code = 130, .signal = {}})) << seeing.errors();
  words states;
  for (auto const& line : lines_of(seeing.output())) states.push_back(json::parse(line)["state"]);
  EXPECT_EQ(states, (words{"free", "held", "free"}));
}

INSTANTIATE_TEST_SUITE_P(Stores, Look, ::testing::Values("sqlite", "redis"),
                         [](auto const& each) { return each.param; });

TEST(LookRedis, ShowListsTheWaitersInOrder) {
  auto& server = redis_server::shared();
  server.flush();
  herdlock::lock const job(herdlock::open_store(server.url()), "job");
  auto const mine = job.acquire({.ttl = std::chrono::hours(1)});
  std::vector<child_process> queue;
  for (std::size_t i = 0; i < 2; ++i) {
    queue.push_back(
        start_herdlock({"run", "job", "--store", server.url(), "--wait", "forever", "--", "true"}));
    ASSERT_TRUE(eventually([&] { return job.inspect()->waiting == i + 1; }));
  }
  auto const list =
      json::parse(run_herdlock({"show", "job", "--store", server.url(), "--json"}).out);
  ASSERT_EQ(list[0]["waiters"].size(), 2u) << list;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NE(list[0]["waiters"][i].get<std::string>().find(std::to_string(queue[i].pid())),
              std::string::npos)
        << list;
  }
}

TEST(LookRedis, ADialectsLeasesAreListedUnderTheirPrefix) {
  auto& server = redis_server::shared();
  server.flush();
  for (std::string const dialect : {"plain", "getset"}) {
    auto const url = server.url() + "?dialect=" + dialect;
    auto const prefixed = url + "&prefix=" + dialect + ":";
    auto const held = herdlock::lock(herdlock::open_store(prefixed), "job").try_acquire();
    ASSERT_TRUE(held);
    auto const shown = run_herdlock({"show", "--json", "--store", prefixed});
    ASSERT_EQ(json::parse(shown.out).size(), 1u) << shown.out << shown.err;
    EXPECT_EQ(json::parse(shown.out)[0]["resource"], "job");
    auto const refused = run_herdlock({"show", "--store", url});
    EXPECT_EQ(refused.code, 64);
    EXPECT_NE(refused.err.find("prefix="), std::string::npos) << refused.err;
  }
}

TEST(LookRedis, WatchTellsOfAStoreThatIsGone) {
  redis_server server;
  auto seeing = start_herdlock({"watch", "job", "--store", server.url(), "--interval", "20ms"});
  ASSERT_TRUE(says(seeing, "free"));
  server.kill();
  ASSERT_TRUE(says(seeing, "unknown")) << seeing.output();
  server.restart();
  EXPECT_TRUE(eventually([&] { return lines_of(seeing.output()).size() == 3; }));
  EXPECT_TRUE(seeing.running());
}

TEST(LookRedis, WatchIgnoresAHangUpThatIsIgnoredWhereItIsStarted) {
  auto& server = redis_server::shared();
  server.flush();
  child_process seeing(
      {.argv = {"setsid", "sh", "-c",
                "trap '' HUP; exec \"$0\" watch job --interval 20ms --store \"$1\"",
                HERDLOCK_COMMAND, server.url()}});
  ASSERT_TRUE(says(seeing, "free")) << seeing.errors();
  seeing.signal(SIGHUP);
  auto const mine = herdlock::lock(herdlock::open_store(server.url()), "job").try_acquire();
  EXPECT_TRUE(says(seeing, "held by")) << seeing.errors();
  seeing.signal(SIGTERM);
  EXPECT_EQ(seeing.wait(), (exit_status{.code = 143, .signal = {}})) << seeing.errors();
}

TEST(LookBadInput, IsOneLineAndTheRightCode) {
  auto const refused = [](words arguments, int code) {
    auto const ended = run_herdlock(arguments);
    auto const what = ::testing::PrintToString(arguments);
    EXPECT_EQ(ended.code, code) << what << ended.err;
    EXPECT_EQ(lines_of(ended.err).size(), 1u) << what << ended.err;
    EXPECT_EQ(ended.err.find("s3cret"), std::string::npos) << ended.err;
    EXPECT_EQ(ended.out, "") << what;
  };
  auto const gone = "redis://:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "?timeout=200ms";
  for (char const* each : {"wait", "watch"}) refused({each}, 64);
  for (char const* each : {"show", "wait", "watch"}) {
    refused({each, ""}, 64);
    refused({each, "a\nb"}, 64);
    refused({each, "job", "--frobnicate"}, 64);
    refused({each, "job", "--store", "memory:"}, 64);
    refused({each, "job", "--store", gone}, 69);
  }
  refused({"release", "job", "--force", "--store", gone}, 69);
  refused({"show", "--store", gone}, 69);
  refused({"show", "--store", "memory:"}, 64);
  refused({"show", "--limit", "0"}, 64);
  refused({"show", "--limit", "100001"}, 64);
  refused({"show", "--limit", "some"}, 64);
  refused({"show", "job", "--limit", "5"}, 64);
  refused({"wait", "job", "--timeout", "soon"}, 64);
  refused({"wait", "job", "--interval", "1ms"}, 64);
  refused({"run", "a\tb", "--", "true"}, 64);
  refused({"elect", "a\x1b[2J", "--", "true"}, 64);
}

TEST(LookHelp, TellsTheExitCodes) {
  for (char const* each : {"show", "release", "wait", "watch", "doctor"}) {
    auto const help = run_herdlock({each, "--help"});
    EXPECT_EQ(help.code, 0) << each;
    for (char const* part : {"Exit status", "64", "--json", "--store-file"}) {
      EXPECT_NE(help.out.find(part), std::string::npos) << each << part << help.out;
    }
  }
}

}  // namespace
