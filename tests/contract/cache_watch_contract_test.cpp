// Waiting for another's load: what store_traits::pushes_fills adds to the cache port.
#include "fixture.hpp"

namespace herdlock_test {
namespace {

class cache_watch_contract : public store_contract {
 protected:
  cache_key const key{"product:1"};

  void claim_it(milliseconds ttl = 1min) { ASSERT_TRUE(is<claimed>(c.claim(key, alice, ttl))); }
  pending<watch_reply> watching() { return c.start_watch({key, 1min}); }
  // A round trip: in memory, and mostly elsewhere, the watches started before it listen by now.
  void settle() { c.look(cache_key("another")).value(); }

  // What watchers of two handles get when `end` ends the claim. One that did not listen yet may be
  // told to look again, so this is repeated, with more time for listening, until all were woken.
  template <class As>
  std::vector<As> woken_by(std::function<void()> const& end, layout form = layout::string) {
    auto other = another();
    for (int round = 0; round < 50; ++round) {
      c.invalidate(key).value();
      claim_it();
      std::vector<pending<watch_reply>> mine;
      std::vector<pending<watch_reply>> theirs;
      for (int i = 0; i < 5; ++i) {
        mine.push_back(c.start_watch({key, 1min, form}));
        theirs.push_back(other->start_watch({key, 1min, form}));
      }
      for (int turn = 0; turn <= round; ++turn) {
        settle();
        other->look(cache_key("another")).value();
      }
      end();
      std::vector<As> woken;
      for (auto& one : mine) collect(c.get(one), woken);
      for (auto& one : theirs) collect(other->get(one), woken);
      if (woken.size() == mine.size() + theirs.size()) return woken;
    }
    ADD_FAILURE() << "not all watchers were ever woken with the result";
    return {};
  }

