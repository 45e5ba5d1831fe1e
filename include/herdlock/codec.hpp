// How a value becomes bytes, or named fields, in a store.
#pragma once

#include <concepts>
#include <string>

#include <herdlock/store.hpp>

namespace herdlock {

/// Specialise it for your type, or give cache<T, Codec> a type of your own with the same members:
///
///     template <> struct herdlock::codec<product> {
///       static constexpr layout form = layout::string;
///       static result<cache_value> encode(product const&);   // the alternative that `form` names
///       static result<product> decode(cache_value const&);   // never given `absent`
///     };
///
/// Both may be called from several threads at once; `decode` runs on the store's executor, so it
/// should be light (decode large documents where you use them). What they throw is taken for
/// errc::invalid_value. A value that does not decode counts as a miss: it is loaded anew and
/// overwritten, so a deployment that changes the format needs no flush.
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

/// What cache<T, Codec> needs of its Codec.
template <class Codec, class T>
concept codec_for = requires(T const& value, cache_value const& stored) {
  { Codec::form } -> std::convertible_to<layout>;
  { Codec::encode(value) } -> std::same_as<result<cache_value>>;
  { Codec::decode(stored) } -> std::same_as<result<T>>;
};

}  // namespace herdlock
