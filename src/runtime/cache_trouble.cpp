#include "runtime/cache_trouble.hpp"

#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

// What the next request, whatever it asks for, would meet as well.
bool is_out_of_reach(failure const& why) {
  if (why.code.category() != category()) return true;
  return why == errc::unavailable || why == errc::timed_out;
}

}  // namespace

bool is_store_trouble(failure const& why) {
  if (why.code.category() != category()) return true;
  switch (static_cast<errc>(why.code.value())) {
    case errc::unavailable:
    case errc::timed_out:
    case errc::access_denied:
    case errc::protocol:
    case errc::overloaded:
      return true;
    default:
      return false;
  }
}

void cache_trouble::read_failed(failure const& why) {
  reads_.failed(clock::now(), random_unit());
  note(why);
}

// A server that refuses writes (no rights, no memory, a full disk, too few replicas) still has
// hits, and it says "unavailable" as one does that is gone: the next read finds out which of the
// two it is. One that is silent is silent to reads as well. What a lock store does is no matter of
// reads.
void cache_trouble::step_failed(failure const& why) {
  if (is_out_of_reach(why)) {
    claims_.failed(clock::now(), random_unit());
    bool const is_silent = why != errc::unavailable;
    if (where_ == claims_in::value_store && is_silent) {
      reads_.failed(clock::now(), random_unit());
    }
  }
  note(why);
}

void cache_trouble::claims_worked() {
  claims_.succeeded();
  if (where_ == claims_in::value_store) reads_.succeeded();
}

void cache_trouble::note(failure const& why) {
  cache_counters::add(counters_.store_errors);
  tell(why);
}

void cache_trouble::tell(failure const& why) {
  std::lock_guard const lock(mutex_);
  latest_ = why;
}

failure cache_trouble::latest() const {
  std::lock_guard const lock(mutex_);
  return latest_;
}

}  // namespace herdlock::runtime
