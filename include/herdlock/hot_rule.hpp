// A rule of a person for a key of a cache, or for all keys that begin alike.
// herdlock/hot_rules.hpp reads and changes the rules of a cache.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

struct hot_rule {
  enum class action {
    pin,   ///< the key is treated as a hot one, read often or not
    deny,  ///< it is never kept in a process, however often it is read. Wins over all others
    /// For entries that other programs write: while the key is hot, the time to live of its entry
    /// in the store is lengthened, and never shortened. It has to be read often: `pin` does not
    /// make it hot for this. Not for keys of 256 bytes or more.
    keep,
  };
  enum class match { exact, prefix };
  /// A time of the wall clock of each process: people give these times.
  using time = std::chrono::system_clock::time_point;

  static constexpr milliseconds least_keep{1'000};
  static constexpr milliseconds most_keep{std::chrono::hours{24}};

  action does = action::pin;
  match by = match::exact;
  std::string key = {};            ///< without the prefix of the cache; as a prefix, "" is all
  std::optional<time> from = {};   ///< in milliseconds; nothing: since ever
  std::optional<time> until = {};  ///< nothing: for ever
  /// For `keep` alone: how long the entry lives, at most, beyond the expiry that was seen first.
  /// Each time that somebody writes the entry begins anew. least_keep to most_keep.
  milliseconds keep_at_most{std::chrono::minutes{5}};

  friend bool operator==(hot_rule const&, hot_rule const&) = default;
};

}  // namespace v0
}  // namespace herdlock
