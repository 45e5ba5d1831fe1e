#include "plugin.hpp"

void throw_busy() {
  throw herdlock::error(herdlock::make_failure(herdlock::errc::overloaded, "from the plug-in"));
}

bool catches(void (*thrower)()) try {
  thrower();
  return false;
} catch (herdlock::error const&) {
  return true;
}

std::error_category const& category_of_plugin() { return herdlock::category(); }
