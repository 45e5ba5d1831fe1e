// How often each of any number of keys was used in the window, at most: a count-min sketch with
// conservative update (Estan and Varghese, 2002), of two halves of the window.
//
// The sketch never says too little. A key has two cells, and both have at least what the key had;
// the lower one has less of other keys. A use raises a cell only as far as the key's estimate
// demands, so that what many rare keys add is about the same everywhere, and ranks stay.
//
// A half of the window is dropped as a whole. Nothing decays: what is made smaller bounds nothing.
//
// Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace herdlock::algo {

class hot_sketch {
 public:
  static constexpr std::size_t cell_bits = 13;
  static constexpr std::size_t cells = std::size_t(1) << cell_bits;
  /// A cell that has come to its end does not know how much it should have.
  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

  /// At most so many uses in the half that counts now and in the one before.
  struct estimate {
    std::uint32_t live = 0;
    std::uint32_t previous = 0;

    std::uint64_t sum() const noexcept {
      if (live == unknown || previous == unknown) return std::numeric_limits<std::uint64_t>::max();
      return std::uint64_t(live) + previous;
    }
  };

  estimate of(std::uint64_t hash) const noexcept {
    estimate const& a = cells_[first(hash)];
    estimate const& b = cells_[second(hash)];
    return {std::min(a.live, b.live), std::min(a.previous, b.previous)};
  }

  /// The key was used that often in the half that counts now.
  void add(std::uint64_t hash, std::uint64_t uses) noexcept { raise(hash, &estimate::live, uses); }
  /// The same, of the half before.
  void add_to_previous(std::uint64_t hash, std::uint64_t uses) noexcept {
    raise(hash, &estimate::previous, uses);
  }

  /// The half that counts now is over; the one before it is forgotten.
  void end_half() noexcept;

 private:
  using half = std::uint32_t estimate::*;

  static std::size_t first(std::uint64_t hash) noexcept { return hash % cells; }
  static std::size_t second(std::uint64_t hash) noexcept { return (hash >> cell_bits) % cells; }

  void raise(std::uint64_t hash, half which, std::uint64_t uses) noexcept {
    estimate& a = cells_[first(hash)];
    estimate& b = cells_[second(hash)];
    std::uint32_t const lower = std::min(a.*which, b.*which);
    std::uint32_t const at_least =
        uses >= unknown - lower ? unknown : lower + static_cast<std::uint32_t>(uses);
    a.*which = std::max(a.*which, at_least);
    b.*which = std::max(b.*which, at_least);
  }

  // Both halves of a cell in one line of the processor's cache.
  alignas(64) std::array<estimate, cells> cells_{};
};

}  // namespace herdlock::algo
