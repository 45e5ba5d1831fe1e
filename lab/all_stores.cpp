// What herdlock-lab has: all stores and all origins that it was built with.
#include "scenes/origin.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {

result<store> try_open_here(std::string const& url, open_options how) {
  return try_open_store(url, std::move(how));
}

std::span<origin_kind const> origins() {
  static origin_kind const all[] = {
      sqlite_origin,
#ifdef HERDLOCK_MYSQL_ORIGIN
      mysql_origin,
#endif
  };
  return all;
}

}  // namespace herdlock::lab
