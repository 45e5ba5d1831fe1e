// The entries that a cache has stored for good: how many, and their bytes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "algo/key_records.hpp"

namespace herdlock::algo {

struct lasting_bounds {
  std::size_t entries;
  std::size_t bytes;
};

/// An entry counts from the moment at which it is to be stored, so that no number of stores under
/// way goes over a bound. O(1) each.
class lasting_ledger {
 public:
  /// A store that is under way.
  struct ticket {
    std::uint64_t id = 0;
    std::size_t bytes = 0;
  };

  /// `table` outlives this.
  lasting_ledger(lasting_bounds bounds, key_records& table) : bounds_(bounds), table_(table) {}

  /// An entry of so many bytes is to be stored, in place of the one of its key. Nothing, and
  /// nothing is changed, when a bound is in its way.
  std::optional<ticket> admit(std::string_view key, std::size_t bytes);
  /// The end of a store that admit() has admitted. A later store of the key stands.
  void stored(std::string_view key, ticket const& mine);
  void refused(std::string_view key, ticket const& mine);

  /// The entry is not there any more.
  void gone(std::string_view key);
  /// The entry was not found: it is gone, unless its store is under way.
  void missed(std::string_view key);

  /// Null when the entry does not count. Valid until the next change.
  lasting_entry* find(std::string_view key) const noexcept;
  /// Nothing counts any more, and nothing is admitted.
  void close() noexcept {
    closed_ = true;
    entries_ = bytes_ = 0;
  }

  std::size_t entries() const noexcept { return entries_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void erase(key_record& record);

  lasting_bounds bounds_;
  key_records& table_;
  std::uint64_t last_id_ = 0;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace herdlock::algo
