// A lock is taken from one who works while the next one waits, in several cases, round after round.
#pragma once

#include <functional>
#include <vector>

#include "scenes/cut_judge.hpp"
#include "stage/scene.hpp"

namespace herdlock::lab {

/// What the scenes cut and session have.
class cases_of_a_cut : public scene {
 public:
  cases_of_a_cut(char const* name, int rounds) : trial_(name), rounds_(rounds) {}
  void declare(options& all) override;
  void check() override { trial_.check(); }
  void play(stage& on) override;

 protected:
  virtual void play_cases(stage& on) = 0;
  /// Round after round, and judged.
  void play_case(stage& on, cut_figures of, cut_promises const& promised,
                 std::function<void(cut_figures&)> const& play_round);

  run_trial trial_;

 private:
  int rounds_;
  std::vector<cut_figures> all_;
};

}  // namespace herdlock::lab
