// Values that throw when they are copied: each call is answered, with that as its error.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <deque>
#include <map>
#include <new>
#include <stdexcept>

#include <herdlock/cache.hpp>
#include <herdlock/single_flight.hpp>

#include "scripted_cache_store.hpp"
#include "support/as_result.hpp"

namespace herdlock {
namespace {

enum class copies { work, throw_, find_no_memory, throw_anything };

/// Moves never throw.
struct fragile {
  fragile() = default;
  explicit fragile(std::string t) : text(std::move(t)) {}
  fragile(fragile const& other) : text(other.text) { check(); }
  fragile(fragile&&) noexcept = default;
  fragile& operator=(fragile const& other) {
    text = other.text;
    check();
    return *this;
  }
  fragile& operator=(fragile&&) noexcept = default;
  ~fragile() = default;

  static void check() {
    if (how == copies::throw_) throw std::runtime_error("cannot be copied");
    if (how == copies::find_no_memory) throw std::bad_alloc();
    if (how == copies::throw_anything) throw 7;
  }

  std::string text;
  static inline copies how = copies::work;
};

struct fragile_codec {
  static constexpr layout form = layout::string;
  static result<cache_value> encode(fragile const& value) { return cache_value(value.text); }
  static result<fragile> decode(cache_value const& stored) {
    return fragile(std::get<std::string>(stored));
  }
};

class ThrowingValue : public ::testing::Test {
 protected:
  using maybe = std::optional<fragile>;

  ThrowingValue() {
    auto make = [&](asio::any_io_executor executor) -> result<backend> {
      script = std::make_shared<scripted::scripted_cache_store>(executor);
      return backend{nullptr, script, {}, "scripted:"};
    };
    opened = store::over(make, {.executor = io.get_executor()}).value();
    values.emplace(*opened);
  }
  ~ThrowingValue() override {
    fragile::how = copies::work;
    values.reset();
    opened.reset();
    settle();
  }

  void settle() {
    io.restart();
    io.poll();
  }
  static asio::awaitable<maybe> load() { co_return fragile("loaded"); }
  /// What the call came to: as many as it was answered.
  std::deque<failure> load_one() {
    std::deque<failure> ends;
    values->async_get_or_load("k", load, herdlock_test::as_result([&](result<maybe> const& r) {
                                ends.push_back(r.has_error() ? r.error() : failure{});
                              }));
    settle();
    return ends;
  }

  asio::io_context io;
  std::shared_ptr<scripted::scripted_cache_store> script;
  std::optional<store> opened;
  std::optional<cache<fragile, fragile_codec>> values;
};

TEST_F(ThrowingValue, ACallWhoseCopyThrowsIsAnsweredWithThat) {
  fragile::how = copies::throw_;
  auto const ends = load_one();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0], errc::invalid_value);
  EXPECT_NE(ends[0].message.find("cannot be copied"), std::string::npos);
}

TEST_F(ThrowingValue, WithoutMemoryForACopyABoundIsReached) {
  fragile::how = copies::find_no_memory;
  auto const ends = load_one();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0], errc::overloaded);
}

TEST_F(ThrowingValue, WhateverIsThrownIsAnError) {
  fragile::how = copies::throw_anything;
  auto const ends = load_one();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0], errc::invalid_value);
}

// Callers who share a read get a copy each.
TEST_F(ThrowingValue, ALookWhoseCopyThrowsIsAnsweredWithThat) {
  script->entries["k"].value = cache_value("stored");
  fragile::how = copies::throw_;
  int errors = 0, answers = 0;
  for (int i = 0; i < 2; ++i) {
    values->async_get("k", herdlock_test::as_result([&](result<cached<fragile>> const& r) {
                        ++answers;
                        if (r.has_error() && r.error() == errc::invalid_value) ++errors;
                      }));
  }
  settle();
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(errors, 2);
}

TEST_F(ThrowingValue, ACallForManyIsAnsweredWithAnErrorForEach) {
  using outcomes = std::vector<result<maybe>>;
  auto load_all =
      [](std::vector<std::string> const& keys) -> asio::awaitable<std::map<std::string, fragile>> {
    std::map<std::string, fragile> all;
    for (auto const& key : keys) all.emplace(key, fragile("loaded"));
    co_return all;
  };
  fragile::how = copies::throw_;
  std::size_t answers = 0, errors = 0;
  values->async_get_many_or_load({"a", "b"}, load_all, [&](outcomes const& got) {
    ++answers;
    for (auto const& one : got) {
      if (one.has_error() && one.error() == errc::invalid_value) ++errors;
    }
  });
  settle();
  EXPECT_EQ(answers, 1u);
  EXPECT_EQ(errors, 2u);
}

TEST(ThrowingValueBlocking, TheCallThrowsIt) {
  cache<fragile, fragile_codec> values(open_store("memory:"));
  fragile::how = copies::throw_;
  auto code_of = [](auto&& call) {
    try {
      call();
    } catch (error const& e) {
      return e.code();
    }
    return std::error_code();
  };
  auto const loaded = code_of([&] { values.get_or_load("k", [] { return fragile("loaded"); }); });
  fragile::how = copies::work;
  EXPECT_EQ(loaded, make_error_code(errc::invalid_value));
}

TEST(ThrowingValueFlight, WhoWaitsForAFlightIsAnsweredWithTheException) {
  asio::io_context io;
  single_flight<fragile> flights(io.get_executor());
  fragile::how = copies::throw_;
  int answers = 0, thrown = 0;
  auto run = []() -> asio::awaitable<fragile> { co_return fragile("value"); };
  for (int i = 0; i < 2; ++i) {
    flights.async_run("k", run, [&](std::exception_ptr const& why, fragile const&) {
      ++answers;
      if (why) ++thrown;
    });
  }
  io.run();
  fragile::how = copies::work;
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(thrown, 2);
}

}  // namespace
}  // namespace herdlock
