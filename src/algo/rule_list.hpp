// The rules of people for keys: which are to be kept in the processes, and which never; for a time,
// if they say so.
//
// A list has a version, and the newest one that came counts, in whatever order they come. If
// several rules are for one key, `deny` wins over all others.
//
// Pure. Times are those of a wall clock, in milliseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/hot_rule.hpp>

namespace herdlock::algo {

/// A time of a rule in milliseconds since 1970; 0 for none.
std::uint64_t in_ms(std::optional<hot_rule::time> const& when);
bool holds(hot_rule const& one, std::uint64_t now_ms);

struct rule_list {
  static constexpr std::size_t most_rules = 1000;
  static constexpr std::size_t most_key_bytes = 256;
  /// The latest time that a wall clock in nanoseconds has.
  static constexpr std::uint64_t latest_ms = 9'223'372'036'854;

  std::uint64_t version = 0;
  std::vector<hot_rule> rules;

  friend bool operator==(rule_list const&, rule_list const&) = default;
};

/// The list as it is stored: a line that begins with `herdlock hot keys 1`, and the version; then a
/// line for each rule: what it does, exact or prefix, from, until, the bound of `keep`, and the
/// key, with each character that is not plain as %XX.
std::string encode(rule_list const& list);
/// Nothing if the text is no such list, is beyond the bounds, or has a rule that is not known.
std::optional<rule_list> decode_list(std::string_view text);

/// The verdict of the rules on one key.
struct hot_verdict {
  bool pinned = false;
  bool denied = false;
  milliseconds keep_at_most{0};  ///< the most that a rule allows; 0: it is not kept

  friend bool operator==(hot_verdict const&, hot_verdict const&) = default;
};

class rule_list_reader {
 public:
  rule_list_reader() = default;
  rule_list_reader(rule_list_reader const&) = delete;  // it points into its list
  rule_list_reader& operator=(rule_list_reader const&) = delete;
  rule_list_reader(rule_list_reader&&) = default;
  rule_list_reader& operator=(rule_list_reader&&) = default;

  /// Takes a list. Returns false if it is no newer than the known one.
  bool take(rule_list list);
  /// Takes a list that a look at the store found; the look began when `known` was the newest
  /// version. The list counts also when it is older, unless a newer one came meanwhile: a message
  /// can be anybody's, and a server that took over may not have the last ones.
  bool take_found(rule_list list, std::uint64_t known);

  /// O(log n) in the rules, and up to 256 steps through prefixes that begin alike.
  hot_verdict of(std::string_view key, std::uint64_t now_ms) const;
  /// The exact keys that are to be kept from now on, or from a time to come: what is to be loaded
  /// beforehand.
  std::vector<hot_rule> pins(std::uint64_t now_ms) const;
  /// When some rule begins or ends to hold; nothing: never again.
  std::optional<std::uint64_t> next_change(std::uint64_t now_ms) const;

  rule_list const& list() const noexcept { return list_; }
  bool empty() const noexcept { return list_.rules.empty(); }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct prefix {
    hot_rule const* rule;  // in list_
    std::size_t shorter;   // the next shorter one that it begins with, or is equal to
  };

  void set(rule_list list);
  void sort_prefixes();

  rule_list list_;
  std::map<std::string_view, std::vector<hot_rule const*>, std::less<>> exact_;  // in list_
  std::vector<prefix> prefixes_;                                                 // by their keys
};

}  // namespace herdlock::algo
