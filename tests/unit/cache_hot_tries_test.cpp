// When a hot key is read so that its value can be kept, over a scripted store whose server pushes
// changes.
#include "algo/keep_tries.hpp"
#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

// The pause between two tries would be over in the end: so calls are counted, and are few.
class CacheHotTries : public CacheTest {
 protected:
  CacheHotTries() {
    tracks = true;
    open(
        {.prefix = "p:",
         .near = {.max_value_bytes = 100},
         .hot = {.keys = hot_keys_options{.threshold = 10, .min_reads = 5, .reads_per_write = 0}}});
    script->entries["p:k"].value = cache_value("there");
  }

  void ask(call& one) {
    load(one);
    settle();
  }
  std::uint64_t near_hits() const { return strings->stats().near_hits; }
  void keep_it() {
    ASSERT_TRUE(run_until([&] {
      call one;
      ask(one);
      return near_hits() > 0;
    }));
  }
  bool is_kept_by_the_next_call() {
    auto const before = near_hits();
    call next, then;
    ask(next);
    EXPECT_EQ(near_hits(), before);
    ask(then);
    return near_hits() == before + 1;
  }
  static std::size_t most_tries_since(clock::time_point begun) {
    return 1 + static_cast<std::size_t>((clock::now() - begun) / algo::keep_tries::pause);
  }
  void change(std::string const& to) {
    script->entries["p:k"].value = cache_value(to);
    tracking->push("p:k");
  }
};

TEST_F(CacheHotTries, BehindAReadThatWasOvertakenByAChange) {
  keep_it();
  tracking->push("p:k");
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" ? fault::delay : fault::none;
  };
  call slow;
  ask(slow);
  ASSERT_EQ(script->hanging.size(), 1u);
  script->script = nullptr;
  tracking->push("p:k");
  script->release_hanging();
  settle();
  ASSERT_EQ(slow.value(), "there");
  ASSERT_EQ(strings->stats().near_refused, 1u);
  EXPECT_TRUE(is_kept_by_the_next_call());
}

TEST_F(CacheHotTries, BehindAReadThatOurOwnWriteOvertook) {
  keep_it();
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "put" ? fault::delay : fault::none;
  };
  strings->async_put("k", "new", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  call meanwhile;
  ask(meanwhile);
  EXPECT_EQ(strings->stats().near_refused, 1u);
  script->script = nullptr;
  script->release_hanging();
  settle();
  EXPECT_TRUE(is_kept_by_the_next_call());
}

TEST_F(CacheHotTries, BehindALoad) {
  keep_it();
  script->entries.erase("p:k");
  tracking->push("p:k");
  call first;
  ask(first);
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "loaded");
  tracking->push("p:k");
  EXPECT_TRUE(is_kept_by_the_next_call());
}

TEST_F(CacheHotTries, BehindALoadOfAnotherProcess) {
  keep_it();
  script->entries.erase("p:k");
  tracking->push("p:k");
  strings->async_get("k", herdlock_test::as_result([](result<cached<std::string>> const&) {}));
  settle();
  change("loaded");
  EXPECT_TRUE(is_kept_by_the_next_call());
}

TEST_F(CacheHotTries, BehindAValueThatCannotBeKeptTheyPause) {
  keep_it();
  change(std::string(200, 'x'));
  auto const before = tracking->reads;
  auto const begun = clock::now();
  std::deque<call> calls(50);
  for (auto& one : calls) ask(one);
  EXPECT_LE(tracking->reads - before, most_tries_since(begun));
  EXPECT_EQ(calls.back().value(), std::string(200, 'x'));
}

TEST_F(CacheHotTries, OneIsUnderWayAtATimeHoweverOftenTheValueChanges) {
  keep_it();
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" ? fault::delay : fault::none;
  };
  auto const before = tracking->reads;
  auto const begun = clock::now();
  std::deque<call> calls(50);
  for (auto& one : calls) {
    tracking->push("p:k");
    ask(one);
  }
  EXPECT_LE(tracking->reads - before, most_tries_since(begun));
  EXPECT_EQ(script->hanging.size(), calls.size());
  script->script = nullptr;
  script->release_hanging();
  settle();
  EXPECT_TRUE(is_kept_by_the_next_call());
}

TEST_F(CacheHotTries, BehindAValueThatCannotBeKeptAChangeEndsThePause) {
  keep_it();
  change(std::string(200, 'x'));
  call large;
  ask(large);
  change("small");
  EXPECT_TRUE(is_kept_by_the_next_call());
}

}  // namespace
}  // namespace herdlock::scripted
