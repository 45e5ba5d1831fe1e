// One load of one key: does what the load machine says.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/flight_table.hpp"
#include "algo/key_record.hpp"
#include "algo/load_machine.hpp"
#include "cache/engine/flight_callers.hpp"
#include "cache/engine/load_services.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// The place that lists the flights of a cache, as a flight sees it. All members on the executor.
class flight_board : public callers_of_flight {
 public:
  /// Nobody joins the flight any more.
  virtual void detach(algo::flight_id id) = 0;
  /// `loaded`: the caller that shares the answer, and is not in the flight any more; or null.
  virtual void answer(algo::flight_id id, result<detail::cache_answer> const& answer,
                      detail::caller_ptr const& loaded) = 0;
  /// The flight is over, and has loaded nothing: each caller in it has an answer at hand. If that
  /// has ended meanwhile, the call goes on as at a miss.
  virtual void forget(algo::flight_id id) = 0;
  /// The flight begins to load a value that has tags.
  virtual void list_tagged(load_flight& flight) = 0;
  /// The flight has no claim any more, and will not store anything.
  virtual void unlist(load_flight& flight) = 0;
};

/// Its place among the loads of values with tags.
using tagged_load =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// The answers of the store and the loader so far.
struct load_words {
  detail::cache_answer found;  // an entry, from claim or watch
  std::string shared_error;    // the store's word of another's failed load
  failure refusal;             // the store's
  fencing_token fencing{};
  algo::tag_verdict by_tags = algo::tag_verdict::fresh;  // of `found`, when it is stale
  load_end end;                                          // of our load
  lasting_admission admission;                           // of what it loaded

  result<detail::cache_answer> answer(algo::load_answer what, cache_key const& key) const;
};

/// All members on the executor of the value store. Kept alive by the flight table while callers
/// may join or the loader runs, and by the operation that is on its way.
class load_flight final : public std::enable_shared_from_this<load_flight>,
                          public algo::key_user,
                          public tagged_load,
                          private timed {
 public:
  using queue_position = load_slots::queue::position;

  load_flight(std::shared_ptr<flight_board> const& home, algo::flight_id id, cache_key key,
              load_purpose const& purpose);
  ~load_flight() override;

  load_purpose const& purpose() const { return purpose_; }
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
  /// Whether what it loads may have the tag.
  bool has_tag(std::string_view tag) const;
  void close();

 private:
  struct told_outcome;

  void on_due(clock::time_point) override { apply(algo::timer_due{}); }

  void apply(algo::load_event const& event, algo::stop_reason why = algo::stop_reason::claim_lost);
  void begin(flight_board& home, algo::load_call call);

  void take_slot(flight_board& home, algo::load_call how);
  void queue_for_slot(flight_board& home, algo::load_call how);
  void claim(load_services& home, cache_store& claims);
  void watch(load_services& home, cache_store& claims);
  void run_loader(flight_board& home);
  void extend(load_services& home, cache_store& claims);
  void fill(load_services& home, cache_store& claims);
  void end_claim(load_services& home, cache_store& claims, shared_failure what);

  void on_claim(result<claim_reply> reply);
  void on_watch(result<watch_reply> reply);
  void begin_loader(flight_board& home);
  void on_loaded(std::uint64_t run, detail::load_outcome outcome);
  void on_stored(result<fill_reply> const& reply);

  std::weak_ptr<flight_board> home_;
  algo::flight_id id_;
  cache_key key_;
  owner_token owner_;
  load_purpose purpose_;
  algo::load_machine machine_;
  flight_callers callers_;
  std::optional<queue_position> queued_at_;
  bool waits_for_turn_ = false;  // all who wait are parts of calls whose loaders run already
  bool watching_ = false;
  asio::cancellation_signal stop_watch_;
  load_tags tags_;
  load_words said_;
};

}  // namespace herdlock::runtime
