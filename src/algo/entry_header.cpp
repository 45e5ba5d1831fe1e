#include "algo/entry_header.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "algo/byte_fields.hpp"

namespace herdlock::algo {
namespace {

constexpr char version_byte = header_beginning.back();
constexpr std::size_t fixed_bytes = 50;
constexpr std::size_t extensions_at = 48;

// Times of the store and lengths of time. One that our clock cannot count in ns is damage.
template <class Duration>
std::optional<Duration> take_time(byte_reader& from) {
  auto const count = from.number(8);
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
  add_bytes_of(out, static_cast<std::uint64_t>(header.created.count()), 8);
  constexpr std::int64_t longest = std::numeric_limits<std::uint32_t>::max();
  add_bytes_of(out, static_cast<std::uint64_t>(std::min(header.load_time.count(), longest)), 4);
  add_bytes_of(out, static_cast<std::uint64_t>(header.ttl.count()), 8);
  add_bytes_of(out, static_cast<std::uint64_t>(header.grace.count()), 8);
  add_bytes_of(out, payload_bytes, 8);
  add_bytes_of(out, header.extensions.size(), 2);
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
  byte_reader from(rest.substr(4));
  auto const created = take_time<std::chrono::microseconds>(from);
  milliseconds const load_time(static_cast<milliseconds::rep>(from.number(4)));
  auto const ttl = take_time<milliseconds>(from);
  auto const grace = take_time<milliseconds>(from);
  auto const payload = from.number(8);
  auto const extensions = from.text(from.number(2));
  if (!state || !content || !created || !ttl || !grace) return header_fault::damaged;
  if (!from.good()) return header_fault::cut_short;
  std::size_t const bytes = fixed_bytes + extensions.size();
  if (payload != other_fields && payload != entry.size() - bytes) {
    return payload > entry.size() - bytes ? header_fault::cut_short : header_fault::damaged;
  }
  return decoded_header{{.state = *state,
                         .content = *content,
                         .created = *created,
                         .load_time = load_time,
                         .ttl = *ttl,
                         .grace = *grace,
                         .extensions = std::string(extensions)},
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
  auto const extensions = byte_reader(entry.substr(extensions_at)).number(2);
  return entry.substr(std::min(fixed_bytes + extensions, entry.size()));
}

}  // namespace herdlock::algo
