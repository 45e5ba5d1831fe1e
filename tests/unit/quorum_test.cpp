// The quorum machines, answer by answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "algo/lease_machine.hpp"
#include "algo/node_clocks.hpp"
#include "algo/quorum.hpp"

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;
using verdict = quorum_action::verdict;

constexpr milliseconds ttl{1000};
clock::time_point at(milliseconds when) { return clock::time_point{} + when; }

node_set nodes(std::initializer_list<std::size_t> which) {
  node_set set;
  for (auto const i : which) set.set(i);
  return set;
}

struct five {
  quorum_grant machine{5, at(0ms), ttl};
  quorum_action yes(std::size_t node, std::uint64_t counter, milliseconds when = 1ms) {
    return machine.granted(node, {counter, ttl}, at(when));
  }
};

TEST(QuorumGrant, IsGrantedAtTheMajorityThatAgreesWithoutASecondRound) {
  five q;
  EXPECT_EQ(q.yes(4, 7).decided, verdict::none);
  EXPECT_EQ(q.yes(0, 7).decided, verdict::none);
  auto const last = q.yes(2, 7);
  EXPECT_EQ(last.decided, verdict::granted);
  EXPECT_TRUE(last.raise.none() && last.release.none());
  EXPECT_EQ(q.machine.token().value, 7u);
  EXPECT_EQ(q.machine.left(), ttl);
}

TEST(QuorumGrant, CountersThatLagAreRaisedAndProvenFirst) {
  five q;
  q.yes(0, 5);
  q.yes(1, 9);
  auto const third = q.yes(2, 7);
  EXPECT_EQ(third.decided, verdict::none);
  EXPECT_EQ(third.raise, nodes({0, 2}));
  EXPECT_EQ(q.machine.token().value, 9u);
  EXPECT_EQ(q.machine.raised(0, 9, at(2ms)).decided, verdict::none);
  EXPECT_EQ(q.machine.raised(2, 9, at(2ms)).decided, verdict::granted);
  EXPECT_EQ(q.machine.token().value, 9u);
}

TEST(QuorumGrant, LateAnswersThatAgreeSettleItBeforeTheRaise) {
  five q;
  q.yes(0, 5);
  q.yes(1, 9);
  q.yes(2, 5);
  EXPECT_EQ(q.yes(3, 5).decided, verdict::granted);
  EXPECT_EQ(q.machine.token().value, 5u);
}

TEST(QuorumGrant, TheMedianOfAllAnswersNeedsNoRaise) {
  five q;
  std::vector<std::uint64_t> const counters{50, 10, 40, 20, 30};
  verdict last = verdict::none;
  for (std::size_t i = 0; i < 5; ++i) last = q.yes(i, counters[i]).decided;
  EXPECT_EQ(last, verdict::granted);
  EXPECT_EQ(q.machine.token().value, 30u);
}

