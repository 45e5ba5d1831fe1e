#include "types/near_word.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace herdlock {
namespace {

constexpr std::size_t longest = 32;

constexpr std::string_view options[] = {
    "acl",         "auth",    "cafile",        "cert",          "connections",
    "db",          "dialect", "keep",          "key",           "max_bytes",
    "max_pending", "mode",    "names",         "network",       "node_timeout",
    "password",    "pool",    "prefix",        "quarantine",    "quarantine_ttl",
    "sessions",    "skew",    "restart_delay", "sentinel_user", "sentinel_password",
    "socket",      "sslmode", "table",         "timeout",       "session_timeout",
    "tls",         "user",    "verify",        "wait_replicas", "wait_timeout",
};

// Row by row: what it costs to make the beginnings of one word those of the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::array<std::array<std::size_t, longest + 1>, longest + 1> cost{};
  for (std::size_t i = 0; i <= from.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= to.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    for (std::size_t j = 1; j <= to.size(); ++j) {
      std::size_t const change = from[i - 1] == to[j - 1] ? 0 : 1;
      auto& least = cost[i][j];
      least = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      bool const swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) least = std::min(least, cost[i - 2][j - 2] + 1);
    }
  }
  return cost[from.size()][to.size()];
}

}  // namespace

std::optional<std::string_view> near_option(std::string_view word) {
  if (word.size() > longest) return std::nullopt;
  std::size_t const most = word.size() > 4 ? 2 : 1;
  auto const far = [word](std::string_view other) { return distance(word, other); };
  auto const* const nearest = std::ranges::min_element(options, {}, far);
  auto const apart = far(*nearest);
  if (apart == 0 || apart > most) return std::nullopt;
  return *nearest;
}

}  // namespace herdlock
