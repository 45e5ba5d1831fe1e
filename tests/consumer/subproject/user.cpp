// What a user's source is given along with the library: its headers and C++20, no definitions.
#include <herdlock/herdlock.hpp>

#ifdef BOOST_ASIO_NO_DEPRECATED
#error "herdlock decides which parts of Asio its users may use"
#endif

bool is_free(herdlock::store const& store) {
  return herdlock::lock(store, "report").try_acquire().has_value();
}
