#include "cache/keys/frame.hpp"

#include <algorithm>
#include <herdlock/backend.hpp>

#include "algo/key_hash.hpp"

namespace herdlock::runtime {
namespace {

using taken_apart = std::variant<framed_value, algo::header_fault>;

bool is_header(std::pair<std::string, std::string> const& field) {
  return field.first == algo::header_field;
}

taken_apart from_string(std::string stored) {
  auto read = algo::decode_header(stored);
  if (auto const* fault = std::get_if<algo::header_fault>(&read)) return *fault;
  auto& [header, bytes] = std::get<algo::decoded_header>(read);
  framed_value entry{std::move(header), absent{}};
  if (entry.header.content == algo::header_content::nothing) return entry;
  stored.erase(0, bytes);
  entry.value = std::move(stored);
  return entry;
}

taken_apart from_fields(hash_fields stored) {
  auto const at = std::find_if(stored.begin(), stored.end(), is_header);
  if (at == stored.end()) return algo::header_fault::foreign;
  auto read = algo::decode_header(at->second);
  if (auto const* fault = std::get_if<algo::header_fault>(&read)) return *fault;
  stored.erase(at);
  framed_value entry{std::move(std::get<algo::decoded_header>(read).header), absent{}};
  if (entry.header.content == algo::header_content::nothing) return entry;
  if (stored.empty()) return algo::header_fault::cut_short;  // no value is without a field
  entry.value = std::move(stored);
  return entry;
}

bool fits_form(cache_value const& value, layout form) {
  if (std::holds_alternative<absent>(value)) return true;
  return std::holds_alternative<std::string>(value) == (form == layout::string);
}

}  // namespace

cache_value with_header(framed_value entry, layout form) {
  bool const nothing = std::holds_alternative<absent>(entry.value);
  entry.header.content = nothing ? algo::header_content::nothing : algo::header_content::value;
  if (form == layout::hash) {
    auto* const fields = std::get_if<hash_fields>(&entry.value);
    hash_fields all = fields ? std::move(*fields) : hash_fields();
    all.emplace_back(algo::header_field, algo::encode_header(entry.header, algo::other_fields));
    return all;
  }
  auto const* text = std::get_if<std::string>(&entry.value);
  std::string all = algo::encode_header(entry.header, text ? text->size() : 0);
  if (text) all += *text;
  return all;
}

std::size_t frame_bytes(layout form, cache_format format, std::string_view extensions) {
  if (format == cache_format::plain) return 0;
  static std::size_t const of_string = value_bytes(with_header({}, layout::string));
  static std::size_t const of_hash = value_bytes(with_header({}, layout::hash));
  return (form == layout::string ? of_string : of_hash) + extensions.size();
}

taken_apart without_header(cache_value stored) {
  if (auto* const text = std::get_if<std::string>(&stored)) return from_string(std::move(*text));
  if (auto* const fields = std::get_if<hash_fields>(&stored)) {
    return from_fields(std::move(*fields));
  }
  return algo::header_fault::foreign;  // the negative entry of a plain cache
}

std::uint64_t fingerprint_of(cache_value const& stored) noexcept {
  constexpr std::uint64_t seed = 1, nothing = 1;
  std::uint64_t all = 0;
  if (auto const* text = std::get_if<std::string>(&stored)) {
    all = detail::key_hash(algo::behind_header(*text), seed);
  } else if (auto const* fields = std::get_if<hash_fields>(&stored)) {
    // The fields come in any order.
    for (auto const& field : *fields) {
      if (is_header(field)) continue;
      all += detail::key_hash(field.second, detail::key_hash(field.first, seed));
    }
  }
  return all != 0 ? all : nothing;
}

bool is_framed(cache_value const& stored) noexcept {
  if (auto const* text = std::get_if<std::string>(&stored)) return algo::has_header(*text);
  auto const* fields = std::get_if<hash_fields>(&stored);
  return fields && std::any_of(fields->begin(), fields->end(), [](auto const& field) {
           return is_header(field) && algo::has_header(field.second);
         });
}

std::optional<algo::entry_header> header_of(cache_value const& stored) {
  std::string const* bytes = std::get_if<std::string>(&stored);
  if (auto const* fields = std::get_if<hash_fields>(&stored)) {
    auto const at = std::find_if(fields->begin(), fields->end(), is_header);
    if (at != fields->end()) bytes = &at->second;
  }
  if (!bytes) return std::nullopt;
  auto read = algo::decode_header(*bytes);
  auto* const decoded = std::get_if<algo::decoded_header>(&read);
  return decoded ? std::optional(std::move(decoded->header)) : std::nullopt;
}

bool has_extensions(cache_value const& stored) noexcept {
  if (auto const* text = std::get_if<std::string>(&stored)) return algo::has_extensions(*text);
  auto const* fields = std::get_if<hash_fields>(&stored);
  return fields && std::any_of(fields->begin(), fields->end(), [](auto const& field) {
           return is_header(field) && algo::has_extensions(field.second);
         });
}

bool mark_stale(cache_value& stored) noexcept {
  if (auto* const text = std::get_if<std::string>(&stored)) return algo::mark_stale(*text);
  auto* const fields = std::get_if<hash_fields>(&stored);
  if (!fields) return false;
  auto const at = std::find_if(fields->begin(), fields->end(), is_header);
  return at != fields->end() && algo::mark_stale(at->second);
}

failure check_storable(result<cache_value> const& value, layout form, std::size_t added) {
  if (value.has_error()) return value.error();
  if (!fits_form(*value, form)) {
    return make_failure(errc::invalid_value, "the codec made another layout than its `form` says");
  }
  // Counted as the stores count it, so that nothing is sent which they refuse.
  std::size_t const bytes = value_bytes(*value) + added;
  if (bytes <= limits::max_value_bytes) return {};
  return make_failure(errc::invalid_value,
                      "a value of " + std::to_string(bytes) + " bytes is not stored; at most " +
                          std::to_string(limits::max_value_bytes) + " are allowed");
}

}  // namespace herdlock::runtime
