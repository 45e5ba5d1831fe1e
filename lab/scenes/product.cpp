#include "scenes/product.hpp"

#include <nlohmann/json.hpp>

namespace herdlock::cli {

result<cache_value> product_json::encode(product const& p) {
  nlohmann::json const json{
      {"id", p.id}, {"name", p.name}, {"price_cents", p.price_cents}, {"revision", p.revision}};
  return cache_value(json.dump());
}

result<product> product_json::decode(cache_value const& value) {
  auto const* text = std::get_if<std::string>(&value);
  if (!text) return make_failure(errc::invalid_value, "the cached product is not a string");
  auto const json = nlohmann::json::parse(*text, nullptr, false);
  try {
    return product{json.at("id"), json.at("name"), json.at("price_cents"), json.at("revision")};
  } catch (nlohmann::json::exception const&) {
    return make_failure(errc::invalid_value, "the cached product is not the JSON of a product");
  }
}

}  // namespace herdlock::cli
