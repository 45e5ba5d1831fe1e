#include "algo/store_trouble.hpp"

namespace herdlock::algo {
namespace {

trouble_scope where_silent(store_step step) {
  return step == store_step::read ? trouble_scope::reads : trouble_scope::store;
}

trouble_scope where_unavailable(store_step step) {
  if (step == store_step::read) return trouble_scope::reads;
  return step == store_step::fill ? trouble_scope::key : trouble_scope::claims;
}

}  // namespace

trouble_scope scope_of(store_step step, failure const& why) {
  if (!why.code) return trouble_scope::none;
  if (why.code.category() != category()) return where_silent(step);
  switch (static_cast<errc>(why.code.value())) {
    case errc::unavailable:
      return where_unavailable(step);
    case errc::timed_out:
      return where_silent(step);
    case errc::access_denied:
    case errc::protocol:
    case errc::overloaded:
    case errc::moving:
      return trouble_scope::key;
    default:
      return trouble_scope::none;
  }
}

}  // namespace herdlock::algo
