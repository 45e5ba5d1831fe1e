// A server's reply, flat, in memory that is used again for the next one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>
#include "stores/common/numbers.hpp"

namespace herdlock::redis {

enum class reply_kind : std::uint8_t { null, text, number, error, list };

/// Preorder: a list node is followed by its `size` elements; of a map, its names and values.
class reply {
 public:
  struct node {
    reply_kind kind;
    std::size_t size;  ///< elements of a list
    std::size_t begin, length;
  };

  void clear() {
    nodes_.clear();
    bytes_.clear();
    too_large_ = false;
  }

  void add(reply_kind kind, std::size_t size, std::string_view text) {
    // Not kept: one entry over the limit must not make a server's mistake ours.
    if (bytes_.size() + text.size() > max_bytes) {
      too_large_ = true;
      text = {};
    }
    nodes_.push_back({kind, size, bytes_.size(), text.size()});
    bytes_.append(text);
  }

  /// Becomes the element whose first node that is, of another reply; returns the node behind it.
  std::size_t copy(reply const& whole, std::size_t first) {
    clear();
    too_large_ = whole.too_large_;
    auto const end = std::min(whole.behind(first), whole.nodes());
    std::size_t at = first;
    for (; at < end; ++at) add(whole.kind(at), whole.list_size(at), whole.text(at));
    return at;
  }

  bool empty() const { return nodes_.empty(); }
  bool too_large() const { return too_large_; }
  std::size_t nodes() const { return nodes_.size(); }
  reply_kind kind(std::size_t i = 0) const {
    return i < nodes_.size() ? nodes_[i].kind : reply_kind::null;
  }
  std::string_view text(std::size_t i = 0) const {
    if (i >= nodes_.size()) return {};
    return std::string_view(bytes_).substr(nodes_[i].begin, nodes_[i].length);
  }
  std::size_t list_size(std::size_t i = 0) const { return i < nodes_.size() ? nodes_[i].size : 0; }
  bool is_error() const { return kind() == reply_kind::error; }

  /// The node behind the value that begins at `i`; more than nodes() when the reply ends before.
  std::size_t behind(std::size_t i) const {
    for (std::size_t missing = 1; missing > 0; ++i) {
      if (i >= nodes() || missing > nodes()) return nodes() + 1;
      if (kind(i) == reply_kind::list) missing += list_size(i);
      --missing;
    }
    return i;
  }

  /// The number at a node, whether it came as number or as text.
  std::optional<std::int64_t> number(std::size_t i = 0) const {
    return whole_number<std::int64_t>(text(i));
  }

  /// Gives back the memory of an exceptionally large reply.
  void trim() {
    if (bytes_.capacity() > keep_bytes) std::string().swap(bytes_);
    if (nodes_.capacity() > keep_nodes) std::vector<node>().swap(nodes_);
  }

 private:
  // A hash of many small fields counts 8 bytes per field more in limits::max_value_bytes.
  static constexpr std::size_t max_bytes = limits::max_value_bytes;
  static constexpr std::size_t keep_bytes = 64 * 1024;
  static constexpr std::size_t keep_nodes = 1024;

  std::vector<node> nodes_;
  std::string bytes_;
  bool too_large_ = false;
};

}  // namespace herdlock::redis
