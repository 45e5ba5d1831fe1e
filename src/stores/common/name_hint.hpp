// A guess about names, of fixed size.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string_view>

namespace herdlock::stores {

/// Says of a name what was noted for it last, or for another one with the same hash. So it may
/// choose between two right ways, never between right and wrong. From any thread.
template <std::size_t Places>
class name_hint {
 public:
  std::atomic<bool>& operator[](std::string_view name) {
    return noted_[std::hash<std::string_view>()(name) % Places];
  }

 private:
  std::array<std::atomic<bool>, Places> noted_{};
};

}  // namespace herdlock::stores
