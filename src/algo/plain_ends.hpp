// How long the entries of a cache last that carry no times of their own, as far as this process
// knows: each is asked for once, and then remembered until it ends. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <herdlock/types.hpp>

#include "algo/key_records.hpp"

namespace herdlock::algo {

/// O(1) each. Where the table has no room the end of an entry is not known.
class plain_ends {
 public:
  struct span {
    clock::time_point known_since;
    clock::time_point ends;
    clock::duration load_time{0};
  };
  enum class answer { known, ask, wait };
  struct found {
    answer what;
    span times{};
  };

  /// `table` outlives this.
  explicit plain_ends(key_records& table) : table_(table) {}

  /// An entry of the key was read. `ask`: the store is to be asked how much time is left to it, and
  /// told() to be called with the number that asked() gives; `wait`: it is being asked, or there is
  /// no room.
  found look(std::string_view key, clock::time_point now);
  /// The number of the question that the last look() with `ask` began.
  std::uint64_t asked() const noexcept { return last_asked_; }
  /// The store's answer to the question of that number; nothing when it had none. An answer that
  /// was overtaken by stored() or forget() changes nothing.
  void told(std::string_view key, std::uint64_t asked, std::optional<milliseconds> left,
            clock::time_point now);

  /// An entry was stored by this process.
  void stored(std::string_view key, span const& times);
  /// The end of its entry is not known any more.
  void forget(std::string_view key);

  /// A load took so long. So long a load is taken to last of a key that was not loaded here.
  void loaded_in(clock::duration load_time) { last_load_time_ = load_time; }

 private:
  key_records& table_;
  std::uint64_t last_asked_ = 0;
  clock::duration last_load_time_{0};
};

}  // namespace herdlock::algo
