// Framed values of both layouts, and the times of an entry on the clock of this process.
#include "cache/keys/frame.hpp"

#include <gtest/gtest.h>

#include "algo/store_clock.hpp"

namespace herdlock::runtime {
namespace {

using algo::header_fault;
using std::chrono::microseconds;
using std::chrono::seconds;

algo::entry_header some_header() {
  return {.created = microseconds(5'000'000), .load_time = milliseconds{20}, .ttl = seconds(10)};
}

framed_value taken(cache_value stored) {
  auto got = without_header(std::move(stored));
  auto* const entry = std::get_if<framed_value>(&got);
  EXPECT_NE(entry, nullptr);
  return entry ? *entry : framed_value{{}, absent{}};
}

header_fault fault_of(cache_value stored) {
  auto const got = without_header(std::move(stored));
  auto const* fault = std::get_if<header_fault>(&got);
  EXPECT_NE(fault, nullptr);
  return fault ? *fault : header_fault{};
}

TEST(CacheFrame, AValueOfEitherLayoutComesBackWithItsTimes) {
  cache_value const text = std::string("some\0bytes", 10);
  cache_value const fields = hash_fields{{"name", "Ann"}, {"age", "7"}};
  for (auto const& [value, form] : {std::pair(text, layout::string),
                                    {cache_value(std::string()), layout::string},
                                    {fields, layout::hash}}) {
    auto const stored = with_header({some_header(), value}, form);
    EXPECT_TRUE(is_framed(stored));
    EXPECT_FALSE(is_framed(value));
    auto const back = taken(stored);
    EXPECT_EQ(back.value, value);
    EXPECT_EQ(back.header, some_header());
  }
}

TEST(CacheFrame, ANegativeEntryIsFramedInTheLayoutOfTheCache) {
  for (auto const form : {layout::string, layout::hash}) {
    auto const stored = with_header({some_header(), absent{}}, form);
    EXPECT_EQ(std::holds_alternative<std::string>(stored), form == layout::string);
    EXPECT_EQ(taken(stored).value, cache_value(absent{}));
    EXPECT_EQ(taken(stored).header.ttl, seconds(10));
  }
}

TEST(CacheFrame, WhatAPlainCacheOrAnotherProgramWroteIsAMiss) {
  EXPECT_EQ(fault_of(std::string("plain")), header_fault::foreign);
  EXPECT_EQ(fault_of(absent{}), header_fault::foreign);
  EXPECT_EQ(fault_of(hash_fields{{"name", "Ann"}}), header_fault::foreign);
  EXPECT_EQ(fault_of(hash_fields{{std::string(algo::header_field), "mine"}}),
            header_fault::foreign);
}

TEST(CacheFrame, AHashThatLostFieldsOrHasANewerHeaderIsAMiss) {
  auto const stored = with_header({some_header(), hash_fields{{"name", "Ann"}}}, layout::hash);
  auto fields = std::get<hash_fields>(stored);
  auto& header = fields.back().second;
  EXPECT_EQ(fault_of(hash_fields{fields.back()}), header_fault::cut_short);
  header[8] = 2;
  EXPECT_EQ(fault_of(fields), header_fault::newer);
  EXPECT_TRUE(is_framed(fields)) << "for a plain cache it is a miss all the same";
  header.resize(20);
  header[8] = 1;
  EXPECT_EQ(fault_of(fields), header_fault::cut_short);
}

// -------------------------------------------------------------------------- the store's clock

class StoreClock : public ::testing::Test {
 protected:
  static clock::time_point at(milliseconds since_start) { return clock::time_point(since_start); }

