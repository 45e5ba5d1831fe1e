// What one mode did, and its figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stage/frame.hpp"
#include "scenes/stampede_options.hpp"

namespace herdlock::cli {

/// A load in the plot; milliseconds after the requests were let go.
struct drawn_load {
  double from_ms = 0;
  double to_ms = 0;
  bool killed = false;
};

/// An answer in the plot, on the same axis.
struct drawn_answer {
  double at_ms = 0;
  bool is_old = false;
};

/// One expiry, for the plot: at most max_drawn of each, chosen evenly.
struct timeline {
  static constexpr std::size_t max_drawn = 1'000;

  std::vector<drawn_answer> drawn;  ///< sorted
  std::size_t answers = 0;
  std::vector<drawn_load> loads;  ///< sorted
  std::size_t load_count = 0;     ///< as the processes tell it
};

/// Over all expiries.
struct mode_counts {
  std::int64_t loads = 0;  ///< as the database counts
  std::int64_t answers = 0;
  std::int64_t stale = 0;   ///< of the answers: the product as it was before
  std::int64_t waited = 0;  ///< requests that waited for a load
  std::int64_t errors = 0;
  std::int64_t near_hits = 0;  ///< of requests that came once more
};

class mode_outcome : public mode_counts {
 public:
  mode_outcome(guard_mode mode, stampede_options const& options);

  /// The reports of one expiry whose requests were let go at `go_ns` of the steady clock.
  void add_expiry(std::int64_t go_ns, std::vector<report> const& reports);

  guard_mode mode;
  int processes;
  int requests;
  int expiries;
  milliseconds load_time;
  std::string first_error;
  std::string note;                   ///< empty, or a line to be printed below the table
  std::vector<std::string> warnings;  ///< of the processes' stores; may be twice there
  timeline last;                      ///< the latest expiry that was added
  bool drawn_for_good = false;        ///< later expiries leave `last` alone

  double loads_per_expiry() const { return static_cast<double>(loads) / expiries; }
  /// Nearest rank; 0 when there was no answer. Sorts.
  double percentile_ms(double share);
  /// From when the requests were let go to the last answer, in the slowest expiry.
  double last_answer_ms() const { return last_answer_ms_; }

 private:
  std::vector<std::uint32_t> answered_us_;
  bool sorted_ = false;
  double last_answer_ms_ = 0;
};

/// The table for people, and the list of objects for programs.
std::string render_table(stampede_options const& options, std::vector<mode_outcome>& outcomes);
std::string render_json(std::vector<mode_outcome>& outcomes);

/// The timelines side by side, as an SVG document.
std::string render_plot(std::vector<mode_outcome>& outcomes);

}  // namespace herdlock::cli
