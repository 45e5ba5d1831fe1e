// One candidate over a scripted store: what it asks, when, and what the caller is told.
#include <herdlock/election.hpp>

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <vector>

#include "scripted_lease_store.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

// The work can look at the lease; giving it away is the election's.
template <class Term>
concept gives_the_lease_away = requires(Term& term) {
  term.held().release();
}
|| requires(Term& term) { term.held().async_release(); }
|| requires(Term& term) { std::move(term.held()).detach(); }
|| requires(Term& term) { lease(std::move(term.held())); };
static_assert(!gives_the_lease_away<election_term>);

class ElectionTest : public ::testing::Test {
 protected:
  void make(election_services services, milliseconds ttl = 1min,
            std::optional<milliseconds> stop_grace = {}) {
    election_options options;
    options.ttl = ttl;
    options.stop_grace = stop_grace.value_or(ttl * 2 / 5);
    options.back_off_first = 1ms;
    options.back_off_most = 8ms;
    options.candidate = "me";
    options.on_transition = [this](election_transition const& t) { seen.push_back(t); };
    job.emplace(*f.opened, resource("job"), std::move(services), options);
  }
  void make() {
    make({.start_work = [this](election_term& term) { return work(term); }});
  }

  void stand() {
    auto note = [this](result<void> r) {
      EXPECT_FALSE(ended) << "answered twice";
      ended.emplace(std::move(r));
    };
    job->async_campaign(
        herdlock_test::as_result(asio::bind_cancellation_slot(cancel.slot(), note)));
    EXPECT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  }
  void lead(std::uint64_t term = 7) {
    stand();
    f.script->grant_next(term);
    EXPECT_TRUE(f.run_until([&] { return job->state() == election_state::working; }));
    f.settle();
  }
  bool released() {
    return f.run_until([&] { return !f.script->releases.empty(); });
  }
  // Gives the term back and ends the campaign.
  void leave() {
    job->resign();
    EXPECT_TRUE(released());
    f.script->release_next(release_reply::released);
    EXPECT_TRUE(f.run_until([&] { return ended.has_value(); }));
  }
  std::size_t times(election_event event) const {
    return static_cast<std::size_t>(
        std::count_if(seen.begin(), seen.end(), [&](auto const& t) { return t.event == event; }));
  }

  asio::awaitable<void> work(election_term& term) {
    ++works;
    numbers.push_back(term.number().value);
    co_await term.until_stop();
    was_valid_at_stop = term.held().valid_until() > clock::now();
    --works;
  }

  // The candidate tells its last while what it tells to is still there.
  void TearDown() override {
    job.reset();
    f.settle();
  }

  scripted_fixture f;
  std::vector<election_transition> seen;
  std::optional<election> job;
  std::optional<result<void>> ended;
  asio::cancellation_signal cancel;
  std::vector<std::uint64_t> numbers;
  int works = 0;
  bool was_valid_at_stop = false;
};

TEST_F(ElectionTest, TheTermIsGivenBackAfterTheWorkHasStoppedAndNotBefore) {
  bool stopping = false;
  bool may_stop = false;
  auto const slow_stop = [&](election_term&) -> asio::awaitable<void> {
    stopping = true;
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (!may_stop) {
      pause.expires_after(1ms);
      auto waiting = pause.async_wait(asio::use_awaitable);
      co_await std::move(waiting);
    }
  };
  make({[this](election_term& term) { return work(term); }, slow_stop});
  lead();
  EXPECT_EQ(works, 1);
  EXPECT_EQ(f.script->releases.size(), 0u);
  job->resign();
  ASSERT_TRUE(f.run_until([&] { return stopping && works == 0; }));
  EXPECT_EQ(f.script->releases.size(), 0u) << "stop_work has not returned";
  EXPECT_EQ(job->state(), election_state::cleanup);
  may_stop = true;
  ASSERT_TRUE(released());
  EXPECT_FALSE(ended);
  f.script->release_next(release_reply::released);
  ASSERT_TRUE(f.run_until([&] { return ended.has_value(); }));
  EXPECT_TRUE(*ended);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{7}));
}

TEST_F(ElectionTest, TheOwnersLabelIsTheCandidate) {
  make();
  stand();
  EXPECT_EQ(f.script->acquires.front().request.owner.label(), "me");
  f.script->fail_next_acquire(errc::unavailable);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  EXPECT_EQ(f.script->acquires.front().request.owner.label(), "me");
}

