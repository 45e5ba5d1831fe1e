// All that a process remembers of the keys of one cache: one record for each key, within one bound
// in bytes.
//
//   a record that says nothing any more goes
//   one that somebody works at stays: a load, a read, a caller with a stale copy, a lasting entry
//   of the others, which are failures, ends and answers, the oldest go when there is no room
//
// Pure. The time is the latest that the table was told.
// Why: docs/decisions/cache.md#one-record-for-a-key
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "algo/key_record.hpp"

namespace herdlock::algo {

/// O(1) each, amortized: a change of a record looks at two others, too.
class key_records {
 public:
  explicit key_records(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  key_records(key_records const&) = delete;
  key_records& operator=(key_records const&) = delete;

  /// Null: nothing is remembered of the key.
  key_record* find(std::string_view key) noexcept;
  /// Makes one if there is none. Null: all that has room is in use. To be settled when it was
  /// changed.
  key_record* make(std::string_view key);
  /// A record was changed: it may go by this.
  void settle(key_record& changed);

  void tell_time(clock::time_point now) noexcept { now_ = std::max(now_, now); }
  clock::time_point now() const noexcept { return now_; }
  /// A number that is greater than all before.
  std::uint64_t next_number() noexcept { return ++last_number_; }
  std::size_t keys() const noexcept { return records_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept {
      return std::hash<std::string_view>()(key);
    }
  };
  using order = hooks::list<key_record, hooks::of_record>;

  bool make_room(std::size_t bytes, key_record const* but);
  void look_at_some(key_record const& but);
  void forget(key_record& one);

  std::size_t const most_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t last_number_ = 0;
  clock::time_point now_{};
  std::unordered_map<std::string, key_record, hash, std::equal_to<>> records_;
  order idle_;                  // records that are not in use, in the order of their last changes
  key_record* hand_ = nullptr;  // the next one that is looked at, of those
};

/// One key of a table for one event: its record is settled at the end. Nothing else may change the
/// table meanwhile.
class key_place {
 public:
  key_place(key_records& table, std::string_view key) : table_(table), record_(table.find(key)) {}
  key_place(key_place const&) = delete;
  key_place& operator=(key_place const&) = delete;
  ~key_place() {
    if (record_) table_.settle(*record_);
  }

  explicit operator bool() const noexcept { return record_ != nullptr; }
  key_record* operator->() const noexcept { return record_; }
  key_record& operator*() const noexcept { return *record_; }
  /// False: there is no room.
  bool make(std::string_view key) {
    if (!record_) record_ = table_.make(key);
    return record_ != nullptr;
  }

 private:
  key_records& table_;
  key_record* record_;
};

}  // namespace herdlock::algo
