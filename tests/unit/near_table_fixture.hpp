// A near table with one trusted generation, and a time that tests choose.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "cache/fleet/hot_counter.hpp"
#include "cache/near/near_table.hpp"

namespace herdlock_test {

using herdlock::milliseconds;
using herdlock::algo::near_entry;
using herdlock::algo::near_generation;
using herdlock::detail::hot_counter;
using herdlock::detail::near_hit;
using herdlock::detail::near_look;
using herdlock::detail::near_table;
using herdlock::detail::near_table_options;
using herdlock::detail::near_thread_cache;
using time_point = herdlock::clock::time_point;

inline constexpr time_point never = time_point::max();
inline constexpr near_generation first{1};

inline time_point at(int ms) { return time_point(std::chrono::hours(1)) + milliseconds(ms); }

struct near_table_of_texts : near_table {
  explicit near_table_of_texts(near_table_options options = {}) : near_table(options) {
    trust(first, never);
  }

  bool keep(std::string_view key, std::string text, near_entry const& how = {first, never},
            std::uint64_t fingerprint = 0) {
    std::size_t const bytes = text.size();
    auto value = std::make_shared<std::string const>(std::move(text));
    return insert(key, how, {.value = std::move(value), .bytes = bytes, .fingerprint = fingerprint},
                  at(0));
  }
  bool keep_missing(std::string_view key) { return insert(key, {first, never}, {}, at(0)); }

  /// "" for nothing, "(missing)" for a negative entry.
  std::string get(std::string_view key, time_point now = at(0)) {
    near_hit hit = find(key, now);
    if (hit.what == near_hit::found::negative) return "(missing)";
    return hit ? *std::move(hit).as<std::string>() : "";
  }
};

}  // namespace herdlock_test
