// The time that the clocks of several nodes tell together. A clock that is hours ahead of the
// others is wrong: it is not followed.
//
// Pure: no clock, no socket.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "algo/quorum.hpp"

namespace herdlock::algo {

class node_clocks {
 public:
  explicit node_clocks(std::size_t nodes) : count_(nodes) {}

  /// `ahead`: of our clock, in microseconds. A node's last word counts.
  void heard(std::size_t node, std::int64_t ahead) { heard_[node] = ahead; }

  /// How far the furthest believed clock is ahead of ours; 0 until a majority is heard.
  std::int64_t ahead() const;
  /// The nodes whose clocks are not believed, once a majority is heard.
  node_set disbelieved() const;

 private:
  std::optional<std::int64_t> latest_believed() const;

  std::size_t count_;
  std::array<std::optional<std::int64_t>, max_quorum_nodes> heard_{};
};

}  // namespace herdlock::algo
