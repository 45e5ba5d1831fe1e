// The collector of hot keys over a real server: who it is, who follows it, and what becomes of the
// fleet when it goes, is held up, or may not be.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <herdlock/cache.hpp>
#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <herdlock/open.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

using texts = cache<std::string>;

constexpr double by_no_count = 1e12;
constexpr char const* lease_key = "{herdlock}:herdlock:collector";

struct redis_collector : testing::Test {
  redis_collector() { server.flush(); }

  static cache_options options(double threshold, std::string prefix = "p:") {
    cache_options how{.prefix = std::move(prefix)};
    how.hot.keys = hot_keys_options{.threshold = threshold, .window = 400ms, .min_reads = 10};
    how.hot.fleet_threshold = 100;
    return how;
  }
  static void read(texts const& one, std::string const& key, int times = 20) {
    for (int i = 0; i < times; ++i) one.get_or_load(key, [] { return std::string("loaded"); });
  }
  static bool is_hot(texts const& one, std::string const& key) {
    auto const all = one.most_read_by_fleet(100);
    return std::any_of(all.begin(), all.end(),
                       [&](auto const& each) { return each.key == key && each.hot; });
  }
  /// Both read often, and the fleet has so many processes by what each of them knows.
  static bool are(std::size_t processes, std::vector<texts const*> const& all) {
    return eventually([&] {
      for (auto const* one : all) read(*one, "k");
      return std::all_of(all.begin(), all.end(), [&](auto const* one) {
        return one->fleet_stats().processes == processes && is_hot(*one, "k");
      });
    });
  }
  long listeners(std::string const& topic) const {
    auto const said = server.command({"PUBSUB", "NUMSUB", topic + "::herdlock:events:0:reports"});
    return std::stol(said.substr(said.rfind('\n') + 1));
  }
  std::string holder() const { return server.command({"GET", lease_key}); }
  static long waiting_at(redis_server const& one) {
    return std::stol(
        one.command({"ZCOUNT", std::string(lease_key) + "::herdlock:queue", "0", "+inf"}));
  }
  static bool has_warning(store const& where, std::string const& part) {
    auto const all = where.warnings();
    return std::any_of(all.begin(), all.end(), [&](std::string const& each) {
      return each.find(part) != std::string::npos;
    });
  }
  static std::string alice_at(redis_server const& one) {
    return "redis://alice:sesame@127.0.0.1:" + std::to_string(one.port());
  }

  redis_server& server = redis_server::shared();
};

TEST_F(redis_collector, OneHearsTheReportsAndAllHearTheLists) {
  texts const one(open_store(server.url()), options(50));
  texts const two(open_store(server.url()), options(50));
  texts const three(open_store(server.url()), options(50));
  ASSERT_TRUE(are(3, {&one, &two, &three}));
  EXPECT_EQ(listeners("{herdlock}:herdlock:hot-reports"), 1);
  EXPECT_EQ(listeners("{herdlock}:herdlock:hot-list:p:"), 3);
  EXPECT_EQ(server.command({"EXISTS", "{p:hot-keys}:herdlock:reports:0"}), "0");
  EXPECT_EQ(server.command({"EXISTS", "{p:hot-keys}:herdlock:reports:1"}), "0");
}

TEST_F(redis_collector, ItCollectsForPrefixesThatItHasNotItself) {
  texts const first(open_store(server.url()), options(50, "other:"));
  ASSERT_TRUE(are(1, {&first}));
  texts const one(open_store(server.url()), options(50));
  texts const two(open_store(server.url()), options(by_no_count));
  EXPECT_TRUE(eventually([&] {
    read(first, "k");
    read(one, "mine");
    read(two, "own", 20);
    return is_hot(two, "mine");
  }));
  EXPECT_FALSE(is_hot(first, "mine"));
  EXPECT_EQ(first.fleet_stats().processes, 1u);
}

TEST_F(redis_collector, WhenItIsClosedItsTermIsGivenBackAndTheNextOneCollects) {
  std::optional<texts> one(std::in_place, open_store(server.url()), options(50));
  ASSERT_TRUE(are(1, {&*one}));
  auto const first = holder();
  texts const two(open_store(server.url()), options(50));
  ASSERT_TRUE(are(2, {&*one, &two}));
  ASSERT_EQ(holder(), first);
  one.reset();
  EXPECT_TRUE(eventually([&] {
    read(two, "k");
    auto const now = holder();
    return now != first && now != "(nil)";
  }));
  EXPECT_TRUE(are(1, {&two}));
}

