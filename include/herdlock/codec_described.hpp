// A codec for structs that Boost.Describe describes: a hash with a field for each member.
//
//     struct product { int id = 0; std::string name; };
//     BOOST_DESCRIBE_STRUCT(product, (), (id, name))
//     herdlock::cache<product> products(store, {.prefix = "product:"});
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <boost/describe/bases.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <herdlock/codec.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {

template <class T>
using described_members = boost::describe::describe_members<T, boost::describe::mod_public |
                                                                   boost::describe::mod_inherited>;

template <class T>
concept described = std::is_class_v<T> && std::default_initializable<T> &&
    boost::describe::has_describe_members<T>::value;

/// A type with a codec that keeps it as one string: it fits into a field.
template <class T>
concept fits_into_a_field = requires {
  requires codec<T>::form == layout::string;
};

}  // namespace detail

/// Members are kept as their own codecs say, which must be of layout::string. An entry that lacks a
/// member's field does not decode; fields that no member has are passed over.
template <class T>
requires detail::described<T>
struct codec<T> {
  static constexpr layout form = layout::hash;

  static result<cache_value> encode(T const& object) {
    hash_fields fields;
    failure why;
    boost::mp11::mp_for_each<detail::described_members<T>>([&](auto member) {
      using value = std::remove_cvref_t<decltype(object.*member.pointer)>;
      static_assert(detail::fits_into_a_field<value>,
                    "a member of a described struct needs a codec of layout::string");
      if (why) return;
      auto text = codec<value>::encode(object.*member.pointer);
      if (text.has_error()) {
        why = text.error();
      } else {
        fields.emplace_back(member.name, std::get<std::string>(*std::move(text)));
      }
    });
    if (why) return why;
    return codec<hash_fields>::encode(fields);
  }

  static result<T> decode(cache_value const& stored) {
    auto const fields = codec<hash_fields>::decode(stored);
    if (fields.has_error()) return fields.error();
    T object{};
    failure why;
    boost::mp11::mp_for_each<detail::described_members<T>>([&](auto member) {
      if (!why) why = read_member(*fields, member.name, object.*member.pointer);
    });
    if (why) return why;
    return object;
  }

 private:
  template <class Value>
  static failure read_member(hash_fields const& fields, std::string_view name, Value& into) {
    for (auto const& [field, text] : fields) {
      if (field != name) continue;
      auto value = codec<Value>::decode(cache_value(text));
      if (value.has_error()) {
        return make_failure(errc::invalid_value,
                            "field " + in_quotes(name) + ": " + value.error().message);
      }
      into = *std::move(value);
      return {};
    }
    return make_failure(errc::invalid_value, "the entry has no field " + in_quotes(name));
  }
};

}  // namespace v0
}  // namespace herdlock
