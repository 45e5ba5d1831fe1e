// Many keys in one call: read together, loaded in one call of the loader, each answered for itself.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <map>

#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using names = std::vector<std::string>;
using texts = std::vector<result<text>>;

class CacheMany : public CacheTest {
 protected:
  /// What came of one call.
  struct many_call {
    std::optional<texts> got;
    int answers = 0;
    asio::cancellation_signal cancel;

    names values() const {
      names all;
      if (!got) return {"(no answer)"};
      for (auto const& one : *got) {
        if (one.has_error()) {
          all.push_back("error: " + one.error().message);
        } else {
          all.push_back(one.value().value_or("(nothing)"));
        }
      }
      return all;
    }
    bool all_failed_with(errc e) const {
      return got && std::all_of(got->begin(), got->end(), [e](auto const& one) {
               return one.has_error() && one.error() == e;
             });
    }
  };

  void ask(many_call& into, names keys) {
    auto load = [this](names const& wanted) { return load_all(wanted); };
    auto token = asio::bind_cancellation_slot(into.cancel.slot(), [&into](texts got) {
      ++into.answers;
      into.got = std::move(got);
    });
    strings->async_get_many_or_load(std::move(keys), load, std::move(token));
    settle();
  }

  /// Each key's value is "new " and the key; "none…" has none. Waits like the loader of one.
  asio::awaitable<std::map<std::string, std::string>> load_all(names wanted) {
    runs.push_back(wanted);
    auto gate = loader(load_context{cache_key("gate"), {}, {}});
    co_await std::move(gate);
    std::map<std::string, std::string> loaded;
    for (auto const& key : wanted) {
      if (!key.starts_with("none")) loaded[key] = "new " + key;
    }
    co_return loaded;
  }

  void store_value(std::string const& key, std::string const& value) {
    script->entries[key].value = cache_value(value);
  }

  std::vector<names> runs;
  many_call c;
};

TEST_F(CacheMany, TheMissingKeysAreLoadedInOneCallOfTheLoader) {
  store_value("b", "old b");
  store_value("d", "old d");
  ask(c, {"a", "b", "none", "d", "e"});
  EXPECT_EQ(runs, (std::vector<names>{{"a", "none", "e"}}));
  EXPECT_EQ(c.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(c.values(), (names{"new a", "old b", "(nothing)", "old d", "new e"}));
  EXPECT_EQ(script->log, (names{"get", "get", "get", "get", "get", "claim", "claim", "claim",
                                "fill", "fill", "fill"}));
  EXPECT_EQ(script->entries["e"].value, cache_value("new e"));
  EXPECT_EQ(script->entries["none"].value, cache_value(absent{}));
  EXPECT_EQ(strings->stats().hits, 2u);
  EXPECT_EQ(strings->stats().misses, 3u);
}

TEST_F(CacheMany, NoKeyIsNoQuestion) {
  ask(c, {});
  ASSERT_EQ(c.answers, 1);
  EXPECT_TRUE(c.got->empty());
  EXPECT_TRUE(script->log.empty());
}

TEST_F(CacheMany, TheLoaderDoesNotWaitForWhatAnotherIsAt) {
  script->entries["theirs"].claimant = "somebody else";
  loader.let_go();
  ask(c, {"a", "theirs", "b"});
  EXPECT_EQ(runs, (std::vector<names>{{"a", "b"}}));
  EXPECT_EQ(script->count("fill"), 2u) << "before theirs is there";
  EXPECT_EQ(c.answers, 0);
  store_value("theirs", "their value");
  script->entries["theirs"].claimant.clear();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.values(), (names{"new a", "their value", "new b"}));
}

TEST_F(CacheMany, WhatAnotherDidNotGetDoneIsLoadedByTheNextCallOfTheLoader) {
  script->entries["theirs"].claimant = "somebody else";
  loader.let_go();
  ask(c, {"a", "theirs"});
  script->entries["theirs"].claimant.clear();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(runs, (std::vector<names>{{"a"}, {"theirs"}}));
  EXPECT_EQ(c.values(), (names{"new a", "new theirs"}));
}

