// How a value becomes bytes, or named fields, in a store.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/value.hpp>

namespace herdlock {
inline namespace v0 {

/// Specialise it for your type, or give cache<T, Codec> a type of your own with the same members:
///
///     template <> struct herdlock::codec<product> {
///       static constexpr layout form = layout::string;
///       static result<cache_value> encode(product const&);   // the alternative that `form` names
///       static result<product> decode(cache_value const&);   // never given `absent`
///     };
///
/// Both may be called from several threads at once; `decode` runs on the store's executor, so it
/// should be light (decode large documents where you use them). An exception of theirs is taken for
/// errc::invalid_value. A value that does not decode counts as a miss: it is loaded anew and
/// overwritten, so a deployment that changes the format needs no flush.
///
/// There are codecs for texts, bytes, numbers and named fields here, and for structs that
/// Boost.Describe describes in herdlock/codec_described.hpp.
template <class T>
struct codec;

/// Bytes as they are.
template <>
struct codec<std::string> {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(std::string const& bytes) { return cache_value(bytes); }

  static result<std::string> decode(cache_value const& stored) {
    if (auto const* bytes = std::get_if<std::string>(&stored)) return *bytes;
    return make_failure(errc::invalid_value, "the entry is a hash, not a string");
  }
};

/// Bytes as they are.
template <>
struct codec<std::vector<std::byte>> {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(std::vector<std::byte> const& bytes) {
    std::string text(bytes.size(), '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) text[i] = static_cast<char>(bytes[i]);
    return cache_value(std::move(text));
  }

  static result<std::vector<std::byte>> decode(cache_value const& stored) {
    auto text = codec<std::string>::decode(stored);
    if (text.has_error()) return text.error();
    std::vector<std::byte> bytes(text->size());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((*text)[i]);
    return bytes;
  }
};

namespace detail {
template <class T>
concept number = (std::integral<T> || std::floating_point<T>)&&!std::same_as<T, char> &&
                 !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                 !std::same_as<T, char16_t> && !std::same_as<T, char32_t> &&
                 !std::same_as<T, long double>;
}  // namespace detail

/// Numbers as decimal text, as INCR and people read them; floating-point ones in the shortest form
/// that gives the same number back (not long double, which has none); bool as 1 and 0.
template <class T>
requires detail::number<T>
struct codec<T> {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(T number) {
    if constexpr (std::same_as<T, bool>) {
      return cache_value(std::string(number ? "1" : "0"));
    } else {
      char text[64];
      auto const written = std::to_chars(text, text + sizeof text, number);
      return cache_value(std::string(text, written.ptr));
    }
  }

  static result<T> decode(cache_value const& stored) {
    auto const text = codec<std::string>::decode(stored);
    if (text.has_error()) return text.error();
    char const* const end = text->data() + text->size();
    std::conditional_t<std::same_as<T, bool>, unsigned char, T> number{};
    auto const read = std::from_chars(text->data(), end, number);
    bool const whole = read.ec == std::errc{} && read.ptr == end && !text->empty();
    if (!whole || (std::same_as<T, bool> && number > 1)) {
      return make_failure(errc::invalid_value, "the entry is not a number of this type");
    }
    return static_cast<T>(number);
  }
};

/// Named fields, kept as a hash (Redis HSET/HGETALL). Their order is the store's.
template <>
struct codec<hash_fields> {
  static constexpr layout form = layout::hash;

  static result<cache_value> encode(hash_fields const& fields) {
    // A store cannot tell an empty hash from a missing one.
    if (fields.empty()) {
      return make_failure(errc::invalid_value, "a hash without fields cannot be stored");
    }
    return cache_value(fields);
  }

  static result<hash_fields> decode(cache_value const& stored) {
    if (auto const* fields = std::get_if<hash_fields>(&stored)) return *fields;
    return make_failure(errc::invalid_value, "the entry is a string, not a hash");
  }
};

/// The functions that cache<T, Codec> needs of its Codec.
template <class Codec, class T>
concept codec_for = requires(T const& value, cache_value const& stored) {
  { Codec::form } -> std::convertible_to<layout>;
  { Codec::encode(value) } -> std::same_as<result<cache_value>>;
  { Codec::decode(stored) } -> std::same_as<result<T>>;
};

}  // namespace v0
}  // namespace herdlock
