// The SETNX/GETSET machine, step by step, and several of them against one key with clocks that
// differ and commands that take time.
#include "algo/getset_machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
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
  EXPECT_EQ(one.remaining(), 6s);
}

// Its writer may have a clock that is a skew behind, and works until its own time is over.
TEST(GetsetMachine, AKeyIsTakenOverOnlyAfterItsTime) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  EXPECT_EQ(one.resume(value("1700000000"), t0 + 1s).what, kind::finish);
  auto two = machine(getset_verb::acquire);
  two.begin(t0);
  two.resume({}, t0);
  auto const next = two.resume(value("1700000000"), t0 + 1001ms);
  EXPECT_EQ(next.what, kind::get_and_set);
  EXPECT_EQ(next.value, "1700000013" + bid);
}

TEST(GetsetMachine, TheBidThatReadsAnExpiredTimeBackWinsAndIsConfirmed) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1699999998.25"), t0);
  auto const next = one.resume(value("1699999998.25"), t0);
  EXPECT_EQ(next.what, kind::get_and_set);
  EXPECT_EQ(next.value, "1700000011" + held);
  EXPECT_EQ(one.resume(value("1700000013"), t0).what, kind::finish);  // a loser was faster
  EXPECT_EQ(one.outcome(), getset_outcome::granted);
}

TEST(GetsetMachine, TheBidThatReadsTheWinnersTimeBackHasLost) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1699999998"), t0);
  EXPECT_EQ(one.resume(value("1700000013"), t0).what, kind::finish);
  EXPECT_EQ(one.outcome(), getset_outcome::busy);
}

TEST(GetsetMachine, ABidOnAKeyThatWasReleasedMeanwhileWins) {
  auto one = machine(getset_verb::acquire);
  one.begin(t0);
  one.resume({}, t0);
  one.resume(value("1699999998"), t0);
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
  virtual ~contender() = default;
  explicit contender(milliseconds off) : off_(off) {}

  bool holds(unix_time now) const { return until_ && now < *until_; }
  // No command stays under way for longer than command_takes.
  std::optional<unix_time> due() const {
    return pending_ ? std::optional(sent_ + command_takes) : std::nullopt;
  }

  void step(world& w, std::mt19937& random) {
    if (until_ && !holds(w.now)) until_.reset();
    bool const begins = !pending_;
    if (begins && until_ && dies_) return;
    auto next = begins ? start(w.now, random) : resume(w.run(*pending_), w.now);
    if (next.what == kind::finish) {
      pending_.reset();
      if (until_ && !begins) dies_ = random() % 2 == 0;
      return;
    }
    pending_ = std::move(next);
    sent_ = w.now;
  }

 protected:
  virtual getset_action start(unix_time now, std::mt19937& random) = 0;
  virtual getset_action resume(getset_reply const& reply, unix_time now) = 0;

  milliseconds off_;
  std::optional<unix_time> until_;  // what it believes

 private:
  std::optional<getset_action> pending_;
  unix_time sent_{};
  bool dies_ = false;
};

class our_client final : public contender {
 public:
  our_client(int number, milliseconds off) : contender(off) {
    auto const length = static_cast<std::size_t>(number) + 1;
    marks_ = {std::string(length, '\t'), std::string(length, ' ')};
  }

 private:
  getset_action start(unix_time now, std::mt19937& random) override {
    auto verb = getset_verb::acquire;
    if (until_) verb = random() % 2 == 0 ? getset_verb::renew : getset_verb::release;
    if (verb == getset_verb::release) until_.reset();  // it does not work any more
    asked_ = now;
    machine_.emplace(verb, marks_, getset_times{ttl, skew});
    return machine_->begin(now + off_);
  }
  getset_action resume(getset_reply const& reply, unix_time now) override {
    auto next = machine_->resume(reply, now + off_);
    if (next.what != kind::finish) return next;
    auto const outcome = machine_->outcome();
    if (outcome == getset_outcome::granted) until_ = asked_ + ttl;
    if (outcome == getset_outcome::renewed && until_) until_ = asked_ + ttl;
    if (outcome == getset_outcome::lost) until_.reset();
    return next;
  }

