// What loaders decide of their entries, over every store.
#include <atomic>
#include <herdlock/herdlock.hpp>

#include "fixture.hpp"
#include "support/relayed_cache.hpp"

namespace herdlock_test {
namespace {

using maybe_text = std::optional<std::string>;

class cache_decides_contract : public testing::TestWithParam<store_case> {
 protected:
  static constexpr auto key = "product:1";

  static cache_options framed() {
    return {.prefix = no_prefix,
            .ttl = 10min,
            .format = cache_format::framed,
            .freshness = {.grace = 10min}};
  }
  cache<std::string> plain() const {
    return cache<std::string>(open_store(url_), {.prefix = no_prefix, .ttl = 10min});
  }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  std::atomic<int> loads{0};
};

INSTANTIATE_TEST_SUITE_P(stores, cache_decides_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(cache_decides_contract, AnEntryEndsAfterTheTtlThatItsLoaderSet) {
  auto const one = plain();
  auto const load = [&](load_context& of) {
    ++loads;
    of.set_ttl(30ms);
    return std::string("brief");
  };
  EXPECT_EQ(one.get_or_load(key, load), "brief");
  auto const other = plain();
  EXPECT_TRUE(eventually([&] { return other.get(key).is_miss(); }));
  EXPECT_EQ(other.get_or_load(key, load), "brief");
  EXPECT_EQ(loads, 2);
}

TEST_P(cache_decides_contract, AFramedEntryIsStaleAfterIt) {
  relayed_cache const one(open_store(url_), framed());
  auto const brief = [](load_context& of) -> maybe_text {
    of.set_ttl(30ms);
    return "brief";
  };
  EXPECT_EQ(one.get_or_load(key, brief), "brief");
  EXPECT_TRUE(eventually([&] { return one.get(key).is_miss(); }));
  EXPECT_EQ(one.get_or_load(key, [] { return maybe_text("new"); }), "brief");
  EXPECT_TRUE(eventually([&] {
    auto const seen = one.get(key);
    return seen && *seen == "new";
  }));
}

TEST_P(cache_decides_contract, WhatIsNotToBeStoredIsInNoStore) {
  auto const one = plain();
  auto const load = [&](load_context& of) {
    ++loads;
    of.do_not_store();
    return std::string("mine");
  };
  EXPECT_EQ(one.get_or_load(key, load), "mine");
  auto const other = plain();
  EXPECT_TRUE(other.get(key).is_miss());
  EXPECT_EQ(other.get_or_load(key, load), "mine");
  EXPECT_EQ(loads, 2);
}

// FusionCache#96: a source that answers "304" is asked for no body.
TEST_P(cache_decides_contract, WhatIsNotModifiedIsFreshAgainForAll) {
  relayed_cache const one(open_store(url_), framed());
  relayed_cache const other(open_store(url_), framed());
  EXPECT_EQ(one.get_or_load(key, [] { return maybe_text("etag 1"); }), "etag 1");
  EXPECT_TRUE(one.expire(key));
  EXPECT_TRUE(other.get(key).is_miss());
  auto const revalidate = [&](of_text& of) -> maybe_text {
    ++loads;
    auto const* const old = of.old_value();
    return old && *old == "etag 1" ? of.not_modified() : maybe_text("wrong");
  };
  EXPECT_EQ(other.get_or_load(key, revalidate), "etag 1");
  EXPECT_TRUE(eventually([&] {
    auto const seen = one.get(key);
    return seen && *seen == "etag 1";
  }));
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(other.stats().not_modified, 1u);
}

TEST_P(cache_decides_contract, TheEndOfATagThatALoaderNamedEndsTheEntry) {
  auto options = framed();
  options.tags.max_age = 0ms;
  options.error_back_off = 0ms;
  cache<std::string> const one(open_store(url_), options);
  cache<std::string> const other(open_store(url_), options);
  auto const load = [&](load_context& of) {
    of.add_tag("category:7");
    return std::to_string(++loads);
  };
  EXPECT_EQ(one.get_or_load(key, load), "1") << "the tag is new here: not stored";
  EXPECT_EQ(one.get_or_load(key, load), "2");
  EXPECT_EQ(other.get_or_load(key, load), "2");
  other.invalidate_tag("category:7");
  EXPECT_TRUE(one.get(key).is_miss());
  EXPECT_EQ(one.get_or_load(key, load), "3");
}

TEST_P(cache_decides_contract, ABlockingLoaderOfManyKeysDecidesForEach) {
  auto const one = plain();
  auto const load = [&](std::vector<load_context_of<std::string>>& all) {
    std::map<std::string, std::string> loaded;
    for (auto& each : all) {
      ++loads;
      if (each.key().str() == "b") each.do_not_store();
      loaded.emplace(each.key().str(), "loaded");
    }
    return loaded;
  };
  for (auto const& got : one.get_many_or_load({"a", "b"}, load)) EXPECT_EQ(*got, "loaded");
  auto const other = plain();
  EXPECT_EQ(*other.get("a"), "loaded");
  EXPECT_TRUE(other.get("b").is_miss());
  EXPECT_EQ(loads, 2);
}

}  // namespace
}  // namespace herdlock_test
