// What everybody asks for: one row of the table `Product`.
#pragma once

#include <cstdint>
#include <herdlock/cache.hpp>
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

}  // namespace herdlock::cli

/// JSON, as many caches keep it.
template <>
struct herdlock::codec<herdlock::cli::product> {
  static constexpr layout form = layout::string;

  static result<cache_value> encode(cli::product const& p);
  static result<cli::product> decode(cache_value const& value);
};
