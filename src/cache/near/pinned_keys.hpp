// The keys that a cache keeps whether or not they are asked for often.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace herdlock::runtime {

/// At most `most`. Any thread.
class pinned_keys {
 public:
  explicit pinned_keys(std::size_t most) : most_(most) {}

  /// Returns false if there is no room; true, too, for a key that is there.
  bool add(std::string_view key) {
    std::lock_guard const lock(mutex_);
    if (keys_.contains(key)) return true;
    if (keys_.size() >= most_) return false;
    keys_.emplace(key);
    return true;
  }
  /// Whether it was there.
  bool remove(std::string_view key) {
    std::lock_guard const lock(mutex_);
    auto const at = keys_.find(key);
    if (at == keys_.end()) return false;
    keys_.erase(at);
    return true;
  }
  bool has(std::string_view key) const {
    std::lock_guard const lock(mutex_);
    return keys_.contains(key);
  }
  bool empty() const {
    std::lock_guard const lock(mutex_);
    return keys_.empty();
  }
  std::size_t most() const noexcept { return most_; }

 private:
  std::size_t const most_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> keys_;
};

}  // namespace herdlock::runtime
