// Hash values as one blob: for each field its name and content, each with its length in front
// (4 bytes, little-endian).
#pragma once

#include <herdlock/backend.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace herdlock::sqlite {

std::string encode_fields(hash_fields const& fields);
/// Nothing when the bytes are not what encode_fields makes.
std::optional<hash_fields> decode_fields(std::string_view bytes);

}  // namespace herdlock::sqlite