// B1, B14: no renewal is answered. The work is told while the term is still ours, the next question
// comes only when it has stopped, and nothing is renewed any more.
TEST_F(ElectionTest, WorkIsToldToStopSoEarlyThatTheGraceEndsInsideTheTerm) {
  // It is told 3 s before the end: only a machine that stands still for so long makes this red.
  make({.start_work = [this](election_term& term) { return work(term); }}, 6200ms, 3s);
  lead();
  ASSERT_TRUE(f.run_until([&] { return times(election_event::stopped) == 1; }));
  EXPECT_TRUE(was_valid_at_stop);
  EXPECT_EQ(times(election_event::overdue), 0u);
  ASSERT_EQ(times(election_event::lost), 1u);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  EXPECT_EQ(works, 0);
  EXPECT_EQ(f.script->releases.size(), 1u) << "what is left of the term is given back";
}

TEST_F(ElectionTest, WorkThatDoesNotStopIsToldOfAndKeepsTheCandidateFromStandingAnew) {
  bool let_go = false;
  auto const deaf = [&](election_term&) -> asio::awaitable<void> {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (!let_go) {
      pause.expires_after(1ms);
      auto waiting = pause.async_wait(asio::use_awaitable);
      co_await std::move(waiting);
    }
  };
  make({.start_work = deaf}, 300ms);
  lead();
  ASSERT_TRUE(f.run_until([&] { return times(election_event::overdue) == 1; }));
  EXPECT_EQ(job->state(), election_state::pausing);
  EXPECT_TRUE(f.script->acquires.empty());
  EXPECT_TRUE(f.script->releases.empty());
  let_go = true;
  EXPECT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
}

// An operator took it: from now on it can be another's, though the ttl would have run on.
TEST_F(ElectionTest, AfterAForcedReleaseWorkIsOverdueWhenItsGraceIsUsedUp) {
  clock::time_point end_of_ttl;
  bool let_go = false;
  auto const deaf = [&](election_term& term) -> asio::awaitable<void> {
    end_of_ttl = term.held().valid_until();
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    asio::steady_timer pause(co_await asio::this_coro::executor);
    while (!let_go) {
      pause.expires_after(1ms);
      auto waiting = pause.async_wait(asio::use_awaitable);
      co_await std::move(waiting);
    }
  };
  make({.start_work = deaf}, 6s, 20ms);
  lead();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(renew_reply::lost);
  ASSERT_TRUE(f.run_until([&] { return times(election_event::overdue) == 1; }));
  EXPECT_LT(clock::now(), end_of_ttl);
  let_go = true;
  EXPECT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
}

TEST_F(ElectionTest, TroubleWithTheStoreIsToldAndRestedFor) {
  make();
  stand();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
    f.script->fail_next_acquire(i % 2 == 0 ? errc::unavailable : errc::timed_out);
  }
  ASSERT_TRUE(f.run_until([&] { return times(election_event::failed) == 5; }));
  EXPECT_EQ(works, 0);
  for (auto const& t : seen) {
    if (t.event != election_event::failed) continue;
    EXPECT_TRUE(t.why.code);
    EXPECT_GE(t.back_off, 1ms);
    EXPECT_LE(t.back_off, 12ms);
  }
}

TEST_F(ElectionTest, AStoreThatRefusesEndsTheCampaignWithItsReason) {
  make();
  stand();
  f.script->fail_next_acquire(errc::access_denied);
  ASSERT_TRUE(f.run_until([&] { return ended.has_value(); }));
  EXPECT_EQ(ended->error(), errc::access_denied);
  EXPECT_EQ(job->state(), election_state::idle);
  ended.reset();
  lead(8);  // it may be tried again
  EXPECT_EQ(works, 1);
  leave();
}

TEST_F(ElectionTest, WorkThatThrowsIsToldAndStoodForAgain) {
  auto const fails = [](election_term&) -> asio::awaitable<void> {
    throw std::runtime_error("work");
    co_return;
  };
  make({.start_work = fails});
  stand();
  f.script->grant_next(1);
  ASSERT_TRUE(released());
  f.script->release_next(release_reply::released);
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  ASSERT_EQ(times(election_event::finished), 1u);
  for (auto const& t : seen) {
    EXPECT_EQ(t.event == election_event::finished, static_cast<bool>(t.thrown));
  }
}

TEST_F(ElectionTest, ACancelledCampaignHandsOverFirst) {
  make();
  lead();
  cancel.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(released());
  EXPECT_EQ(works, 0);
  EXPECT_FALSE(ended);
  f.script->release_next(release_reply::released);
  ASSERT_TRUE(f.run_until([&] { return ended.has_value(); }));
  EXPECT_EQ(ended->error(), errc::canceled);
}

TEST_F(ElectionTest, OneCampaignAtATime) {
  make();
  stand();
  std::optional<result<void>> second;
  job->async_campaign(
      herdlock_test::as_result([&](result<void> r) { second.emplace(std::move(r)); }));
  ASSERT_TRUE(f.run_until([&] { return second.has_value(); }));
  EXPECT_EQ(second->error(), errc::overloaded);
}

