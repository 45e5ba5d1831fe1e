// Entries with tags over every store: one command ends all of them, in all processes.
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <thread>

#include "fixture.hpp"
#include "support/gate.hpp"
#include "support/relayed_cache.hpp"

namespace herdlock_test {
namespace {

using maybe_text = std::optional<std::string>;

class cache_tags_contract : public testing::TestWithParam<store_case> {
 protected:
  static constexpr auto key = "product:1";

  static cache_options tagged() {
    cache_options options{.prefix = no_prefix,
                          .ttl = 10min,
                          .format = cache_format::framed,
                          .freshness = {.grace = 10min}};
    options.tags.of = [](std::string_view of) {
      return std::vector<std::string>{"products", "of " + std::string(of)};
    };
    options.tags.max_age = 0ms;
    return options;
  }
  auto loader(std::string value) {
    return [this, value = std::move(value)](load_context const&) -> maybe_text {
      ++loads;
      return value;
    };
  }
  template <class T = std::string>
  auto make(cache_options const& options = tagged()) const {
    using made = std::conditional_t<std::same_as<T, std::string>, relayed_cache, cache<T>>;
    return made(open_store(url_), options);
  }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  std::atomic<int> loads{0};
};

INSTANTIATE_TEST_SUITE_P(stores, cache_tags_contract, testing::ValuesIn(stores_that(keeps_values)),
                         case_name);

TEST_P(cache_tags_contract, AnInvalidatedTagEndsItsEntriesInAllProcesses) {
  auto const one = make();
  auto const other = make();
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "old");
  other.invalidate_tag("products");
  EXPECT_TRUE(one.get(key).is_miss());
  EXPECT_EQ(one.get_or_load(key, loader("new")), "new");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "new");
  one.invalidate_tag("of another");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "new");
  one.invalidate_tag("of product:1");
  EXPECT_EQ(other.get_or_load(key, loader("newest")), "newest");
  EXPECT_EQ(one.get_or_load(key, loader("never")), "newest");
  EXPECT_EQ(loads, 3);
}

TEST_P(cache_tags_contract, AnExpiredTagLeavesItsEntriesToBeServedUntilTheyAreLoadedAnew) {
  auto const one = make();
  auto const other = make();
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_EQ(one.get_or_load("product:2", loader("old")), "old");
  one.expire_tag("products");
  EXPECT_TRUE(other.get(key).is_miss());
  EXPECT_EQ(other.get_or_load(key, loader("new")), "old");
  EXPECT_TRUE(eventually([&] {
    auto const seen = one.get(key);
    return seen && *seen == "new";
  }));
  // The second is of the old generation still, whoever has made the next one.
  EXPECT_TRUE(one.get("product:2").is_miss());
  EXPECT_EQ(one.get_or_load("product:2", loader("new")), "old");
  EXPECT_TRUE(eventually([&] { return !other.get("product:2").is_miss(); }));
  EXPECT_FALSE(one.get(key).is_miss()) << "the next generation was not made once more";
  EXPECT_EQ(loads, 4);
}

TEST_P(cache_tags_contract, WhatIsLoadedWhileItsTagEndsIsNoAnswerToThoseWhoComeAfter) {
  auto const one = make();
  auto const other = make();
  gate begun, go_on;
  auto slow = [&](load_context const&) -> maybe_text {
    begun.open();
    EXPECT_TRUE(go_on.wait());
    return "old";
  };
  std::thread loading([&] { EXPECT_EQ(one.get_or_load(key, slow), "old"); });
  EXPECT_TRUE(begun.wait());
  other.invalidate_tag("products");
  std::thread waiting([&] { EXPECT_EQ(other.get_or_load(key, loader("new")), "new"); });
  EXPECT_TRUE(eventually([&] { return other.stats().misses == 1; }));
  go_on.open();
  loading.join();
  waiting.join();
  EXPECT_EQ(one.get_or_load(key, loader("never")), "new");
  EXPECT_EQ(loads, 1);
}

TEST_P(cache_tags_contract, APutValueHasTheTagsOfItsKey) {
  auto const one = make();
  auto const other = make();
  one.put(key, "put");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "put");
  other.invalidate_tag("products");
  EXPECT_EQ(one.get_or_load(key, loader("loaded")), "loaded");
}

TEST_P(cache_tags_contract, ANegativeEntryHasTags) {
  auto const one = make();
  auto nothing = [this](load_context const&) -> maybe_text {
    ++loads;
    return std::nullopt;
  };
  EXPECT_EQ(one.get_or_load(key, nothing), std::nullopt);
  EXPECT_EQ(one.get_or_load(key, loader("never")), std::nullopt);
  one.invalidate_tag("products");
  EXPECT_EQ(one.get_or_load(key, loader("there is one")), "there is one");
}

TEST_P(cache_tags_contract, ManyEntriesEndByOneTag) {
  auto options = tagged();
  options.tags.of = [](std::string_view) { return std::vector<std::string>{"products"}; };
  options.tags.max_age = 1h;
  auto const one = make(options);
  auto const other = make(options);
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("product:" + std::to_string(i));
  auto all_are = [](std::string value) {
    return [value = std::move(value)](std::vector<std::string> const& wanted) {
      std::map<std::string, std::string> found;
      for (auto const& name : wanted) found[name] = value;
      return found;
    };
  };
  auto const read = [&](cache<std::string> const& from, std::string const& value) {
    std::map<std::string, int> seen;
    for (auto const& got : from.get_many_or_load(keys, all_are(value))) {
      ++seen[got.has_value() ? got->value_or("(none)") : got.error().message];
    }
    return seen;
  };
  using counts = std::map<std::string, int>;
  EXPECT_EQ(read(one, "old"), (counts{{"old", 1000}}));
  EXPECT_EQ(read(other, "never"), (counts{{"old", 1000}}));
  one.invalidate_tag("products");
  other.fence();
  EXPECT_EQ(read(other, "new"), (counts{{"new", 1000}}));
  EXPECT_EQ(read(one, "never"), (counts{{"new", 1000}}));
}

TEST_P(cache_tags_contract, AClearedCacheHasNoEntryInAnyProcessAndOthersAreAsTheyWere) {
  auto options = tagged();
  options.prefix = "one:";
  options.tags.clearable = true;
  auto const one = make(options);
  auto const other = make(options);
  options.prefix = "two:";
  auto const apart = make(options);
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_EQ(one.get_or_load("product:2", loader("old")), "old");
  EXPECT_EQ(apart.get_or_load(key, loader("apart")), "apart");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "old");
  other.clear();
  EXPECT_TRUE(one.get(key).is_miss());
  EXPECT_FALSE(one.look("product:2"));
  EXPECT_EQ(one.get_or_load(key, loader("new")), "new");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "new");
  EXPECT_EQ(apart.get_or_load(key, loader("never")), "apart");
  one.clear();
  EXPECT_EQ(other.get_or_load(key, loader("newest")), "newest");
  EXPECT_EQ(loads, 5);
}

}  // namespace
}  // namespace herdlock_test
