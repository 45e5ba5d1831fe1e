// All keys that any thread counts, summed up at each tick: their rates, which of them are hot.
//
// A tick is begin(now), add() for each report of each shard, advance(). Rates are by the time that
// was measured between ticks, not by the time that they should have taken: a tick that was held up
// makes no key hot. A time that goes back measures nothing.
//
// At most most_keys are known; when more come, those used least make room, and hot ones stay.
//
// Pure; one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/hot_key_state.hpp"
#include "algo/hot_uses.hpp"

namespace herdlock::algo {

/// The first hot_key_id::kept_bytes of a key.
using hot_text = std::shared_ptr<std::string const>;

struct hot_change {
  enum class kind { hot, cooled };
  kind what;
  hot_text key;
  std::uint64_t hash;
};

/// The counts of one key.
struct hot_key_report {
  hot_text key;
  std::uint64_t hash;
  std::uint32_t size;
  hot_uses uses;            ///< in the window, as counted: it may have had more
  double reads_per_second;  ///< over the window
  bool hot;

  hot_key_id id() const noexcept { return {hash, size, *key}; }
};

class hot_ledger {
 public:
  static constexpr std::size_t most_keys = 1024;
  static constexpr std::size_t most_changes = 2 * most_keys;

  /// Throws std::bad_alloc.
  hot_ledger(hot_thresholds const& thresholds, std::size_t most_hot);

  /// Begins a tick. Returns whether it ends the half, which the shards are to be told.
  hot_half begin(clock::time_point now) noexcept;
  /// Returns false if the key is not counted: memory is short, or all known keys are hot.
  bool add(hot_key_id const& key, hot_uses uses) noexcept;
  /// Writes the changes into `out`. REQUIRES: its capacity is most_changes. `now`: after the last
  /// report.
  void advance(clock::time_point now, std::vector<hot_change>& out) noexcept;

  /// The keys that were read most in the window, as of the last tick, the first one most. Throws
  /// std::bad_alloc.
  std::vector<hot_key_report> top(std::size_t most) const;

  std::size_t size() const noexcept { return entries_.size(); }
  std::size_t hot() const noexcept { return hot_; }
  /// How often a key was not made hot because most_hot were.
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  struct known_key {
    std::uint64_t hash;
    std::uint32_t size;
    hot_text text;

    hot_key_id id() const noexcept { return {hash, size, *text}; }
  };
  struct by_id {
    using is_transparent = void;
    bool operator()(known_key const& a, known_key const& b) const { return a.id() < b.id(); }
    bool operator()(known_key const& a, hot_key_id const& b) const { return a.id() < b; }
    bool operator()(hot_key_id const& a, known_key const& b) const { return a < b.id(); }
  };
  struct entry {
    hot_uses fresh{};  // of this tick
    hot_key_state state{};
  };

  bool make_room() noexcept;
  void judge(known_key const& key, entry& one, std::vector<hot_change>& out) noexcept;
  void end_half(std::vector<hot_change>& out) noexcept;

  hot_thresholds const thresholds_;
  std::size_t const most_hot_;
  std::map<known_key, entry, by_id> entries_;
  std::vector<std::uint64_t> used_;  // uses of the keys that are not hot; only in make_room()
  std::size_t hot_ = 0;
  std::uint64_t refused_ = 0;

  clock::time_point begun_{};              // this tick
  std::optional<clock::time_point> last_;  // when the last one began
  std::optional<clock::duration> took_;    // since the last tick; nothing: nobody knows
  hot_half half_ = hot_half::goes_on;      // of the tick that has begun
  clock::duration live_{0};                // how long the half has taken
  clock::duration previous_{0};
};

}  // namespace herdlock::algo
