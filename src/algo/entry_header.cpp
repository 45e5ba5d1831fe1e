#include "algo/entry_header.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace herdlock::algo {
namespace {

constexpr char version_byte = header_beginning.back();
constexpr std::size_t fixed_bytes = 50;
constexpr std::size_t extensions_at = 48;

template <class Number>
void add_number(std::string& out, Number value) {
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

template <class Number>
Number take_number(std::string_view& rest) {
  Number value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value = static_cast<Number>((value << 8) | static_cast<unsigned char>(rest[i]));
  }
  rest.remove_prefix(sizeof(Number));
  return value;
}

// Times of the store and lengths of time. One that our clock cannot count in ns is damage.
template <class Duration>
std::optional<Duration> take_time(std::string_view& rest) {
  auto const count = take_number<std::uint64_t>(rest);
  if (count > std::uint64_t(std::numeric_limits<std::int64_t>::max() / 2000)) return std::nullopt;
  return Duration(static_cast<std::int64_t>(count));
}

std::optional<header_state> state_of(char letter) {
  if (letter == 'f') return header_state::filled;
  if (letter == stale_mark) return header_state::expired;
  return std::nullopt;
}

std::optional<header_content> content_of(char letter) {
  if (letter == 'v') return header_content::value;
  if (letter == 'n') return header_content::nothing;
  return std::nullopt;
}

}  // namespace

std::string encode_header(entry_header const& header, std::uint64_t payload_bytes) {
  std::string out;
  out.reserve(fixed_bytes + header.extensions.size());
  out += header_mark;
  out += version_byte;
  out += header.state == header_state::expired ? stale_mark : 'f';
  out += header.content == header_content::nothing ? 'n' : 'v';
  out += '\0';
  add_number(out, static_cast<std::uint64_t>(header.created.count()));
  constexpr std::int64_t longest = std::numeric_limits<std::uint32_t>::max();
  add_number(out, static_cast<std::uint32_t>(std::min(header.load_time.count(), longest)));
  add_number(out, static_cast<std::uint64_t>(header.ttl.count()));
  add_number(out, static_cast<std::uint64_t>(header.grace.count()));
  add_number(out, payload_bytes);
  add_number(out, static_cast<std::uint16_t>(header.extensions.size()));
  out += header.extensions;
  return out;
}

std::variant<decoded_header, header_fault> decode_header(std::string_view entry) {
  // An entry that was cut within the mark looks like another program's data.
  if (!has_header(entry)) return header_fault::foreign;
  auto rest = entry.substr(header_mark.size());
  if (rest.empty()) return header_fault::cut_short;
  if (rest.front() != version_byte) {
    return rest.front() == 0 ? header_fault::damaged : header_fault::newer;
  }
  if (entry.size() < fixed_bytes) return header_fault::cut_short;
  auto const state = state_of(rest[1]);
  auto const content = content_of(rest[2]);
  rest.remove_prefix(4);
  auto const created = take_time<std::chrono::microseconds>(rest);
  milliseconds const load_time{take_number<std::uint32_t>(rest)};
  auto const ttl = take_time<milliseconds>(rest);
  auto const grace = take_time<milliseconds>(rest);
  auto const payload = take_number<std::uint64_t>(rest);
  auto const extensions = take_number<std::uint16_t>(rest);
  if (!state || !content || !created || !ttl || !grace) return header_fault::damaged;
  if (rest.size() < extensions) return header_fault::cut_short;
  std::size_t const bytes = fixed_bytes + extensions;
  if (payload != other_fields && payload != entry.size() - bytes) {
    return payload > entry.size() - bytes ? header_fault::cut_short : header_fault::damaged;
  }
  return decoded_header{{.state = *state,
                         .content = *content,
                         .created = *created,
                         .load_time = load_time,
                         .ttl = *ttl,
                         .grace = *grace,
                         .extensions = std::string(rest.substr(0, extensions))},
                        bytes};
}

bool mark_stale(std::string& entry) noexcept {
  if (!entry.starts_with(header_beginning) || entry.size() <= header_state_at) return false;
  entry[header_state_at] = stale_mark;
  return true;
}

bool has_extensions(std::string_view entry) noexcept {
  if (!entry.starts_with(header_beginning) || entry.size() < fixed_bytes) return false;
  return entry[extensions_at] != 0 || entry[extensions_at + 1] != 0;
}

std::string_view behind_header(std::string_view entry) noexcept {
  if (!entry.starts_with(header_beginning) || entry.size() < fixed_bytes) return entry;
  auto extensions = entry.substr(extensions_at, fixed_bytes - extensions_at);
  return entry.substr(std::min(fixed_bytes + take_number<std::uint16_t>(extensions), entry.size()));
}

}  // namespace herdlock::algo
