// The protocol of Redis, versions 2 and 3, read node by node out of bytes that stay the caller's.
//
// https://redis.io/docs/latest/develop/reference/protocol-spec/
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace herdlock::resp {

enum class node_kind : std::uint8_t {
  status,      ///< `+`
  error,       ///< `-`, `!`
  number,      ///< `:`, of 64 bits
  text,        ///< `$`
  null,        ///< `_`, and in version 2 `$-1` and `*-1`
  boolean,     ///< `#`: t or f
  real,        ///< `,`: digits, inf or nan
  big_number,  ///< `(`
  verbatim,    ///< `=`: a text with its format
  list,        ///< `*`
  map,         ///< `%`
  set,         ///< `~`
  push,        ///< `>`: nobody asked for it
  attribute,   ///< `|`: a map that stands in front of what it describes, and is no element itself
};

/// A value is a node; a list, map, set, push or attribute is followed by its elements, which are
/// values themselves.
struct node {
  node_kind kind = node_kind::null;
  std::string_view text{};    ///< what was received, without its frame; valid as long as that is
  std::string_view format{};  ///< of a verbatim text, e.g. txt
  std::size_t elements = 0;   ///< names and values of a map count one each
};

enum class grammar {
  any_value,  ///< what a server says
  requests,   ///< what a client says: lists of texts
};

/// As a server's own. What is beyond is refused as soon as it is announced.
struct parser_limits {
  std::size_t line_bytes = 64 * 1024;
  std::size_t text_bytes = 512 * 1024 * 1024;
  std::size_t elements = 0x7fff'ffff;  ///< of one list, map, …
  std::size_t depth = 128;             ///< of lists in lists
  grammar speech = grammar::any_value;
};

/// Takes what arrives in pieces of any size. It remembers where it is in a value, and copies
/// nothing: its memory depends on the depth alone, whatever a header announces.
class parser {
 public:
  enum class outcome {
    node,        ///< `found`: its bytes are the first `consumed` ones
    incomplete,  ///< come again with the same bytes and at least `missing` more
    broken,      ///< no use in going on: see problem()
  };
  struct step {
    outcome is = outcome::incomplete;
    node found{};
    std::size_t consumed = 0;
    std::size_t missing = 0;
    bool aside = false;  ///< an attribute, or a part of one
    bool last = false;   ///< ends a value that is in no other
  };

  explicit parser(parser_limits const& limits = {}) : limits_(limits) {}

  /// The next node of what was received and not consumed yet.
  step next(std::string_view unread);

  /// What was wrong, for a message.
  std::string const& problem() const { return problem_; }

 private:
  struct level {
    std::size_t left;
    bool of_attribute;
  };

  bool accepts(char type);
  step line(char type, std::string_view content, std::size_t consumed);
  step scalar(node_kind kind, std::string_view content, std::size_t consumed);
  step text(char type, std::string_view content, std::string_view unread);
  step several(node_kind kind, std::string_view content, std::size_t consumed);
  step null_of(char type, std::size_t consumed);
  step done(node const& found, std::size_t consumed);
  step broken(std::string what);
  bool ends_all();

  parser_limits limits_;
  boost::container::small_vector<level, 8> open_;  // what is not complete, the innermost last
  std::size_t attributes_ = 0;                     // of these
  std::size_t scanned_ = 0;                        // of the line: no end up to here
  std::string problem_;
};

}  // namespace herdlock::resp
