// One kind of exception and one category in a program of several shared libraries.
#include "plugin.hpp"

#include <cstdio>
#include <herdlock/lock.hpp>
#include <herdlock/store_opener.hpp>
#include <stdexcept>

namespace {

void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(what);
}

void open_nonsense() {
  herdlock::store_opener const stores{herdlock::memory_schemes()};
  static_cast<void>(stores.open("nonsense"));
}

void throw_across() {
  require(catches(open_nonsense), "the plug-in catches what herdlock throws");
  try {
    throw_busy();
    require(false, "the plug-in throws");
  } catch (herdlock::error const& e) {
    require(e.code() == herdlock::errc::overloaded, "its code is the same here");
  }
}

}  // namespace

int main() try {
  throw_across();
  require(&category_of_plugin() == &herdlock::category(), "there is one category");
  herdlock::store_opener const stores{herdlock::memory_schemes()};
  herdlock::store store = stores.open("memory:");
  require(herdlock::lock(store, "report").try_acquire().has_value(), "a free resource is granted");
  std::puts("herdlock works as shared libraries");
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
