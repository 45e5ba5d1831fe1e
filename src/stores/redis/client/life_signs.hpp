// Whether a server still answers.
#pragma once

#include <cstdint>
#include <utility>

namespace herdlock::redis {

/// Looks at each health check whether anything has come since the last one: bytes of a large reply
/// are a sign of life as well.
class life_signs {
 public:
  /// Silent at so many checks in a row, although something was asked: it hangs.
  static constexpr int silent_checks = 2;

  enum class verdict { alive, ask, hangs };

  void on_read() { ++reads_; }
  void on_answer() { asked_ = false; }
  std::uint64_t reads() const { return reads_; }

  /// `ask`: nothing that it should answer is under way.
  verdict check() {
    bool const silent = asked_ && reads_ == reads_at_check_;
    silences_ = silent ? silences_ + 1 : 0;
    if (silences_ == silent_checks) return verdict::hangs;
    reads_at_check_ = reads_;
    return std::exchange(asked_, true) ? verdict::alive : verdict::ask;
  }

 private:
  std::uint64_t reads_ = 0;
  std::uint64_t reads_at_check_ = 0;
  int silences_ = 0;
  bool asked_ = false;
};

}  // namespace herdlock::redis