TEST_F(redis_collector, AStoreWhoseCachesHaveGoneCollectsNoMore) {
  auto const where = open_store(server.url());
  {
    texts const one(where, options(50)), two(where, options(50, "q:"));
    ASSERT_TRUE(are(1, {&one, &two}));
  }
  EXPECT_TRUE(eventually([&] { return holder() == "(nil)"; }));
  // The store finds out by the next message that nobody of its own listens any more.
  EXPECT_TRUE(eventually([&] {
    server.command({"PUBLISH", "{herdlock}:herdlock:hot-reports::herdlock:events:0:reports", "x"});
    return listeners("{herdlock}:herdlock:hot-reports") == 0;
  }));
  texts const again(where, options(50));
  EXPECT_TRUE(are(1, {&again}));
}

TEST_F(redis_collector, ItsLeaseIsNoneOfTheUsers) {
  auto const where = open_store(server.url());
  texts const one(where, options(50));
  ASSERT_TRUE(are(1, {&one}));
  ASSERT_NE(holder(), "(nil)");
  EXPECT_TRUE(where.list().names.empty());
  EXPECT_EQ(where.metrics().held, 0u);
  EXPECT_EQ(where.metrics().acquired, 0u);
  EXPECT_EQ(where.metrics().waiting, 0u);
}

TEST_F(redis_collector, ItsTermKeepsNoStoreOpen) {
  std::optional<texts> one(std::in_place, open_store(server.url()), options(50));
  ASSERT_TRUE(are(1, {&*one}));
  ASSERT_NE(holder(), "(nil)");
  one.reset();
  EXPECT_EQ(holder(), "(nil)") << "the last handle of the user waits until it is given back";
}

TEST_F(redis_collector, NobodyElseMayTakeItsLease) {
  lock const users(open_store(server.url()), lease_key);
  EXPECT_THROW(users.acquire(), error);
  EXPECT_EQ(holder(), "(nil)");
}

// As one that was stopped in the middle of its work: what it has said comes when another collects.
TEST_F(redis_collector, AListThatWasHeldUpIsNotBelieved) {
  relay way(server.port());
  texts const slow(open_store(relay_url(way, "?timeout=10s")), options(50));
  ASSERT_TRUE(are(1, {&slow}));
  auto const first = holder();
  texts const one(open_store(server.url()), options(50));
  texts const two(open_store(server.url()), options(by_no_count));
  ASSERT_TRUE(eventually([&] {
    read(slow, "k");
    read(one, "k");
    read(two, "own");
    return one.fleet_stats().processes == 3 && two.fleet_stats().processes == 3;
  }));
  ASSERT_EQ(holder(), first);
  way.stop_forwarding();
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    read(two, "own");
    auto const now = holder();
    return now != first && now != "(nil)";
  })) << "another one is elected";
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    read(two, "own");
    return one.fleet_stats().processes == 2 && two.fleet_stats().processes == 2 && is_hot(two, "k");
  }));
  way.resume_forwarding();
  auto const until = clock::now() + 1s;
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    read(two, "own");
    EXPECT_TRUE(is_hot(two, "k"));
    return clock::now() > until;
  }));
}

TEST_F(redis_collector, WithoutTheRightToStandEachGoesByItsOwnCountsAndOneWarningSaysSo) {
  redis_server const limited(
      {.users = {"alice on >sesame ~p:* ~{p:* ~q:* ~{q:* ~{herdlock}:herdlock:hot* &* +@all"}});
  auto const where = open_store("redis://alice:sesame@127.0.0.1:" + std::to_string(limited.port()));
  texts const one(where, options(50)), two(where, options(50, "q:"));
  auto const said = [&] {
    auto const all = where.warnings();
    return std::count_if(all.begin(), all.end(), [](std::string const& each) {
      return each.find("cannot collect") != std::string::npos;
    });
  };
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    read(two, "k");
    return said() > 0 && one.hot_stats().hot == 1 && two.hot_stats().hot == 1;
  }));
  EXPECT_EQ(said(), 1);
  EXPECT_EQ(one.fleet_stats().hot, 0u);
  EXPECT_EQ(one.fleet_stats().report_errors, 0u);
  EXPECT_TRUE(eventually([&] {
    read(one, "k");
    return one.stats().near_hits > 10;
  }));
}

