// Example 2: a thousand of us want the value that just expired; one loads it.
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct product {
  int id;
  std::string name;
};

// How a product is kept in the cache: as a hash, readable by everything else that knows Redis.
template <>
struct herdlock::codec<product> {
  static constexpr layout form = layout::hash;

  static result<cache_value> encode(product const& p) {
    return cache_value(hash_fields{{"id", std::to_string(p.id)}, {"name", p.name}});
  }
  static result<product> decode(cache_value const& value) {
    auto const* fields = std::get_if<hash_fields>(&value);
    if (fields == nullptr) return make_failure(errc::invalid_value, "not a product");
    product p{};
    for (auto const& [field, text] : *fields) {
      if (field == "id") p.id = std::stoi(text);
      if (field == "name") p.name = text;
    }
    return p;
  }
};

int main(int argc, char** argv) try {
  auto store = herdlock::open_store(argc > 1 ? argv[1] : "memory:");
  herdlock::cache<product> products(store, {.prefix = "product:", .ttl = 5min});

  std::atomic<int> queries = 0;
  auto from_database = [&](herdlock::load_context const&) -> std::optional<product> {
    ++queries;  // the slow query; nullopt would be remembered as "there is no such product"
    std::this_thread::sleep_for(50ms);
    return product{42, "a lamp"};
  };

  herdlock::cache_key const key("42");
  products.invalidate(key);
  std::vector<std::jthread> herd;
  for (int i = 0; i < 20; ++i) {
    herd.emplace_back([&] { products.get_or_load(key, from_database); });
  }
  herd.clear();
  std::cout << "20 requests, " << queries << " query\n";
  return queries == 1 ? 0 : 1;
} catch (herdlock::error const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
