// What becomes of an entry that is expired, and by whose clock it ends.
#include "framed_fixture.hpp"

namespace herdlock_test {
namespace {

class cache_expire_contract : public store_contract {
 protected:
  std::vector<keyed_entry> const entries = entries_of_both_layouts();

  void put_framed(keyed_entry const& entry, cache_value value, milliseconds ttl = 1h) {
    ASSERT_TRUE(c.put(entry.key, framed(std::move(value), entry.form), ttl).has_value());
  }
  cache_lookup look(keyed_entry const& entry) { return c.look(entry.key, entry.form).value(); }
  // The stale copy is there, all of it, and says what it is.
  void expect_stale(keyed_entry const& entry, cache_value const& value) {
    auto const found = look(entry);
    ASSERT_TRUE(found.has_value());
    auto const taken = runtime::without_header(*found);
    auto const* copy = std::get_if<runtime::framed_value>(&taken);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(sorted(copy->value), cache_lookup(value));
    auto header = copy->header;
    EXPECT_EQ(header.state, algo::header_state::expired);
    header.state = algo::header_state::filled;
    header.content = algo::header_content::value;
    EXPECT_EQ(header, some_header());
  }
  // Whether it ends in less than that.
  bool ends_in(milliseconds span, keyed_entry const& entry) {
    auto const reply = refresh(c, entry, bob, span, 10ms);
    EXPECT_TRUE(is<claimed>(reply) || is<cache_hit>(reply));
    return is<claimed>(reply);
  }
};

INSTANTIATE_TEST_SUITE_P(stores, cache_expire_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

// R18: the stale copy stays for who would rather have it than an error.
TEST_P(cache_expire_contract, TheCopyIsKeptWithItsMark) {
  auto other = another();
  for (auto const& entry : entries) {
    put_framed(entry, entry.old_value);
    EXPECT_TRUE(expire(*other, entry.key, 10min).value());
    expect_stale(entry, entry.old_value);
    EXPECT_TRUE(expire(c, entry.key, 10min).value()) << "once more changes nothing";
    expect_stale(entry, entry.old_value);
  }
}

TEST_P(cache_expire_contract, ANegativeEntryIsKeptWithItsMark) {
  for (auto const& entry : entries) {
    put_framed(entry, absent{});
    EXPECT_TRUE(expire(c, entry.key, 10min).value());
    expect_stale(entry, absent{});
  }
}

TEST_P(cache_expire_contract, ALargeValueIsKeptAsItWas) {
  std::string const text(100'000, 'x');
  put_framed(entries[0], text);
  EXPECT_TRUE(expire(c, entries[0].key, 10min).value());
  expect_stale(entries[0], text);
  hash_fields fields;
  for (int i = 1000; i < 3000; ++i) fields.emplace_back(std::to_string(i), std::to_string(i));
  put_framed(entries[1], fields);
  EXPECT_TRUE(expire(c, entries[1].key, 10min).value());
  expect_stale(entries[1], fields);
}

TEST_P(cache_expire_contract, ItsTimeIsCutAndNeverMadeLonger) {
  for (auto const& entry : entries) {
    put_framed(entry, entry.old_value, 1h);
    EXPECT_FALSE(ends_in(20min, entry));
    EXPECT_TRUE(expire(c, entry.key, 10min).value());
    EXPECT_TRUE(ends_in(20min, entry));
    EXPECT_FALSE(ends_in(5min, entry));
    EXPECT_TRUE(expire(c, entry.key, 3h).value());
    EXPECT_TRUE(ends_in(20min, entry));
  }
}

TEST_P(cache_expire_contract, ItEndsWhenWhatIsKeptIsOver) {
  for (auto const& entry : entries) {
    put_framed(entry, entry.old_value);
    EXPECT_TRUE(expire(c, entry.key, 50ms).value());
    EXPECT_TRUE(eventually([&] { return !look(entry).has_value(); }));
    EXPECT_TRUE(is<claimed>(refresh(c, entry, alice, 0ms)));
  }
}

TEST_P(cache_expire_contract, WithNothingToKeepItIsRemoved) {
  for (auto const& entry : entries) {
    put_framed(entry, entry.old_value);
    EXPECT_TRUE(expire(c, entry.key, 0ms).value());
    EXPECT_FALSE(look(entry).has_value());
    EXPECT_FALSE(expire(c, entry.key, 0ms).value());
  }
}

// A plain cache, another program, a version to come: nobody could tell that it is stale.
TEST_P(cache_expire_contract, AnEntryWithoutAHeaderIsRemoved) {
  std::string const header = algo::encode_header(some_header(), algo::other_fields);
  std::string newer = header;
  newer[8] = 2;
  auto const cut = header.substr(0, algo::header_state_at);
  std::string const field(algo::header_field);
  for (cache_value const& value : std::initializer_list<cache_value>{
           std::string("plain"), std::string(), newer, cut, absent{},
           hash_fields{{"name", "plain"}}, hash_fields{{"name", "x"}, {field, "mine"}},
           hash_fields{{"name", "x"}, {field, newer}}, hash_fields{{"name", "x"}, {field, cut}}}) {
    bool const is_hash = std::holds_alternative<hash_fields>(value);
    auto const& entry = entries[is_hash ? 1 : 0];
    ASSERT_TRUE(c.put(entry.key, value, 1h).has_value());
    EXPECT_TRUE(expire(c, entry.key, 10min).value());
    EXPECT_FALSE(look(entry).has_value());
  }
}

TEST_P(cache_expire_contract, WhereThereIsNoEntryItSaysSo) {
  for (auto const& entry : entries) {
    EXPECT_FALSE(expire(c, entry.key, 10min).value());
    EXPECT_FALSE(look(entry).has_value());
  }
}

// What is being loaded is out of date as well.
TEST_P(cache_expire_contract, TheLoadOfAMissingKeyIsSuperseded) {
  for (auto const& entry : entries) {
    ASSERT_TRUE(is<claimed>(refresh(c, entry, alice, 0ms)));
    EXPECT_FALSE(expire(c, entry.key, 10min).value());
    EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::superseded);
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, 0ms)));
  }
}

