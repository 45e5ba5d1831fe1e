// The stamp that a read must still match when its value is to stay in the near cache.
//
//   1. the read of k is sent                    it takes a stamp
//   2. k is written, and its push arrives       the push changes the stamp of k
//   3. the reply to the read, from before 2, is handled
//   4. its value is to be inserted              the stamps differ: refused
//
// The order of 2 and 3 is the server's where one connection brings both, and anybody's where
// replies are handled in an event of their own, or come over another connection.
//
// Keys share a fixed number of stripes, so that no number of reads under way takes memory, and a
// change costs one addition. A key that shares its stripe with another one is refused now and then
// for nothing; nothing that is out of date is ever admitted.
//
// Pure: no clock, no connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace herdlock::algo {

class near_stamps {
 public:
  /// `stripes`: 1 or more.
  explicit near_stamps(std::size_t stripes) : stripes_(stripes) {}

  /// The stamp of a key now, to be taken before the read is sent.
  std::uint64_t of(std::string_view key) const;
  /// Whether what was read under this stamp may be inserted now. The insert has to follow before
  /// anything else is told to this object: whoever checks first and inserts later inserts the past.
  bool admits(std::string_view key, std::uint64_t stamp) const;

  /// The key was changed by somebody.
  void changed(std::string_view key);
  /// All reads that are under way are void.
  void all_changed() { ++of_all_; }

  /// A write of our own is to be sent, and has ended, whatever came of it; once each. In between
  /// nothing of the key is admitted, and afterwards nothing that was sent before the end.
  void write_sent(std::string_view key);
  void write_ended(std::string_view key);

 private:
  struct stripe {
    std::uint64_t changes = 0;
    std::uint64_t writes = 0;  // under way
  };

  std::size_t place_of(std::string_view key) const;

  std::vector<stripe> stripes_;
  std::uint64_t of_all_ = 0;
};

}  // namespace herdlock::algo
