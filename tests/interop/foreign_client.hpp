// Another project's lock client in a process of its own, told what to do line by line.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <herdlock/lock.hpp>
#include <string>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace herdlock_test {

using namespace herdlock;

class foreign_client {
 public:
  explicit foreign_client(child_options options) : child_(with_pipe(std::move(options))) {}

  bool take(std::string const& name, std::chrono::milliseconds ttl) {
    return ask("take " + name + " " + std::to_string(ttl.count()));
  }
  bool extend(std::string const& name, std::chrono::milliseconds ttl) {
    return ask("extend " + name + " " + std::to_string(ttl.count()));
  }
  bool release(std::string const& name) { return ask("release " + name); }

 private:
  static child_options with_pipe(child_options options) {
    options.input = process_input::pipe;
    return options;
  }

  // One line to it, one line back.
  bool ask(std::string const& line) {
    child_.write_line(line);
    std::string reply;
    bool const answered = eventually([&] {
      std::string const all = child_.output();
      auto const end = all.find('\n', read_);
      if (end == std::string::npos) return !child_.running();
      reply = all.substr(read_, end - read_);
      return true;
    });
    read_ += reply.size() + 1;
    if (!answered || (reply != "yes" && reply != "no")) {
      ADD_FAILURE() << line << ": " << (reply.empty() ? "no answer" : reply) << "\n"
                    << child_.errors();
    }
    return reply == "yes";
  }

  child_process child_;
  std::size_t read_ = 0;
};

/// Both at once, each for some turns: what is in the middle is only right if nobody overlaps.
inline void expect_turns_without_overlap(lock const& ours, foreign_client& theirs,
                                         std::string const& their_name) {
  constexpr int turns = 15;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  auto const touch = [&] {
    if (++inside > 1) ++overlaps;
    --inside;
  };
  std::thread us([&] {
    for (int turn = 0; turn < turns; ++turn) {
      auto mine = ours.acquire({.ttl = std::chrono::minutes(1), .wait = patience});
      ASSERT_TRUE(mine);
      touch();
      EXPECT_EQ(mine->release(), release_reply::released);
    }
  });
  for (int turn = 0; turn < turns; ++turn) {
    bool const taken = eventually([&] { return theirs.take(their_name, std::chrono::minutes(1)); });
    EXPECT_TRUE(taken);
    if (!taken) break;
    touch();
    EXPECT_TRUE(theirs.release(their_name));
  }
  us.join();
  EXPECT_EQ(overlaps, 0);
}

/// A file of this folder.
inline std::string interop_file(char const* name) {
  return std::string(INTEROP_FOLDER) + "/" + name;
}

}  // namespace herdlock_test
