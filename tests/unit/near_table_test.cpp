// What the table of the near cache serves, and for how long; its bounds.
#include <cstring>
#include <set>
#include <vector>

#include "algo/key_hash.hpp"
#include "near_table_fixture.hpp"

namespace herdlock_test {
namespace {

constexpr std::size_t entry_bytes = near_table::entry_bytes;

TEST(NearTable, AnEntryIsServedUntilItEnds) {
  near_table_of_texts table;
  EXPECT_EQ(table.get("k"), "");
  EXPECT_TRUE(table.keep("k", "v", {first, at(10)}));
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k", at(9)), "v");
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k", at(10)), "");
}

TEST(NearTable, AnEntryIsServedWhileItsGenerationIsTrusted) {
  near_table_of_texts table;
  near_generation const other{2};
  table.trust(other, at(10));
  EXPECT_TRUE(table.keep("k", "v", {other, at(100)}));
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k", at(9)), "v");
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k", at(10)), "");
  table.trust(other, at(20));
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k", at(19)), "v");
  EXPECT_EQ(table.get("k", at(20)), "");
}

TEST(NearTable, ANegativeEntryIsFoundAndHasNoValue) {
  near_table_of_texts table;
  EXPECT_TRUE(table.keep_missing("k"));
  for (int again = 0; again < 3; ++again) {
    near_hit const hit = table.find("k", at(0));
    EXPECT_EQ(hit.what, near_hit::found::negative);
    EXPECT_TRUE(hit);
    EXPECT_FALSE(hit.value);
  }
  EXPECT_FALSE(table.find("other", at(0)));
}

TEST(NearTable, WithoutATrustedGenerationNothingIsKept) {
  near_table_of_texts table;
  EXPECT_FALSE(table.keep("k", "v", {near_generation{2}, never}));
  EXPECT_EQ(table.counts().refused, 1u);
  EXPECT_EQ(table.counts().entries, 0u);
}

TEST(NearTable, WhatHasExpiredIsNotKept) {
  near_table_of_texts table;
  EXPECT_FALSE(table.keep("k", "v", {first, at(0)}));
  EXPECT_EQ(table.counts().entries, 0u);
}

// What came later and is not kept still says that the earlier one is the past.
TEST(NearTable, ARefusedInsertTakesWhatTheKeyHad) {
  near_table_of_texts table;
  table.keep("k", "old");
  EXPECT_EQ(table.get("k"), "old");
  EXPECT_FALSE(table.keep("k", "new", {near_generation{2}, never}));
  EXPECT_EQ(table.get("k"), "");
}

TEST(NearTable, EndingAGenerationEndsItsEntriesAndNoOthers) {
  near_table_of_texts table;
  near_generation const other{2};
  table.trust(other, never);
  for (int i = 0; i < 500; ++i) {
    table.keep("a" + std::to_string(i), "v");
    table.keep("b" + std::to_string(i), "v", {other, never});
  }
  EXPECT_EQ(table.get("a1") + table.get("a1") + table.get("b1"), "vvv");
  table.end(first);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(table.get("a" + std::to_string(i)), "");
    EXPECT_EQ(table.get("b" + std::to_string(i)), "v");
  }
  EXPECT_FALSE(table.keep("late", "v"));
}

TEST(NearTable, WhatIsServedIsNotRevivedByLateTrust) {
  near_table_of_texts table;
  table.keep("k", "v");
  EXPECT_EQ(table.get("k") + table.get("k"), "vv");
  table.end(first);
  table.trust(first, never);
  EXPECT_EQ(table.get("k"), "");
}

TEST(NearTable, ADroppedKeyIsNotFoundEvenWhereItWasHit) {
  near_table_of_texts table;
  table.keep("k", "v");
  table.keep("other", "w");
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k"), "v");
  auto const held = table.find("k", at(0));
  table.drop("k");
  table.drop("never there");
  EXPECT_EQ(table.get("k"), "");
  EXPECT_EQ(table.get("other"), "w");
  EXPECT_EQ(table.counts().dropped, 1u);
  EXPECT_EQ(table.counts().entries, 1u);
}

TEST(NearTable, ALaterValueTakesThePlaceOfTheEarlier) {
  near_table_of_texts table;
  near_hit held;  // by a user: the earlier one stays alive
  for (int i = 0; i < 10; ++i) {
    std::string const text = std::to_string(i);
    EXPECT_TRUE(table.keep("k", text));
    for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("k"), text);
    held = table.find("k", at(0));
  }
  EXPECT_EQ(table.counts().entries, 1u);
  EXPECT_EQ(table.counts().bytes, entry_bytes + 1 + 1);
}

