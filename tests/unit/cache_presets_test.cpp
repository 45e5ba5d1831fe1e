// Where options begin: each preset makes a cache as it is, by whomever the loader is given.
#include <gtest/gtest.h>

#include <herdlock/cache.hpp>
#include <herdlock/cache_presets.hpp>

namespace herdlock {
namespace {

using namespace std::chrono_literals;

void expect_to_load(cache_options const& options) {
  auto const text = [] { return std::string("loaded"); };
  cache<std::string> const one(open_store("memory:"), options);
  EXPECT_EQ(one.get_or_load("k", text), "loaded");
  cache<std::string> const owning(open_store("memory:"), options, text);
  EXPECT_EQ(owning.get_or_load("k"), "loaded");
}

TEST(CachePresets, EachMakesACacheWhoeverGivesTheLoader) {
  expect_to_load(presets::read_through());
  expect_to_load(presets::stale_while_revalidate());
  expect_to_load(presets::hot());
}

TEST(CachePresets, TheyKeepPlainEntriesButWhereStaleOnesAreToAnswer) {
  EXPECT_EQ(presets::read_through().format, cache_format::plain);
  EXPECT_EQ(presets::hot().format, cache_format::plain);
  auto const stale = presets::stale_while_revalidate();
  EXPECT_EQ(stale.format, cache_format::framed);
  EXPECT_EQ(stale.freshness.grace, 1h);
  EXPECT_TRUE(stale.freshness.fail_safe);
}

TEST(CachePresets, OnlyThatOfHotKeysCountsKeys) {
  EXPECT_FALSE(presets::read_through().hot.keys);
  EXPECT_FALSE(presets::stale_while_revalidate().hot.keys);
  EXPECT_TRUE(presets::hot().hot.keys);
  EXPECT_EQ(presets::hot().hot.rules, key_rules::on);
}

TEST(CachePresets, AGroupThatIsChangedLeavesWhatItDoesNotName) {
  auto options = presets::stale_while_revalidate();
  options.freshness.grace = 10min;
  EXPECT_TRUE(options.freshness.fail_safe);
  options.freshness = {.grace = 10min};
  EXPECT_FALSE(options.freshness.fail_safe) << "a whole group is given anew";
}

}  // namespace
}  // namespace herdlock
