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
// free: the one that is read most, of several the one that came first. One that is read twice as
// much as a key that is hot in the fleet alone takes the place of that one, which then waits.
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

namespace herdlock::algo {

enum class hot_by { our_count, fleet };

class hot_places {
 public:
  struct named_key {
    std::string key;
    std::uint64_t hash = 0;
  };

  /// No more keys wait than there are places.
  explicit hot_places(std::size_t most) : most_(most) {}

  /// True when the key takes a place: it had none. `low`: its reads in the fleet, at least.
  bool becomes_hot(std::string_view key, std::uint64_t hash, hot_by how, std::uint64_t low = 0);
  /// True when the key gives its place up.
  bool cools(std::uint64_t hash, hot_by how);
  /// The key that takes a free place now; nothing if no place is free, or no key waits.
  std::optional<named_key> take_free();
  /// The key that gives its place up for one that waits; take_free() has that one.
  std::optional<named_key> make_room();

  bool has(std::uint64_t hash) const { return taken_.contains(hash); }
  std::size_t taken() const noexcept { return taken_.size(); }
  std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
  struct reasons {
    bool our_count = false;
    bool fleet = false;
    std::string key{};
    std::uint64_t low = 0;  // in the fleet
  };
  struct waiting_key {
    named_key name;
    std::uint64_t low;
  };
  using line = std::list<waiting_key>;

  void waits(named_key name, std::uint64_t low);
  line::iterator hottest();
  bool stops_waiting(std::uint64_t hash);

  std::size_t most_;
  std::unordered_map<std::uint64_t, reasons> taken_;
  line waiting_;
  std::unordered_map<std::uint64_t, line::iterator> in_line_;
};

}  // namespace herdlock::algo
