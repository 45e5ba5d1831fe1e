// Which resources one has waited for here lately: a hint of fixed size.
#pragma once

#include <bitset>
#include <functional>
#include <string_view>

namespace herdlock::redis {

/// By hash: another name may be taken for one that was noted, and of many notes some are lost among
/// each other. So it may choose between two right ways, never between right and wrong. O(1).
class recent_names {
 public:
  void note(std::string_view name) { noted_.set(place_of(name)); }
  /// Whether it was noted since it was taken last.
  bool take(std::string_view name) {
    auto const place = place_of(name);
    bool const was_noted = noted_.test(place);
    noted_.reset(place);
    return was_noted;
  }

 private:
  static constexpr std::size_t places = 4096;
  static std::size_t place_of(std::string_view name) {
    return std::hash<std::string_view>()(name) % places;
  }

  std::bitset<places> noted_;
};

}  // namespace herdlock::redis
