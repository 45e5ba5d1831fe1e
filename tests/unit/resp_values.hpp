// Values of the Redis protocol as texts, for tests: what was parsed, one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "resp/parser.hpp"

namespace herdlock_test {

inline std::string described(herdlock::resp::node const& node) {
  constexpr std::string_view names[] = {"status",  "error", "number", "text",     "null",
                                        "boolean", "real",  "big",    "verbatim", "list",
                                        "map",     "set",   "push",   "attribute"};
  std::string all(names[static_cast<std::size_t>(node.kind)]);
  if (!node.format.empty()) all += "/" + std::string(node.format);
  if (node.kind >= herdlock::resp::node_kind::list) return all + std::to_string(node.elements);
  return all + "(" + std::string(node.text) + ")";
}

/// What a stream holds: each complete value, and how it ends.
struct parsed_stream {
  std::vector<std::string> values{};
  std::string problem{};
  std::string rest{};  ///< a value that is not complete

  bool operator==(parsed_stream const&) const = default;
};

/// Fed in pieces whose ends are the given positions, in their order, and the end.
inline parsed_stream parse_in_pieces(std::string_view stream, std::vector<std::size_t> ends,
                                     herdlock::resp::parser_limits const& limits = {}) {
  using outcome = herdlock::resp::parser::outcome;
  herdlock::resp::parser parser(limits);
  parsed_stream found;
  std::size_t consumed = 0;
  ends.push_back(stream.size());
  for (auto const end : ends) {
    while (true) {
      // A copy of exactly these bytes, so that a sanitizer sees what is read behind them.
      std::vector<char> const piece(stream.begin() + static_cast<std::ptrdiff_t>(consumed),
                                    stream.begin() + static_cast<std::ptrdiff_t>(end));
      auto const step = parser.next({piece.data(), piece.size()});
      if (step.is == outcome::broken) found.problem = parser.problem();
      if (step.is != outcome::node) break;
      consumed += step.consumed;
      if (!found.rest.empty()) found.rest += ' ';
      found.rest += (step.aside ? "~" : "") + described(step.found);
      if (!step.last) continue;
      found.values.push_back(std::move(found.rest));
      found.rest.clear();
    }
  }
  return found;
}

inline parsed_stream parse_whole(std::string_view stream,
                                 herdlock::resp::parser_limits const& limits = {}) {
  return parse_in_pieces(stream, {}, limits);
}

}  // namespace herdlock_test
