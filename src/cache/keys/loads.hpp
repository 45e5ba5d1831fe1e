// Loads of keys: claimed, loaded, failed, stored; ours, and those of other processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/detail/cache_core.hpp>

#include "algo/load_machine.hpp"
#include "cache/keys/entries.hpp"
#include "cache/keys/policies.hpp"
#include "cache/keys/reads.hpp"
#include "cache/keys/tagging.hpp"

namespace herdlock::runtime {

struct claim_of_load {
  cache_key key;
  bool by_tags;                   ///< it stands beside an entry that tags ended
  std::function<void()> give_up;  ///< gives the claim up in the background
};

/// The end of a load, and of its claim meanwhile.
struct load_end {
  detail::load_outcome outcome;
  clock::time_point began;
  milliseconds refresh_below{0};
  algo::load_guard guard = algo::load_guard::guarded;
  bool has_claim = true;
  bool refused_alone = false;  ///< the store refused this key, and has no other trouble
  bool outdated = false;       ///< its answer is for nobody else
  bool is_refresh = false;     ///< of an entry that is an answer
  load_extensions extensions = std::string();
  std::size_t bytes = 0;  ///< of the outcome, also when the store has it; by loaded()
};

struct load_verdict {
  algo::load_result result;
  lasting_admission admission;
};

/// All members on the executor.
class key_loads {
 public:
  /// Both outlive this.
  key_loads(key_policies& what, key_reads& reads) : of_(what), reads_(reads) {}

  // ---- the claim
  /// A claim was answered. A hit is judged by its tags, and given marked stale if it has ended. A
  /// claim that was granted beside an entry that tags ended is given up for a hit when the next
  /// entry is there by now. `done` may be called at once.
  using on_claim = std::function<void(result<claim_reply>, algo::tag_verdict)>;
  void claim_answered(claim_of_load mine, result<claim_reply> reply, on_claim done);
  /// The same for a hit that was pushed: its load may have begun before its tags changed.
  using on_watch = std::function<void(result<watch_reply>)>;
  void watch_answered(result<watch_reply> reply, on_watch done);
  /// The claim found the entry of another's load.
  void loaded_elsewhere(cache_key const& key);
  /// Another's load failed. Returns its error as our callers see it.
  std::string failed_elsewhere(cache_key const& key, load_backing_off what);

  // ---- the load
  /// Our loader came to this.
  load_verdict loaded(cache_key const& key, load_end& end);
  /// The error of our load, as the others are told of it.
  shared_failure failed(cache_key const& key, std::string text);
  void refresh_ended(cache_key const& key, std::uint64_t refresh) {
    of_.ages.refresh_ended(key.str(), refresh, clock::now());
  }

  // ---- the store
  /// A loaded value is about to be sent: it gets its times. Nothing is kept of the key while
  /// somebody has what this returns.
  std::shared_ptr<near_write> storing(fill_request& request, clock::duration load_time,
                                      load_extensions extensions);
  void store_ended(cache_key const& key, lasting_admission const& mine, store_end how);
  /// The store did not take the value, by its own fault or by that of the value.
  enum class untaken_by { store, value };
  void untaken(cache_key const& key, load_end const& end, untaken_by whom);
  /// Takes out the entry that a load was to replace.
  void remove(cache_store& values, cache_key const& key, std::function<void()> then);

 private:
  void look_under_claim(claim_of_load mine, claim_reply granted, on_claim done);
  void keep_answer(cache_key const& key, load_end const& end, algo::unstored_kind kind);
  bool is_storable(load_end const& end) const;
  lasting_admission admit(cache_key const& key, load_end const& end);

  key_policies& of_;
  key_reads& reads_;
};

/// The answer of a load that ended so.
result<detail::cache_answer> answer_of(detail::load_outcome const& outcome);

/// Puts the header of its times in front of a framed value, and lengthens its ttl by the time that
/// it can be stale.
void frame_entry(key_policies const& by, cache_value& value, milliseconds& ttl,
                 clock::duration load_time, std::string extensions);

}  // namespace herdlock::runtime
