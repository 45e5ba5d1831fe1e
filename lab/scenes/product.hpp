// What everybody asks for: one row of the table `Product`.
#pragma once

#include <boost/describe/class.hpp>
#include <cstdint>
#include <herdlock/codec.hpp>
#include <herdlock/codec_described.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace herdlock::lab {

struct product {
  std::int64_t id = 0;
  std::string name;
  std::int64_t price_cents = 0;
  /// Raised in the database before each expiry, so that an old answer is told from a right one.
  std::int64_t revision = 0;

  friend bool operator==(product const&, product const&) = default;
};
BOOST_DESCRIBE_STRUCT(product, (), (id, name, price_cents, revision))
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(product, id, name, price_cents, revision)

/// The row that is hot.
inline constexpr std::int64_t hot_product_id = 42;
/// Its name and price at a revision, the same in every database.
inline product product_at(std::int64_t revision) {
  return {hot_product_id, "Espresso machine, two groups", 249'900 + revision, revision};
}

/// A string of JSON, as many caches keep it.
struct product_json {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(product const& p) {
    return cache_value(nlohmann::json(p).dump());
  }
  static result<product> decode(cache_value const& value) try {
    return nlohmann::json::parse(std::get<std::string>(value)).get<product>();
  } catch (std::exception const&) {
    return make_failure(errc::invalid_value, "the cached product is not the JSON of a product");
  }
};

/// A hash, in which others find the price without the rest.
using product_fields = codec<product>;

}  // namespace herdlock::lab
