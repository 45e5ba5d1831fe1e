// The line of progress of what takes its time.
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "terminal/progress_line.hpp"

namespace {

// Standard error is a terminal of the test's own meanwhile.
class ProgressLine : public ::testing::Test {
 protected:
  void SetUp() override {
    int terminal = -1;
    ASSERT_EQ(::openpty(&user_, &terminal, nullptr, nullptr, nullptr), 0);
    std::fflush(stderr);
    before_ = ::dup(STDERR_FILENO);
    ::dup2(terminal, STDERR_FILENO);
    ::close(terminal);
  }
  void TearDown() override {
    std::fflush(stderr);
    std::clearerr(stderr);
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
    hang_up();
  }
  void hang_up() {
    if (user_ >= 0) ::close(user_);
    user_ = -1;
  }
  // It comes in parts.
  std::string seen(std::size_t size) const {
    std::string text;
    char byte = 0;
    while (text.size() < size && ::read(user_, &byte, 1) == 1) text += byte;
    return text;
  }

  int user_ = -1;
  int before_ = -1;
};

TEST_F(ProgressLine, IsWrittenOver) {
  herdlock::cli::progress_line const line;
  line.show("change 1");
  std::string const expected = "\r\033[Kchange 1";
  EXPECT_EQ(seen(expected.size()), expected);
}

TEST_F(ProgressLine, OnATerminalThatIsHungUpThrowsNothing) {
  herdlock::cli::progress_line const line;
  hang_up();
  EXPECT_NO_THROW(line.show("change 1"));
}

}  // namespace
