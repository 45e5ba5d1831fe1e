// The ages of a cache's framed entries: which of them is served as it is, who refreshes it behind
// the answer, and who waits for a better value with a stale one at hand.
// Why: docs/decisions/cache.md#an-entrys-age-is-judged-where-it-is-read
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/freshness.hpp"
#include "algo/near_actions.hpp"
#include "algo/stale_grace_check.hpp"
#include "algo/store_clock.hpp"
#include "cache/keys/frame.hpp"
#include "cache/keys/stale_copies.hpp"
#include "cache/keys/tags.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

class cache_engine;

/// The header of a framed entry, and its times on the clock of this process.
struct entry_age {
  algo::entry_header header;
  algo::entry_times times;
  bool killed = false;  ///< by a put or invalidate that came between the read and its answer
  algo::tag_verdict by_tags = algo::tag_verdict::fresh;  ///< not fresh: its header says `expired`
  clock::duration head_start{0};  ///< a hot key's entry is early for so long at least
};

/// A decoded entry; one of a plain cache has no age.
struct found_entry {
  detail::cache_answer answer;
  std::optional<entry_age> age;
};

/// An error that answers for a while, as it is shared with the other processes.
struct shared_failure {
  std::string text;
  milliseconds back_off;
};

/// The fate of the stale values that callers of a key have at hand when its loads are voided.
enum class voiding { keeps_copies, ends_copies };

/// The freshness of framed entries, or of entries that are loaded anew before they end. All members
/// on the executor.
class cache_freshness final : private timed {
 public:
  explicit cache_freshness(cache_engine& home);
  ~cache_freshness() override { timer_queue::remove(*this); }

  /// The store's clock is to be asked for before anything is read or stored: without it no entry
  /// could be judged, and none would get its times.
  bool needs_clock() const;
  /// Without the clock entries last as in a plain cache.
  void ask_clock(cache_store& values, handler<void> done);
  /// Asks for the clock again when that is due.
  void keep_clock(cache_store& values);
  /// Takes the header off. False for what is not one of our entries (of a plain cache, of another
  /// program, cut short, of a newer version), of which nothing may be left: that is a miss.
  bool open(cache_value& stored, std::optional<entry_age>& age) const;
  /// Puts the header in front of the value, and lengthens its ttl by the time that it can be stale.
  void frame(cache_value& value, milliseconds& ttl, clock::duration load_time,
             std::string extensions) const;
  void put_framed(cache_store& values, put_request request, handler<void> done);

  cache_tags& tags() noexcept { return tags_; }

  /// A read is sent. Returns its number.
  std::uint64_t look_sent(cache_key const& key);
  /// The read has ended. True when copies of the key died since: what it found stale is no answer.
  bool look_over(cache_key const& key, std::uint64_t sent);

  /// How an entry is kept near, and from when on it is early: of a hot one, who can load is let
  /// through to the store before it ends.
  void plan_near(cache_key const& key, found_entry& found, algo::near_entry& how,
                 clock::time_point now) const;
  /// The use that a caller with a loader makes of this entry.
  algo::entry_use use_of(cache_key const& key, entry_age const& age, clock::time_point now);
  /// The use that the schedule of a lasting entry makes of it.
  algo::entry_use use_by_schedule(cache_key const& key, algo::entry_times const& times,
                                  clock::time_point now);
  /// The number of the last use that said serve_and_refresh.
  std::uint64_t refresh_id() const noexcept { return machine_.refresh_id(); }
  void refresh_ended(cache_key const& key, std::uint64_t refresh);
  static milliseconds refresh_below(entry_age const& age);

  /// Our loader came to a value after so long.
  void load_succeeded(cache_key const& key, clock::duration took);
  /// Our loader failed: what the others are told, and for how long.
  shared_failure load_failed(cache_key const& key, std::string text);
  /// Another's loader failed. Its error as the callers are to see it.
  std::string told_of_failure(cache_key const& key, load_backing_off what);
  /// Loads of the key are voided by put, invalidate or expire.
  void voided(cache_key const& key, voiding how);

  /// The caller joins a load, and has this one should it take long or fail.
  /// REQUIRES: an entry with an age.
  void keep(detail::caller_ptr const& caller, found_entry const& stale);
  /// The copies of those who wait for a refresh of the entry, until best_of() or forget().
  stale_copies& copies() noexcept { return copies_; }
  /// The answer to the caller when the load has ended with this: the same, or the copy that he has.
  result<detail::cache_answer> best_of(detail::cache_caller& caller,
                                       result<detail::cache_answer> const& answer);
  /// The caller has his answer.
  void forget(detail::cache_caller& caller);

 private:
  struct soft_wait {
    detail::caller_ptr caller;
    detail::cache_answer stale;
    clock::time_point ends;  // of the stale value's grace
    algo::stale_copy copy;
    clock::time_point due;
    std::vector<algo::entry_tag> tags;
    clock::time_point came;  // of the stale value
  };
  using soft_waits = std::list<soft_wait>;
  struct flying_looks {
    std::size_t count = 0;
    std::uint64_t killed_at = 0;
  };

  void on_due(clock::time_point now) override;
  void schedule();
  /// The stale value, if it is the answer to this end of the wait.
  std::optional<detail::cache_answer> end_wait(detail::cache_caller& caller, algo::wait_end how);

  cache_engine& home_;
  algo::freshness_machine machine_;
  stale_copies copies_{machine_};
  algo::store_clock clock_;
  cache_tags tags_;
  algo::stale_grace_check grace_check_;
  clock::duration last_load_time_{0};
  bool asking_ = false;
  clock::time_point ask_again_{};
  std::uint64_t sequence_ = 0;  // of looks and the deaths of copies
  std::unordered_map<std::string, flying_looks> looks_;
  soft_waits waits_;  // in the order of their coming, which is that of their ends
  std::unordered_map<detail::cache_caller*, soft_waits::iterator> waits_by_caller_;
};

}  // namespace herdlock::runtime
