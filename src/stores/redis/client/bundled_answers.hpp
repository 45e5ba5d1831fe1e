// Which reply of a batch answers which of its commands.
#pragma once

#include <vector>

#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

/// Commands that shared a script call (script_bundle) have one reply, a list with an element for
/// each. When nothing was added, each command has the reply of its own number.
class bundled_answers {
 public:
  /// The next reply answers the next so many commands; more than one: with a list.
  void add_reply(std::size_t commands) {
    if (commands == 1) origins_.push_back({replies_, 0});
    for (std::size_t i = 1; commands > 1 && i <= commands; ++i) origins_.push_back({replies_, i});
    ++replies_;
  }

  /// The number of the reply that answers the i-th command.
  std::size_t reply_to(std::size_t i) const { return i < origins_.size() ? origins_[i].reply : i; }
  bool is_bundled(std::size_t i) const { return i < origins_.size() && origins_[i].element > 0; }

  /// Of the i-th command: each is asked for once, in their order. Valid until the next call. When a
  /// bundle was refused as a whole, the refusal.
  reply const& answer_to(std::size_t i, std::vector<reply> const& replies) {
    if (i >= origins_.size()) return replies[i];
    auto const [number, element] = origins_[i];
    reply const& whole = replies[number];
    if (element == 0 || whole.kind() != reply_kind::list) return whole;
    if (element == 1) next_node_ = 1;
    next_node_ = element_.copy(whole, next_node_);
    return element_;
  }

  void clear() {
    element_.trim();
    origins_.clear();
    replies_ = 0;
  }

 private:
  struct origin {
    std::size_t reply;
    std::size_t element;  // from 1; 0: the whole
  };
  std::vector<origin> origins_;  // of each command
  std::size_t replies_ = 0;
  std::size_t next_node_ = 0;
  reply element_;
};

}  // namespace herdlock::redis