  template <class As>
  static void collect(result<watch_reply> const& reply, std::vector<As>& woken) {
    if (is<As>(reply)) return woken.push_back(as<As>(reply));
    EXPECT_TRUE(is<look_again>(reply));
  }
};

// The same for stores that do not push, and what holds with or without.
class cache_no_push_contract : public cache_watch_contract {};
class cache_watch_anywhere_contract : public cache_watch_contract {};

bool pushes(store_case const& kind) { return kind.pushes; }
bool does_not_push(store_case const& kind) { return kind.caches && !kind.pushes; }
INSTANTIATE_TEST_SUITE_P(stores, cache_watch_contract, testing::ValuesIn(stores_that(pushes)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(stores, cache_no_push_contract,
                         testing::ValuesIn(stores_that(does_not_push)), case_name);
INSTANTIATE_TEST_SUITE_P(stores, cache_watch_anywhere_contract,
                         testing::ValuesIn(stores_that(caches)), case_name);

TEST_P(cache_watch_anywhere_contract, TheTraitsSayWhetherItPushes) {
  EXPECT_EQ(c.store().traits.pushes_fills, GetParam().pushes);
}

TEST_P(cache_no_push_contract, AStoreThatPushesNothingSaysLookAgainAtOnce) {
  claim_it();
  EXPECT_TRUE(is<look_again>(c.watch(key, wait_forever)));
}

TEST_P(cache_watch_anywhere_contract, WithoutAClaimThereIsNothingToWaitFor) {
  EXPECT_TRUE(is<look_again>(c.watch(key, wait_forever)));
}

// S4: the value itself comes, at once.
TEST_P(cache_watch_contract, AFillWakesEveryWatcherWithTheValue) {
  for (auto& woken : woken_by<cache_hit>([&] { c.fill(key, alice, std::string("v")).value(); })) {
    EXPECT_EQ(woken.value, cache_value(std::string("v")));
  }
}

TEST_P(cache_watch_contract, AFillWithAHashWakesWithItsFields) {
  hash_fields fields{{"name", "Tea"}};
  for (auto& woken :
       woken_by<cache_hit>([&] { c.fill(key, alice, fields).value(); }, layout::hash)) {
    EXPECT_EQ(woken.value, cache_value(fields));
  }
}

// S5: so does the error.
TEST_P(cache_watch_contract, AFailedLoadWakesEveryWatcherWithItsError) {
  for (auto& woken : woken_by<load_backing_off>(
           [&] { c.fail(key, alice, "the database is down", 10s).value(); })) {
    EXPECT_EQ(woken.error, "the database is down");
    EXPECT_GT(woken.remaining, 0ms);
    EXPECT_LE(woken.remaining, 10s);
  }
}

TEST_P(cache_watch_contract, PutWakesWithTheValue) {
  claim_it();
  auto one = watching();
  settle();
  ASSERT_TRUE(c.put(key, std::string("put")).has_value());
  auto reply = c.get(one);
  if (is<cache_hit>(reply)) {
    EXPECT_EQ(as<cache_hit>(reply).value, cache_value(std::string("put")));
  } else {
    EXPECT_TRUE(is<look_again>(reply));
  }
}

TEST_P(cache_watch_contract, InvalidateAndGivingUpWakeWithLookAgain) {
  claim_it();
  auto first = watching();
  settle();
  c.invalidate(key).value();
  EXPECT_TRUE(is<look_again>(c.get(first)));
  claim_it();
  auto second = watching();
  settle();
  c.fail(key, alice, "", 0ms).value();
  EXPECT_TRUE(is<look_again>(c.get(second)));
}

// S2: a loader that died wakes them too, by the end of its claim.
TEST_P(cache_watch_contract, AnExpiredClaimWakesWithLookAgain) {
  claim_it(50ms);
  EXPECT_TRUE(is<look_again>(c.get(watching())));
}

// S3: and not before, while the loader extends it.
TEST_P(cache_watch_contract, AnExtendedClaimKeepsItsWatchers) {
  claim_it(500ms);
  auto one = watching();
  settle();
  c.extend(key, alice, 1h).value();
  let_pass(600ms);
  EXPECT_TRUE(is<claim_busy>(c.claim(key, bob)));
  c.fill(key, alice, std::string("slow")).value();
  auto reply = c.get(one);
  if (is<look_again>(reply)) return;  // a store may look at the time it first knew
  EXPECT_EQ(as<cache_hit>(reply).value, cache_value(std::string("slow")));
}

// B9: what happened between the claim that found it busy and the watch is not missed.
TEST_P(cache_watch_contract, AFillBetweenClaimAndWatchIsNotMissed) {
  claim_it();
  ASSERT_TRUE(is<claim_busy>(c.claim(key, bob)));
  auto other = another();
  ASSERT_EQ(other->fill(key, alice, std::string("quick")).value(), fill_reply::stored);
  auto reply = c.watch(key, 1min);
  if (is<cache_hit>(reply)) {
    EXPECT_EQ(as<cache_hit>(reply).value, cache_value(std::string("quick")));
  } else {
    EXPECT_TRUE(is<look_again>(reply));
  }
}

// B9, the same at every distance: the fill races with the watch through another handle.
TEST_P(cache_watch_contract, AFillThatRacesWithTheWatchIsNotMissed) {
  auto other = another();
  for (int i = 0; i < 50; ++i) {
    claim_it();
    auto one = watching();
    for (int turns = 0; turns < i % 5; ++turns) c.run_until([n = 0]() mutable { return n++ > 0; });
    ASSERT_EQ(other->fill(key, alice, std::string("v")).value(), fill_reply::stored);
    auto reply = c.get(one);
    ASSERT_TRUE(is<cache_hit>(reply) || is<look_again>(reply));
    other->invalidate(key).value();
  }
}

TEST_P(cache_watch_anywhere_contract, AWatchEndsAfterItsWait) {
  claim_it();
  EXPECT_TRUE(is<look_again>(c.watch(key, 30ms)));
  EXPECT_TRUE(is<look_again>(c.watch(key, 0ms)));
}

// S7: one caller's cancellation is its own.
TEST_P(cache_watch_contract, ACancelledWatchLeavesTheOthersWaiting) {
  claim_it();
  auto first = watching();
  auto second = watching();
  settle();
  first.cancel();
  auto reply = c.get(first);
  ASSERT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error() == errc::canceled);
  EXPECT_FALSE(second.done());
  c.fill(key, alice, std::string("v")).value();
  auto other = c.get(second);
  EXPECT_TRUE(is<cache_hit>(other) || is<look_again>(other));
}

// B20: no handler is forgotten when the handle goes away.
TEST_P(cache_watch_anywhere_contract, ClosingTheHandleEndsEveryWatch) {
  claim_it();
  auto other = another();
  std::vector<pending<watch_reply>> all;
  for (int i = 0; i < 5; ++i) all.push_back(other->start_watch({key, wait_forever}));
  other->close();
  for (auto& one : all) EXPECT_TRUE(one.done());
}

}  // namespace
}  // namespace herdlock_test
