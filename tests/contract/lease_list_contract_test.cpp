// The list of what is held, for every store; and for how long it has been.
#include <set>

#include "fixture.hpp"

namespace herdlock_test {
namespace {

class lease_list_contract : public store_contract {
 protected:
  // All parts of a list, and that each keeps its bound.
  static std::set<std::string> listed(client& of, std::size_t limit = limits::max_listed) {
    std::set<std::string> names;
    list_request next{.limit = limit};
    do {
      auto page = of.list(next).value();
      EXPECT_LE(page.names.size(), limit);
      for (auto const& each : page.names) names.insert(each.str());
      next.cursor = std::move(page.cursor);
    } while (!next.cursor.empty());
    return names;
  }

  // Those that are held by alice from now on.
  std::set<std::string> hold(std::vector<std::string> const& names) {
    std::set<std::string> held;
    for (auto const& each : names) {
      EXPECT_TRUE(is<grant>(c.acquire(resource(each), alice))) << each;
      held.insert(each);
    }
    return held;
  }
};

INSTANTIATE_TEST_SUITE_P(stores, lease_list_contract, testing::ValuesIn(all_stores()), case_name);

std::string every_byte() {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  return all;
}

TEST_P(lease_list_contract, NamesComeBackAsTheyAre) {
  EXPECT_EQ(listed(c), std::set<std::string>());
  auto const held = hold({every_byte(), std::string(limits::max_name_bytes, '\xff'), "{tag}:x",
                          "a/b", "a:herdlock:b", "*?[a]\\", "%41", "zookeeper", ".", " "});
  EXPECT_EQ(listed(c), held);
  EXPECT_EQ(listed(*another()), held);
}

TEST_P(lease_list_contract, APageKeepsItsBoundAndAllPagesHaveAll) {
  auto const held = hold({"a", "b", "c", "d", "e"});
  for (std::size_t limit : {1, 2, 5}) EXPECT_EQ(listed(c, limit), held) << limit;
  EXPECT_LE(c.list({.limit = 0}).value().names.size(), 1u);
  EXPECT_EQ(c.list({.limit = limits::max_page + 1}).has_value(), true);
}

TEST_P(lease_list_contract, WhatIsFreeIsNotListed) {
  auto const held = hold({"held", "released", "taken away"});
  ASSERT_TRUE(is<grant>(c.acquire(resource("run out"), alice, brief())));
  ASSERT_TRUE(eventually([&] { return !c.inspect(resource("run out")).value().has_value(); }));
  ASSERT_EQ(c.release(resource("released"), alice).value(), release_reply::released);
  ASSERT_EQ(c.force_release(resource("taken away")).value(), release_reply::released);
  EXPECT_EQ(listed(c), std::set<std::string>{"held"});
}

TEST_P(lease_list_contract, ACancelledListEndsOnce) {
  hold({"a"});
  auto list = c.start_list({});
  list.cancel();
  auto const outcome = c.get(list);
  EXPECT_TRUE(outcome.has_value() || outcome.error() == errc::canceled) << outcome.error().message;
}

class lease_list_beside_values : public lease_list_contract {};
INSTANTIATE_TEST_SUITE_P(stores, lease_list_beside_values,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(lease_list_beside_values, ManyNamesAndNoneOfTheCache) {
  std::vector<std::string> names;
  for (int i = 0; i < 120; ++i) names.push_back("job:" + std::to_string(i));
  auto const held = hold(names);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(c.put(cache_key("page:" + std::to_string(i)), std::string("text")).has_value());
  }
  ASSERT_TRUE(is<claimed>(c.claim(cache_key("missing"), bob)));
  EXPECT_EQ(listed(c, 7), held);
}

class lease_age_contract : public store_contract {};
INSTANTIATE_TEST_SUITE_P(stores, lease_age_contract, testing::ValuesIn(all_stores()), case_name);

TEST_P(lease_age_contract, CountsFromTheGrantNotFromARenewal) {
  resource const stock("stock");
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const age = [&] { return c.inspect(stock).value()->held_for; };
  ASSERT_EQ(age().has_value(), GetParam().knows_age);
  if (!age()) return;
  ASSERT_TRUE(eventually([&] { return age() > 200ms; }));
  ASSERT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
  auto const alices = *age();
  EXPECT_GT(alices, 200ms);
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  auto const before = clock::now();
  ASSERT_TRUE(is<grant>(c.acquire(stock, bob)));
  auto const bobs = age();
  // The store may count in other units, by another clock: but not from alice's grant.
  EXPECT_LT(*bobs, clock::now() - before + alices / 2) << "not alice's";
}

}  // namespace
}  // namespace herdlock_test
