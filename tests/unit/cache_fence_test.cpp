// A fence against what this process loads, or has loaded: who comes behind it does not join what
// began before, for another process can have written since (R9).
#include <deque>

#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheFence : public CacheTest {
 protected:
  CacheFence() {
    before.value = "old";
    loader.value = "new";
  }
  ~CacheFence() override {
    before.let_go();
    settle();
  }

  call& ask(held_loader& by) {
    call& made = calls.emplace_back();
    auto load = [&by](load_context context) { return by(std::move(context)); };
    strings->async_get_or_load(cache_key("k"), load, herdlock_test::as_result(made.token()));
    settle();
    return made;
  }
  void fence() {
    std::optional<result<void>> done;
    strings->async_fence(herdlock_test::as_result([&](result<void> r) { done = std::move(r); }));
    settle();
    EXPECT_TRUE(done && done->has_value());
  }
  void refuse_claims() {
    script->script = [](std::string const& asked, std::size_t) {
      return asked == "claim" ? fault::refuse : fault::none;
    };
  }

  held_loader before{io.get_executor()};
  std::deque<call> calls;
};

// 1. a load begins  2. another process changes the database, and ends the entry  3. a fence here
TEST_F(CacheFence, WhoComesBehindItDoesNotJoinALoadOfBefore) {
  call const& waiting = ask(before);
  ASSERT_EQ(before.runs, 1);
  script->entries.erase("k");
  fence();
  call const& behind = ask(loader);
  EXPECT_EQ(loader.runs, 1);
  before.let_go();
  settle();
  EXPECT_EQ(waiting.value(), "old");
  loader.let_go();
  settle();
  EXPECT_EQ(behind.value(), "new");
  EXPECT_EQ(script->entries["k"].value, cache_value("new"));
}

// Guards against too much of it.
TEST_F(CacheFence, WhereNobodyHasWrittenThereIsOneLoadAllTheSame) {
  call const& waiting = ask(before);
  fence();
  call const& behind = ask(loader);
  before.let_go();
  EXPECT_TRUE(run_until([&] { return behind.answers == 1; }));
  EXPECT_EQ(waiting.value(), "old");
  EXPECT_EQ(behind.value(), "old");
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheFence, WhatCannotBeStoredIsNoAnswerBehindIt) {
  open({.error_back_off = 10min});
  before.value = std::string(limits::max_value_bytes + 1, 'x');
  before.let_go();
  loader.let_go();
  ask(before);
  EXPECT_EQ(ask(loader).value(), before.value);
  ASSERT_EQ(loader.runs, 0);
  fence();
  EXPECT_EQ(ask(loader).value(), "new");
}

TEST_F(CacheFence, ALargeValueWhoseLoadBeganBeforeItIsNotKept) {
  open({.error_back_off = 10min});
  before.value = std::string(limits::max_value_bytes + 1, 'x');
  loader.let_go();
  ask(before);
  fence();
  before.let_go();
  settle();
  EXPECT_EQ(ask(loader).value(), "new");
}

// Without the store nobody's write voids a load.
TEST_F(CacheFence, WhatWasLoadedWithoutTheStoreIsNoAnswerBehindIt) {
  refuse_claims();
  before.let_go();
  loader.let_go();
  EXPECT_EQ(ask(before).value(), "old");
  fence();
  EXPECT_EQ(ask(loader).value(), "new");
}

TEST_F(CacheFence, ALoadWithoutTheStoreThatBeganBeforeItIsNotKept) {
  refuse_claims();
  loader.let_go();
  call const& waiting = ask(before);
  fence();
  EXPECT_EQ(ask(loader).value(), "new");
  before.let_go();
  settle();
  EXPECT_EQ(waiting.value(), "old");
  EXPECT_EQ(ask(loader).value(), "new");
}

TEST_F(CacheFence, ManyOfThemBesideALoadThatHangsMakeNoMoreLoadsThanMayRun) {
  open({.bounds = {.max_loads_without_store = 2}});
  refuse_claims();
  for (int i = 0; i < 5; ++i) {
    ask(before);
    fence();
  }
  EXPECT_EQ(before.runs, 2);
  before.let_go();
  settle();
  for (call const& each : calls) EXPECT_EQ(each.value(), "old");
  EXPECT_EQ(before.runs, 3) << "those behind the second fence have one load";
}

}  // namespace
}  // namespace herdlock::scripted
