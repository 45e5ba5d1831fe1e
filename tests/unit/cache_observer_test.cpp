// An observer is told of each outcome, on a thread of its own; what it does harms nobody.
#include <pthread.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "cache_age_fixture.hpp"
#include "support/eventually.hpp"
#include "support/gate.hpp"

namespace herdlock::scripted {
namespace {

using herdlock_test::eventually;
using herdlock_test::gate;
using names = std::vector<std::string>;

std::string name_of(cache_outcome what) {
  constexpr char const* all[] = {"hit",    "near_hit", "stale",          "miss",
                                 "loaded", "failed",   "refresh_failed", "evicted"};
  return all[static_cast<std::size_t>(what)];
}

/// What an observer was told, in order.
class told_events {
 public:
  observer_options observer(std::size_t max_waiting = 10'000) {
    return {.call = [to = state_](cache_event const& one) { to->add(one); },
            .max_waiting = max_waiting};
  }
  names lines() const {
    std::lock_guard const lock(state_->mutex);
    return state_->lines;
  }
  std::vector<cache_event> events() const {
    std::lock_guard const lock(state_->mutex);
    return state_->events;
  }
  bool are(names const& expected) const {
    bool const come = eventually([&] { return lines().size() >= expected.size(); });
    EXPECT_EQ(lines(), expected);
    return come;
  }

 private:
  struct state {
    void add(cache_event const& one) {
      std::lock_guard const lock(mutex);
      events.push_back(one);
      lines.push_back(name_of(one.what) + " " + one.key);
    }
    std::mutex mutex;
    std::vector<cache_event> events;
    names lines;
  };
  std::shared_ptr<state> const state_ = std::make_shared<state>();
};

class CacheObserver : public CacheAge {
 protected:
  void open_observed(cache_options options) {
    options.observer = told.observer();
    open(options);
  }