// One clock that is years ahead must not carry the tokens with it.
TEST(QuorumGrant, ACounterFarAheadIsFollowedOnlyWhenTheOthersCannotSettleIt) {
  constexpr auto years_ahead = std::uint64_t{5'000'000'000'000'000};
  for (bool const others_answer : {true, false}) {
    five q;
    q.yes(0, years_ahead);
    q.yes(1, 5);
    EXPECT_TRUE(q.yes(2, 5).raise.none());
    if (others_answer) {
      EXPECT_EQ(q.yes(3, 5).decided, verdict::granted);
      EXPECT_EQ(q.machine.token().value, 5u);
    } else {
      EXPECT_TRUE(q.machine.failed(3, at(2ms)).raise.none());
      EXPECT_EQ(q.machine.give_up(at(3ms)).raise, nodes({1, 2}));
      q.machine.raised(1, years_ahead, at(4ms));
      EXPECT_EQ(q.machine.raised(2, years_ahead, at(4ms)).decided, verdict::granted);
      EXPECT_EQ(q.machine.token().value, years_ahead);
    }
  }
}

// An answer to an older raise proves the older number only.
TEST(QuorumGrant, AnOlderRaiseDoesNotProveANewerToken) {
  five q;
  q.yes(0, 5);
  q.yes(1, 5);
  q.yes(2, 7);                       // 7 wanted at 0 and 1
  q.machine.not_raised(2, at(1ms));  // its vote is gone
  auto const again = q.yes(3, 9);    // 9 wanted now
  EXPECT_EQ(again.raise, nodes({0, 1}));
  EXPECT_EQ(q.machine.raised(0, 7, at(2ms)).decided, verdict::none);
  EXPECT_EQ(q.machine.raised(1, 7, at(2ms)).decided, verdict::none);
  EXPECT_EQ(q.machine.raised(0, 9, at(3ms)).decided, verdict::none);
  EXPECT_EQ(q.machine.raised(1, 9, at(3ms)).decided, verdict::granted);
}

TEST(QuorumGrant, IsRefusedAsSoonAsNoMajorityIsLeftAndReleasedEverywhere) {
  five q;
  q.machine.busy(0, at(1ms));
  q.yes(1, 7);
  EXPECT_EQ(q.machine.failed(2, at(1ms)).decided, verdict::none);
  auto const out = q.machine.busy(3, at(1ms));
  EXPECT_EQ(out.decided, verdict::refused);
  EXPECT_EQ(out.release, nodes({0, 1, 2, 3, 4}));
}

TEST(QuorumGrant, AGrantAfterTheRefusalIsGivenBack) {  // B7
  five q;
  for (std::size_t i : {0, 1, 2}) q.machine.busy(i, at(1ms));
  auto const late = q.yes(4, 7);
  EXPECT_EQ(late.decided, verdict::none);
  EXPECT_EQ(late.release, nodes({4}));
  EXPECT_EQ(q.machine.cancel().decided, verdict::none) << "refused once only";
}

TEST(QuorumGrant, AGrantAfterTheFailureOfItsNodeStillCounts) {
  five q;
  q.machine.failed(0, at(1ms));
  q.machine.failed(1, at(1ms));
  q.yes(0, 7);
  q.yes(2, 7);
  EXPECT_EQ(q.yes(3, 7).decided, verdict::granted);
}

TEST(QuorumGrant, ALaggardAfterTheGrantIsRaisedInTheBackground) {
  five q;
  for (std::size_t i : {0, 1, 2}) q.yes(i, 7);
  EXPECT_EQ(q.yes(3, 4).raise, nodes({3}));
  EXPECT_TRUE(q.yes(4, 9).raise.none()) << "counters are never lowered";
  EXPECT_EQ(q.machine.cancel().decided, verdict::none);
}

TEST(QuorumGrant, ComesToLateForItsTtlIsRefused) {
  five q;
  auto const end = proved_until(at(0ms), ttl) - at(0ms);
  auto const when = std::chrono::duration_cast<milliseconds>(end);
  q.yes(0, 7, when);
  q.yes(1, 7, when);
  auto const out = q.yes(2, 7, when);
  EXPECT_EQ(out.decided, verdict::refused);
  EXPECT_EQ(out.release.count(), 5u);
}

TEST(QuorumGrant, JustInTimeIsGranted) {
  five q;
  auto const end = proved_until(at(0ms), ttl) - at(0ms);
  auto const when = std::chrono::duration_cast<milliseconds>(end) - 1ms;
  q.yes(0, 7, when);
  q.yes(1, 7, when);
  EXPECT_EQ(q.yes(2, 7, when).decided, verdict::granted);
}

// Asked again by the owner: what is left is what a majority has, and the others do not count.
TEST(QuorumGrant, TheTimeLeftIsThatOfTheMajority) {
  five q;
  q.machine.granted(0, {7, 300ms}, at(1ms));
  q.machine.granted(1, {7, 900ms}, at(1ms));
  q.machine.granted(2, {7, 200ms}, at(1ms));
  EXPECT_EQ(q.machine.left(), 200ms);
  five r;
  r.machine.granted(0, {99, 10ms}, at(1ms));
  r.machine.granted(1, {7, 900ms}, at(1ms));
  r.machine.granted(2, {7, 800ms}, at(1ms));
  EXPECT_EQ(r.machine.granted(3, {7, 700ms}, at(1ms)).decided, verdict::granted);
  EXPECT_EQ(r.machine.left(), 700ms);
  EXPECT_EQ(r.machine.token().value, 7u);
}

TEST(QuorumGrant, ARaiseThatFailsTakesTheVoteWithIt) {
  five q;
  for (std::size_t i : {3, 4}) q.machine.failed(i, at(1ms));
  q.yes(0, 7);
  q.yes(1, 5);
  EXPECT_EQ(q.yes(2, 7).raise, nodes({1}));
  EXPECT_EQ(q.machine.not_raised(1, at(2ms)).decided, verdict::refused);
}

TEST(QuorumGrant, GivingUpDecides) {
  five q;
  q.yes(0, 7);
  EXPECT_EQ(q.machine.give_up(at(50ms)).decided, verdict::refused);
  five r;
  r.yes(0, 7);
  r.yes(1, 9);
  r.yes(2, 9);  // a raise of 0 is under way
  EXPECT_EQ(r.machine.give_up(at(50ms)).decided, verdict::refused);
  five s;
  EXPECT_EQ(s.machine.cancel().release.count(), 5u);
}

// Every order in which five nodes can say yes or no: granted with three yes, refused with three
// no, decided once, with the answer that makes it certain.
TEST(QuorumGrant, EveryOrderOfYesAndNoDecidesAtTheThirdOfAKind) {
  for (unsigned pattern = 0; pattern < 32; ++pattern) {
    std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
    do {
      five q;
      int yes = 0;
      int no = 0;
      int decisions = 0;
      for (auto const node : order) {
        bool const says_yes = (pattern >> node & 1) != 0;
        auto const out = says_yes ? q.yes(node, 7) : q.machine.busy(node, at(1ms));
        ++(says_yes ? yes : no);
        if (out.decided == verdict::none) continue;
        ++decisions;
        ASSERT_EQ(out.decided, yes == 3 ? verdict::granted : verdict::refused);
        ASSERT_TRUE((yes == 3) != (no == 3));
      }
      ASSERT_EQ(decisions, 1);
    } while (std::ranges::next_permutation(order).found);
  }
}

// Every order of five different counters: what is handed out is at least a majority's smallest
// possible maximum, and a majority has reached it.
TEST(QuorumGrant, EveryOrderOfDifferentCountersKeepsBothMajorities) {
  std::array<std::size_t, 5> order{0, 1, 2, 3, 4};
  do {
    five q;
    std::array<std::uint64_t, 5> counters{};
    std::size_t answered = 0;
    for (auto const node : order) {
      counters.at(node) = 10 + node;
      ++answered;
      auto const out = q.yes(node, 10 + node);
      if (out.decided != verdict::granted) continue;
      auto const token = q.machine.token().value;
      ASSERT_GE(std::ranges::count_if(counters, [&](auto c) { return c >= token; }), 3);
      ASSERT_GE(std::ranges::count_if(counters, [&](auto c) { return c && c <= token; }), 3);
      break;
    }
    ASSERT_EQ(answered, 5u) << "with fewer than all a raise is needed";
  } while (std::ranges::next_permutation(order).found);
}

TEST(QuorumGrant, EvenNumbersNeedMoreThanHalf) {
  quorum_grant machine(4, at(0ms), ttl);
  machine.granted(0, {7, ttl}, at(1ms));
  EXPECT_EQ(machine.granted(1, {7, ttl}, at(1ms)).decided, verdict::none);
  EXPECT_EQ(machine.granted(2, {7, ttl}, at(1ms)).decided, verdict::granted);
  quorum_grant other(4, at(0ms), ttl);
  other.busy(0, at(1ms));
  EXPECT_EQ(other.busy(1, at(1ms)).decided, verdict::refused);
}

TEST(NodeClocks, TheFurthestIsFollowedButNotOneThatIsHoursAheadOfTheOthers) {
  node_clocks clocks(5);
  clocks.heard(0, 9 * far_ahead);
  clocks.heard(1, 20);
  EXPECT_EQ(clocks.ahead(), 0) << "two of five cannot tell who is right";
  EXPECT_TRUE(clocks.disbelieved().none());
  clocks.heard(2, 10);
  EXPECT_EQ(clocks.ahead(), 20);
  EXPECT_EQ(clocks.disbelieved(), nodes({0}));
  clocks.heard(3, 10 + far_ahead);
  EXPECT_EQ(clocks.ahead(), 10 + far_ahead) << "within the hour";
  clocks.heard(4, -9 * far_ahead);
  EXPECT_EQ(clocks.ahead(), 10 + far_ahead);
  clocks.heard(0, 30);
  EXPECT_TRUE(clocks.disbelieved().none()) << "set right";
}

TEST(NodeClocks, TwoThatAreYearsBehindDoNotMakeTheOthersWrong) {
  node_clocks clocks(5);
  for (std::size_t i : {0, 1}) clocks.heard(i, -9 * far_ahead);
  for (std::size_t i : {2, 3, 4}) clocks.heard(i, 50);
  EXPECT_EQ(clocks.ahead(), 50);
  EXPECT_TRUE(clocks.disbelieved().none());
}

TEST(QuorumTally, CountsEachNodesFirstAnswer) {
  quorum_tally tally(5);
  tally.yes(0);
  tally.yes(0);
  tally.no(0);
  tally.yes(1);
  EXPECT_EQ(tally.standing(), quorum_tally::verdict::none);
  tally.yes(2);
  EXPECT_EQ(tally.standing(), quorum_tally::verdict::yes);
}

TEST(QuorumTally, NoIsCertainOnlyWhenNoMajorityCanBeLeft) {
  quorum_tally tally(5);
  tally.no(0);
  tally.no(1);
  tally.yes(2);
  tally.failed(3);
  EXPECT_EQ(tally.standing(), quorum_tally::verdict::none) << "the last may still make it a no";
  quorum_tally other = tally;
  other.no(4);
  EXPECT_EQ(other.standing(), quorum_tally::verdict::no);
  tally.failed(4);
  EXPECT_EQ(tally.standing(), quorum_tally::verdict::undecided);
}

}  // namespace
}  // namespace herdlock::algo