TEST(NearTable, DroppingASlotDropsItsKeysAndNoOthers) {
  near_table_options options;
  options.slot_of = [](std::string_view key) {
    return static_cast<std::uint16_t>(std::stoi(std::string(key)) % 4096);
  };
  near_table_of_texts table(options);
  for (int key = 0; key < 4096 * 2; ++key) table.keep(std::to_string(key), "v");
  EXPECT_EQ(table.get("7") + table.get("7"), "vv");
  table.drop_slot(7);
  EXPECT_EQ(table.counts().dropped, 2u);
  for (int key = 0; key < 4096 * 2; ++key) {
    EXPECT_EQ(table.get(std::to_string(key)), key % 4096 == 7 ? "" : "v") << key;
  }
}

TEST(NearTable, ASlotMayHaveAnyNumberOfKeys) {
  near_table_options options;
  options.slot_of = [](std::string_view) { return std::uint16_t(5); };
  near_table_of_texts table(options);
  for (int key = 0; key < 1000; ++key) table.keep(std::to_string(key), "v");
  table.drop_slot(6);
  EXPECT_EQ(table.counts().entries, 1000u);
  table.drop_slot(5);
  EXPECT_EQ(table.counts().entries, 0u);
}

TEST(NearTable, ClearDropsAllAndTheTableGoesOn) {
  near_table_of_texts table;
  for (int key = 0; key < 1000; ++key) table.keep(std::to_string(key), "v");
  EXPECT_EQ(table.get("1") + table.get("1"), "vv");
  table.clear();
  EXPECT_EQ(table.get("1"), "");
  EXPECT_EQ(table.counts().entries, 0u);
  EXPECT_EQ(table.counts().bytes, 0u);
  EXPECT_TRUE(table.keep("1", "w"));
  EXPECT_EQ(table.get("1"), "w");
}

TEST(NearTable, EntriesAreKeptUpToTheirNumberAndNotBeyond) {
  near_table_of_texts table({.entries = 3});
  for (std::string const key : {"a", "b", "c"}) EXPECT_TRUE(table.keep(key, key));
  EXPECT_EQ(table.counts().evicted, 0u);
  EXPECT_EQ(table.counts().entries, 3u);
  EXPECT_TRUE(table.keep("c", "c again"));
  EXPECT_EQ(table.counts().evicted, 0u);
  EXPECT_TRUE(table.keep("d", "d"));
  EXPECT_EQ(table.counts().evicted, 1u);
  EXPECT_EQ(table.counts().entries, 3u);
  EXPECT_EQ(table.get("d"), "d");
}

TEST(NearTable, BytesAreKeptUpToTheirNumberAndNotBeyond) {
  std::size_t const each = entry_bytes + 1 + 100;
  near_table_of_texts table({.bytes = 3 * each});
  std::string const text(100, 'x');
  for (std::string const key : {"a", "b", "c"}) EXPECT_TRUE(table.keep(key, text));
  EXPECT_EQ(table.counts().bytes, 3 * each);
  EXPECT_EQ(table.counts().evicted, 0u);
  EXPECT_TRUE(table.keep("d", ""));
  EXPECT_EQ(table.counts().evicted, 1u);
  EXPECT_EQ(table.counts().bytes, 3 * each - 100);
  EXPECT_TRUE(table.keep("e", std::string(3 * each - entry_bytes - 1, 'x')));
  EXPECT_EQ(table.counts().entries, 1u);
  EXPECT_FALSE(table.keep("f", std::string(3 * each - entry_bytes, 'x')));
  EXPECT_FALSE(table.insert("g", {first, never}, {nullptr, ~std::size_t(0)}, at(0)));
  EXPECT_EQ(table.counts().entries, 1u);
}

TEST(NearTable, OneByteTooManyEvicts) {
  std::size_t const each = entry_bytes + 1 + 100;
  near_table_of_texts table({.bytes = 3 * each});
  for (std::string const key : {"a", "b"}) EXPECT_TRUE(table.keep(key, std::string(100, 'x')));
  EXPECT_TRUE(table.keep("c", std::string(101, 'x')));
  EXPECT_EQ(table.counts().evicted, 1u);
  EXPECT_EQ(table.counts().bytes, 2 * each + 1);
}

TEST(NearTable, ALargeValueMayTakeTheRoomOfAnyNumberOfSmallOnes) {
  std::size_t const bytes = 1000 * (entry_bytes + 10);
  near_table_of_texts table({.bytes = bytes});
  for (int key = 0; key < 1000; ++key) table.keep(std::to_string(key), "v");
  EXPECT_EQ(table.counts().entries, 1000u);
  EXPECT_TRUE(table.keep("large", std::string(bytes - entry_bytes - 5, 'x')));
  EXPECT_EQ(table.counts().entries, 1u);
  EXPECT_EQ(table.counts().bytes, bytes);
}