TEST_F(ElectionTest, CancellingARefusedCampaignDoesNotEndTheOneThatRuns) {
  make();
  lead();
  asio::cancellation_signal others;
  std::optional<result<void>> second;
  job->async_campaign(herdlock_test::as_result(asio::bind_cancellation_slot(
      others.slot(), [&](result<void> r) { second.emplace(std::move(r)); })));
  others.emit(asio::cancellation_type::all);
  ASSERT_TRUE(f.run_until([&] { return second.has_value(); }));
  f.settle();
  EXPECT_EQ(job->state(), election_state::working);
  EXPECT_EQ(works, 1);
  leave();
  EXPECT_TRUE(*ended);
}

TEST_F(ElectionTest, TheSignalOfACampaignThatHasEndedDoesNotEndTheNext) {
  make();
  stand();
  f.script->fail_next_acquire(errc::access_denied);
  ASSERT_TRUE(f.run_until([&] { return ended.has_value(); }));
  std::optional<result<void>> next;
  job->async_campaign(
      herdlock_test::as_result([&](result<void> r) { next.emplace(std::move(r)); }));
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  cancel.emit(asio::cancellation_type::all);
  f.settle();
  EXPECT_EQ(job->state(), election_state::acquiring);
  EXPECT_FALSE(next);
  job->resign();
  EXPECT_TRUE(f.run_until([&] { return next.has_value(); }));
}

TEST_F(ElectionTest, ResigningIsAnsweredWhenTheCampaignHasEnded) {
  make();
  std::optional<result<void>> idle;
  job->async_resign(herdlock_test::as_result([&](result<void> r) { idle.emplace(std::move(r)); }));
  ASSERT_TRUE(f.run_until([&] { return idle.has_value(); }));
  lead();
  std::optional<result<void>> resigned;
  job->async_resign(
      herdlock_test::as_result([&](result<void> r) { resigned.emplace(std::move(r)); }));
  ASSERT_TRUE(released());
  EXPECT_FALSE(resigned);
  f.script->release_next(release_reply::released);
  ASSERT_TRUE(f.run_until([&] { return resigned && ended; }));
  EXPECT_TRUE(*resigned);
}

TEST_F(ElectionTest, ADestroyedCandidateResigns) {
  make();
  lead();
  job.reset();
  ASSERT_TRUE(released());
  EXPECT_EQ(works, 0);
  f.script->release_next(release_reply::released);
  EXPECT_TRUE(f.run_until([&] { return ended.has_value(); }));
}

// B7: the withdrawn question was answered with a grant after all.
TEST_F(ElectionTest, AGrantThatCrossesTheResignationIsGivenBack) {
  make();
  stand();
  job->resign();
  ASSERT_TRUE(f.run_until([&] { return ended.has_value(); }));
  f.script->grant_next(3);
  ASSERT_TRUE(released());
  EXPECT_EQ(works, 0);
  EXPECT_TRUE(numbers.empty());
}

// B17: the process stood still from before the grant until after its end.
TEST_F(ElectionTest, AGrantThatIsOverBeforeItIsSeenStartsNoWork) {
  make({.start_work = [this](election_term& term) { return work(term); }}, 30ms);
  stand();
  auto const until = clock::now() + 40ms;
  while (clock::now() < until) {
  }
  f.script->grant_next(3);
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); })) << "it is proved first";
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_EQ(works, 0);
  EXPECT_NE(job->state(), election_state::working);
}

TEST_F(ElectionTest, RefusesOptionsThatMakeNoSense) {
  auto const code_of = [&](election_options options) {
    try {
      (void)election(*f.opened, resource("job"),
                     {.start_work = [this](election_term& term) { return work(term); }},
                     std::move(options));
    } catch (error const& e) {
      return e.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(code_of({.ttl = 0ms}), make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.ttl = 1s, .stop_grace = 500ms}), make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.ttl = 1s, .stop_grace = -1ms}), make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.ttl = 1s, .stop_grace = milliseconds::max()}),
            make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.ttl = 1s, .stop_grace = milliseconds::min()}),
            make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.ttl = milliseconds::max()}), make_error_code(errc::invalid_ttl));
  EXPECT_LT(stop_notice(milliseconds::max(), 1s), 500ms);
  EXPECT_EQ(code_of({.back_off_first = 0ms}), make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.back_off_first = 2s, .back_off_most = 1s}),
            make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.candidate = std::string(limits::max_label_bytes, 'x')}), std::error_code());
  EXPECT_EQ(code_of({.candidate = std::string(limits::max_label_bytes + 1, 'x')}),
            make_error_code(errc::invalid_owner));
  EXPECT_EQ(code_of({.candidate = "a\tb"}), make_error_code(errc::invalid_owner));
  EXPECT_EQ(code_of({}), std::error_code());
}

}  // namespace
}  // namespace herdlock::scripted
