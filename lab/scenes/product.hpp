// What everybody asks for: one row of the table `Product`.
#pragma once

#include <boost/describe/class.hpp>
#include <cstdint>
#include <herdlock/cache.hpp>
#include <herdlock/codec_described.hpp>
#include <string>

namespace herdlock::cli {

/// The row that is hot.
inline constexpr std::int64_t hot_product_id = 42;

struct product {
  std::int64_t id = 0;
  std::string name;
  std::int64_t price_cents = 0;
  /// Raised in the database before each expiry, so that an old answer is told from a right one.
  std::int64_t revision = 0;

  friend bool operator==(product const&, product const&) = default;
};
BOOST_DESCRIBE_STRUCT(product, (), (id, name, price_cents, revision))

/// A string of JSON, as many caches keep it.
struct product_json {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(product const& p);
  static result<product> decode(cache_value const& value);
};

/// A hash, in which others find the price without the rest.
using product_fields = codec<product>;

}  // namespace herdlock::cli