TEST(NearTable, OfNoEntriesNothingIsKept) {
  near_table_of_texts table({.entries = 0});
  EXPECT_FALSE(table.keep("k", "v"));
}

TEST(NearTable, WhatWasHitStaysAndWhatWasNotMakesRoom) {
  near_table_of_texts table({.entries = 4});
  for (std::string const key : {"a", "b", "c", "d"}) table.keep(key, key);
  EXPECT_EQ(table.get("a") + table.get("c"), "ac");
  table.keep("e", "e");
  table.keep("f", "f");
  EXPECT_EQ(table.get("a") + table.get("b") + table.get("c") + table.get("d"), "ac");
  EXPECT_EQ(table.get("e") + table.get("f"), "ef");
}

TEST(NearTable, AHitCountsUntilTheHandComesBy) {
  near_table_of_texts table({.entries = 3});
  for (std::string const key : {"a", "b", "c"}) table.keep(key, key);
  EXPECT_EQ(table.get("a") + table.get("b") + table.get("c"), "abc");
  table.keep("d", "d");  // the hand has been all around: a
  EXPECT_EQ(table.get("a") + table.get("c"), "c");
  table.keep("e", "e");  // b, whose hit is forgotten
  table.keep("f", "f");  // not c, which was hit again, but d
  EXPECT_EQ(table.get("b") + table.get("c") + table.get("d"), "c");
  EXPECT_EQ(table.get("e") + table.get("f"), "ef");
}

// The hits of a thread's own cache count, too.
TEST(NearTable, AHotKeyStaysThroughAMillionOthers) {
  near_table_of_texts table({.entries = 1000, .bytes = 1000 * (entry_bytes + 100)});
  table.keep("hot", "v");
  for (int i = 0; i < 1'000'000; ++i) {
    std::string const key = std::to_string(i);
    ASSERT_TRUE(table.keep(key, key));
    if (i % 100 == 0) {
      ASSERT_EQ(table.get("hot"), "v");
      ASSERT_EQ(table.get(key), key);
    }
    if (i % 10'000 != 0) continue;
    auto const figures = table.counts();
    ASSERT_LE(figures.entries, 1000u);
    ASSERT_LE(figures.bytes, 1000 * (entry_bytes + 100));
  }
  auto const figures = table.counts();
  EXPECT_EQ(figures.entries, 1000u);
  EXPECT_EQ(figures.inserts, 1'000'001u);
  EXPECT_EQ(figures.evicted, 1'000'001u - 1000u);
  std::size_t found = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    std::string const key = std::to_string(i);
    std::string const text = table.get(key);
    if (text.empty()) continue;
    ASSERT_EQ(text, key);
    ++found;
  }
  EXPECT_EQ(found, 999u);
}

// All are hit all the time: the hand does not go around for ever, and an insert looks at few.
TEST(NearTable, WhereAllAreHitOneOfThemMakesRoom) {
  std::size_t const entries = 5000;
  near_table_of_texts table({.entries = entries});
  for (std::size_t i = 0; i < entries; ++i) table.keep(std::to_string(i), "v");
  for (std::size_t i = 0; i < entries; ++i) ASSERT_EQ(table.get(std::to_string(i)), "v");
  EXPECT_TRUE(table.keep("new", "v"));
  EXPECT_EQ(table.counts().entries, entries);
  EXPECT_EQ(table.get("0") + table.get("999"), "vv");
  EXPECT_EQ(table.get("1000"), "");
}

TEST(NearTable, KeysAreAnyBytes) {
  near_table_of_texts table;
  std::set<std::string> keys{""};
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t size : {1, 15, 16, 17, 511, 512}) {
      std::string key(size, '\0');
      key.back() = static_cast<char>(byte);
      keys.insert(key);
      key.assign(size, '\xff');
      key[size / 2] = static_cast<char>(byte);
      keys.insert(key);
    }
  }
  for (std::string const& key : keys) ASSERT_TRUE(table.keep(key, "of " + key));
  for (int again = 0; again < 3; ++again) {
    for (std::string const& key : keys) ASSERT_EQ(table.get(key), "of " + key);
  }
  std::string const surrounded = "xxkeyxx";
  table.keep("key", "v");
  EXPECT_EQ(table.get(std::string_view(surrounded).substr(2, 3)), "v");
}

