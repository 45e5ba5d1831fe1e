// Answers that are in no store, for those who ask again within a moment.
#pragma once

#include <herdlock/detail/cache_core.hpp>

#include "algo/answers_for_a_while.hpp"
#include "algo/key_pauses.hpp"
#include "algo/load_machine.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// The answers of loads that the store does not have, because it failed or because the value cannot
/// be stored. Without them each next caller would load anew: a key that is asked for a thousand
/// times a second would be loaded as often. All members on the executor of the store.
class unstored_answers {
 public:
  using answer_type = result<detail::cache_answer>;

  /// How long an answer that was loaded without the store is given again, at most.
  static constexpr milliseconds longest_unguarded{250};
  /// The bounds of each of the three kinds. The newest answer is kept however large it is.
  static constexpr std::size_t most_bytes = 64 * 1024 * 1024;
  static constexpr std::size_t most_unguarded = 1024;
  static constexpr std::size_t most_unstorable = 64;

  unstored_answers(store_core& home, cache_options const& options)
      : unguarded_(home, options, {longest_unguarded, {most_unguarded, most_bytes}}),
        refused_(home, options, {longest_unguarded, {most_unguarded, most_bytes}}),
        unstorable_(home, options, {options.error_back_off, {most_unstorable, most_bytes}}) {}

  /// An answer, and the bytes that it takes.
  struct sized_answer {
    answer_type answer;
    std::size_t bytes;
  };

  /// Adds the answer of a load without the store, which began then.
  void add_unguarded(cache_key const& key, sized_answer what, clock::time_point began) {
    if (began > fenced_) unguarded_.add(key, std::move(what));
  }
  /// The same where the store refused this key alone: other claims work, and are not left alone.
  void add_refused(cache_key const& key, sized_answer what, clock::time_point began) {
    if (began > fenced_) refused_.add(key, std::move(what));
  }
  /// The same for a value that the store has not taken. The next values of its key are not sent for
  /// longer and longer: one that is too large takes the server's room, or the connection, each
  /// time.
  void add_untaken(cache_key const& key, sized_answer what, clock::time_point began) {
    untaken_.failed(key.str(), clock::now());
    add_refused(key, std::move(what), began);
  }
  /// Whether a value of the key is to be sent now.
  bool may_be_taken(cache_key const& key) const {
    return !untaken_.pauses(key.str(), clock::now());
  }
  void taken(cache_key const& key) { untaken_.forget(key.str()); }
  /// The slot of the key is being moved: a claim there waits for the whole time of an answer.
  void moves(cache_key const& key) { moving_.failed(key.str(), clock::now()); }
  /// The slot was being moved a moment ago: the key is not claimed.
  bool is_moving(cache_key const& key) const { return moving_.pauses(key.str(), clock::now()); }
  /// A value that cannot be stored: it is loaded anew after error_back_off.
  void add_unstorable(cache_key const& key, sized_answer what, clock::time_point began) {
    if (began > fenced_) unstorable_.add(key, std::move(what));
  }
  /// The answer to a call for the key in place of a load of this kind; null when there is none.
  answer_type const* find(cache_key const& key, algo::load_guard guard) const {
    if (auto const* const unstorable = unstorable_.find(key)) return unstorable;
    auto const* const refused = refused_.find(key);
    return refused || guard == algo::load_guard::guarded ? refused : unguarded_.find(key);
  }
  void erase(cache_key const& key) {
    unguarded_.erase(key);
    refused_.erase(key);
    unstorable_.erase(key);
    untaken_.forget(key.str());
  }
  template <class Condition>
  void erase_if(Condition&& of_key) {
    unguarded_.erase_if(of_key);
    refused_.erase_if(of_key);
    unstorable_.erase_if(of_key);
  }
  /// Loads that began before now answer nobody any more.
  void fence() {
    fenced_ = clock::now();
    erase_if([](std::string_view) { return true; });
  }

 private:
  struct bounds {
    milliseconds longest;
    algo::answer_bounds together;
  };

  class list final : private timed {
   public:
    list(store_core& home, cache_options const& options, bounds limits)
        : home_(home), options_(options), longest_(limits.longest), answers_(limits.together) {}
    ~list() override { timer_queue::remove(*this); }

    void add(cache_key const& key, sized_answer what);
    answer_type const* find(cache_key const& key) const {
      return answers_.empty() ? nullptr : answers_.find(key.str(), clock::now());
    }
    void erase(cache_key const& key) { answers_.erase(key.str()); }
    template <class Condition>
    void erase_if(Condition&& of_key) {
      answers_.erase_if(of_key);
    }

   private:
    void on_due(clock::time_point now) override;
    milliseconds time_of(answer_type const& answer) const;

    store_core& home_;
    cache_options const& options_;
    milliseconds longest_;
    algo::answers_for_a_while<answer_type> answers_;
  };

  list unguarded_;
  list refused_;
  list unstorable_;
  algo::key_pauses untaken_;
  algo::key_pauses moving_;
  clock::time_point fenced_ = clock::time_point::min();
};

}  // namespace herdlock::runtime
