// The entries that a cache has stored for good: how many, and their bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace herdlock::algo {

struct lasting_bounds {
  std::size_t entries;
  std::size_t bytes;
};

/// An entry counts from the moment at which it is to be stored, so that no number of stores under
/// way goes over a bound. O(log n) each.
class lasting_ledger {
 public:
  /// A store that is under way.
  struct ticket {
    std::uint64_t id = 0;
    std::size_t bytes = 0;
  };

  explicit lasting_ledger(lasting_bounds bounds) : bounds_(bounds) {}

  /// An entry of so many bytes is to be stored, in place of the one of its key. Nothing, and
  /// nothing is changed, when a bound is in its way.
  std::optional<ticket> admit(std::string_view key, std::size_t bytes) {
    auto at = by_key_.find(key);
    bool const is_new = at == by_key_.end();
    std::size_t const others = bytes_ - (is_new ? 0 : at->second.bytes);
    if (bytes > bounds_.bytes || others > bounds_.bytes - bytes) return std::nullopt;
    if (is_new && by_key_.size() >= bounds_.entries) return std::nullopt;
    ticket const mine{++last_id_, bytes};
    if (is_new) at = by_key_.emplace(key, entry{}).first;
    at->second.bytes = bytes;
    at->second.under_way = mine.id;
    bytes_ = others + bytes;
    return mine;
  }

  /// The end of a store that admit() has admitted. A later store of the key stands.
  void stored(std::string_view key, ticket const& mine) {
    auto const at = by_key_.find(key);
    if (at == by_key_.end()) return;
    at->second.stored = mine.bytes;
    if (at->second.under_way == mine.id) at->second.under_way = 0;
  }
  void refused(std::string_view key, ticket const& mine) {
    auto const at = by_key_.find(key);
    if (at == by_key_.end() || at->second.under_way != mine.id) return;
    entry& there = at->second;
    if (!there.stored) return erase(at);
    bytes_ = bytes_ - there.bytes + *there.stored;
    there = {*there.stored, 0, there.stored};
  }

  /// The entry is not there any more.
  void gone(std::string_view key) {
    if (auto const at = by_key_.find(key); at != by_key_.end()) erase(at);
  }
  /// The entry was not found. True when it is gone: a store that is under way has not arrived.
  bool missed(std::string_view key) {
    auto const at = by_key_.find(key);
    if (at == by_key_.end()) return true;
    if (at->second.under_way != 0) return false;
    erase(at);
    return true;
  }

  bool has(std::string_view key) const { return by_key_.contains(key); }
  std::size_t entries() const noexcept { return by_key_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct entry {
    std::size_t bytes = 0;
    std::uint64_t under_way = 0;                       // the latest; 0: none
    std::optional<std::size_t> stored = std::nullopt;  // the bytes of what is there
  };
  using entries_by_key = std::map<std::string, entry, std::less<>>;

  void erase(entries_by_key::iterator at) {
    bytes_ -= at->second.bytes;
    by_key_.erase(at);
  }

  lasting_bounds bounds_;
  std::uint64_t last_id_ = 0;
  std::size_t bytes_ = 0;
  entries_by_key by_key_;
};

}  // namespace herdlock::algo