  getset_marks marks_;
  std::optional<getset_machine> machine_;
  unix_time asked_{};
};

// How the numbers of historical clients look: int(time.time()), or time.time() as it is.
enum class precision { seconds, milliseconds };

// As the documentation of SETNX has it; it works for its ttl from when it asked. (If it worked on
// to the time in its key, one second more, this would find two of them at once: a loser's GETSET
// can bring that time forward.)
class historical_client final : public contender {
 public:
  historical_client(precision of, milliseconds off) : contender(off), precision_(of) {}

 private:
  milliseconds read_clock(unix_time now) const {
    bool const whole = precision_ == precision::seconds;
    return whole ? std::chrono::floor<std::chrono::seconds>(now + off_) : now + off_;
  }
  getset_action send(kind what) {
    last_ = what;
    auto const digits = std::to_string(end_.count());
    return {what, digits.substr(0, digits.size() - 3) + "." + digits.substr(digits.size() - 3)};
  }

  getset_action start(unix_time now, std::mt19937&) override {
    if (until_) {
      until_.reset();
      return read_clock(now) < end_ ? send(kind::remove) : getset_action{kind::finish};
    }
    asked_ = now;
    end_ = read_clock(now) + ttl + 1s;
    return send(kind::set_if_absent);
  }
  getset_action resume(getset_reply const& reply, unix_time now) override {
    bool const over = !reply.value || read_clock(now) > parse_getset_stamp(*reply.value);
    if (last_ == kind::set_if_absent && !reply.done) return send(kind::get);
    if (last_ == kind::get && reply.value && over) return send(kind::get_and_set);
    bool const won = last_ == kind::set_if_absent || (last_ == kind::get_and_set && over);
    if (won) until_ = asked_ + ttl;
    return {kind::finish};
  }

  precision precision_;
  unix_time asked_{};
  milliseconds end_{};
  kind last_ = kind::finish;
};

void prove_exclusion(std::vector<std::unique_ptr<contender>> const& all, std::mt19937& random) {
  world w;
  int seen = 0;
  for (int turn = 0; turn < 1000; ++turn) {
    auto const next = w.now + milliseconds(random() % 60);
    for (auto const& one : all) {
      while (one->due() && *one->due() <= next) {
        w.now = std::max(w.now, *one->due());
        one->step(w, random);
      }
    }
    w.now = std::max(w.now, next);
    all[random() % all.size()]->step(w, random);
    auto const holders =
        std::ranges::count_if(all, [&](auto const& one) { return one->holds(w.now); });
    RC_ASSERT(holders <= 1);
    seen += holders == 1 ? 1 : 0;
  }
  RC_ASSERT(seen > 0);
}

milliseconds some_offset(std::mt19937& random) {
  return milliseconds(random() % clocks_differ.count());
}

// Whatever the order: while the difference of the clocks and the time of a command together stay
// below the skew, and all have the same ttl, two never hold at once.
RC_GTEST_PROP(GetsetMachine, TwoOfOursNeverHoldAtOnce, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<contender>> all;
  for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<our_client>(i, some_offset(random)));
  prove_exclusion(all, random);
}

RC_GTEST_PROP(GetsetMachine, OursAndHistoricalOnesNeverHoldAtOnce, (std::uint32_t seed)) {
  std::mt19937 random(seed);
  // Those with fractions have no margin against each other, so there is one of them.
  bool const whole = random() % 2 == 0;
  std::vector<std::unique_ptr<contender>> all;
  for (int i = 0; i < 2; ++i) all.push_back(std::make_unique<our_client>(i, some_offset(random)));
  for (int i = 0; i < (whole ? 2 : 1); ++i) {
    auto const of = whole ? precision::seconds : precision::milliseconds;
    all.push_back(std::make_unique<historical_client>(of, some_offset(random)));
  }
  prove_exclusion(all, random);
}

}  // namespace
