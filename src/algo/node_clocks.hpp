// What the clocks of several nodes say together. One that is hours ahead of the others is wrong:
// it is not followed.
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

  /// Of those that are believed, the furthest ahead of ours; 0 until a majority is heard.
  std::int64_t ahead() const;
  /// Those that are not, once a majority is heard.
  node_set disbelieved() const;

 private:
  std::optional<std::int64_t> latest_believed() const;

  std::size_t count_;
  std::array<std::optional<std::int64_t>, max_quorum_nodes> heard_{};
};

}  // namespace herdlock::algo
