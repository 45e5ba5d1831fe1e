// The SETNX/GETSET machine, step by step, and several of them against one key with clocks that
// differ and commands that take time.
#include "algo/getset_machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock::algo;
using kind = getset_action::kind;

constexpr unix_time t0{1'700'000'000'000};
std::string const held = "   \t";
std::string const bid = "\t   ";

getset_machine machine(getset_verb verb) { return {verb, {held, bid}, {10s, 1s}}; }

getset_reply value(std::string text) { return {.value = std::move(text)}; }
constexpr auto nothing = [] { return getset_reply{}; };

TEST(GetsetMachine, AFreeKeyIsTakenWithTheTimeThatTheDocumentationSays) {
  auto one = machine(getset_verb::acquire);
  auto const first = one.begin(t0);
  EXPECT_EQ(first.what, kind::set_if_absent);
  EXPECT_EQ(first.value, "1700000011" + held);  // now + timeout + 1
  EXPECT_EQ(one.resume({.done = true}, t0).what, kind::finish);
  EXPECT_EQ(one.outcome(), getset_outcome::granted);
}

TEST(GetsetMachine, ATimeIsRoundedUpToWholeSeconds) {
  auto one = machine(getset_verb::acquire);
  EXPECT_EQ(one.begin(t0 + 1ms).value, "1700000012" + held);
}

TEST(GetsetMachine, AKeyThatIsNotOverIsBusyAndLeftAlone) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  EXPECT_EQ(one.resume({}, t0).what, kind::get);
  EXPECT_EQ(one.resume(value("1700000005"), t0).what, kind::finish);
  EXPECT_EQ(one.outcome(), getset_outcome::busy);
  EXPECT_EQ(one.remaining(), 5s);
}

// Equal times: some clients say over, some say not yet; the taker waits.
TEST(GetsetMachine, AKeyIsTakenOverOnlyAfterItsTime) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  EXPECT_EQ(one.resume(value("1700000000"), t0).what, kind::finish);
  auto two = machine(getset_verb::acquire);
  two.begin(t0);
  two.resume({}, t0);
  auto const next = two.resume(value("1700000000"), t0 + 1ms);
  EXPECT_EQ(next.what, kind::get_and_set);
  EXPECT_EQ(next.value, "1700000012" + bid);
}

TEST(GetsetMachine, TheBidThatReadsAnExpiredTimeBackWinsAndIsConfirmed) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1699999999.25"), t0);
  auto const next = one.resume(value("1699999999.25"), t0);
  EXPECT_EQ(next.what, kind::get_and_set);
  EXPECT_EQ(next.value, "1700000011" + held);
  EXPECT_EQ(one.resume(value("1700000013"), t0).what, kind::finish);  // a loser was faster
  EXPECT_EQ(one.outcome(), getset_outcome::granted);
}

TEST(GetsetMachine, TheBidThatReadsTheWinnersTimeBackHasLost) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1699999999"), t0);
  EXPECT_EQ(one.resume(value("1700000013"), t0).what, kind::finish);
  EXPECT_EQ(one.outcome(), getset_outcome::busy);
}

TEST(GetsetMachine, ABidOnAKeyThatWasReleasedMeanwhileWins) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1699999999"), t0);
  EXPECT_EQ(one.resume(nothing(), t0).what, kind::get_and_set);
}

TEST(GetsetMachine, AKeyReleasedBetweenTheTwoLooksIsTriedOnceMore) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  EXPECT_EQ(one.resume(nothing(), t0).what, kind::set_if_absent);
  one.resume({}, t0);
  EXPECT_EQ(one.resume(nothing(), t0).what, kind::finish);
  EXPECT_EQ(one.outcome(), getset_outcome::busy);
}

// B7: after a lost reply the owner's own value is its grant, and is not prolonged.
TEST(GetsetMachine, AskedAgainTheOwnersOwnValueIsAGrantUntilItIsOver) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  EXPECT_EQ(one.resume(value("1700000006" + held), t0).what, kind::finish);
  EXPECT_EQ(one.outcome(), getset_outcome::held_already);
  EXPECT_EQ(one.remaining(), 5s);
  auto late = machine(getset_verb::acquire);
  late.begin(t0);
  late.resume({}, t0);
  late.resume(value("1700000001" + held), t0);
  EXPECT_EQ(late.outcome(), getset_outcome::busy);
}

