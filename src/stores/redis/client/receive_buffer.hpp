// Bytes between their arrival and their reader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace herdlock::redis {

/// Grows with what has arrived, whatever a header announces, and gives the memory of what was
/// exceptionally large back.
class receive_buffer {
 public:
  static constexpr std::size_t usual_bytes = 16 * 1024;

  std::string_view unread() const { return {bytes_.get() + begin_, end_ - begin_}; }

  /// So many bytes more are needed.
  void expect(std::size_t missing) { missing_ = missing; }
  /// Room for what arrives next.
  std::span<char> prepare() {
    std::size_t const kept = end_ - begin_;
    std::size_t const room = std::clamp(missing_, usual_bytes, std::max(usual_bytes, kept));
    bool const too_large = kept == 0 && capacity_ > 4 * usual_bytes;
    if (kept + room > capacity_ || too_large) {
      move_to(std::make_unique_for_overwrite<char[]>(kept + room), kept + room);
    } else if (end_ + std::min(room, usual_bytes / 4) > capacity_ || kept == 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, kept);
      begin_ = 0;
      end_ = kept;
    }
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t arrived) { end_ += arrived; }
  void consume(std::size_t read) { begin_ += read; }

 private:
  void move_to(std::unique_ptr<char[]> larger, std::size_t capacity) {
    std::size_t const kept = end_ - begin_;
    if (kept > 0) std::memcpy(larger.get(), bytes_.get() + begin_, kept);
    bytes_ = std::move(larger);
    capacity_ = capacity;
    begin_ = 0;
    end_ = kept;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t missing_ = 0;
};

}  // namespace herdlock::redis
