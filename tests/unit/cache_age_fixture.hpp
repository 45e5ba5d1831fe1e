// A cache of framed entries over a scripted store, and entries of each age in it.
#pragma once

#include <deque>

#include "cache/keys/frame.hpp"
#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {

using namespace std::chrono_literals;

inline constexpr milliseconds ttl = 60s;
inline constexpr milliseconds grace = 300s;

class CacheAge : public CacheTest {
 protected:
  // A schedule may run its loader until then, which uses what the test has.
  void TearDown() override {
    strings.reset();
    settle();
  }

  static cache_options framed() {
    return {
        .ttl = ttl, .ttl_jitter = 0, .format = cache_format::framed, .freshness = {.grace = grace}};
  }
  static cache_options failing_safe() {
    auto options = framed();
    options.freshness.fail_safe = true;
    options.freshness.soft_timeout = wait_forever;
    return options;
  }

  /// An entry that was made so long ago.
  algo::entry_header header_of(milliseconds age) const {
    return {.created = script->time - age, .load_time = 1ms, .ttl = ttl, .grace = grace};
  }
  void store_entry(algo::entry_header header, std::string const& value = "old") {
    script->ttl_left = header.ttl + header.grace -
                       std::chrono::duration_cast<milliseconds>(script->time - header.created);
    script->entries["k"].value =
        runtime::with_header({std::move(header), cache_value(value)}, layout::string);
  }
  void store_stale() { store_entry(header_of(ttl + 1s)); }

  std::optional<runtime::framed_value> stored(std::string const& key = "k") const {
    auto const& value = script->entries[key].value;
    if (!value) return std::nullopt;
    auto read = runtime::without_header(*value);
    auto* const entry = std::get_if<runtime::framed_value>(&read);
    return entry ? std::optional(*entry) : std::nullopt;
  }
  std::string stored_text() const {
    auto const entry = stored();
    return entry ? std::get<std::string>(entry->value) : "(none)";
  }

  call& ask() {
    load(calls.emplace_back());
    settle();
    return calls.back();
  }
  bool expire() {
    std::optional<result<bool>> done;
    strings->async_expire("k", herdlock_test::as_result([&](result<bool> r) { done = r; }));
    settle();
    return done && done->has_value() && **done;
  }
  void invalidate() {
    strings->async_invalidate("k", herdlock_test::as_result([](result<bool> const&) {}));
    settle();
  }

  std::deque<call> calls;
};

}  // namespace herdlock::scripted
