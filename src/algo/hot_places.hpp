// The keys that are hot in this process: those that it counts as hot itself, and those that the
// fleet has named, in so many places.
//
//   told                         a place is free        all are taken, or others wait
//   -------------------------    -------------------    ------------------------------------
//   hot by our own count         takes one              takes one all the same: the count is
//                                                       bounded by itself
//   hot in the fleet             takes one              waits for one
//   cooled in the fleet          gives it up, unless    waits no more
//                                it is hot by our own
//                                count as well
//
// The fleet tells of a key once. So a key that finds no place waits, and has one as soon as one is
// free, in the order of their coming.
//
// Pure. Keys are told apart by their hash: two of one hash are hot together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "algo/keep_tries.hpp"

namespace herdlock::algo {

enum class hot_by { our_count, fleet };

/// A hot key in its place.
struct hot_place {
  bool our_count = false;
  bool fleet = false;
  std::string kept{};        ///< the key, once a value of it is kept
  bool awaits_push = false;  ///< for a write of our own
  keep_tries tries{};
};

class hot_places {
 public:
  struct named_key {
    std::string key;
    std::uint64_t hash = 0;
  };

  /// No more keys wait than there are places.
  explicit hot_places(std::size_t most) : most_(most) {}

  /// True when the key takes a place: it had none.
  bool becomes_hot(std::string_view key, std::uint64_t hash, hot_by how);
  /// The place that the key gives up, if it does.
  std::optional<hot_place> cools(std::uint64_t hash, hot_by how);
  /// The key that takes a free place now; nothing if no place is free, or no key waits.
  std::optional<named_key> take_free();

  /// Null when the key has no place. Valid until it gives its place up.
  hot_place* find(std::uint64_t hash) {
    auto const found = taken_.find(hash);
    return found == taken_.end() ? nullptr : &found->second;
  }
  std::size_t taken() const noexcept { return taken_.size(); }
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  using line = std::list<named_key>;

  bool stops_waiting(std::uint64_t hash);

  std::size_t most_;
  std::unordered_map<std::uint64_t, hot_place> taken_;
  line waiting_;
  std::unordered_map<std::uint64_t, line::iterator> in_line_;
};

}  // namespace herdlock::algo
