#include "cache/keys/lasting.hpp"

#include <algorithm>
#include <string>

namespace herdlock::runtime {

struct cache_lasting::schedule final : algo::refresh_schedule {
  schedule(cache_lasting& owner, cache_key its) : home(owner), key(std::move(its)) {}
  void on_due(clock::time_point now) override { home.refresh(*this, now); }
  cache_lasting& home;
  cache_key key;
};

cache_lasting::cache_lasting(home_ptr home, algo::key_records& table)
    : home_(std::move(home)),
      table_(table),
      ledger_({home_->options.lasting.max_entries, home_->options.lasting.max_bytes}, table) {}

lasting_admission cache_lasting::admit(cache_key const& key, cache_value const& value) {
  auto const bytes = value_bytes(value);
  auto ticket = ledger_.admit(key.str(), bytes);
  note_sizes();
  if (ticket) return {{}, ticket};
  auto const& options = home_->options;
  std::string const why =
      key.str() + " is not stored at " + home_->store->display_name() + ": with its " +
      std::to_string(bytes) + " bytes beside the " + std::to_string(ledger_.bytes()) + " of " +
      std::to_string(ledger_.entries()) + " lasting entries it would be over lasting.max_bytes (" +
      std::to_string(options.lasting.max_bytes) + ") or lasting.max_entries (" +
      std::to_string(options.lasting.max_entries) +
      "), or of bounds.max_known_bytes; invalidate what is not needed, or raise them";
  return {make_failure(errc::overloaded, why)};
}

lasting_admission cache_lasting::admit_loaded(cache_key const& key, cache_value const& value,
                                              milliseconds refresh_below) {
  if (std::holds_alternative<absent>(value)) {
    gone(key);
    return {};
  }
  auto mine = admit(key, value);
  bool const is_anothers = refresh_below != milliseconds{0} && !ledger_.find(key.str());
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
  }
  note_sizes();
}

void cache_lasting::gone(cache_key const& key) {
  ledger_.gone(key.str());
  note_sizes();
}

void cache_lasting::missed(cache_key const& key) {
  ledger_.missed(key.str());
  note_sizes();
}

// ------------------------------------------------------------------------------- the schedule

void cache_lasting::schedule_refresh(cache_key const& key) {
  auto const every = home_->options.lasting.refresh_every;
  auto* const there = ledger_.find(key.str());
  if (every == milliseconds{0} || !there) return;
  if (!there->schedule) there->schedule = std::make_unique<schedule>(*this, key);
  home_->store->timers().schedule(*there->schedule, clock::now() + every);
}

void cache_lasting::fresh_until(cache_key const& key, clock::time_point expires) {
  auto* const there = ledger_.find(key.str());
  if (!there || !there->schedule) return;
  // An entry whose end is not known, or is far off, is looked at nevertheless.
  auto const latest = clock::now() + home_->options.lasting.refresh_every;
  home_->store->timers().schedule(*there->schedule, std::min(expires, latest));
}

void cache_lasting::refresh(schedule& due, clock::time_point now) {
  if (!call_) return;
  home_->store->timers().schedule(due, now + home_->options.lasting.refresh_every);
  // A loader that hangs is not called once more beside itself.
  auto const* const record = table_.find(due.key.str());
  if (record && record->users.empty()) call_(due.key);
}

void cache_lasting::close() {
  call_ = nullptr;
  ledger_.close();
  note_sizes();
}

void cache_lasting::note_sizes() {
  home_->counters.lasting_entries.store(ledger_.entries(), std::memory_order_relaxed);
  home_->counters.lasting_bytes.store(ledger_.bytes(), std::memory_order_relaxed);
}

}  // namespace herdlock::runtime
