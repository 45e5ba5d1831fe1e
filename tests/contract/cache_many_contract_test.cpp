// Many keys in one call, over every store: each is loaded once in the fleet, in whatever order the
// calls name them.
#include <algorithm>
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "fixture.hpp"

namespace herdlock_test {
namespace {

using names = std::vector<std::string>;

class cache_many_contract : public testing::TestWithParam<store_case> {
 protected:
  std::map<std::string, std::string> load(names const& keys) {
    std::lock_guard const lock(mutex_);
    std::map<std::string, std::string> loaded;
    for (auto const& key : keys) {
      ++loads[key];
      loaded[key] = "value of " + key;
    }
    return loaded;
  }
  auto loader() {
    return [this](names const& keys) { return load(keys); };
  }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  std::mutex mutex_;
  std::map<std::string, int> loads;  // mutex_
};

INSTANTIATE_TEST_SUITE_P(stores, cache_many_contract, testing::ValuesIn(stores_that(keeps_values)),
                         case_name);

TEST_P(cache_many_contract, WhatIsThereIsReadAndWhatIsMissingIsLoadedAtOnce) {
  cache<std::string> const one(open_store(url_), {.prefix = no_prefix});
  one.put("there", "old");
  std::atomic<int> calls{0};
  auto counted = [&](names const& keys) {
    ++calls;
    return load(keys);
  };
  auto const got = one.get_many_or_load({"a", "there", "b"}, counted);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].value(), "value of a");
  EXPECT_EQ(got[1].value(), "old");
  EXPECT_EQ(got[2].value(), "value of b");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(*one.get("b"), "value of b");
}

TEST_P(cache_many_contract, ProcessesWhoseKeysOverlapLoadEachKeyOnceAndNeverWaitInACircle) {
  constexpr int processes = 4, keys = 30, rounds = 5;
  cache_options const plain{.prefix = no_prefix};
  std::vector<cache<std::string>> fleet;
  for (int i = 0; i < processes; ++i) fleet.emplace_back(open_store(url_), plain);
  std::minstd_rand dice(std::random_device{}());
  for (int round = 0; round < rounds; ++round) {
    names all;
    for (int i = 0; i < keys; ++i) {
      all.push_back(std::to_string(round) + ":" + std::to_string(i));
    }
    std::vector<std::thread> callers;
    for (auto const& one : fleet) {
      std::shuffle(all.begin(), all.end(), dice);
      names const some(all.begin(), all.begin() + keys * 2 / 3);
      callers.emplace_back([&one, some, this] {
        auto const got = one.get_many_or_load(some, loader());
        for (std::size_t i = 0; i < some.size(); ++i) {
          ASSERT_TRUE(got[i].has_value()) << some[i] << ": " << got[i].error().message;
          EXPECT_EQ(got[i].value(), "value of " + some[i]);
        }
      });
    }
    for (auto& caller : callers) caller.join();
  }
  for (auto const& [key, times] : loads) EXPECT_EQ(times, 1) << key;
}

}  // namespace
}  // namespace herdlock_test
