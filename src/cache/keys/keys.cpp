#include "cache/keys/keys.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {
namespace {

algo::refresh_policy ages_of(cache_options const& options) {
  algo::failure_back_off const back_off{
      options.error_back_off,
      std::max(options.error_back_off, options.freshness.max_error_back_off)};
  return {.early_refresh = options.early_refresh,
          .soft_timeout = options.freshness.soft_timeout,
          .fail_safe = options.freshness.fail_safe,
          .back_off = back_off};
}

}  // namespace

key_policies::key_policies(home_ptr its_home, near_cache mode)
    : home(std::move(its_home)),
      table(home->options.bounds.max_known_bytes),
      ages(ages_of(home->options), table),
      unstored(home, table),
      clock_of_store(home),
      local(home, mode),
      tags(is_framed(home->options)
               ? std::make_unique<cache_tags>(home, clock_of_store.known(), local)
               : nullptr),
      plain_times(!tags && home->options.early_refresh > 0
                      ? std::make_unique<cache_plain_times>(home, table)
                      : nullptr),
      lasting(home->lasts ? std::make_unique<cache_lasting>(home, table) : nullptr),
      no_tags(milliseconds{0}),
      copies(home, ages, tags ? tags->known() : no_tags),
      grace_check(home->options.freshness.grace) {}

std::shared_ptr<cache_keys> cache_keys::make(home_ptr home, near_cache mode,
                                             detail::cache_decode decode) {
  auto made = std::make_shared<cache_keys>(std::move(home), mode, decode);
  made->policies_.home->owner = made;
  return made;
}

cache_keys::cache_keys(home_ptr home, near_cache mode, detail::cache_decode decode)
    : policies_(std::move(home), mode), reads(policies_, decode) {
  auto& counters = policies_.home->counters;
  counters.add_other_counts = [local = policies_.local,
                               most = policies_.home->options.near.max_staleness](
                                  cache_stats& into) { local.add_counts(most, into); };
  policies_.home->store->caches().open(counters);
}

cache_keys::~cache_keys() { policies_.home->store->caches().close(policies_.home->counters); }

void cache_keys::open(calls_of_keys calls) {
  policies_.copies.end_softly_by(std::move(calls.end_softly));
  if (policies_.lasting) policies_.lasting->call_by(std::move(calls.refresh));
}

void cache_keys::close() {
  writes.close();
  if (policies_.lasting) policies_.lasting->close();
  policies_.local.close();
}

}  // namespace herdlock::runtime
