// load_now over every store: an entry is loaded although it is fresh, once at a time in the fleet.
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <thread>

#include "fixture.hpp"
#include "support/gate.hpp"

namespace herdlock_test {
namespace {

class cache_load_now_contract : public testing::TestWithParam<store_case> {
 protected:
  static constexpr auto key = "product:1";

  static cache_options options_of(cache_format format) {
    return {.prefix = no_prefix, .ttl = 10min, .format = format};
  }
  cache<std::string> make(cache_format format = cache_format::plain) const {
    return cache<std::string>(open_store(url_), options_of(format));
  }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  std::atomic<int> loads{0};
};

INSTANTIATE_TEST_SUITE_P(stores, cache_load_now_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(cache_load_now_contract, AFreshEntryIsReplacedForAll) {
  for (auto const format : {cache_format::plain, cache_format::framed}) {
    auto const one = make(format);
    auto const other = make(format);
    one.put(key, "old");
    EXPECT_EQ(other.get_or_load(key, [] { return std::string("never"); }), "old");
    EXPECT_EQ(other.load_now(key, [] { return std::string("new"); }), "new");
    EXPECT_EQ(*one.get(key), "new");
    EXPECT_EQ(other.stats().loads_now, 1u);
  }
}

TEST_P(cache_load_now_contract, TheOthersHaveTheEntryMeanwhile) {
  auto const one = make();
  auto const other = make();
  one.put(key, "old");
  gate begun, go_on;
  std::thread loading([&] {
    one.load_now(key, [&] {
      begun.open();
      EXPECT_TRUE(go_on.wait());
      return std::string("new");
    });
  });
  EXPECT_TRUE(begun.wait());
  EXPECT_EQ(one.get_or_load(key, [] { return std::string("never"); }), "old");
  EXPECT_EQ(other.get_or_load(key, [] { return std::string("never"); }), "old");
  go_on.open();
  loading.join();
  EXPECT_EQ(*other.get(key), "new");
}

TEST_P(cache_load_now_contract, OfAFleetOneLoadRunsAtATime) {
  auto const one = make();
  auto const other = make();
  one.put(key, "0");
  std::atomic<int> at_once{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      int const before = loads;
      auto const got = (i % 2 ? one : other).load_now(key, [&] {
        EXPECT_EQ(++at_once, 1);
        auto const mine = std::to_string(++loads);
        --at_once;
        return mine;
      });
      EXPECT_GT(std::stoi(*got), before) << "its load began behind the call";
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(*one.get(key), std::to_string(loads));
}

TEST_P(cache_load_now_contract, AFailedOneLeavesTheEntry) {
  auto const one = make();
  one.put(key, "old");
  auto const failing = []() -> std::string { throw std::runtime_error("no database"); };
  EXPECT_THROW(one.load_now(key, failing), error);
  EXPECT_EQ(*one.get(key), "old");
}

TEST_P(cache_load_now_contract, WithTheLocksElsewhereItIsRefused) {
  cache<std::string> const one(open_store(url_), open_store(url_), {.prefix = no_prefix});
  try {
    one.load_now(key, [] { return std::string("never"); });
    FAIL() << "it was not refused";
  } catch (error const& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::not_supported));
  }
}

}  // namespace
}  // namespace herdlock_test
