#include "stores/redis/cluster/cluster_map.hpp"

#include <algorithm>

#include "stores/redis/cluster/slots.hpp"

namespace herdlock::redis {
namespace {

constexpr std::size_t max_host_bytes = 255;

bool is_host(std::string_view text) {
  auto const good = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '_' || c == ':';
  };
  return text.size() <= max_host_bytes && std::ranges::all_of(text, good);
}

// 40 hex digits, as the servers make them; others that speak the protocol have words of their own.
bool is_id(std::string_view text) {
  constexpr std::size_t max_id_bytes = 128;
  auto const good = [](char c) { return c > ' ' && c <= '~'; };
  return !text.empty() && text.size() <= max_id_bytes && std::ranges::all_of(text, good);
}

failure nonsense(std::string const& why) {
  return make_failure(errc::protocol, "its list of slots makes no sense: " + why +
                                          "; is it a Redis Cluster, 6.2 or newer?");
}

}  // namespace

std::optional<node_address> make_address(std::string_view host, std::optional<std::int64_t> port,
                                         node_address const& asked) {
  if (host.empty() || host == "?") host = asked.host;
  if (!is_host(host) || !port || *port < 1 || *port > 65'535) return std::nullopt;
  return node_address{std::string(host), static_cast<std::uint16_t>(*port)};
}

std::optional<node_address> read_address(std::string_view text, node_address const& asked) {
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto const port = whole_number<std::int64_t>(text.substr(colon + 1));
  return make_address(text.substr(0, colon), port, asked);
}

result<cluster_map> cluster_map::parse(reply const& answer, node_address const& asked) {
  if (answer.too_large()) return nonsense("it is too long");
  if (answer.kind() != reply_kind::list) return nonsense("it is no list");
  cluster_map made;
  made.owners_.assign(slot_count, nobody);
  std::size_t at = 1;
  for (std::size_t i = 0; i < answer.list_size(); ++i) {
    auto const next = answer.behind(at);
    if (next > answer.nodes()) return nonsense("it is cut off");
    if (auto why = made.add_range(answer, at, asked); why.code) return why;
    at = next;
  }
  if (made.empty()) {
    return make_failure(errc::unavailable,
                        "its nodes serve no slots yet; set it up with redis-cli --cluster create");
  }
  return made;
}

// {first, last, {host, port, …}, …} at `at`, which is known to be complete.
failure cluster_map::add_range(reply const& answer, std::size_t at, node_address const& asked) {
  auto const first = answer.number(at + 1);
  auto const last = answer.number(at + 2);
  if (answer.kind(at) != reply_kind::list || answer.list_size(at) < 3 || !first || !last) {
    return nonsense("a range of slots has no bounds or no master");
  }
  if (*first < 0 || *last < *first || *last >= slot_count) {
    return nonsense("there is no range of slots from " + std::to_string(*first) + " to " +
                    std::to_string(*last));
  }
  if (answer.kind(at + 3) != reply_kind::list || answer.list_size(at + 3) < 2) {
    return nonsense("a master has no address");
  }
  auto const master = make_address(answer.text(at + 4), answer.number(at + 5), asked);
  if (!master) return nonsense("a master's address is none: " + in_quotes(answer.text(at + 4)));
  auto const index = index_of(*master);
  if (index == nobody) return nonsense("it has more than " + std::to_string(max_nodes) + " nodes");
  for (auto slot = *first; slot <= *last; ++slot) {
    auto& owner = owners_[static_cast<std::size_t>(slot)];
    if (owner != nobody) return nonsense("slot " + std::to_string(slot) + " stands there twice");
    owner = index;
  }
  add_ids(answer, at);
  return {};
}

// The third element of the range's master and of each of its replicas.
void cluster_map::add_ids(reply const& answer, std::size_t at) {
  auto node = at + 3;
  for (std::size_t i = 2; i < answer.list_size(at); ++i, node = answer.behind(node)) {
    if (answer.kind(node) != reply_kind::list || answer.list_size(node) < 3) continue;
    auto const id = answer.text(node + 3);
    if (is_id(id) && ids_.size() < max_node_ids) ids_.emplace(id);
  }
}

std::uint16_t cluster_map::index_of(node_address const& node) {
  auto const found = std::ranges::find(masters_, node);
  if (found == masters_.end()) {
    if (masters_.size() >= max_nodes) return nobody;
    masters_.push_back(node);
    return static_cast<std::uint16_t>(masters_.size() - 1);
  }
  return static_cast<std::uint16_t>(found - masters_.begin());
}

node_address const* cluster_map::owner(std::uint16_t slot) const {
  if (owners_.empty() || owners_.at(slot) == nobody) return nullptr;
  return &masters_.at(owners_[slot]);
}

bool cluster_map::has(node_address const& node) const {
  return std::ranges::find(masters_, node) != masters_.end();
}

void cluster_map::move(std::uint16_t slot, node_address const& to) {
  if (owners_.empty()) return;
  if (auto const index = index_of(to); index != nobody) owners_.at(slot) = index;
}

}  // namespace herdlock::redis
