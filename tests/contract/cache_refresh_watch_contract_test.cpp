// Waiting for the end of a refresh, while the old entry is there.
#include "framed_fixture.hpp"

namespace herdlock_test {
namespace {

struct lengths {
  milliseconds entry = written;
  milliseconds claim = 1min;
};

class cache_refresh_watch_contract : public refresh_fixture {
 protected:
  // A round trip: mostly a watch that was started before it listens by now.
  void settle() { c.look(cache_key("another")).value(); }

  pending<watch_reply> watch_refresh(keyed_entry const& entry, lengths const& of = {}) {
    c.invalidate(entry.key).value();
    put_old(entry, of.entry);
    refreshed_by(alice, entry, of.claim);
    return c.start_watch({entry.key, 1min, entry.form});
  }

  // What a watcher gets when `end` ends the refresh. One that did not listen yet may be told to
  // look again, so this is repeated, with more time for listening.
  template <class As>
  As woken_by(keyed_entry const& entry, std::function<void()> const& end) {
    for (int round = 0; round < 50; ++round) {
      auto one = watch_refresh(entry);
      for (int turn = 0; turn <= round; ++turn) settle();
      end();
      auto const reply = c.get(one);
      if (is<As>(reply)) return as<As>(reply);
      EXPECT_TRUE(is<look_again>(reply));
    }
    throw std::runtime_error("the watcher was never woken with the result");
  }
};

bool pushes_refreshes(store_case const& kind) { return kind.pushes; }
INSTANTIATE_TEST_SUITE_P(stores, cache_refresh_watch_contract,
                         testing::ValuesIn(stores_that(pushes_refreshes)), case_name);

TEST_P(cache_refresh_watch_contract, TheFillWakesWithTheNewValue) {
  for (auto const& entry : entries) {
    auto const hit =
        woken_by<cache_hit>(entry, [&] { c.fill(entry.key, alice, entry.new_value).value(); });
    EXPECT_EQ(sorted(hit.value), cache_lookup(entry.new_value));
  }
}

TEST_P(cache_refresh_watch_contract, ItsErrorWakesThoughTheEntryIsThere) {
  for (auto const& entry : entries) {
    auto const told = woken_by<load_backing_off>(
        entry, [&] { c.fail(entry.key, alice, "no such table", 10s).value(); });
    EXPECT_EQ(told.error, "no such table");
    EXPECT_GT(told.remaining, 0ms);
    EXPECT_LE(told.remaining, 10s);
    EXPECT_EQ(look(entry), cache_lookup(entry.old_value));
  }
}

TEST_P(cache_refresh_watch_contract, WhatEndsItWithoutAResultSaysLookAgain) {
  for (auto const& entry : entries) {
    std::function<void()> const ends[] = {
        [&] { c.fail(entry.key, alice, "", 0ms).value(); },
        [&] { c.invalidate(entry.key).value(); },
        [&] { expire(c, entry.key, 1min).value(); },
        [&] { expire(c, entry.key, 0ms).value(); },
    };
    for (auto const& end : ends) {
      auto one = watch_refresh(entry);
      settle();
      end();
      EXPECT_TRUE(is<look_again>(c.get(one)));
    }
  }
}

TEST_P(cache_refresh_watch_contract, AnExpireThatKeepsTheCopyWakes) {
  for (auto const& entry : entries) {
    ASSERT_TRUE(c.put(entry.key, framed(entry.old_value, entry.form), written).has_value());
    refreshed_by(alice, entry);
    auto one = c.start_watch({entry.key, 1min, entry.form});
    settle();
    EXPECT_TRUE(expire(c, entry.key, 1min).value());
    EXPECT_TRUE(is<look_again>(c.get(one)));
  }
}

TEST_P(cache_refresh_watch_contract, AClaimThatEndedSaysLookAgain) {
  for (auto const& entry : entries) {
    EXPECT_TRUE(is<look_again>(c.get(watch_refresh(entry, {.claim = 50ms}))));
    EXPECT_EQ(look(entry), cache_lookup(entry.old_value));
  }
}

// A late event of what was there before may say "look again": then it is tried once more.
TEST_P(cache_refresh_watch_contract, TheEndOfTheEntryWakesNobody) {
  for (auto const& entry : entries) {
    bool waits = false;
    for (int round = 0; round < 50 && !waits; ++round) {
      auto one = watch_refresh(entry, {.entry = 50ms});
      ASSERT_TRUE(eventually([&] { return !look(entry).has_value(); }));
      settle();
      waits = !one.done();
      EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::stored);
      auto const reply = c.get(one);
      EXPECT_TRUE(is<cache_hit>(reply) || is<look_again>(reply));
    }
    EXPECT_TRUE(waits);
  }
}

}  // namespace
}  // namespace herdlock_test
