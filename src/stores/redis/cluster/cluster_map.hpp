// Which node of a cluster serves which slot.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/error.hpp>
#include "stores/common/url_options.hpp"
#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

/// Masters of one cluster, and nodes that are spoken to at all; one more is an error.
inline constexpr std::size_t max_nodes = 1000;
/// Nodes of one cluster, replicas too, whose ids are kept; more are passed over.
inline constexpr std::size_t max_node_ids = 4 * max_nodes;

using node_address = stores::server_address;
/// A node keeps its id for life, whatever its address.
using node_ids = std::set<std::string, std::less<>>;

/// `host:port` as nodes announce it: an IPv6 address stands without brackets there. An empty host,
/// or "?", is a node that does not know its own: `asked`'s then. Nothing when it is neither.
std::optional<node_address> read_address(std::string_view text, node_address const& asked);
std::optional<node_address> make_address(std::string_view host, std::optional<std::int64_t> port,
                                         node_address const& asked);

class cluster_map {
 public:
  /// From the reply to CLUSTER SLOTS of the node `asked`: a list of {first, last, {host, port, id,
  /// …}, replicas…}. errc::protocol for anything else, errc::unavailable when no slot is served.
  static result<cluster_map> parse(reply const& answer, node_address const& asked);

  bool empty() const { return masters_.empty(); }
  /// Null when nobody serves the slot, as far as is known.
  node_address const* owner(std::uint16_t slot) const;
  std::vector<node_address> const& masters() const { return masters_; }
  bool has(node_address const& node) const;
  /// Of its masters and replicas. What cannot be an id is not there.
  node_ids const& ids() const { return ids_; }

  /// A node said that this one serves the slot now. Ignored beyond max_nodes.
  void move(std::uint16_t slot, node_address const& to);

 private:
  static constexpr std::uint16_t nobody = 0xffff;

  std::uint16_t index_of(node_address const& node);
  failure add_range(reply const& answer, std::size_t at, node_address const& asked);
  void add_ids(reply const& answer, std::size_t at);

  std::vector<node_address> masters_;
  node_ids ids_;
  std::vector<std::uint16_t> owners_;  // empty, or an index into masters_ for each slot
};

}  // namespace herdlock::redis