TEST_F(redis_collector, WhoMayNotStandFollowsOneWhoMay) {
  redis_server const limited(
      {.users = {"alice on >sesame ~p:* ~{p:* ~{herdlock}:herdlock:hot* &* +@all"}});
  texts const one(open_store("redis://alice:sesame@127.0.0.1:" + std::to_string(limited.port())),
                  options(50));
  texts const two(open_store(limited.url()), options(50));
  EXPECT_TRUE(are(2, {&one, &two}));
}

// PUBLISH and SUBSCRIBE are refused without a word: it hears nothing of its own.
TEST_F(redis_collector, WhoCannotHearReportsResignsAndAnotherOneCollects) {
  redis_server const limited(
      {.users = {"alice on >sesame ~* +@all resetchannels &herdlock:grants:* &*hot-list*"}});
  auto const where = open_store(alice_at(limited));
  texts const deaf(where, options(50));
  ASSERT_TRUE(eventually([&] {
    read(deaf, "k");
    return limited.command({"GET", lease_key}) != "(nil)";
  }));
  texts const two(open_store(limited.url()), options(50));
  EXPECT_TRUE(eventually(2 * patience, [&] { return are(2, {&deaf, &two}); }));
  EXPECT_TRUE(has_warning(where, "collects no more"));
}

TEST_F(redis_collector, WhoCannotPublishListsResignsAndAnotherOneCollects) {
  redis_server const limited(
      {.users = {"alice on >sesame ~* +@all resetchannels &herdlock:grants:* &*hot-reports*"}});
  auto const where = open_store(alice_at(limited));
  texts const mute(where, options(50));
  ASSERT_TRUE(eventually([&] {
    read(mute, "k");
    return limited.command({"GET", lease_key}) != "(nil)";
  }));
  texts const two(open_store(limited.url()), options(50));
  EXPECT_TRUE(eventually(2 * patience, [&] {
    read(mute, "k");
    read(two, "k");
    return has_warning(where, "collects no more") && is_hot(two, "k");
  }));
}

TEST_F(redis_collector, WithoutTheChannelOfGrantsNobodyPollsForIt) {
  redis_server const limited({.users = {"alice on >sesame ~* +@all resetchannels &*hot-*"}});
  texts const two(open_store(limited.url()), options(50));
  ASSERT_TRUE(are(1, {&two}));
  texts const one(open_store(alice_at(limited)), options(50));
  ASSERT_TRUE(are(2, {&one, &two}));
  auto const nobody_waits = [&] {
    read(one, "k");
    read(two, "k");
    return waiting_at(limited) == 0;
  };
  ASSERT_TRUE(eventually(nobody_waits));
  for (auto const end = clock::now() + 2s; clock::now() < end;) EXPECT_TRUE(nobody_waits());
}

TEST_F(redis_collector, WhoHasOtherOptionsThanMostIsWarned) {
  auto others = options(50);
  others.hot.fleet_threshold = 200;
  auto const where = open_store(server.url());
  texts const one(open_store(server.url()), options(50));
  texts const two(open_store(server.url()), options(50));
  texts const other(where, others);
  EXPECT_TRUE(eventually(2 * patience, [&] {
    for (auto const* each : {&one, &two, &other}) read(*each, "k");
    return has_warning(where, "other options of hot keys");
  }));
}

TEST_F(redis_collector, OfALargeFleetAboutEightStand) {
  std::vector<std::unique_ptr<texts>> all;
  for (int i = 0; i < 24; ++i) {
    all.push_back(std::make_unique<texts>(open_store(server.url()), options(50)));
  }
  EXPECT_TRUE(eventually(2 * patience, [&] {
    for (auto const& one : all) read(*one, "k");
    return all.front()->fleet_stats().processes == 24 && waiting_at(server) > 0 &&
           waiting_at(server) < 20;
  })) << waiting_at(server);
}

TEST_F(redis_collector, AChildOfForkLeavesItToItsParent) {
  std::optional<texts> one(std::in_place, open_store(server.url()), options(50));
  ASSERT_TRUE(are(1, {&*one}));
  auto const ours = holder();
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    one.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(holder(), ours);
  texts const two(open_store(server.url()), options(50));
  EXPECT_TRUE(are(2, {&*one, &two}));
  EXPECT_EQ(holder(), ours);
}

}  // namespace
}  // namespace herdlock_test
