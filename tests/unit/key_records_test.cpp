// The records of keys: how long they stay, and within which bound.
#include "algo/key_records.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algo/record_flights.hpp"
#include "key_records_fixture.hpp"

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

clock::time_point at(int ms) { return clock::time_point(seconds(1000)) + milliseconds{ms}; }

class KeyRecords : public ::testing::Test {
 protected:
  explicit KeyRecords(std::size_t most_keys = 3) : records(room_for(most_keys)) {
    records.tell_time(at(0));
  }

  // A step for the key fails; false: there is no room to remember it.
  bool fail(std::string_view key, int ms = 0) {
    records.tell_time(at(ms));
    key_place place(records, key);
    if (!place.make(key)) return false;
    place->moving.failed(at(ms));
    return true;
  }
  bool work(std::string_view key) { return record_flights(records).set(key, 1); }
  void end_work(std::string_view key) { record_flights(records).clear(key); }
  bool knows(std::string_view key) { return records.find(key) != nullptr; }

  key_records records;
};

TEST_F(KeyRecords, ARecordThatSaysNothingGoes) {
  {
    key_place place(records, "k");
    EXPECT_FALSE(place);
    ASSERT_TRUE(place.make("k"));
    EXPECT_EQ(place->key(), "k");
  }
  EXPECT_FALSE(knows("k"));
  EXPECT_EQ(records.bytes(), 0u);
}

TEST_F(KeyRecords, TheOldestOfThoseThatNobodyWorksAtMakesRoom) {
  for (auto const* key : {"a", "b", "c"}) EXPECT_TRUE(fail(key));
  EXPECT_TRUE(fail("a", 1)) << "now the newest";
  EXPECT_TRUE(fail("d", 1));
  EXPECT_TRUE(knows("a"));
  EXPECT_FALSE(knows("b"));
  EXPECT_TRUE(knows("c"));
  EXPECT_TRUE(knows("d"));
}

TEST_F(KeyRecords, ThoseThatAreInUseStayAndNewOnesAreRefused) {
  EXPECT_TRUE(fail("a"));
  for (auto const* key : {"a", "b", "c"}) EXPECT_TRUE(work(key));
  EXPECT_FALSE(work("d"));
  EXPECT_FALSE(fail("d"));
  end_work("b");
  EXPECT_FALSE(knows("b")) << "nothing else was known of it";
  EXPECT_TRUE(work("d"));
  end_work("a");
  EXPECT_TRUE(knows("a")) << "it has failed";
  EXPECT_TRUE(work("e"));
  EXPECT_FALSE(knows("a")) << "and makes room now";
}

TEST_F(KeyRecords, WhoWorksAtAKeyKeepsItsRecord) {
  key_user user;
  {
    key_place place(records, "k");
    ASSERT_TRUE(place.make("k"));
    place->users.push_back(user);
  }
  EXPECT_TRUE(knows("k"));
  {
    key_place const place(records, "k");
    user.unlink();
  }
  EXPECT_FALSE(knows("k"));
}

// Whatever is due is found while others change, so memory is not kept for what is over.
TEST_F(KeyRecords, WhatIsOverIsFoundAsOthersChange) {
  key_records many(room_for(1000));
  auto const fail_there = [&](std::string const& key, int ms) {
    many.tell_time(at(ms));
    key_place place(many, key);
    ASSERT_TRUE(place.make(key));
    place->moving.failed(at(ms));
  };
  for (int i = 0; i < 500; ++i) fail_there("k" + std::to_string(i), 0);
  for (int i = 0; i < 300; ++i) fail_there("new", 5000);
  EXPECT_EQ(many.keys(), 1u);
}

TEST_F(KeyRecords, BytesAreThoseOfWhatIsThere) {
  EXPECT_TRUE(fail("a"));
  EXPECT_TRUE(fail("bb"));
  auto const two = records.bytes();
  EXPECT_EQ(two, 2 * key_record::bytes_around + 3);
  records.tell_time(at(5000));
  EXPECT_TRUE(fail("c", 5000));
  EXPECT_EQ(records.keys(), 1u);
  EXPECT_EQ(records.bytes(), key_record::bytes_around + 1);
}

// S15
TEST(KeyPause, EachFailureInARowDoublesIt) {
  key_pause pause;
  EXPECT_FALSE(pause.pauses(at(0)));
  pause.failed(at(0));
  EXPECT_TRUE(pause.pauses(at(499)));
  EXPECT_FALSE(pause.pauses(at(500)));
  pause.failed(at(500));
  EXPECT_TRUE(pause.pauses(at(1499)));
  EXPECT_FALSE(pause.pauses(at(1500)));
  for (int i = 0; i < 20; ++i) pause.failed(pause.until);
  EXPECT_EQ(pause.length, key_pause::longest);
}

TEST(KeyPause, ItIsForgottenWhenNothingHasFailedForAsLongAgain) {
  key_pause pause;
  EXPECT_TRUE(pause.spent(at(0)));
  pause.failed(at(0));
  pause.failed(at(600));  // to 1600, and forgotten at 2600
  EXPECT_FALSE(pause.spent(at(2599)));
  EXPECT_TRUE(pause.spent(at(2600)));
  pause.failed(at(2600));
  EXPECT_EQ(pause.length, key_pause::first) << "as at the first time";
}

}  // namespace
}  // namespace herdlock::algo
