// What a cache has stored for good: how many entries, and their bytes. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace herdlock::algo {

struct lasting_bounds {
  std::size_t entries;
  std::size_t bytes;
};

/// O(log n) each.
class lasting_ledger {
 public:
  explicit lasting_ledger(lasting_bounds bounds) : bounds_(bounds) {}

  /// An entry of so many bytes is to be stored, in place of the one of its key. False, and nothing
  /// is changed, when a bound is in its way.
  bool admit(std::string_view key, std::size_t bytes) {
    auto const at = by_key_.find(key);
    bool const is_new = at == by_key_.end();
    std::size_t const others = bytes_ - (is_new ? 0 : at->second);
    if (bytes > bounds_.bytes || others > bounds_.bytes - bytes) return false;
    if (is_new && by_key_.size() >= bounds_.entries) return false;
    if (is_new) {
      by_key_.emplace(key, bytes);
    } else {
      at->second = bytes;
    }
    bytes_ = others + bytes;
    return true;
  }

  void gone(std::string_view key) {
    auto const at = by_key_.find(key);
    if (at == by_key_.end()) return;
    bytes_ -= at->second;
    by_key_.erase(at);
  }

  std::size_t entries() const noexcept { return by_key_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  lasting_bounds bounds_;
  std::size_t bytes_ = 0;
  std::map<std::string, std::size_t, std::less<>> by_key_;
};

}  // namespace herdlock::algo
