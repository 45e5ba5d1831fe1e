// The slot of a key, and the names that a cluster cannot keep together with their side keys.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "stores/redis/cluster/slots.hpp"
#include "stores/redis/keys.hpp"

namespace {

using namespace herdlock;
using namespace herdlock::redis;

// The check value of the specification's appendix, and CLUSTER KEYSLOT's answers of Redis 7.0.
TEST(RedisSlots, AreThoseOfTheSpecification) {
  EXPECT_EQ(crc16("123456789"), 0x31c3);
  EXPECT_EQ(key_slot("foo"), 12182);
  EXPECT_EQ(key_slot("somekey"), 11058);
  EXPECT_EQ(key_slot("foo{hash_tag}"), 2515);
  EXPECT_EQ(key_slot("bar{hash_tag}"), 2515);
  EXPECT_EQ(key_slot(""), 0);
}

TEST(RedisSlots, OnlyTheFirstNonEmptyTagCounts) {
  EXPECT_EQ(key_slot("{user1000}.following"), key_slot("{user1000}.followers"));
  EXPECT_EQ(key_slot("foo{}{bar}"), crc16("foo{}{bar}") % slot_count);
  EXPECT_EQ(key_slot("foo{{bar}}zap"), crc16("{bar") % slot_count);
  EXPECT_EQ(key_slot("foo{bar}{zap}"), crc16("bar") % slot_count);
  EXPECT_EQ(key_slot("foo}bar{"), crc16("foo}bar{") % slot_count);
}

// What of a key is hashed. Of two that differ the slots may be the same by chance.
std::string hashed(std::string const& key) {
  auto const open = key.find('{');
  auto const close = open == key.npos ? key.npos : key.find('}', open);
  bool const has_tag = close != key.npos && close > open + 1;
  return has_tag ? key.substr(open + 1, close - open - 1) : key;
}

// CROSSSLOT cannot happen: a name that is not refused shares its slot with all of its side keys.
TEST(RedisSlots, NamesThatAreTakenShareTheSlotWithTheirSideKeys) {
  bool const holds = rc::check("same slot", [] {
    auto const letters = *rc::gen::container<std::string>(rc::gen::element('a', '{', '}', 'b'));
    RC_PRE(!letters.empty());
    std::string side;
    side_key(side, letters, fence_role);
    bool const taken = !check_cluster_key(letters, "store").code;
    if (taken) RC_ASSERT(key_slot(letters) == key_slot(side));
    // And none is refused without need.
    if (!taken) RC_ASSERT(hashed(letters) != hashed(side));
  });
  EXPECT_TRUE(holds);
}

TEST(RedisSlots, ARefusedNameSaysWhy) {
  auto const why = check_cluster_key("a}b", "redis+cluster://h");
  EXPECT_EQ(why, errc::invalid_name);
  EXPECT_NE(why.message.find("hash tag"), std::string::npos) << why.message;
  EXPECT_FALSE(check_cluster_key("a{b", "redis+cluster://h").code);
  EXPECT_FALSE(check_cluster_key("}{b}", "redis+cluster://h").code);
}

}  // namespace
