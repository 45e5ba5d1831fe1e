// The guarded cache over a store that reads but does not write, and at its bounds.
#include <deque>

#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheWriteTrouble : public CacheTest {
 protected:
  /// Loads "broken" while `verb` is refused with `why`; then "hit" must still be a plain read.
  void expect_hits_in_spite_of(std::string const& verb, errc why) {
    SCOPED_TRACE(verb + " fails with " + std::to_string(static_cast<int>(why)));
    open({.claim_ttl = 30ms});
    script->entries["hit"].value = cache_value("from the store");
    script->refusal = why;
    script->script = [verb](std::string const& asked, std::size_t) {
      return asked == verb ? fault::refuse : fault::none;
    };
    loader.hold();
    call broken, hit;
    load(broken, "broken");
    settle();
    if (verb == "extend") run_until([&] { return script->count("extend") > 0; });
    loader.let_go();
    settle();
    EXPECT_EQ(broken.value(), "loaded");
    load(hit, "hit");
    settle();
    EXPECT_EQ(hit.value(), "from the store");
  }
};

// S9
TEST_F(CacheWriteTrouble, AStoreThatReadsButDoesNotWriteStillHasHits) {
  for (auto const why : {errc::access_denied, errc::protocol, errc::overloaded}) {
    for (std::string const verb : {"claim", "extend", "fill"}) expect_hits_in_spite_of(verb, why);
  }
  expect_hits_in_spite_of("fill", errc::invalid_value);
  expect_hits_in_spite_of("extend", errc::invalid_value);
}

// S9
TEST_F(CacheWriteTrouble, AStoreOutOfReachIsLeftAloneWhateverItWasAsked) {
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::refuse : fault::none;
  };
  loader.let_go();
  call first, second;
  load(first, "first");
  settle();
  load(second, "second");
  settle();
  EXPECT_EQ(second.value(), "loaded");
  EXPECT_EQ(script->count("get"), 1u);
}

TEST_F(CacheWriteTrouble, AValueThatTheStoreRefusesAnswersAndItsClaimIsGivenUp) {
  script->refusal = errc::invalid_value;
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "fill" ? fault::refuse : fault::none;
  };
  loader.let_go();
  call c;
  load(c);
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].claimant, "");
  EXPECT_EQ(strings->stats().unstorable, 1u);
  EXPECT_EQ(strings->stats().store_errors, 0u);
}

TEST_F(CacheWriteTrouble, ClosingStartsNoLoaderThatQueues) {
  open({.max_loads_without_store = 1});
  script->script = [](auto&&...) { return fault::refuse; };
  std::deque<call> calls(4);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "k" + std::to_string(i));
  settle();
  ASSERT_EQ(loader.runs, 1);
  strings.reset();
  settle();
  EXPECT_EQ(loader.runs, 1);
  for (auto const& c : calls) EXPECT_TRUE(c.failed_with(errc::canceled));
}

// The flight that queues is older than the one that runs, so that either order of closing is met.
TEST_F(CacheWriteTrouble, ClosingStartsNoOlderLoaderThatQueues) {
  open({.max_loads_without_store = 1});
  script->script = [](std::string const& asked, std::size_t number) {
    if (asked == "claim") return fault::hang;
    return asked == "get" && number > 1 ? fault::refuse : fault::none;
  };
  call older, newer;
  load(older, "older");
  settle();
  load(newer, "newer");
  settle();
  script->release_hanging();
  settle();
  ASSERT_EQ(loader.runs, 1);
  strings.reset();
  settle();
  EXPECT_EQ(loader.runs, 1);
  EXPECT_TRUE(older.failed_with(errc::canceled));
  EXPECT_TRUE(newer.failed_with(errc::canceled));
}

TEST_F(CacheWriteTrouble, AnUnguardedLoadThatHangsGivesItsKeyUp) {
  open({.max_load_time = 20ms});
  script->script = [](auto&&...) { return fault::refuse; };
  call stuck, next;
  load(stuck);
  settle();
  ASSERT_EQ(loader.runs, 1);
  auto const first = loader.last;
  ASSERT_TRUE(run_until([&] { return first->lost.stop_requested(); }));
  load(next);
  settle();
  EXPECT_EQ(loader.runs, 2);
  loader.let_go();
  settle();
  EXPECT_EQ(stuck.value(), "loaded");
  EXPECT_EQ(next.value(), "loaded");
}

TEST_F(CacheWriteTrouble, CallersOfABusyExecutorAreBoundedToo) {
  open({.max_waiting = 2});
  std::deque<call> calls(5);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "k" + std::to_string(i));
  for (auto const& c : calls) EXPECT_EQ(c.answers, 0) << "never inside the call";
  settle();
  loader.let_go();
  settle();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].failed_with(errc::overloaded), i >= 2) << i;
    EXPECT_EQ(calls[i].answers, 1);
  }
  EXPECT_EQ(strings->stats().overloaded, 3u);
}

}  // namespace
}  // namespace herdlock::scripted
