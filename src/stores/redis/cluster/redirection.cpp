#include "stores/redis/cluster/redirection.hpp"

#include "stores/redis/cluster/slots.hpp"

namespace herdlock::redis {
namespace {

bool begins_with(std::string_view line, std::string_view word) {
  return line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ');
}

// `SLOT host:port`
redirection parse_target(redirection_kind kind, std::string_view rest, node_address const& asked) {
  redirection garbled{redirection_kind::garbled};
  auto const slot = take_number<std::uint16_t>(rest, ' ');
  auto to = slot ? read_address(rest, asked) : std::nullopt;
  if (!to || *slot >= slot_count) return garbled;
  return {kind, *slot, *std::move(to)};
}

}  // namespace

std::optional<redirection> parse_redirection(std::string_view line, node_address const& asked) {
  auto const space = line.find(' ');
  auto const rest = space == line.npos ? std::string_view() : line.substr(space + 1);
  if (begins_with(line, "MOVED")) return parse_target(redirection_kind::moved, rest, asked);
  if (begins_with(line, "ASK")) return parse_target(redirection_kind::ask, rest, asked);
  // It was cut in the middle, and what it had done stays. All scripts stand up to being asked
  // again.
  if (line.find("attempted to access a non local key") != line.npos) {
    return redirection{redirection_kind::try_again};
  }
  if (begins_with(line, "TRYAGAIN")) return redirection{redirection_kind::try_again};
  if (begins_with(line, "CLUSTERDOWN") || begins_with(line, "LOADING")) {
    return redirection{redirection_kind::down};
  }
  return std::nullopt;
}

}  // namespace herdlock::redis
