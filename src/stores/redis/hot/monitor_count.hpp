// Counts the keys in the lines of MONITOR. Pure, and bounded in memory: what it keeps of a line is
// the beginning of its keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/survey.hpp>
#include "algo/hot_shard.hpp"
#include "stores/redis/hot/command_keys.hpp"
#include "stores/redis/hot/monitor_line.hpp"

namespace herdlock::redis {

class monitor_count {
 public:
  static constexpr std::size_t most_keys = algo::hot_shard::counters;

  /// Of a command with more words, keys behind these are not counted.
  static constexpr std::size_t most_words = 256;

  struct wanted {
    int database = 0;
    std::string prefix;      ///< of the keys that are counted
    std::uint64_t seed = 0;  ///< random, so that nobody can choose keys that collide
  };

  explicit monitor_count(wanted what);

  /// Commands of scripts are left out, as the script's own keys stand in its line; so are other
  /// databases, and herdlock's side keys.
  void add(std::string_view line, line_part is, command_keys const& keys);

  /// Those used most, in the time that was listened.
  std::vector<surveyed_key> top(std::size_t most, clock::duration took);

  std::uint64_t lines() const noexcept { return lines_; }
  /// Of those, lines that nobody could read.
  std::uint64_t unread() const noexcept { return unread_; }
  /// Lines of which the end was not looked at.
  std::uint64_t cut() const noexcept { return cut_; }

 private:
  wanted const what_;
  std::unique_ptr<algo::hot_shard> shard_;  // large
  std::uint64_t lines_ = 0;
  std::uint64_t unread_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t uses_ = 0;  // of all keys of the database
};

}  // namespace herdlock::redis
