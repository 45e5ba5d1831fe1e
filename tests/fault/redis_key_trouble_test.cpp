// The guarded cache over Redis servers that refuse some of its keys, or what it asks of all of
// them: the rest goes on as if nothing were, and no call loads what another has just loaded (S15).
#include <algorithm>
#include <string>
#include <vector>

#include <herdlock/cache.hpp>
#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

using maybe_text = std::optional<std::string>;

std::string url_of(redis_server const& server, std::string const& user) {
  return "redis://" + user + ":sesame@127.0.0.1:" + std::to_string(server.port());
}

std::ptrdiff_t warnings_with(store const& of, std::string const& words) {
  auto const all = of.warnings();
  return std::count_if(all.begin(), all.end(),
                       [&](auto const& one) { return one.find(words) != std::string::npos; });
}

// Counts its loads.
struct counted {
  int runs = 0;
  auto loader() {
    return [this](load_context const&) {
      ++runs;
      return maybe_text("loaded");
    };
  }
};

// How often what is kept for 250 ms was to be loaded since then.
auto periods_since(clock::time_point began) { return 1 + (clock::now() - began) / 250ms; }

// So many calls for one key, one after the other.
void expect_few_loads(cache<std::string> const& strings, std::string const& key) {
  counted loads;
  auto const began = clock::now();
  for (int i = 0; i < 300; ++i) EXPECT_EQ(strings.get_or_load(key, loads.loader()), "loaded");
  EXPECT_LE(loads.runs, periods_since(began)) << key;
}

TEST(redis_cache_refusal, WithoutTheSideKeysEachKeyIsLoadedOnceInAQuarterOfASecond) {
  redis_server server({.users = {"app on >sesame ~dn:* &* +@all"}});
  store const home = open_store(url_of(server, "app"));
  cache<std::string> const strings(home, {.prefix = "dn:"});
  expect_few_loads(strings, "k");
  EXPECT_EQ(warnings_with(home, "with the prefix 'dn:' cannot claim keys"), 1);
  EXPECT_EQ(warnings_with(home, "doctor"), 1);
}

TEST(redis_cache_refusal, WithoutScriptsEachKeyIsLoadedOnceInAQuarterOfASecond) {
  redis_server server({.users = {"app on >sesame ~* &* +@all -eval -evalsha"}});
  store const home = open_store(url_of(server, "app"));
  cache<std::string> const strings(home, {.prefix = no_prefix});
  expect_few_loads(strings, "k");
  EXPECT_EQ(warnings_with(home, "cannot claim keys"), 1);
}

TEST(redis_cache_refusal, AClaimThatMeetsAnothersSideKeyIsRefusedForThatKeyAlone) {
  auto& server = redis_server::shared();
  server.flush();
  store const home = open_store(server.url());
  cache<std::string> const strings(home, {.prefix = no_prefix});
  server.command({"SET", "{odd}:herdlock:claim-fence", "no number"});
  expect_few_loads(strings, "odd");
  EXPECT_EQ(warnings_with(home, "cannot claim keys"), 1);
  EXPECT_EQ(warnings_with(home, "the keys beside it"), 1);
  auto const before = strings.stats().unguarded_loads;
  counted loads;
  strings.get_or_load("even", loads.loader());
  EXPECT_EQ(strings.stats().unguarded_loads, before);
  EXPECT_EQ(server.command({"GET", "even"}), "loaded");
}

TEST(redis_cache_refusal, ADeniedKeyLeavesTheReadsOfOthersAlone) {
  redis_server server({.users = {"ob on >sesame ~ob:a* ~{ob:a* &* +@all"}});
  cache<std::string> const strings(open_store(url_of(server, "ob")), {.prefix = "ob:"});
  for (int i = 0; i < 20; ++i) strings.put("a" + std::to_string(i), "stored");
  counted loads;
  for (int i = 0; i < 400; ++i) {
    if (i % 10 == 0) {
      EXPECT_EQ(strings.get_or_load("b", loads.loader()), "loaded");
    }
    EXPECT_EQ(strings.get_or_load("a" + std::to_string(i % 20), loads.loader()), "stored");
  }
  EXPECT_EQ(strings.stats().hits, 400u);
}

// With room for small entries, and for a request that brings a large one, but not for its entry.
TEST(redis_cache_refusal, AValueThatFindsNoRoomLeavesTheOthersAlone) {
  redis_server server;
  cache<std::string> const strings(open_store(server.url()), {.prefix = no_prefix});
  auto const info = server.cli("INFO memory");
  auto const used = std::stoull(info.substr(info.find("used_memory:") + 12));
  server.cli("CONFIG SET maxmemory " + std::to_string(used + 5'000'000));
  std::string const large(3'000'000, 'x');
  int loads = 0, large_loads = 0;
  auto const began = clock::now();
  for (int i = 0; i < 200; ++i) {
    auto const got = strings.get_or_load("large", [&](load_context const&) {
      ++large_loads;
      return maybe_text(large);
    });
    EXPECT_EQ(got->size(), large.size());
    strings.get_or_load("small" + std::to_string(i % 10), [&](load_context const&) {
      ++loads;
      return maybe_text("loaded");
    });
  }
  EXPECT_EQ(loads, 10);
  EXPECT_LE(large_loads, periods_since(began));
  EXPECT_EQ(strings.stats().unguarded_loads, 0u);
}

// Beyond the commands that a connection takes at once.
TEST(redis_cache_refusal, MoreCachedKeysThanAConnectionTakesAreHits) {
  redis_server server;
  constexpr int keys = 140'000;
  server.command({"EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'k' .. i, 'v') end",
                  "0", std::to_string(keys)});
  cache<std::string> const strings(
      open_store(server.url() + "?timeout=5m"),
      {.prefix = no_prefix, .wait = 5min, .bounds = {.max_waiting = 2 * keys}});
  std::vector<std::string> names;
  for (int i = 1; i <= keys; ++i) names.push_back("k" + std::to_string(i));
  int runs = 0;
  auto const got = strings.get_many_or_load(names, [&](std::vector<std::string> const&) {
    ++runs;
    return std::map<std::string, std::string>();
  });
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(strings.stats().hits, static_cast<std::uint64_t>(keys));
  EXPECT_TRUE(std::all_of(got.begin(), got.end(),
                          [](auto const& one) { return one.has_value() && *one == "v"; }));
}

// Who may not ask for the time of the store has no other way to tell what is stale.
TEST(redis_cache_refusal, WithoutTimeAStaleEntryIsNoAnswer) {
  redis_server server({.users = {"timeless on >sesame ~* &* +@all -time"}});
  cache_options options{.prefix = no_prefix, .ttl = 300ms, .ttl_jitter = 0};
  options.format = cache_format::framed;
  options.freshness.grace = 60s;
  options.hot.keys = std::nullopt;
  cache<std::string> const writer(open_store(server.url()), options);
  store const home = open_store(url_of(server, "timeless"));
  cache<std::string> const reader(home, options);
  writer.put("k", "old");
  ASSERT_TRUE(eventually([&] { return writer.get("k").is_miss(); })) << "stale, and kept";
  ASSERT_EQ(server.command({"EXISTS", "k"}), "1");
  counted loads;
  EXPECT_TRUE(reader.get("k").is_miss());
  EXPECT_EQ(reader.get_or_load("k", loads.loader()), "loaded");
  EXPECT_EQ(loads.runs, 1);
  EXPECT_EQ(warnings_with(home, "permit TIME"), 1);
}

}  // namespace
}  // namespace herdlock_test
