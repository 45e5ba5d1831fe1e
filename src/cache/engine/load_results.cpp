#include "cache/engine/load_results.hpp"

#include "cache/engine/engine.hpp"
#include "cache/keys/frame.hpp"

namespace herdlock::runtime {

std::string error_told(cache_engine& home, cache_key const& key, load_backing_off what) {
  cache_counters::add(home.counters.shared_errors);
  auto* const freshness = home.freshness();
  return freshness ? freshness->told_of_failure(key, std::move(what)) : std::move(what.error);
}

shared_failure error_to_tell(cache_engine& home, cache_key const& key, std::string const& text) {
  if (auto* const freshness = home.freshness()) return freshness->load_failed(key, text);
  return {text, home.options().error_back_off};
}

std::size_t bytes_of(detail::load_outcome const& outcome) noexcept {
  if (outcome.error) return outcome.error->size();
  if (outcome.answer.kind != detail::entry_kind::value) return 0;
  return outcome.encoded.has_value() ? value_bytes(*outcome.encoded) : bytes_not_known;
}

detail::load_outcome not_begun(failure const& why) {
  return {.answer = {}, .error = why.message, .unfinished = true};
}

algo::load_result result_of(cache_engine const& home, detail::load_outcome const& outcome,
                            std::string_view extensions) {
  if (outcome.unfinished) return algo::load_result::unfinished;
  if (outcome.error) return algo::load_result::failed;
  bool const nothing = outcome.answer.kind == detail::entry_kind::absent;
  bool const keeps = !nothing || home.options().negative_ttl != milliseconds{0};
  auto const added = frame_bytes(home.form(), home.options().format, extensions);
  auto const why = check_storable(outcome.encoded, home.form(), added);
  return keeps && !why.code ? algo::load_result::storable : algo::load_result::unstorable;
}

}  // namespace herdlock::runtime
