// The threads of every store take none of the program's signals.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <herdlock/herdlock.hpp>
#include <map>
#include <string>

#include "fixture.hpp"

namespace herdlock_test {
namespace {

/// By its number: the signals that a thread of this process blocks, as the kernel prints them.
std::map<std::string, std::uint64_t> masks() {
  std::map<std::string, std::uint64_t> all;
  for (auto const& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;) {
      if (word != "SigBlk:" || !(status >> word)) continue;
      all[task.path().filename().string()] = std::stoull(word, nullptr, 16);
    }
  }
  return all;
}

class thread_contract : public testing::TestWithParam<store_case> {
 protected:
  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
};

INSTANTIATE_TEST_SUITE_P(stores, thread_contract, testing::ValuesIn(all_stores()), case_name);

// What the thread sanitizer and servers of a test have of their own was there before.
TEST_P(thread_contract, TheProgramsSignalsAreForItsOwnThreads) {
  auto const before = masks();
  auto const opened = open_store(url_);
  lock const where(opened, "stock/1");
  auto const held = where.try_acquire();
  ASSERT_TRUE(held);
  EXPECT_FALSE(where.try_acquire());
  std::size_t others = 0;
  for (auto const& [number, mask] : masks()) {
    if (before.contains(number)) continue;
    ++others;
    for (int const one : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM}) {
      EXPECT_NE(mask >> (one - 1) & 1, 0u) << "thread " << number << " takes signal " << one;
    }
  }
  EXPECT_GT(others, 0u);
}

}  // namespace
}  // namespace herdlock_test