TEST_F(CacheMany, CallsThatOverlapLoadEachKeyOnceAndDoNotWaitInACircle) {
  many_call other;
  ask(c, {"a", "b", "c"});
  ask(other, {"c", "d", "a"});
  EXPECT_EQ(runs, (std::vector<names>{{"a", "b", "c"}, {"d"}}));
  loader.let_go();
  settle();
  EXPECT_EQ(c.values(), (names{"new a", "new b", "new c"}));
  EXPECT_EQ(other.values(), (names{"new c", "new d", "new a"}));
}

TEST_F(CacheMany, AKeyThatIsNamedTwiceIsLoadedOnce) {
  loader.let_go();
  ask(c, {"a", "a"});
  EXPECT_EQ(runs, (std::vector<names>{{"a"}}));
  EXPECT_EQ(c.values(), (names{"new a", "new a"}));
}

TEST_F(CacheMany, MoreThanMaxLoadsAreLoadedInMoreCalls) {
  open({.bounds = {.max_loads = 3}});
  loader.let_go();
  ask(c, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(c.answers, 1);
  EXPECT_EQ(runs, (std::vector<names>{{"a", "b", "c"}, {"d", "e"}}));
}

TEST_F(CacheMany, ANameThatIsNoneIsTheErrorOfItsKeyAlone) {
  loader.let_go();
  ask(c, {"a", "", "b"});
  ASSERT_EQ(c.answers, 1);
  EXPECT_EQ(c.got->at(0).value(), "new a");
  EXPECT_TRUE(c.got->at(1).has_error() && c.got->at(1).error() == errc::invalid_name);
  EXPECT_EQ(c.got->at(2).value(), "new b");
  many_call none;
  ask(none, {""});
  EXPECT_TRUE(none.all_failed_with(errc::invalid_name));
}

TEST_F(CacheMany, WhatTheLoaderThrowsIsTheErrorOfTheKeysThatItWasToLoad) {
  store_value("b", "old b");
  loader.error = "database is down";
  loader.let_go();
  ask(c, {"a", "b", "c"});
  ASSERT_EQ(c.answers, 1);
  EXPECT_EQ(c.values(), (names{"error: database is down", "old b", "error: database is down"}));
  EXPECT_EQ(script->entries["c"].error, "database is down");
}

TEST_F(CacheMany, AnErrorOfOneKeyIsItsOwn) {
  using values = std::map<std::string, result<std::string>>;
  auto load = [](names const&) -> asio::awaitable<values> {
    values loaded;
    loaded.emplace("a", "new a");
    loaded.emplace("b", make_failure(errc::load_failed, "b is broken"));
    co_return loaded;
  };
  strings->async_get_many_or_load({"a", "b"}, load, [&](texts got) { c.got = std::move(got); });
  settle();
  EXPECT_EQ(c.values(), (names{"new a", "error: b is broken"}));
  EXPECT_EQ(script->entries["b"].error, "b is broken");
}

TEST_F(CacheMany, ACoroutineIsGivenTheErrorsOfKeysAndNothingIsThrown) {
  opened->async_close([](failure const&) {});
  settle();
  auto load = [this](names const& wanted) { return load_all(wanted); };
  auto ask_here = [&]() -> asio::awaitable<texts> {
    auto call = strings->async_get_many_or_load({"a", "", "b"}, load, asio::use_awaitable);
    co_return co_await std::move(call);
  };
  asio::co_spawn(io, ask_here(), [&](std::exception_ptr const& thrown, texts got) {
    EXPECT_EQ(thrown, nullptr);
    c.got = std::move(got);
  });
  settle();
  ASSERT_TRUE(c.got);
  EXPECT_TRUE(c.got->at(0).has_error() && c.got->at(0).error() == errc::canceled);
  EXPECT_TRUE(c.got->at(1).has_error() && c.got->at(1).error() == errc::invalid_name);
  EXPECT_TRUE(c.got->at(2).has_error() && c.got->at(2).error() == errc::canceled);
}

TEST_F(CacheMany, ACancelledCallIsAnsweredWhenItsLoaderHasEnded) {
  ask(c, {"a", "b"});
  c.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(c.answers, 0) << "what it was given is in use";
  loader.let_go();
  settle();
  EXPECT_EQ(c.values(), (names{"new a", "new b"}));
  EXPECT_EQ(script->entries["a"].value, cache_value("new a"));
}

TEST_F(CacheMany, ARunIsAskedToStopWhenAllOfItsClaimsAreLost) {
  std::vector<std::stop_token> stops;
  auto load = [&](names const& wanted, std::stop_token stop) {
    stops.push_back(std::move(stop));
    return load_all(wanted);
  };
  strings->async_get_many_or_load({"a", "b"}, load, [&](texts got) { c.got = std::move(got); });
  settle();
  ASSERT_EQ(stops.size(), 1u);
  auto const put = [&](std::string const& key) {
    strings->async_put(key, "put " + key, herdlock_test::as_result([](result<void> const&) {}));
    settle();
  };
  put("a");
  EXPECT_FALSE(stops.front().stop_requested()) << "b has a use for it";
  put("b");
  EXPECT_TRUE(stops.front().stop_requested());
  loader.let_go();
  settle();
  EXPECT_EQ(c.values(), (names{"new a", "new b"})) << "the values came all the same";
  EXPECT_EQ(script->entries["a"].value, cache_value("put a"));
}

TEST_F(CacheMany, ACallThatIsCancelledWhileItsClaimsAreAwayLoadsNothing) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "claim" ? fault::delay : fault::none;
  };
  ask(c, {"a", "b"});
  c.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_TRUE(c.all_failed_with(errc::canceled));
  script->script = nullptr;
  script->release_hanging();
  settle();
  EXPECT_TRUE(runs.empty());
  EXPECT_TRUE(script->entries["a"].claimant.empty()) << "the claims are given back";
}