// The hash of a key of 16 bytes that begins with a certain word does not depend on the other eight:
// the word of this table, which nobody outside knows.
TEST(NearTable, KeysOfOneHashAreKeptApart) {
  near_table_of_texts table;
  auto const seed = reinterpret_cast<std::uintptr_t>(static_cast<near_table*>(&table));
  std::uint64_t const word = herdlock::detail::key_secret(seed);
  std::vector<std::string> keys;
  for (char last = 'a'; last <= 'f'; ++last) {
    keys.emplace_back(16, last);
    std::memcpy(keys.back().data(), &word, sizeof word);
    ASSERT_EQ(herdlock::detail::key_hash(keys.back(), seed),
              herdlock::detail::key_hash(keys.front(), seed));
    table.keep(keys.back(), "of " + keys.back());
  }
  for (int again = 0; again < 100; ++again) {
    for (std::string const& key : keys) ASSERT_EQ(table.get(key), "of " + key);
  }
  table.drop(keys[1]);
  EXPECT_EQ(table.get(keys[1]), "");
  EXPECT_EQ(table.get(keys[2]), "of " + keys[2]);
}

TEST(NearTable, ASweepRemovesWhatIsGoneAndNothingElse) {
  near_table_of_texts table;
  near_generation const ended{2};
  near_generation const behind{3};
  table.trust(ended, never);
  table.trust(behind, at(1));
  for (int i = 0; i < 1500; ++i) {
    std::string const key = std::to_string(i);
    table.keep("expires " + key, "v", {first, at(10)});
    table.keep("ends " + key, "v", {ended, never});
    table.keep("stays " + key, "v");
    table.keep("not trusted " + key, "v", {behind, never});
  }
  table.end(ended);
  table.sweep(at(10));
  EXPECT_EQ(table.counts().entries, 6000u - near_table::sweep_looks / 2);
  for (int i = 0; i < 6; ++i) table.sweep(at(10));
  EXPECT_EQ(table.counts().entries, 3000u);
  EXPECT_EQ(table.get("stays 1"), "v");
  table.trust(behind, at(20));
  EXPECT_EQ(table.get("not trusted 1", at(11)), "v");
  EXPECT_EQ(table.counts().evicted + table.counts().dropped, 0u);
}

TEST(NearTable, KeysThatWereHitAreFoundOnceForWhoTellsTheServer) {
  near_table_of_texts table({.entries = 3});
  for (auto const* key : {"a", "b", "c"}) table.keep(key, key);
  auto const used = [&](std::size_t looks) {
    auto keys = table.next_hits(at(0), looks);
    return std::set<std::string>(keys.begin(), keys.end());
  };
  EXPECT_EQ(used(3), (std::set<std::string>{})) << "nobody has asked for them";
  for (int again = 0; again < 3; ++again) EXPECT_EQ(table.get("a") + table.get("c"), "ac");
  EXPECT_EQ(used(3), (std::set<std::string>{"a", "c"}));
  EXPECT_EQ(used(3), (std::set<std::string>{}));
  EXPECT_EQ(table.get("b"), "b");
  EXPECT_EQ(used(1).size() + used(1).size() + used(1).size(), 1u) << "a look at each of three";
  table.keep("d", "d");
  EXPECT_EQ(table.get("d"), "d");
  table.drop("c");
  EXPECT_EQ(used(3), (std::set<std::string>{"d"})) << "whatever made room and went meanwhile";
  std::size_t looks = 5000;
  EXPECT_TRUE(near_table_of_texts().next_hits(at(0), looks).empty());
  EXPECT_EQ(looks, 0u) << "an empty table is soon looked through";
}

TEST(NearTable, WhoJudgesAllMeetsEachOnce) {
  near_table_of_texts table;
  EXPECT_TRUE(table.next_keys(10).empty());
  for (auto const* key : {"a", "b", "c", "d", "e"}) table.keep(key, "v");
  auto keys = table.next_keys(2);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "b"}));
  table.drop("c");
  table.drop("a");
  EXPECT_EQ(table.next_keys(2), (std::vector<std::string>{"d", "e"}));
  EXPECT_EQ(table.next_keys(10), (std::vector<std::string>{"b", "d", "e"})) << "around, and once";
  EXPECT_EQ(table.next_keys(2), (std::vector<std::string>{"b", "d"}));
  table.keep("f", "v");
  EXPECT_EQ(table.judge_all(), 4u);
  table.keep("g", "v");
  EXPECT_EQ(table.next_keys(4), (std::vector<std::string>{"b", "d", "e", "f"})) << "not who came";
}

TEST(NearTable, WhatIsGoneMakesRoomBeforeWhatIsNot) {
  near_table_of_texts table({.entries = 3});
  near_generation const ended{2};
  table.trust(ended, never);
  table.keep("a", "a");
  table.keep("b", "b", {ended, never});
  table.keep("c", "c");
  EXPECT_EQ(table.get("a") + table.get("b") + table.get("c"), "abc");
  table.end(ended);
  table.keep("d", "d");
  EXPECT_EQ(table.get("a") + table.get("c") + table.get("d"), "acd");
  EXPECT_EQ(table.counts().evicted, 0u);
}

}  // namespace
}  // namespace herdlock_test
