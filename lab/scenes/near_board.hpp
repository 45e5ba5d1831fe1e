// What the processes of `near` and `near-soak` share: which change was acknowledged when, and what
// each reader was answered. It knows nothing of caches: an answer is a number and some times.
#pragma once

#include <cstdint>
#include <optional>

#include "stage/shared.hpp"

namespace herdlock::lab {

struct near_state {
  std::atomic<bool> begun{false};              ///< there is something to be read
  std::atomic<bool> ending{false};             ///< the readers end
  std::atomic<std::int64_t> failed_writes{0};  ///< not answered in time, and done again
  std::atomic<std::int64_t> acknowledged{0};   ///< the latest change that was; 0: none
  std::atomic<bool> nothing_follows{false};    ///< the next change takes the value away
  std::atomic<bool> watched{false};            ///< the readers note what they keep
  std::atomic<std::int64_t> swaps{0};          ///< changes that the server tells nobody of
};

/// What one reader did.
struct near_record {
  using count = std::atomic<std::int64_t>;

  std::atomic<bool> ready{false};
  std::atomic<bool> ended{false};
  count served{0};          ///< the latest change that it was answered
  count answered_ns{0};     ///< when its latest answer came
  count failed_ns{0};       ///< and its latest error
  count reads{0};           ///< answered, those behind a fence, too
  count gone{0};            ///< of these: there is no value
  count failures{0};        ///< not answered
  count fenced{0};          ///< reads behind a fence
  count stale{0};           ///< reads older than a change that was acknowledged before
  count stale_fenced{0};    ///< of these, behind a fence
  count stale_a_second{0};  ///< older by more than a second
  count oldest_ns{0};
  count near_hits{0};  ///< as its cache counts; told at its end
  count kept{0};       ///< the change that it was answered by what it keeps; while watched
};

/// Of a reader and a change. Nanoseconds of the steady clock; 0: never.
struct near_sight_times {
  std::atomic<std::int64_t> seen_ns{0};  ///< it was first answered with this change, or a later one
  std::atomic<std::int64_t> old_ns{0};   ///< for so long it was answered with an older one
  /// When it last asked for a fence before the change was acknowledged, and was answered before it,
  /// too: by then its connection did well.
  std::atomic<std::int64_t> did_well_ns{0};
};

/// Changes are numbered from 1 (0 is what stands there before them), readers from 0. One process
/// writes: a value that is the change's number, or nothing.
class near_board {
 public:
  struct answer {
    std::optional<std::int64_t> change{};  ///< none: there is no value
    std::int64_t acknowledged = 0;         ///< as it was before all this
    std::int64_t fence_ns = 0;             ///< when a fence was asked for; 0: it is behind none
    std::int64_t asked_ns = 0;
    std::int64_t answered_ns = 0;
  };

  /// Behind the first `followed` changes it is not kept which reader was served them when.
  near_board(std::size_t count, std::size_t changes, std::size_t followed)
      : readers(count), writes_(changes + 1), times_(count * (followed + 1)), followed_(followed) {}

  template <class Holds>
  bool all(Holds holds) const {
    return std::ranges::all_of(readers, holds);
  }
  std::int64_t sum(near_record::count near_record::*what) const {
    std::int64_t all = 0;
    for (near_record const& one : readers) all += one.*what;
    return all;
  }

  std::int64_t most_changes() const { return static_cast<std::int64_t>(writes_.size()) - 1; }
  std::int64_t followed() const { return followed_; }
  std::int64_t acknowledged() const { return state->acknowledged; }
  std::int64_t acknowledged_at(std::int64_t change) const { return writes_[change].at_ns; }
  near_sight_times& times(std::size_t reader, std::int64_t change) const {
    return times_[reader * (followed_ + 1) + change];
  }

  /// The writer: the server has said yes to the next change.
  void acknowledge(std::int64_t at_ns) {
    auto const number = acknowledged() + 1;
    writes_[number] = {at_ns, state->nothing_follows};
    state->acknowledged = number;
    state->nothing_follows = false;
  }
  /// A reader; of each two threads at most, one of which reads behind fences.
  void note(std::size_t reader, answer const& got) {
    near_record& who = readers[reader];
    ++who.reads;
    if (got.fence_ns != 0) ++who.fenced;
    if (auto const age = age_of(got)) {
      ++who.stale;
      if (got.fence_ns != 0) ++who.stale_fenced;
      if (*age > 1'000'000'000) ++who.stale_a_second;
      raise_to(who.oldest_ns, *age);
    }
    if (got.change) return note_times(reader, got);
    ++who.gone;
    who.failed_ns = got.answered_ns;
  }
  /// How long ago, when it was asked for, what was seen had been replaced by a change that had been
  /// acknowledged; none when it had not.
  std::optional<std::int64_t> age_of(answer const& got) const {
    // A nothing that is on its way, or has been acknowledged meanwhile, may be seen already.
    if (!got.change && state->nothing_follows) return std::nullopt;
    auto seen = got.change.value_or(acknowledged());
    while (!got.change && seen > 0 && !writes_[seen].is_nothing) --seen;
    bool const is_nobodys_nothing = !got.change && seen == 0;
    if (is_nobodys_nothing || seen >= got.acknowledged) return std::nullopt;
    return got.asked_ns - acknowledged_at(seen + 1);
  }

  shared<near_state> state;
  shared_array<near_record> readers;

 private:
  // Plain: it is written before its change is acknowledged, and read behind that.
  struct write {
    std::int64_t at_ns;
    bool is_nothing;
  };

  void note_times(std::size_t reader, answer const& got) {
    if (got.fence_ns != 0) {
      bool const before_the_next = acknowledged() == got.acknowledged;
      if (!before_the_next || got.acknowledged >= followed_) return;
      times(reader, got.acknowledged + 1).did_well_ns = got.fence_ns;
      return;
    }
    near_record& who = readers[reader];
    who.answered_ns = got.answered_ns;
    for (auto change = who.served + 1; change <= std::min(*got.change, followed_); ++change) {
      times(reader, change).seen_ns = got.answered_ns;
      who.served = change;
    }
    // It was asked for behind these, and is from before them.
    for (auto change = *got.change + 1; change <= std::min(got.acknowledged, followed_); ++change) {
      times(reader, change).old_ns = got.asked_ns - acknowledged_at(change);
    }
  }

  shared_array<write> writes_;            // by change
  shared_array<near_sight_times> times_;  // by reader and change
  std::int64_t const followed_;
};

}  // namespace herdlock::lab