TEST_F(CacheMany, OneClaimThatIsSlowDoesNotOutliveTheWaitOfTheOthers) {
  open({.wait = time_to_begin});
  script->script = [](std::string const& verb, std::size_t number) {
    return verb == "claim" && number == 4 ? fault::hang : fault::none;
  };
  loader.let_go();
  ask(c, {"a", "b"});
  EXPECT_TRUE(runs.empty()) << "b may be ours, too";
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_TRUE(runs.empty()) << "nothing begins for a call that is over";
  EXPECT_TRUE(c.all_failed_with(errc::timed_out));
  script->script = nullptr;
  script->release_hanging();
  settle();
}

TEST_F(CacheMany, ACacheThatGoesCancelsAllOfThem) {
  script->entries["theirs"].claimant = "somebody else";
  ask(c, {"theirs"});
  strings.reset();
  settle();
  EXPECT_TRUE(c.all_failed_with(errc::canceled));
}

TEST_F(CacheMany, ACacheThatGoesLeavesACallTheValuesThatItsLoaderBrings) {
  ask(c, {"a", "b"});
  strings.reset();
  settle();
  EXPECT_EQ(c.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(c.values(), (names{"new a", "new b"}));
}

TEST_F(CacheMany, KeysBeyondMaxWaitingAreTurnedAwayEachForItself) {
  open({.bounds = {.max_waiting = 2}});
  loader.let_go();
  ask(c, {"a", "b", "c"});
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.got->at(0).value(), "new a");
  EXPECT_EQ(c.got->at(1).value(), "new b");
  EXPECT_TRUE(c.got->at(2).has_error() && c.got->at(2).error() == errc::overloaded);
}

}  // namespace
}  // namespace herdlock::scripted
