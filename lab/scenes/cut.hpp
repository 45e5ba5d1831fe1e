// A lock is taken from one who works while the next one waits, in several cases, round after round:
// what is found out, and what is promised.
#pragma once

#include <limits>

#include "stage/counts.hpp"
#include "stage/programs.hpp"

namespace herdlock::lab {

struct cut_figures {
  std::string name;  ///< of the case: how the lock was taken away
  milliseconds margin{};
  std::vector<double> gaps_ms{};      ///< from the last sign of life to the next one's first
  std::vector<double> outlived_ms{};  ///< how long a command went on without its lock
  std::int64_t never_stopped = 0;     ///< the leader's work
  std::int64_t not_told = 0;          ///< herdlock did not end with 76
  std::int64_t lived_on = 0;          ///< the command, when the next one had begun
  std::int64_t seen_waiting = 0;      ///< the store told that the next one waits

  void take(run_trial::outcome const& of) {
    gaps_ms.push_back(of.gap_ms);
    outlived_ms.push_back(of.outlived_ms);
    not_told += !of.told;
    lived_on += of.lived_on;
    seen_waiting += of.seen_waiting;
  }
  std::int64_t overlaps() const { return gaps_below(1e-9); }
  std::int64_t below_margin() const { return gaps_below(static_cast<double>(margin.count())); }
  std::int64_t outlived(double longest_ms) const {
    return std::ranges::count_if(outlived_ms, [=](double ms) { return ms > longest_ms; });
  }

 private:
  std::int64_t gaps_below(double ms) const {
    return std::ranges::count_if(gaps_ms, [ms](double gap) { return gap < ms; });
  }
};

struct cut_promises {
  bool one_at_a_time = true;
  bool margin = false;
  double outlived_ms = std::numeric_limits<double>::infinity();
};

inline void judge_cut(cut_figures const& of, cut_promises const& promised, judge& by) {
  bool const alone = promised.one_at_a_time;
  judge_counts(
      {{"overlaps", alone ? of.overlaps() : 0,
        "the next one began before the other had ended, {} times"},
       {"lived on", alone ? of.lived_on : 0, "the command lived on beside the next one, {} times"},
       {"below the margin", promised.margin ? of.below_margin() : 0,
        "less than the margin was between the two, {} times"},
       {"never stopped", of.never_stopped, "the leader's work did not stop, {} times"},
       {"not told", of.not_told, "herdlock run did not end with 76, {} times"},
       {"outlived", of.outlived(promised.outlived_ms),
        "a command was at work for longer than is promised without its lock, {} times"}},
      by, of.name);
}

/// What the scenes cut and session have: cases, round after round, and judged.
class cases_of_a_cut : public scene {
 public:
  cases_of_a_cut(char const* name, int rounds) : trial_(name), rounds_(rounds) {}
  void declare(options& all) override;
  void check() override { trial_.check(); }
  void play(stage& on) override;

 protected:
  virtual void play_cases(stage& on) = 0;
  void play_case(stage& on, cut_figures of, cut_promises const& promised,
                 std::function<void(cut_figures&)> const& play_round);

  run_trial trial_;

 private:
  int rounds_;
  std::vector<cut_figures> all_;
};

}  // namespace herdlock::lab
