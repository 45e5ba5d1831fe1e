// The header in front of a framed cache entry: when it was made, and when it becomes stale.
//
//   offset  bytes
//        0      8  the mark: a zero byte and "hlframe"
//        8      1  the version: 1
//        9      1  how it stands: 'f' as it was filled, 's' stale by `expire`
//       10      1  what follows: 'v' a value, 'n' nothing ("there is no such thing")
//       11      1  0
//       12      8  when its load had ended, in µs of the store's clock; 0: not known
//       20      4  how long the load took, in ms
//       24      8  after so many ms it is stale
//       32      8  for so many ms more it is kept
//       40      8  how many bytes follow the header; all ones: it is a field, and others follow
//       48      2  how many bytes of extensions follow: the generations of tags (entry_tags.hpp)
//       50         the extensions, then the value
//
// Numbers are big-endian. A reader of version 1 skips extensions that it does not know. A change
// that it could not skip is a new version, which it takes for a miss.
//
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// The first bytes of each header, of all versions.
inline constexpr std::string_view header_mark{"\0hlframe", 8};
/// The first bytes of the headers that this version knows: the mark, and the version.
inline constexpr std::string_view header_beginning{"\0hlframe\1", 9};
/// The offset at which `expire` writes stale_mark.
inline constexpr std::size_t header_state_at = header_beginning.size();
inline constexpr char stale_mark = 's';
/// The field of a hash that keeps the header; the other fields are the value.
inline constexpr std::string_view header_field = "herdlock:frame";

enum class header_state { filled, expired };
enum class header_content { value, nothing };

/// An entry's times as the store's clock tells them.
struct entry_header {
  header_state state = header_state::filled;
  header_content content = header_content::value;
  std::chrono::microseconds created{0};  ///< 0: not known, so that it is fresh until it is gone
  milliseconds load_time{0};
  milliseconds ttl{0};
  milliseconds grace{0};
  std::string extensions = {};  ///< at most most_extensions bytes

  friend bool operator==(entry_header const&, entry_header const&) = default;
};

inline constexpr std::size_t most_extensions = 65'535;
/// The length of a payload that is not counted: the other fields of a hash.
inline constexpr std::uint64_t other_fields = UINT64_MAX;

/// REQUIRES: no negative time, no more than most_extensions.
std::string encode_header(entry_header const& header, std::uint64_t payload_bytes);

/// The reason why no header can be read. Each is a miss for a framed cache.
enum class header_fault {
  foreign,    ///< no mark: of a plain cache, or of another program
  newer,      ///< a version that this one does not know
  cut_short,  ///< not all of it is there
  damaged,    ///< a part that no version 1 writes
};

struct decoded_header {
  entry_header header;
  std::size_t bytes = 0;  ///< length of the header: the value begins there
};

/// `entry`: all of a string, or the field of a hash.
std::variant<decoded_header, header_fault> decode_header(std::string_view entry);

/// Writes stale_mark. Returns false, and changes nothing, if no header of a known version is there.
bool mark_stale(std::string& entry) noexcept;

/// Whether some version of a header is in front.
inline bool has_header(std::string_view entry) noexcept { return entry.starts_with(header_mark); }

/// Whether the entry has a header of a known version, with extensions.
bool has_extensions(std::string_view entry) noexcept;

/// The part of the entry behind such a header; the whole entry if it has none.
std::string_view behind_header(std::string_view entry) noexcept;

}  // namespace herdlock::algo
