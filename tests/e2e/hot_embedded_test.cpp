// `herdlock hot` and its rules over an SQLite file, which the caches of this process use.
#include <gtest/gtest.h>

#include <filesystem>
#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <support/temp_dir.hpp>

#include "herdlock_command.hpp"
#include "hot_caches.hpp"

namespace {

using namespace herdlock_test;
using namespace std::chrono_literals;
using nlohmann::json;
using words = std::vector<std::string>;

bool tells(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

class HotEmbedded : public ::testing::Test {
 protected:
  texts open_cache() const { return open_reporting_cache(url()); }
  static void read(texts const& cache, std::string const& key) {
    cache.get_or_load(key, [] { return std::string("loaded"); });
  }
  std::string file() const { return (folder_.path() / "store.db").string(); }
  std::string url() const { return "sqlite:" + file(); }
  command_result hot(words more) const {
    more.insert(more.begin(), "hot");
    more.insert(more.end(), {"--store", url()});
    return run_herdlock(more);
  }
  command_result rule(words more) const {
    more.insert(more.end(), {"--cache", "p:"});
    return hot(std::move(more));
  }

 private:
  temp_dir folder_;
};

TEST_F(HotEmbedded, AnotherProcessSeesWhatIsReadOftenHere) {
  auto const one = open_cache(), two = open_cache();
  json seen;
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 40; ++i) {
      read(one, "hot");
      read(two, i % 5 == 0 ? "warm" : "hot");
    }
    auto const shown = hot({"--source", "clients", "--json"});
    EXPECT_EQ(shown.code, 0) << shown.err;
    seen = json::parse(shown.out, nullptr, false);
    return seen.is_array() && !seen.empty() && seen[0]["key"] == "p:hot" &&
           seen[0]["processes"] == 2;
  })) << seen;
}

TEST_F(HotEmbedded, WhatOneProcessFindsHotIsHotInAll) {
  auto const one = open_cache();
  auto how = herdlock::cache_options{.prefix = "p:"};
  how.hot.keys = herdlock::hot_keys_options{.threshold = 1e12, .window = 400ms, .min_reads = 10};
  how.hot.fleet_threshold = 100;
  auto const two = texts(herdlock::open_store(url()), how);
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 20; ++i) {
      read(one, "k");
      read(two, "own");
    }
    auto const known = two.most_read_by_fleet(10);
    return std::any_of(known.begin(), known.end(),
                       [](auto const& each) { return each.key == "k" && each.hot; });
  }));
}

TEST_F(HotEmbedded, RulesAreAddedListedAndRemoved) {
  auto const added = rule({"add", "k", "--keep", "--at-most", "10m"});
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_TRUE(tells(added.out, "not known, the store cannot tell")) << added.out;
  auto const listed = rule({"list"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_TRUE(tells(listed.out, "keep")) << listed.out;
  EXPECT_EQ(rule({"remove", "k"}).code, 0);
  EXPECT_EQ(rule({"remove", "k"}).code, 1);
}

TEST_F(HotEmbedded, WhoOnlyLooksMakesNoFile) {
  for (words const& looks : {words{"list", "--cache", "p:"}, words{}}) {
    auto const shown = hot(looks);
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_TRUE(tells(shown.err, "does not exist")) << shown.err;
    EXPECT_TRUE(tells(shown.err, file())) << shown.err;
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
}

TEST_F(HotEmbedded, TheSourcesOfAServerAreRefused) {
  for (char const* source : {"monitor", "lfu", "server"}) {
    auto const refused = hot({"--source", source});
    EXPECT_EQ(refused.code, 64) << source << refused.err;
    EXPECT_EQ(lines_of(refused.err).size(), 1u) << refused.err;
    for (char const* part : {source, "Redis", "clients"}) {
      EXPECT_TRUE(tells(refused.err, part)) << part << refused.err;
    }
  }
}

}  // namespace