// Its writer may have lost: what is a bid proves nothing, and is not ours to delete.
TEST(GetsetMachine, ABidOfOursIsNeitherAGrantNorRenewedNorDeleted) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1700000006" + bid), t0);
  EXPECT_EQ(one.outcome(), getset_outcome::busy);
  for (auto verb : {getset_verb::renew, getset_verb::release}) {
    auto other = machine(verb);
    other.begin(t0);
    EXPECT_EQ(other.resume(value("1700000006" + bid), t0).what, kind::finish);
    EXPECT_EQ(other.outcome(), getset_outcome::lost);
  }
}

TEST(GetsetMachine, AReleaseDeletesOnlyItsOwnValueBeforeItIsOver) {
  auto one = machine(getset_verb::release);
  EXPECT_EQ(one.begin(t0).what, kind::get);
  EXPECT_EQ(one.resume(value("1700000002" + held), t0).what, kind::remove);
  one.resume({.done = true}, t0);
  EXPECT_EQ(one.outcome(), getset_outcome::released);
  // B5: over by our own count (a skew before the key's time), another's, gone.
  for (auto const& there : {value("1700000001" + held), value("1700000002"), nothing()}) {
    auto other = machine(getset_verb::release);
    other.begin(t0);
    EXPECT_EQ(other.resume(there, t0).what, kind::finish);
    EXPECT_EQ(other.outcome(), getset_outcome::lost);
  }
}

TEST(GetsetMachine, ARenewalIsAGetsetThatReadsItsOwnValueBack) {
  auto one = machine(getset_verb::renew);
  one.begin(t0);
  auto const next = one.resume(value("1700000002" + held), t0);
  EXPECT_EQ(next.what, kind::get_and_set);
  EXPECT_EQ(next.value, "1700000011" + held);
  one.resume(value("1700000002" + held), t0);
  EXPECT_EQ(one.outcome(), getset_outcome::renewed);
}

// B6: not ours, or over: nothing is written.
TEST(GetsetMachine, ARenewalOfWhatIsNotOursWritesNothing) {
  for (auto const& there : {value("1700000001" + held), value("1700000009"), nothing()}) {
    auto one = machine(getset_verb::renew);
    one.begin(t0);
    EXPECT_EQ(one.resume(there, t0).what, kind::finish);
    EXPECT_EQ(one.outcome(), getset_outcome::lost);
  }
}

// B4: taken away between the look and the GETSET, which has made the key anew.
TEST(GetsetMachine, ARenewalThatMadeTheKeyAnewTakesItAwayAgain) {
  auto one = machine(getset_verb::renew);
  one.begin(t0);
  one.resume(value("1700000002" + held), t0);
  EXPECT_EQ(one.resume(nothing(), t0).what, kind::remove);
  one.resume({.done = true}, t0);
  EXPECT_EQ(one.outcome(), getset_outcome::lost);
}

TEST(GetsetMachine, WhatIsNoUnixTimeInSecondsIsBusyForEver) {
  for (char const* text : {"theirs", "", "12x", "1700000000000", "nan", "inf", "1e300", "0x10"}) {
    auto one = machine(getset_verb::acquire);
    one.begin(t0);
    one.resume({}, t0);
    EXPECT_EQ(one.resume(value(text), t0).what, kind::finish) << text;
    EXPECT_EQ(one.outcome(), getset_outcome::busy) << text;
    EXPECT_EQ(one.remaining(), 0ms) << text;
  }
}

TEST(GetsetMachine, TimesOfOtherClientsAreReadWithFractionsAndBlanks) {
  EXPECT_EQ(parse_getset_stamp("1700000000.5"), t0 + 500ms);
  EXPECT_EQ(parse_getset_stamp(" 1700000000 \t\n"), t0);
  EXPECT_EQ(parse_getset_stamp("0"), 0ms);
  EXPECT_EQ(parse_getset_stamp("-1"), -1s);
}

