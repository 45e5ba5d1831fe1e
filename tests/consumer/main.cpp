// The installed package at work: one holder at a time, one load per miss, in a few lines.
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#ifdef BOOST_ASIO_NO_DEPRECATED
#error "herdlock decides which parts of Asio its users may use"
#endif

// A standalone Asio of the program's own is the one that it means by `asio`.
namespace asio {
using ours = int;
}
using namespace herdlock;
static_assert(sizeof(asio::ours) == sizeof(int));

namespace {

void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(what);
}

void lock_a_resource(herdlock::store const& store) {
  herdlock::lock lock(store, "report");

  herdlock::acquired first = lock.try_acquire();
  require(first.has_value(), "a free resource is granted");
  require(first->valid() && first->fencing().value > 0, "a lease is valid and fenced");
  require(!lock.try_acquire().has_value(), "a held resource is busy");
  require(lock.inspect().has_value(), "a held resource has a holder");
  require(first->release() == herdlock::release_reply::released, "a lease can be given back");

  auto made = lock.with({}, [](herdlock::lease& held) { return held.fencing().value; });
  require(made && *made > first->fencing().value, "the next grant is fenced higher");
}

void load_once(herdlock::store const& store) {
  herdlock::cache<std::string> names(store, {.prefix = "name:"});
  herdlock::cache_key const key("product:1");
  int loads = 0;
  auto load = [&loads](herdlock::load_context const&) {
    ++loads;
    return std::string("pump");
  };
  for (int look = 0; look < 3; ++look) {
    std::optional<std::string> name = names.get_or_load(key, load);
    require(name == "pump", "the loader's value is the answer");
  }
  require(loads == 1, "one load for all");
}

}  // namespace

int main() try {
  herdlock::store store = herdlock::open_store("memory:");
  lock_a_resource(store);
  load_once(store);
  std::puts("herdlock works as installed");
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
