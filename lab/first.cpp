// What `./dev demo` builds: the first scene, and the stores that it is played on. Nothing of MySQL,
// PostgreSQL, ZooKeeper and etcd is in it.
#include <herdlock/store_opener.hpp>

#include "scenes/origin.hpp"
#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {

result<store> try_open_here(std::string const& url, open_options how) {
  static store_opener const few{
      memory_schemes(),
      sqlite_schemes(),
#ifdef HERDLOCK_HAS_REDIS
      redis_schemes(),
#endif
  };
  return few.try_open(url, std::move(how));
}

std::span<origin_kind const> origins() { return {&sqlite_origin, 1}; }

}  // namespace herdlock::lab

int main(int argc, char** argv) {
  return herdlock::lab::run_program(argc, argv, {&herdlock::lab::stampede_scene, 1});
}