// -------------------------------------------------------------------------------- simulation

constexpr milliseconds ttl = 3s;
constexpr milliseconds skew = 1s;
constexpr milliseconds clocks_differ = 500ms;  // together with
constexpr milliseconds command_takes = 400ms;  // this less than the skew

// One key, and the time that nobody knows exactly.
struct world {
  unix_time now = t0;
  std::optional<std::string> key;

  getset_reply run(getset_action const& action) {
    getset_reply reply{.value = key};
    switch (action.what) {
      case kind::set_if_absent:
        reply = {.done = !key};
        if (!key) key = action.value;
        break;
      case kind::get_and_set:
        key = action.value;
        break;
      case kind::remove:
        reply = {.done = key.has_value()};
        key.reset();
        break;
      default:
        break;
    }
    return reply;
  }
};

// Acquires, holds, renews, releases, or dies; its clock is off.
class contender {
 public:
  contender(int number, milliseconds off) : off_(off) {
    marks_ = {std::string(static_cast<std::size_t>(number) + 1, '\t'),
              std::string(static_cast<std::size_t>(number) + 1, ' ')};
  }

  bool holds(unix_time now) const { return until_ && now < *until_; }
  std::optional<unix_time> due() const { return pending_ ? sent_ + command_takes : until_; }

  void step(world& w, std::mt19937& random) {
    if (!pending_) return start(w, random);
    auto const reply = w.run(*pending_);
    auto next = machine_->resume(reply, w.now + off_);
    sent_ = w.now;
    if (next.what != kind::finish) {
      pending_ = std::move(next);
      return;
    }
    pending_.reset();
    if (machine_->outcome() == getset_outcome::granted) until_ = asked_ + ttl;
    if (machine_->outcome() == getset_outcome::renewed && holds(w.now)) until_ = asked_ + ttl;
    if (machine_->outcome() == getset_outcome::lost) until_.reset();
    if (machine_->outcome() == getset_outcome::released) until_.reset();
  }

 private:
  void start(world& w, std::mt19937& random) {
    asked_ = sent_ = w.now;
    if (until_ && !holds(w.now)) until_.reset();
    auto verb = getset_verb::acquire;
    if (until_) verb = random() % 2 == 0 ? getset_verb::renew : getset_verb::release;
    if (until_ && random() % 4 == 0) return;           // does nothing: dies in the end
    if (verb == getset_verb::release) until_.reset();  // it does not work any more
    machine_.emplace(verb, marks_, getset_terms{ttl, skew});
    pending_ = machine_->begin(w.now + off_);
  }

  milliseconds off_;
  getset_marks marks_;
  std::optional<getset_machine> machine_;
  std::optional<getset_action> pending_;
  std::optional<unix_time> until_;
  unix_time asked_{};
  unix_time sent_{};
};

// Whatever the order: while clocks and delays together stay below the skew, and all have the same
// ttl, two never hold at once.
RC_GTEST_PROP(GetsetMachine, TwoNeverHoldAtOnce, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  world w;
  std::vector<contender> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back(i, milliseconds(random() % clocks_differ.count()));
  }
  int grants = 0;
  for (int turn = 0; turn < 400; ++turn) {
    auto const step = milliseconds(random() % 10 == 0 ? random() % 5000 : random() % 60);
    auto next = w.now + step;
    // No command stays under way for longer than command_takes.
    for (auto& one : all) {
      if (auto const due = one.due(); due && *due <= next) {
        w.now = std::max(w.now, *due);
        one.step(w, random);
      }
    }
    w.now = std::max(w.now, next);
    all[random() % all.size()].step(w, random);
    auto const holders =
        std::ranges::count_if(all, [&](contender const& one) { return one.holds(w.now); });
    grants += holders == 1 ? 1 : 0;
    RC_ASSERT(holders <= 1);
  }
  RC_ASSERT(grants > 0);
}

}  // namespace
