// Standard input with answers in it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace herdlock_test {

/// Who is asked for a pass phrase answers rightly here: without a terminal OpenSSL asks stdin.
class answers_at_stdin {
 public:
  explicit answers_at_stdin(std::string const& text) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~answers_at_stdin() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  answers_at_stdin(answers_at_stdin const&) = delete;
  answers_at_stdin& operator=(answers_at_stdin const&) = delete;

 private:
  int const before_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
};

}  // namespace herdlock_test
