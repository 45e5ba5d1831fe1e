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

failure check_added_tag(cache_key const& key, load_state const& of, std::string_view tag) {
  std::string const who = "the loader of " + in_quotes(key.str()) + " names the tag ";
  if (!of.takes_tags) {
    return make_failure(errc::not_supported,
                        who + in_quotes(tag) +
                            ": plain entries have no tags; make the cache with format = "
                            "cache_format::framed");
  }
  if (auto const name = cache_key::parse(tag); name.has_error()) {
    return make_failure(errc::invalid_name, who + in_quotes(tag) + ": " + name.error().message);
  }
  if (of.decided.tags.size() < limits::max_tags) return {};
  return make_failure(errc::invalid_value, who + in_quotes(tag) + " beside " +
                                               std::to_string(limits::max_tags) +
                                               " others; no more are allowed");
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
