// The generations of tags: in an entry, those that its load began with; in a tag's own record,
// those of now. An entry's stand in an extension of its header (algo/entry_header.hpp).
//
//   an extension        bytes
//                           1  what it is: 't' for tags; one that is not known is skipped
//                           2  how many bytes follow, for 't' these, once for each tag:
//     a tag                 2  how many bytes its name has
//                              its name
//                          16  its generations
//   generations         bytes
//                           8  what invalidate_tag changes
//                           8  what expire_tag changes
//
// Numbers are big-endian. They are compared for equality, never by order.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// Random numbers, made under a claim. None is used again.
struct tag_generations {
  std::uint64_t lives = 0;     ///< entries with another number are gone
  std::uint64_t is_fresh = 0;  ///< entries with another number are stale
  friend bool operator==(tag_generations const&, tag_generations const&) = default;
};

/// The name of the tag that all entries of a cache have which can be cleared. No other has this
/// one.
inline constexpr std::string_view tag_of_all{};
inline constexpr std::size_t most_entry_tags = limits::max_tags + 1;

struct entry_tag {
  std::string name;
  tag_generations made_in;
  friend bool operator==(entry_tag const&, entry_tag const&) = default;
};

/// REQUIRES: at most most_entry_tags, with names of limits::max_name_bytes at most. Nothing for no
/// tags.
std::string encode_tags(std::vector<entry_tag> const& tags);

/// Nothing when these are no extensions, or more tags than an entry can have.
std::optional<std::vector<entry_tag>> decode_tags(std::string_view extensions);

/// The value of a tag's record.
std::string encode_generations(tag_generations const& of_tag);
std::optional<tag_generations> decode_generations(std::string_view value);

}  // namespace herdlock::algo
