// How long an entry is kept as its store tells it, entries that do not end by themselves, and plain
// ones that are loaded anew before they end.
#include <atomic>
#include <herdlock/herdlock.hpp>

#include "framed_fixture.hpp"
#include "support/relayed_cache.hpp"

namespace herdlock_test {
namespace {

class cache_lifetime_contract : public store_contract {
 protected:
  cache_key const key{"product:1"};

  std::optional<milliseconds> time_left() {
    return c
        .get(c.start<std::optional<milliseconds>>(
            [&](auto done) { c.store().values->time_left(key, std::move(done)); }))
        .value();
  }
};

INSTANTIATE_TEST_SUITE_P(stores, cache_lifetime_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(cache_lifetime_contract, TheTimeLeftIsThatOfTheEntryAndOfNothingElse) {
  EXPECT_EQ(time_left(), std::nullopt);
  EXPECT_TRUE(is<claimed>(c.claim(key, alice)));
  EXPECT_EQ(time_left(), std::nullopt) << "a claim is no entry";
  for (cache_value const& value : {cache_value(std::string("text")),
                                   cache_value(hash_fields{{"f", "v"}}), cache_value(absent{})}) {
    ASSERT_TRUE(c.put(key, value, 10min).has_value());
    ASSERT_TRUE(time_left());
    EXPECT_LE(*time_left(), 10min);
    EXPECT_GT(*time_left(), 5min);
  }
  ASSERT_TRUE(c.put(key, std::string("lasts"), limits::max_ttl).has_value());
  EXPECT_LE(*time_left(), limits::max_ttl);
  EXPECT_GT(*time_left(), limits::max_ttl - 5min);
  EXPECT_TRUE(c.invalidate(key).value());
  EXPECT_EQ(time_left(), std::nullopt);
}

class cache_lasting_contract : public testing::TestWithParam<store_case> {
 protected:
  using maybe_text = std::optional<std::string>;

  relayed_cache make(cache_options const& options) const {
    return relayed_cache(open_store(url_), options);
  }
  auto loader(std::string value) {
    return [this, value = std::move(value)]() -> maybe_text {
      ++loads;
      EXPECT_EQ(++running, 1) << "loads at once";
      --running;
      return value;
    };
  }

  std::atomic<int> loads{0};
  std::atomic<int> running{0};
  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
};

INSTANTIATE_TEST_SUITE_P(stores, cache_lasting_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(cache_lasting_contract, TheFirstFiveMegabytesArePutAndTheNextValueIsRefusedByName) {
  auto const one = make({.prefix = no_prefix, .ttl = lasting, .lasting = {.max_bytes = 5'000'000}});
  std::string const value(10'000, 'x');
  for (int i = 0; i < 500; ++i) one.put("product:" + std::to_string(i), value);
  try {
    one.put("the 501st", value);
    ADD_FAILURE() << "it was stored";
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::overloaded);
    EXPECT_NE(std::string(e.what()).find("the 501st"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("lasting.max_bytes"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(one.get("the 501st").is_miss());
  EXPECT_EQ(*one.get("product:499"), value);
  EXPECT_EQ(one.stats().lasting_bytes, 5'000'000u);
}

TEST_P(cache_lasting_contract, OneProcessOfTwoRefreshesOnScheduleAndNobodyWaits) {
  cache_options const options{.prefix = no_prefix,
                              .ttl = lasting,
                              .ttl_jitter = 0,
                              .format = cache_format::framed,
                              .lasting = {.refresh_every = milliseconds(200)}};
  auto const one = make(options);
  auto const other = make(options);
  EXPECT_EQ(one.get_or_load("k", loader("value")), "value");
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(other.get_or_load("k", loader("value")), "value");
    return loads >= 4;
  }));
  EXPECT_EQ(other.stats().misses, 0u) << "there was always a value";
  int const so_far = loads;
  EXPECT_TRUE(eventually([&] { return loads >= so_far + 2; })) << "nobody asks";
  EXPECT_EQ(one.stats().misses, 1u);
}

TEST_P(cache_lasting_contract, APlainEntryIsLoadedAnewBeforeItEnds) {
  auto const one = make({.prefix = no_prefix, .ttl = 10min, .ttl_jitter = 0, .early_refresh = 10});
  // A load takes so long that nearly each caller is elected in the last 100 ms.
  auto slow = [&]() -> maybe_text {
    auto const until = herdlock::clock::now() + 20ms;
    EXPECT_TRUE(eventually([&] { return herdlock::clock::now() >= until; }));
    return "slow";
  };
  EXPECT_EQ(one.get_or_load("another", slow), "slow");
  auto const elsewhere = make({.prefix = no_prefix, .ttl = 300ms, .ttl_jitter = 0});
  EXPECT_TRUE(eventually([&] {
    auto const misses = one.stats().misses;
    elsewhere.put("k", "old");
    while (one.get_or_load("k", loader("new")) == "old") {
    }
    return one.stats().misses == misses;
  })) << "each time the first caller behind its end had to wait";
}

}  // namespace
}  // namespace herdlock_test
