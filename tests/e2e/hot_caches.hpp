// Caches of this process that report to each other what is read often, for the tests of `hot`.
#pragma once

#include <chrono>
#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include <string>
#include <support/eventually.hpp>

namespace herdlock_test {

using texts = herdlock::cache<std::string>;

inline texts open_reporting_cache(std::string const& url) {
  herdlock::cache_options how{.prefix = "p:"};
  how.hot.keys = herdlock::hot_keys_options{
      .threshold = 50, .window = std::chrono::milliseconds{400}, .min_reads = 10};
  how.hot.fleet_threshold = 100;
  return texts(herdlock::open_store(url), how);
}

/// Each of them is a process, as far as the store can see.
struct two_reporting_caches {
  explicit two_reporting_caches(std::string const& url)
      : one(open_reporting_cache(url)), two(open_reporting_cache(url)) {}

  /// In each of them, once.
  void read(std::string const& key) const {
    for (texts const* cache : {&one, &two}) {
      cache->get_or_load(key, [] { return std::string("loaded"); });
    }
  }
  /// Asks again and again, and reads "hot" four times as often as "warm" meanwhile.
  template <class Predicate>
  bool while_reading(Predicate predicate) const {
    return eventually([&] {
      for (int i = 0; i < 40; ++i) read(i % 5 == 0 ? "warm" : "hot");
      return predicate();
    });
  }

  texts one, two;
};

}  // namespace herdlock_test
