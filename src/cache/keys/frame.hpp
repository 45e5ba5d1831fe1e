// A framed entry: a value of either layout with the header of its times in front.
#pragma once

#include <optional>
#include <variant>

#include <herdlock/cache_options.hpp>
#include <herdlock/value.hpp>

#include "algo/entry_header.hpp"

namespace herdlock::runtime {

/// A value (or absent), and its times. Its content is the value's business, not the header's.
struct framed_value {
  algo::entry_header header;
  cache_value value;
};

/// The entry as a store keeps it. `form` is that of the cache: absent fits both.
cache_value with_header(framed_value entry, layout form);

/// The bytes that the header adds to a value, as value_bytes() counts them. None to a plain one.
std::size_t frame_bytes(layout form, cache_format format, std::string_view extensions = {});

/// A value that a store kept, taken apart; or why it is a miss.
std::variant<framed_value, algo::header_fault> without_header(cache_value stored);

/// Whether some version of herdlock put a header there: a plain cache takes it for a miss.
bool is_framed(cache_value const& stored) noexcept;

/// The header alone; nothing when there is none to be read.
std::optional<algo::entry_header> header_of(cache_value const& stored);

/// A number that tells two values of a key apart, whatever their headers say; never 0.
std::uint64_t fingerprint_of(cache_value const& stored) noexcept;

/// Whether the entry has tags, or other extensions.
bool has_extensions(cache_value const& stored) noexcept;

/// Marks the entry as `expire` does. Returns false, and changes nothing, without a header.
bool mark_stale(cache_value& stored) noexcept;

/// Why a value cannot be stored (too large, does not encode); success when it can.
/// `added`: by its header.
failure check_storable(result<cache_value> const& value, layout form, std::size_t added);

}  // namespace herdlock::runtime
