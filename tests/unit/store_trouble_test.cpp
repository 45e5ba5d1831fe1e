// Whom a failure of a store concerns: one key, all reads, all claims, or everybody.
#include "algo/store_trouble.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

constexpr store_step steps[] = {store_step::read,   store_step::claim, store_step::wait,
                                store_step::extend, store_step::fill,  store_step::end};

trouble_scope scope(store_step step, errc why) { return scope_of(step, make_failure(why, "")); }

// S15
TEST(StoreTrouble, WhatIsRefusedToOneKeyConcernsNoOther) {
  for (auto const step : steps) {
    for (auto const why : {errc::access_denied, errc::protocol, errc::overloaded, errc::moving}) {
      EXPECT_EQ(scope(step, why), trouble_scope::key) << static_cast<int>(why);
    }
  }
}

// S9
TEST(StoreTrouble, AStoreThatIsOutOfReachConcernsAllThatAskForTheSame) {
  EXPECT_EQ(scope(store_step::read, errc::unavailable), trouble_scope::reads);
  for (auto const step :
       {store_step::claim, store_step::wait, store_step::extend, store_step::end}) {
    EXPECT_EQ(scope(step, errc::unavailable), trouble_scope::claims);
  }
}

// S15
TEST(StoreTrouble, AValueThatFindsNoRoomConcernsItsKey) {
  EXPECT_EQ(scope(store_step::fill, errc::unavailable), trouble_scope::key);
}

// S9
TEST(StoreTrouble, SilenceConcernsEverybody) {
  failure const broken_pipe{std::make_error_code(std::errc::broken_pipe), ""};
  EXPECT_EQ(scope(store_step::read, errc::timed_out), trouble_scope::reads);
  EXPECT_EQ(scope_of(store_step::read, broken_pipe), trouble_scope::reads);
  for (auto const step : steps) {
    if (step == store_step::read) continue;
    EXPECT_EQ(scope(step, errc::timed_out), trouble_scope::store);
    EXPECT_EQ(scope_of(step, broken_pipe), trouble_scope::store);
  }
}

TEST(StoreTrouble, AnAnswerIsNone) {
  for (auto const step : steps) {
    EXPECT_EQ(scope_of(step, {}), trouble_scope::none);
    for (auto const what :
         {errc::canceled, errc::wrong_type, errc::invalid_value, errc::lost, errc::not_supported}) {
      EXPECT_EQ(scope(step, what), trouble_scope::none);
    }
  }
}

}  // namespace
}  // namespace herdlock::algo
