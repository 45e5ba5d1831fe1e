#include "cache/keys/trouble.hpp"

#include <string_view>

#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

using algo::store_step;
using algo::trouble_scope;

// The failed step, and its consequence. None for waiting: the store itself warns of that.
std::string_view in_words(store_step step) {
  switch (step) {
    case store_step::read:
      return "cannot read entries, and loads each of them again and again";
    case store_step::claim:
      return "cannot claim keys, so each process loads for itself, and stores nothing";
    case store_step::extend:
      return "cannot extend its claims, so what takes longer than claim_ttl is loaded twice";
    case store_step::fill:
      return "cannot store values, so each process loads for itself";
    case store_step::end:
      return "cannot end its claims, so others wait for claim_ttl when a load has failed";
    case store_step::wait:
      break;
  }
  return {};
}

}  // namespace

std::string cache_in_words(std::string const& store, std::string const& prefix) {
  return store + ": the cache " +
         (prefix.empty() ? "without a prefix" : "with the prefix " + in_quotes(prefix));
}

// The trouble of a lock store is no matter of reads.
trouble_scope cache_trouble::failed(store_step step, failure const& why) {
  auto scope = algo::scope_of(step, why);
  bool const of_locks = where_ == claims_in::lock_store && step != store_step::read;
  if (of_locks && scope == trouble_scope::store) scope = trouble_scope::claims;
  auto const now = clock::now();
  bool const of_reads = scope == trouble_scope::reads || scope == trouble_scope::store;
  if (of_reads) reads_.failed(now, random_unit());
  bool const of_claims = scope == trouble_scope::claims || scope == trouble_scope::store;
  if (of_claims) claims_.failed(now, random_unit());
  cache_counters::add(counters_.store_errors);
  if (why == errc::access_denied || why == errc::protocol) warn(step, why);
  tell(why);
  return scope;
}

void cache_trouble::claims_worked() {
  claims_.succeeded();
  if (where_ == claims_in::value_store) reads_.succeeded();
}

void cache_trouble::write_worked() {
  reads_.succeeded();
  // The store may take a deletion, and refuse a claim: it is full.
  if (where_ == claims_in::value_store) claims_.ask_soon();
}

void cache_trouble::warn(store_step step, failure const& why) {
  auto const what = in_words(step);
  if (what.empty() || !warned_.emplace(step, why.code.value()).second) return;
  std::string const way_out =
      why == errc::access_denied
          ? "`herdlock doctor` names the right that is missing"
          : "look at what is at the key and at {key}:herdlock:*, the keys beside it";
  counters_.warnings.add(who_ + " " + std::string(what) + ". The first refusal: " + why.message +
                         "; " + way_out);
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
