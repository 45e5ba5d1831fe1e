// Example 2: a thousand of us want the value that just expired; one loads it.
#include <atomic>
#include <boost/describe/class.hpp>
#include <herdlock/codec_described.hpp>
#include <herdlock/herdlock.hpp>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

struct product {
  int id = 0;
  std::string name;
};
// How a product is kept in the cache: as a hash, readable by everything else that knows Redis.
BOOST_DESCRIBE_STRUCT(product, (), (id, name))

int main(int argc, char** argv) try {
  auto store = herdlock::open_store(argc > 1 ? argv[1] : "memory:");
  auto options = herdlock::presets::read_through();
  options.prefix = "product:";
  herdlock::cache<product> products(store, options);

  std::atomic<int> queries = 0;
  auto from_database = [&]() -> std::optional<product> {
    ++queries;  // the slow query; nullopt would be remembered as "there is no such product"
    std::this_thread::sleep_for(50ms);
    return product{42, "a lamp"};
  };

  products.invalidate("42");
  std::vector<std::jthread> herd;
  for (int i = 0; i < 20; ++i) {
    herd.emplace_back([&] { products.get_or_load("42", from_database); });
  }
  herd.clear();
  std::cout << "20 requests, " << queries << " query\n";
  return queries == 1 ? 0 : 1;
} catch (herdlock::error const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
