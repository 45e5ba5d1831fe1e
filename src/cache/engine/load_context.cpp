// The errors that tell a loader of decisions that cannot be.
#include <herdlock/load_context.hpp>

#include <herdlock/backend.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

failure check_set_ttl(cache_key const& key, milliseconds ttl) {
  failure why = check_ttl(ttl);
  if (!why.code) return why;
  return make_failure(errc::invalid_ttl, "the loader of " + in_quotes(key.str()) +
                                             " sets a ttl: " + why.message +
                                             "; what is not to be kept: do_not_store()");
}

failure nothing_to_keep(cache_key const& key) {
  return make_failure(errc::invalid_value,
                      "the loader of " + in_quotes(key.str()) +
                          " says \"not modified\", but no entry is there to be kept: ask "
                          "old_value() or has_old_entry() first");
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