  told_events told;
};

TEST_F(CacheObserver, AMissALoadAndAHitAreToldByTheKeyThatTheProgramKnows) {
  open_observed({.prefix = "p:"});
  loader.let_go();
  ask();
  ask();
  EXPECT_TRUE(told.are({"miss k", "loaded k", "hit k"}));
  loader.error = "no database";
  call c;
  load(c, "l");
  settle();
  EXPECT_TRUE(told.are({"miss k", "loaded k", "hit k", "miss l", "failed l"}));
  auto const last = told.events().back();
  EXPECT_EQ(last.error, "no database");
  EXPECT_GT(last.at, clock::time_point());
}

TEST_F(CacheObserver, CallsThatShareALoadAreMissesAndTheLoadIsToldOnce) {
  open_observed({});
  ask();
  ask();
  loader.let_go();
  settle();
  EXPECT_TRUE(told.are({"miss k", "miss k", "loaded k"}));
}

TEST_F(CacheObserver, ACallOfLoadNowIsToldByItsLoadAlone) {
  open_observed({});
  loader.let_go();
  ask();
  auto& c = calls.emplace_back();
  strings->async_load_now("k", loader_by_reference(), herdlock_test::as_result(c.token()));
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_TRUE(told.are({"miss k", "loaded k", "loaded k"}));
}

TEST_F(CacheObserver, AStaleAnswerAndItsRefreshAreTold) {
  open_observed(framed());
  store_stale();
  loader.let_go();
  loader.error = "no database";
  EXPECT_EQ(ask().value(), "old");
  EXPECT_TRUE(told.are({"stale k", "refresh_failed k"}));
}

TEST_F(CacheObserver, AMissThatIsGivenTheStaleValueIsBoth) {
  auto options = framed();
  options.freshness.soft_timeout = 10ms;
  open_observed(options);
  store_stale();
  call& c = ask();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_TRUE(told.are({"miss k", "stale k"}));
  loader.let_go();
  settle();
  EXPECT_TRUE(told.are({"miss k", "stale k", "loaded k"}));
}

TEST_F(CacheObserver, AKeptValueIsANearHitAndMakesRoom) {
  tracks = true;
  open_observed({.near = {.mode = near_cache::all, .entries = 1, .untracked_age = 1h}});
  settle();
  loader.let_go();
  auto const keep = [&](std::string_view key) {
    return run_until([&] {
      auto const before = strings->stats().near_hits;
      call c;
      load(c, key);
      settle();
      return strings->stats().near_hits > before;
    });
  };
  ASSERT_TRUE(keep("k"));
  ASSERT_TRUE(keep("l"));
  auto const has = [&](std::string const& line) {
    auto const all = told.lines();
    return std::find(all.begin(), all.end(), line) != all.end();
  };
  EXPECT_TRUE(eventually([&] { return has("near_hit l"); }));
  EXPECT_TRUE(has("near_hit k"));
  EXPECT_TRUE(has("evicted k"));
}

TEST_F(CacheObserver, OneWithoutRoomIsRefused) {
  EXPECT_THROW(cache<std::string>(*opened, {.observer = {.max_waiting = 0}}), error);
}

// ------------------------------------------------------------------------------------------ harm

cache_options observed_by(std::function<void(cache_event const&)> call,
                          std::size_t max_waiting = 10'000) {
  return {.observer = {.call = std::move(call), .max_waiting = max_waiting}};
}

std::string load_one() { return "loaded"; }

TEST(CacheObserverHarm, OneThatBlocksHoldsUpNobodyAndWhatFindsNoRoomIsCounted) {
  gate begun, go_on;
  std::atomic<int> calls{0};
  auto block = [&](cache_event const&) {
    ++calls;
    begun.open();
    EXPECT_TRUE(go_on.wait());
  };
  cache<std::string> const strings(open_store("memory:"), observed_by(block, 2));
  EXPECT_EQ(strings.get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(begun.wait());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(strings.get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(eventually([&] { return strings.stats().events_dropped == 9; }))
      << "twelve, of which one is at the observer and two wait";
  go_on.open();
  EXPECT_TRUE(eventually([&] { return calls == 3; }));
}

TEST(CacheObserverHarm, OneThatThrowsIsToldOfTheNextEvents) {
  std::atomic<int> calls{0};
  auto fail = [&](cache_event const&) {
    ++calls;
    throw std::runtime_error("I cannot see");
  };
  cache<std::string> const strings(open_store("memory:"), observed_by(fail));
  EXPECT_EQ(strings.get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(eventually([&] { return calls == 2; }));
}

TEST(CacheObserverHarm, OneThatEndsItsThreadIsToldOfTheNextEventsOnAnother) {
  std::atomic<int> calls{0};
  auto leave = [&](cache_event const&) {
    if (++calls == 1) pthread_exit(nullptr);
  };
  cache<std::string> const strings(open_store("memory:"), observed_by(leave));
  EXPECT_EQ(strings.get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(eventually([&] {
    strings.get("k");
    return calls >= 2;
  }));
}

TEST(CacheObserverHarm, TheLastHandleWaitsForTheCallThatRuns) {
  gate begun, go_on;
  std::atomic<bool> ended{false}, gone{false};
  auto slow = [&](cache_event const&) {
    begun.open();
    EXPECT_TRUE(go_on.wait());
    EXPECT_FALSE(gone);
    ended = true;
  };
  std::optional<cache<std::string>> strings(std::in_place, open_store("memory:"),
                                            observed_by(slow));
  EXPECT_EQ(strings->get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(begun.wait());
  std::thread closing([&] {
    strings.reset();
    gone = true;
  });
  go_on.open();
  closing.join();
  EXPECT_TRUE(ended);
}

TEST(CacheObserverHarm, OneThatDestroysTheLastHandleDoesNotWaitForItself) {
  auto const opened = open_store("memory:");
  auto const strings = std::make_shared<std::optional<cache<std::string>>>();
  gate called, loaded;
  std::atomic<bool> ended{false};
  auto destroy = [&, strings](cache_event const&) {
    called.open();
    EXPECT_TRUE(loaded.wait());
    strings->reset();
    ended = true;
  };
  strings->emplace(opened, observed_by(destroy));
  EXPECT_EQ((*strings)->get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(called.wait());
  loaded.open();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

TEST(CacheObserverHarm, ItMayCallTheCache) {
  std::optional<cache<std::string>> strings;
  std::atomic<int> answers{0};
  auto ask = [&](cache_event const& one) {
    if (one.what != cache_outcome::loaded) return;
    EXPECT_EQ(strings->get_or_load(one.key, load_one), "loaded");
    ++answers;
  };
  strings.emplace(open_store("memory:"), observed_by(ask));
  EXPECT_EQ(strings->get_or_load("k", load_one), "loaded");
  EXPECT_TRUE(eventually([&] { return answers == 1; }));
}

}  // namespace
}  // namespace herdlock::scripted