  algo::store_clock there;
};

TEST_F(StoreClock, ATimeOfTheStoreIsTheMiddleOfItsRequest) {
  EXPECT_FALSE(there.known());
  EXPECT_EQ(there.due(), clock::time_point::min());
  there.told(seconds(1'000), at(milliseconds{100}), at(milliseconds{120}));
  EXPECT_EQ(there.here(seconds(1'001)), at(milliseconds{1'110}));
  EXPECT_EQ(there.there(at(milliseconds{1'110})), seconds(1'001));
  EXPECT_EQ(there.due(), at(milliseconds{60'120}));
}

TEST_F(StoreClock, TheBetterOfTwoTimesThatAgreeIsKept) {
  there.told(seconds(1'000), at(milliseconds{100}), at(milliseconds{102}));
  there.told(milliseconds{1'001'300}, at(milliseconds{1'000}), at(milliseconds{2'000}));
  EXPECT_EQ(there.here(seconds(1'000)), at(milliseconds{101})) << "the slow answer says less";
  EXPECT_EQ(there.due(), at(milliseconds{62'000}));
  there.told(milliseconds{1'002'000}, at(milliseconds{2'101}), at(milliseconds{2'101}));
  EXPECT_EQ(there.here(seconds(1'002)), at(milliseconds{2'101})) << "the quick one says more";
}

TEST_F(StoreClock, AClockThatWasSetIsBelievedAtTheNextTime) {
  there.told(seconds(1'000), at(milliseconds{100}), at(milliseconds{102}));
  there.told(seconds(5'000), at(milliseconds{1'000}), at(milliseconds{1'200}));
  EXPECT_EQ(there.here(seconds(5'000)), at(milliseconds{1'100}));
  there.told(seconds(3), at(milliseconds{2'000}), at(milliseconds{2'100}));
  EXPECT_EQ(there.here(seconds(3)), at(milliseconds{2'050}));
}

TEST_F(StoreClock, AnEntrysTimesAreThoseOfTheStore) {
  there.told(microseconds(5'000'000), at(milliseconds{100}), at(milliseconds{100}));
  auto header = some_header();
  header.grace = seconds(3);
  auto times = algo::times_of(header, there);
  EXPECT_EQ(times.made, header.created);
  EXPECT_EQ(times.load_time, milliseconds{20});
  EXPECT_EQ(times.expires, at(milliseconds{10'100}));
  EXPECT_EQ(times.ends, at(milliseconds{13'100}));
  header.state = algo::header_state::expired;
  times = algo::times_of(header, there);
  EXPECT_EQ(algo::freshness_of(times, at(milliseconds{101}), {}, 0), algo::freshness::stale);
}

TEST_F(StoreClock, AStaleEntryIsClaimedThoughItsWriteCameLate) {
  there.told(microseconds(5'000'000), at(milliseconds{0}), at(milliseconds{0}));
  auto header = some_header();
  header.grace = seconds(3);
  // What the store says is left once the entry is stale: the grace, and how late the write was.
  auto const below = [&] {
    auto const times = algo::times_of(header, there);
    return algo::refresh_below(header, times, times.expires);
  };
  EXPECT_GT(below(), header.grace + milliseconds{900});
  EXPECT_LT(below(), header.grace + header.ttl) << "one that was just refreshed is not claimed";
  header.ttl = milliseconds{100};
  EXPECT_GT(below(), header.grace + milliseconds{20});
  EXPECT_LT(below(), header.grace + header.ttl / 2);
}

TEST_F(StoreClock, AnEntryThatIsClaimedEarlyIsNotClaimedOnceItWasRefreshed) {
  there.told(microseconds(5'000'000), at(milliseconds{0}), at(milliseconds{0}));
  auto header = some_header();
  auto const times = algo::times_of(header, there);
  auto const now = times.expires - milliseconds{500};
  EXPECT_GT(algo::refresh_below(header, times, now), milliseconds{500});
  EXPECT_LE(algo::refresh_below(header, times, now), milliseconds{550});
}

TEST_F(StoreClock, WithoutTheStoresClockAnEntryWithAGraceIsDead) {
  auto header = some_header();
  header.grace = seconds(3);
  auto const times = algo::times_of(header, there);
  EXPECT_EQ(algo::freshness_of(times, at(milliseconds{1}), {1}, 0.5), algo::freshness::dead);
  // The store has been told of the grace, and judges by what is left.
  EXPECT_GE(algo::refresh_below(header, times, at(milliseconds{1})), header.grace);
  EXPECT_LT(algo::refresh_below(header, times, at(milliseconds{1})), header.grace + header.ttl);
  header.state = algo::header_state::expired;
  EXPECT_EQ(algo::refresh_below(header, algo::times_of(header, there), at(milliseconds{1})),
            limits::max_ttl)
      << "nobody knows for how long it is kept";
}

TEST_F(StoreClock, AnEntryWhoseTimesAreNotKnownIsFreshUntilTheStoreDropsIt) {
  auto header = some_header();
  auto const far = at(limits::max_ttl);
  EXPECT_EQ(algo::freshness_of(algo::times_of(header, there), far, {1}, 0.999),
            algo::freshness::fresh);
  there.told(microseconds(5'000'000), at(milliseconds{100}), at(milliseconds{100}));
  header.created = microseconds(0);
  EXPECT_EQ(algo::freshness_of(algo::times_of(header, there), far, {1}, 0.999),
            algo::freshness::fresh);
  header.state = algo::header_state::expired;
  EXPECT_EQ(algo::freshness_of(algo::times_of(header, there), far, {}, 0), algo::freshness::stale);
  header.created = microseconds(std::int64_t{1} << 52);
  header.ttl = milliseconds{std::int64_t{1} << 52};
  header.grace = milliseconds{std::int64_t{1} << 52};
  header.state = algo::header_state::filled;
  EXPECT_NE(algo::freshness_of(algo::times_of(header, there), at(seconds(1)), {}, 0),
            algo::freshness::dead)
      << "no overflow";
}

}  // namespace
}  // namespace herdlock::runtime
