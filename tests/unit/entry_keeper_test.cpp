// When the store is asked to lengthen the life of hot keys' entries, and how often at most.
#include "algo/entry_keeper.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;
using questions = std::vector<entry_keeper::question>;

constexpr clock::time_point start{1h};

class EntryKeeper : public testing::Test {
 protected:
  questions due(milliseconds at) {
    return machine.due(start + at, [this](std::string_view) { return bound; });
  }
  std::size_t asked(milliseconds at) { return due(at).size(); }
  std::optional<milliseconds> next() const {
    auto const at = machine.next();
    if (!at) return std::nullopt;
    return std::chrono::duration_cast<milliseconds>(*at - start);
  }

  entry_keeper machine;
  std::optional<milliseconds> bound = 5min;  // nothing: no rule holds
};

TEST_F(EntryKeeper, AsksAtOnceForAHotKeyThatHasARule) {
  EXPECT_EQ(machine.next(), std::nullopt);
  machine.hot("k", start);
  EXPECT_LE(machine.next().value(), start);
  EXPECT_EQ(due(0ms), (questions{{"k", 30s, 5min}}));
}

TEST_F(EntryKeeper, LengthensNoFurtherThanTheRuleAllows) {
  bound = 3s;
  machine.hot("k", start);
  EXPECT_EQ(due(0ms), (questions{{"k", 3s, 3s}}));
  machine.answered("k");
  EXPECT_EQ(next(), 1s);
}

TEST_F(EntryKeeper, AsksAgainAfterAThirdAndNotSooner) {
  machine.hot("k", start);
  ASSERT_EQ(asked(0ms), 1u);
  machine.answered("k");
  EXPECT_EQ(next(), 10s);
  EXPECT_EQ(asked(9'999ms), 0u);
  EXPECT_EQ(asked(10s), 1u);
}

TEST_F(EntryKeeper, WhileOneQuestionIsUnderWayThereIsNoOther) {
  machine.hot("k", start);
  ASSERT_EQ(asked(0ms), 1u);
  EXPECT_EQ(machine.next(), std::nullopt);
  EXPECT_EQ(asked(10min), 0u);
  machine.answered("k");
  EXPECT_EQ(asked(10min), 1u);
}

TEST_F(EntryKeeper, ACooledKeyIsNotAskedForAgain) {
  machine.hot("k", start);
  ASSERT_EQ(asked(0ms), 1u);
  machine.answered("k");
  machine.cooled("k");
  EXPECT_EQ(machine.next(), std::nullopt);
  EXPECT_EQ(asked(10min), 0u);
}

TEST_F(EntryKeeper, AKeyThatCoolsAndIsHotAgainIsNotAskedForMoreOften) {
  machine.hot("k", start);
  ASSERT_EQ(asked(0ms), 1u);
  for (auto at = 100ms; at < 10s; at += 100ms) {
    machine.answered("k");
    machine.cooled("k");
    ASSERT_EQ(asked(at), 0u);
    machine.hot("k", start + at);
    ASSERT_EQ(asked(at), 0u);
  }
  EXPECT_EQ(asked(10s), 1u);
}

TEST_F(EntryKeeper, WithoutARuleNothingIsAskedUntilThereIsOne) {
  bound.reset();
  machine.hot("k", start);
  EXPECT_EQ(asked(0ms), 0u);
  EXPECT_EQ(machine.next(), std::nullopt);
  bound = 5min;
  EXPECT_EQ(asked(1s), 0u) << "nobody has said so";
  machine.ruled();
  EXPECT_EQ(asked(2s), 1u);
}

TEST_F(EntryKeeper, WhenTheRuleEndsNothingMoreIsAsked) {
  machine.hot("k", start);
  ASSERT_EQ(asked(0ms), 1u);
  machine.answered("k");
  bound.reset();
  EXPECT_EQ(asked(10s), 0u);
  EXPECT_EQ(machine.next(), std::nullopt);
  bound = 5min;
  machine.ruled();
  EXPECT_EQ(asked(10s), 1u) << "the question that was not put does not count";
}

TEST_F(EntryKeeper, KeysAreAskedForEachByItself) {
  machine.hot("a", start);
  ASSERT_EQ(due(0ms), (questions{{"a", 30s, 5min}}));
  machine.hot("b", start + 4s);
  EXPECT_EQ(due(4s), (questions{{"b", 30s, 5min}}));
  machine.answered("a");
  machine.answered("b");
  EXPECT_EQ(next(), 10s);
  EXPECT_EQ(due(10s), (questions{{"a", 30s, 5min}}));
}

TEST_F(EntryKeeper, KnowsNoMoreThanItsBoundOfKeys) {
  auto const name = [](std::size_t i) { return "k" + std::to_string(i); };
  for (std::size_t i = 0; i < entry_keeper::most_keys; ++i) machine.hot(name(i), start);
  machine.hot("late", start);
  EXPECT_EQ(asked(0ms), entry_keeper::most_keys);
  machine.answered(name(0));
  machine.cooled(name(0));
  machine.hot("late", start + 9s);
  EXPECT_EQ(asked(9s), 0u) << "the one that has cooled is still remembered";
  machine.hot("late", start + 10s);
  EXPECT_EQ(due(10s), (questions{{"late", 30s, 5min}}));
}

}  // namespace
}  // namespace herdlock::algo
