// What is to be sent: one write is under way at a time, and what is added meanwhile goes out
// together with the next one.
#pragma once

#include <string>
#include <string_view>

#include "resp/writer.hpp"

namespace herdlock::redis {

class outgoing_bytes {
 public:
  void add(std::string_view bytes) { waiting_ += bytes; }
  void add_request(std::initializer_list<std::string_view> words) {
    resp::write_request(waiting_, words);
  }

  /// Enough waits to keep the connection busy: what is added now is out of its sender's hands for
  /// long.
  bool enough() const { return waiting_.size() >= enough_bytes; }

  /// What to write now, valid until on_written(); empty: nothing, or not before on_written().
  std::string_view next() {
    if (under_way_ || waiting_.empty()) return {};
    under_way_ = true;
    written_.swap(waiting_);
    return written_;
  }
  void on_written() {
    under_way_ = false;
    if (written_.capacity() > keep_bytes) std::string().swap(written_);
    written_.clear();
  }

 private:
  static constexpr std::size_t keep_bytes = 64 * 1024;
  static constexpr std::size_t enough_bytes = 256 * 1024;

  std::string waiting_;
  std::string written_;
  bool under_way_ = false;
};

}  // namespace herdlock::redis
