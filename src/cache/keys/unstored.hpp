// Answers of loads that are in no store, and the steps for a key that failed and are not tried
// again at once.
#pragma once

#include <memory>
#include <utility>

#include <herdlock/detail/cache_core.hpp>

#include "algo/load_machine.hpp"
#include "algo/unstored_answers.hpp"
#include "cache/keys/home.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// All members on the executor.
class cache_unstored final : timed {
 public:
  using answer_type = result<detail::cache_answer>;

  /// How long an answer that was loaded without the store is given again, at most.
  static constexpr milliseconds longest_unguarded{250};

  /// An answer, the bytes that it takes, when its load began, and how long it may be given at most.
  struct sized_answer {
    answer_type answer;
    std::size_t bytes;
    clock::time_point began;
    milliseconds longest = milliseconds::max();
  };

  /// `table` outlives this.
  cache_unstored(home_ptr home, algo::key_records& table)
      : home_(std::move(home)), table_(table), answers_(table) {}
  ~cache_unstored() override { timer_queue::remove(*this); }

  /// The answer to a call for the key in place of a load of this kind; null when there is none.
  std::shared_ptr<answer_type const> find(cache_key const& key, algo::load_guard guard) const;
  void add(cache_key const& key, algo::unstored_kind kind, sized_answer what);
  /// The store has not taken a value. The next values of its key are not sent for longer and
  /// longer: one that is too large takes the server's room, or the connection, each time.
  void add_untaken(cache_key const& key, sized_answer what);
  void taken(cache_key const& key);
  /// Whether a value of the key is to be sent now.
  bool may_be_taken(cache_key const& key) const;
  /// The slot of the key is being moved: a claim there waits for the whole time of an answer.
  void moves(cache_key const& key);
  /// The slot was being moved a moment ago: the key is not claimed.
  bool is_moving(cache_key const& key) const;
  /// The key was written.
  void erase(cache_key const& key);
  template <class Condition>
  void erase_if(Condition&& of_key) {
    answers_.erase_if(of_key);
  }
  /// Loads that began before now answer nobody any more.
  void fence() { answers_.fence(clock::now()); }

 private:
  void on_due(clock::time_point now) override;
  void schedule();

  home_ptr const home_;
  algo::key_records& table_;
  algo::unstored_answers answers_;
};

}  // namespace herdlock::runtime
