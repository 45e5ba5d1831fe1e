#include "cache/keys/lasting.hpp"

#include <algorithm>

#include "cache/engine/engine.hpp"

namespace herdlock::runtime {
namespace {

// Asks for a key as a caller does. Nobody waits for it.
class scheduled_call final : public detail::cache_caller {
 public:
  explicit scheduled_call(cache_key full_key)
      : cache_caller(std::move(full_key), detail::caller_wish::refresh,
                     detail::loader_from::cache) {}
  void complete(result<detail::cache_answer>) override {}
  bool start_load(load_context, detail::load_sink) override { return false; }
  void abandon() override {}
};

}  // namespace

cache_lasting::cache_lasting(cache_engine& home)
    : home_(home),
      ledger_({home.options().lasting.max_entries, home.options().lasting.max_bytes}) {}

void cache_lasting::apply_to(cache_options& options) {
  if (options.lasting.refresh_every == milliseconds{0}) {
    options.ttl = limits::max_ttl;
    options.ttl_jitter = 0;
  } else {
    options.ttl = options.lasting.refresh_every;
    // The jitter of the ttl has room.
    options.freshness.grace = limits::max_ttl - 2 * options.lasting.refresh_every;
  }
}

lasting_admission cache_lasting::admit(cache_key const& key, cache_value const& value) {
  auto const bytes = value_bytes(value);
  auto ticket = ledger_.admit(key.str(), bytes);
  note_sizes();
  if (ticket) return {{}, ticket};
  auto const& options = home_.options();
  std::string const why =
      key.str() + " is not stored at " + home_.home().display_name() + ": with its " +
      std::to_string(bytes) + " bytes beside the " + std::to_string(ledger_.bytes()) + " of " +
      std::to_string(ledger_.entries()) + " lasting entries it would be over lasting.max_bytes (" +
      std::to_string(options.lasting.max_bytes) + ") or lasting.max_entries (" +
      std::to_string(options.lasting.max_entries) +
      "); invalidate what is not needed, or raise them";
  return {make_failure(errc::overloaded, why)};
}

lasting_admission cache_lasting::admit_loaded(cache_key const& key, cache_value const& value,
                                              milliseconds refresh_below) {
  if (std::holds_alternative<absent>(value)) {
    ledger_.gone(key.str());
    note_sizes();
    return {};
  }
  auto mine = admit(key, value);
  bool const is_anothers = refresh_below != milliseconds{0} && !ledger_.has(key.str());
  if (is_anothers) return {};
  return mine;
}

void cache_lasting::store_ended(cache_key const& key, lasting_admission const& mine,
                                store_end how) {
  if (!mine.ticket) return;
  if (how == store_end::stored) {
    ledger_.stored(key.str(), *mine.ticket);
  } else {
    ledger_.refused(key.str(), *mine.ticket);
    if (!ledger_.has(key.str())) schedules_.erase(key.str());
  }
  note_sizes();
}

void cache_lasting::gone(cache_key const& key) {
  ledger_.gone(key.str());
  schedules_.erase(key.str());
  note_sizes();
}

void cache_lasting::missed(cache_key const& key) {
  if (ledger_.missed(key.str())) schedules_.erase(key.str());
  note_sizes();
}

// ------------------------------------------------------------------------------- the schedule

void cache_lasting::schedule_refresh(cache_key const& key) {
  auto const every = home_.options().lasting.refresh_every;
  if (every == milliseconds{0} || !ledger_.has(key.str())) return;
  schedule& its = schedules_.try_emplace(key.str(), *this, key).first->second;
  home_.home().timers().schedule(its, clock::now() + every);
}

void cache_lasting::fresh_until(cache_key const& key, clock::time_point expires) {
  auto const at = schedules_.find(key.str());
  if (at == schedules_.end()) return;
  // An entry whose end is not known, or is far off, is looked at nevertheless.
  auto const latest = clock::now() + home_.options().lasting.refresh_every;
  home_.home().timers().schedule(at->second, std::min(expires, latest));
}

void cache_lasting::refresh(schedule& due, clock::time_point now) {
  home_.home().timers().schedule(due, now + home_.options().lasting.refresh_every);
  // A loader that hangs is not called once more beside itself.
  if (home_.is_loading(due.key)) return;
  detail::caller_ptr call = std::make_shared<scheduled_call>(due.key);
  home_.submit({&call, 1});
}

void cache_lasting::close() {
  schedules_.clear();
  ledger_ = algo::lasting_ledger({0, 0});
  note_sizes();
}

void cache_lasting::note_sizes() {
  home_.counters.lasting_entries.store(ledger_.entries(), std::memory_order_relaxed);
  home_.counters.lasting_bytes.store(ledger_.bytes(), std::memory_order_relaxed);
}

}  // namespace herdlock::runtime
