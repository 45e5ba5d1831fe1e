// The values that left a near cache because they had changed: so it is seen that one comes back as
// it was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The keys that left last; two of them may want the same room, and the later one has it.
class left_values {
 public:
  static constexpr std::size_t most = 512;

  /// The key and the value, by their hashes, have left. A value of 0 is not known.
  void left(std::uint64_t key, std::uint64_t value) noexcept { room_of(key) = {key, value}; }
  /// Whether the key left with this value; told once.
  bool comes_back(std::uint64_t key, std::uint64_t value) noexcept {
    one& last = room_of(key);
    if (last.key != key) return false;
    return value != 0 && std::exchange(last, {}).value == value;
  }

 private:
  struct one {
    std::uint64_t key = 0;
    std::uint64_t value = 0;
  };
  one& room_of(std::uint64_t key) noexcept { return all_[key % most]; }

  std::array<one, most> all_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
