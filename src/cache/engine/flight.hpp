// One load of one key: does what the load machine says.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/flight_table.hpp"
#include "algo/load_gate.hpp"
#include "algo/load_machine.hpp"
#include "cache/engine/flight_callers.hpp"
#include "cache/keys/freshness.hpp"
#include "cache/keys/lasting.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

class cache_engine;

/// Why a key is loaded.
struct load_purpose {
  /// An entry with less time left in the store is loaded anew although it is there; 0: none is.
  milliseconds refresh_below{0};
  std::uint64_t refresh = 0;   ///< the id of a refresh of an entry that is an answer; 0: none
  bool caller_waits = false;   ///< for his loader, with that answer at hand
  bool waits_softly = false;   ///< the caller that waits has a stale value at hand
  bool probes_claims = false;  ///< its claim is to tell whether claims work again
  bool by_tags = false;        ///< tags ended the entry, of which the store knows nothing

  bool is_refresh() const noexcept { return refresh != 0; }
  /// There is something to be served to others while it runs.
  bool behind_answer() const noexcept { return is_refresh() || waits_softly; }
};

/// The answers of the store and the loader so far.
struct load_words {
  bool refused_alone = false;    // the store refused this key, and has no other trouble
  detail::cache_answer found;    // an entry, from claim or watch
  std::string shared_error;      // the store's word of another's failed load
  failure refusal;               // the store's
  detail::load_outcome outcome;  // of our loader
  std::size_t bytes = 0;         // of the outcome, also when the store has it
  lasting_admission admission;   // of what it loaded
  algo::tag_verdict by_tags = algo::tag_verdict::fresh;  // of `found`, when it is stale
  /// Header extensions of the value. None: its tags' generations are unknown, it is not stored.
  std::optional<std::string> extensions = std::string();

  result<detail::cache_answer> answer(algo::load_answer what, cache_key const& key) const;
};

/// All members on the executor of the value store. Kept alive by the flight table while callers
/// may join or the loader runs, and by the operation that is on its way.
class load_flight final : public std::enable_shared_from_this<load_flight>, private timed {
 public:
  using queue_position = algo::slot_queue<std::shared_ptr<load_flight>>::position;

  load_flight(std::shared_ptr<cache_engine> const& home, algo::flight_id id, cache_key key,
              load_purpose const& purpose);
  ~load_flight() override;

  bool behind_answer() const { return purpose_.behind_answer(); }
  void start(algo::load_guard guard);
  /// Returns false if the flight has no use for the slot now.
  bool slot_granted();
  bool waits_for_slot() const { return queued_at_.has_value(); }
  void joined(detail::caller_ptr const& caller);
  /// All callers have left, but for the one whose loader runs.
  void everyone_left();
  /// The call is over whose loader runs.
  void caller_ended();
  /// Returns true if there was a claim, which is lost by this.
  bool voided();
  cache_key const& key() const { return key_; }
  owner_token const& owner() const { return owner_; }
  void close();

 private:
  struct told_outcome;

  void on_due(clock::time_point now) override { apply(machine_.timer(now)); }

  void apply(algo::load_plan const& plan, algo::stop_reason why = algo::stop_reason::claim_lost);
  void begin(cache_engine& home, algo::load_call call);

  void take_slot(cache_engine& home, algo::load_call how);
  void queue_for_slot(cache_engine& home, algo::load_call how);
  void claim(cache_engine& home, cache_store& claims);
  void watch(cache_engine& home, cache_store& claims);
  void run_loader(cache_engine& home);
  void extend(cache_engine& home, cache_store& claims);
  void fill(cache_engine& home, cache_store& claims);
  void end_claim(cache_engine& home, cache_store& claims, shared_failure what);

  void on_claim(result<claim_reply> reply);
  void on_watch(result<watch_reply> reply);
  void begin_loader(cache_engine& home);
  void on_loaded(std::uint64_t run, detail::load_outcome outcome);
  algo::load_result judge_loaded(cache_engine& home);
  void on_stored(result<fill_reply> const& reply);

  std::weak_ptr<cache_engine> home_;
  algo::flight_id id_;
  cache_key key_;
  owner_token owner_;
  load_purpose purpose_;
  algo::load_machine machine_;
  flight_callers callers_;
  algo::load_guard slot_kind_ = algo::load_guard::guarded;
  std::optional<queue_position> queued_at_;
  bool waits_for_turn_ = false;  // all who wait are parts of calls whose loaders run already
  bool watching_ = false;
  bool outdated_ = false;  // by a put, an invalidate, or a load that came after
  asio::cancellation_signal stop_watch_;
  fencing_token fencing_{};
  load_words said_;
  clock::time_point load_began_;
};

}  // namespace herdlock::runtime
