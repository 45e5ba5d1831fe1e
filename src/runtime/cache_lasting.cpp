#include "runtime/cache_lasting.hpp"

#include "runtime/cache_engine.hpp"

namespace herdlock::runtime {
namespace {

// Asks for a key as a caller does, with a loader that has loaded it before. Nobody waits for it.
class scheduled_call final : public detail::cache_caller {
 public:
  /// `round` goes when the loader has ended, or will not run.
  scheduled_call(detail::caller_ptr loader, std::shared_ptr<void> round)
      : cache_caller(loader->key, detail::caller_wish::refresh),
        loader_(std::move(loader)),
        round_(std::move(round)) {}

  void complete(result<detail::cache_answer>) override {}
  void start_load(load_context context, detail::load_sink sink) override {
    auto end = [inner = std::make_shared<detail::load_sink>(std::move(sink)),
                round = std::move(round_)](detail::load_outcome outcome) mutable {
      round.reset();
      (*inner)(std::move(outcome));
    };
    loader_->start_load(std::move(context), detail::load_sink(std::move(end)));
  }
  void drop_loader() override {}
  detail::caller_ptr loader_to_keep() override { return loader_; }

 private:
  detail::caller_ptr loader_;
  std::shared_ptr<void> round_;
};

}  // namespace

cache_lasting::cache_lasting(cache_engine& home)
    : home_(home),
      ledger_({home.options().max_lasting_entries, home.options().max_lasting_bytes}) {}

void cache_lasting::apply_to(cache_options& options) {
  if (options.refresh_every == milliseconds{0}) {
    options.ttl = limits::max_ttl;
    options.ttl_jitter = 0;
  } else {
    options.ttl = options.refresh_every;
    // The jitter of the ttl has room.
    options.grace = limits::max_ttl - 2 * options.refresh_every;
  }
}

failure cache_lasting::admit(cache_key const& key, cache_value const& value) {
  if (std::holds_alternative<absent>(value)) return {};
  auto const bytes = value_bytes(value);
  bool const admitted = ledger_.admit(key.str(), bytes);
  note_sizes();
  if (admitted) return {};
  auto const& options = home_.options();
  return make_failure(
      errc::overloaded,
      key.str() + " is not stored at " + home_.home().display_name() + ": with its " +
          std::to_string(bytes) + " bytes beside the " + std::to_string(ledger_.bytes()) + " of " +
          std::to_string(ledger_.entries()) + " other lasting entries it would be over " +
          "max_lasting_bytes (" + std::to_string(options.max_lasting_bytes) +
          ") or max_lasting_entries (" + std::to_string(options.max_lasting_entries) +
          "); invalidate what is not needed, or raise them");
}

void cache_lasting::gone(cache_key const& key) {
  ledger_.gone(key.str());
  schedules_.erase(key.str());
  note_sizes();
}

bool cache_lasting::keep_loader(detail::cache_caller& call) {
  auto const every = home_.options().refresh_every;
  if (every == milliseconds{0}) return false;
  auto const loader = call.loader_to_keep();
  if (!loader) return false;
  auto const at = schedules_.try_emplace(loader->key.str(), *this, loader).first;
  if (at->second.loader != loader) std::exchange(at->second.loader, loader)->drop_loader();
  home_.home().timers().schedule(at->second, clock::now() + every);
  return true;
}

void cache_lasting::fresh_until(cache_key const& key, clock::time_point expires) {
  auto const at = schedules_.find(key.str());
  if (at != schedules_.end()) home_.home().timers().schedule(at->second, expires);
}

void cache_lasting::refresh(schedule& due, clock::time_point now) {
  home_.home().timers().schedule(due, now + home_.options().refresh_every);
  // A loader that hangs is not called once more beside itself.
  if (!due.round.expired()) return;
  auto const round = std::make_shared<char>();
  due.round = round;
  detail::caller_ptr call = std::make_shared<scheduled_call>(due.loader, round);
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
