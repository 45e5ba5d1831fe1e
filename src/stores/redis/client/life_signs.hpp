// Whether a server still answers.
#pragma once

#include <cstdint>
#include <utility>

namespace herdlock::redis {

/// Looks at each health check whether the answer to the last one has come. Bytes of one large reply
/// are a sign of life as well; other replies are not: a server or a link that is so far behind
/// answers nobody in time.
class life_signs {
 public:
  /// No sign at so many checks in a row, although something was asked: it hangs.
  static constexpr int silent_checks = 2;

  enum class verdict { alive, ask, hangs };

  void on_read() { ++reads_; }
  void on_value() { ++values_; }
  void on_answer() { asked_ = false; }
  std::uint64_t reads() const { return reads_; }

  /// What has been read and not yet told may hold the answer.
  enum class untold { nothing, some };

  /// `ask`: nothing that it should answer is under way.
  verdict check(untold left) {
    bool const in_a_value = reads_ != reads_at_check_ && values_ == values_at_check_;
    bool const silent = asked_ && !in_a_value && left == untold::nothing;
    silences_ = silent ? silences_ + 1 : 0;
    if (silences_ == silent_checks) return verdict::hangs;
    reads_at_check_ = reads_;
    values_at_check_ = values_;
    return std::exchange(asked_, true) ? verdict::alive : verdict::ask;
  }

 private:
  std::uint64_t reads_ = 0;
  std::uint64_t reads_at_check_ = 0;
  std::uint64_t values_ = 0;
  std::uint64_t values_at_check_ = 0;
  int silences_ = 0;
  bool asked_ = false;
};

}  // namespace herdlock::redis
