// Space-Saving (Metwally, Agrawal, El Abbadi, 2005), the usual way to find what is used most: a
// counter that is not there is taken from the key that has least, with its count.
#pragma once

#include <list>
#include <string>
#include <unordered_map>
#include <vector>

namespace bench {

class space_saving {
 public:
  explicit space_saving(std::size_t counters) : most_(counters) { where_.reserve(counters); }

  void used(std::string_view key) {
    auto const found = where_.find(key);
    if (found != where_.end()) {
      raise(found->second);
    } else if (where_.size() < most_) {
      if (levels_.empty() || levels_.front().count != 1) levels_.push_front({1, {}});
      levels_.front().keys.emplace_back(key);
      remember({levels_.begin(), std::prev(levels_.front().keys.end())});
    } else {
      position const least{levels_.begin(), levels_.front().keys.begin()};
      where_.erase(*least.key);
      *least.key = key;
      raise(remember(least));
    }
  }

  /// The keys with the highest counts, the highest first.
  std::vector<std::string> top(std::size_t most) const {
    std::vector<std::string> found;
    for (auto each = levels_.rbegin(); each != levels_.rend(); ++each) {
      for (auto const& key : each->keys) {
        if (found.size() == most) return found;
        found.push_back(key);
      }
    }
    return found;
  }

 private:
  struct level {
    std::uint64_t count;
    std::list<std::string> keys;
  };
  struct position {
    std::list<level>::iterator at;
    std::list<std::string>::iterator key;
  };

  position& remember(position const& one) { return where_[*one.key] = one; }

  void raise(position& one) {
    auto next = std::next(one.at);
    if (next == levels_.end() || next->count != one.at->count + 1) {
      next = levels_.insert(next, {one.at->count + 1, {}});
    }
    next->keys.splice(next->keys.end(), one.at->keys, one.key);
    if (one.at->keys.empty()) levels_.erase(one.at);
    one.at = next;
  }

  std::size_t const most_;
  std::list<level> levels_;
  std::unordered_map<std::string_view, position> where_;  // the texts are those of the levels
};

}  // namespace bench