TEST_P(cache_expire_contract, TheErrorOfAnEarlierLoadIsRemoved) {
  for (auto const& entry : entries) {
    ASSERT_TRUE(is<claimed>(refresh(c, entry, alice, 0ms)));
    c.fail(entry.key, alice, "no such table", 1h).value();
    EXPECT_FALSE(expire(c, entry.key, 10min).value());
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, 0ms)));
    put_framed(entry, entry.old_value);
    ASSERT_TRUE(is<claimed>(refresh(c, entry, alice, 2h)));
    c.fail(entry.key, alice, "no such table", 1h).value();
    EXPECT_TRUE(expire(c, entry.key, 10min).value());
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, 2h)));
  }
}

TEST_P(cache_expire_contract, WhatIsNoLengthOfTimeIsRefused) {
  auto const& entry = entries[0];
  put_framed(entry, entry.old_value);
  for (milliseconds const keep : {-1ms, limits::max_ttl + 1ms, milliseconds::min()}) {
    EXPECT_TRUE(expire(c, entry.key, keep).error() == errc::invalid_ttl);
  }
  EXPECT_TRUE(expire(c, entry.key, limits::max_ttl).value());
  expect_stale(entry, entry.old_value);
}

// ---------------------------------------------------------------------------------- the clock

TEST_P(cache_expire_contract, TheClockIsOneForAllAndGoesForward) {
  auto other = another();
  auto const first = time_of_store(c);
  EXPECT_GT(first.count(), 0);
  auto const second = time_of_store(*other);
  auto const third = time_of_store(c);
  EXPECT_LE(first, second);
  EXPECT_LE(second, third);
  let_pass(50ms);
  EXPECT_GE(time_of_store(c) - third, 48ms);
}

TEST_P(cache_expire_contract, TheClockIsTheOneByWhichEntriesEnd) {
  auto const& entry = entries[0];
  auto const before = time_of_store(c);
  put_framed(entry, entry.old_value, 100ms);
  ASSERT_TRUE(eventually([&] { return !look(entry).has_value(); }));
  EXPECT_GE(time_of_store(c) - before, 98ms);
}

}  // namespace
}  // namespace herdlock_test
