// Each thread counts in a shard of its own.
#include "cache/fleet/hot_counter.hpp"

#include <string>

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using herdlock::algo::hot_uses;
using herdlock::detail::hot_counter;

// Keys come from outside: with a hash that is known, somebody could send keys that all fall
// together.
TEST(HotCounter, AHashIsKnownToNobodyOutside) {
  hot_counter const one(1);
  hot_counter const same(1);
  hot_counter const other(2);
  for (int i = 0; i < 100; ++i) {
    std::string const key = "key" + std::to_string(i);
    EXPECT_EQ(one.id_of(key), same.id_of(key));
    EXPECT_NE(one.id_of(key).hash, other.id_of(key).hash);
  }
}

TEST(HotCounter, UsesAreInOneOfItsShards) {
  hot_counter counter(1);
  counter.prepare();
  counter.used("a", {5, 2});
  counter.used("b", {1, 0});
  hot_uses all;
  std::size_t shards = 0;
  std::size_t behind = 0;
  counter.each_shard(
      [&](herdlock::algo::hot_shard& shard) {
        all += shard.total();
        ++shards;
      },
      [&] { ++behind; });
  EXPECT_EQ(all, (hot_uses{6, 2}));
  EXPECT_EQ(shards, 2u);  // the common one, too
  EXPECT_EQ(behind, 2u);
}

}  // namespace
}  // namespace herdlock_test
