// Benchmarks as ratios. The machine's speed differs from day to day, and from minute to minute;
// what a thing costs beside another, measured in turns in the same run, hardly does.
//
// To add a suite: a file of this folder with
//
//     bench::suite const redis("redis", [](bench::report& report) {
//       if (!report.wants("redis.hit")) return;           // costly set-up only when asked for
//       ...
//       report.compare({.name = "redis.hit",
//                       .unit = "ops/s",
//                       .subject = [&] { return hits_per_second(); },
//                       .baseline = [&] { return raw_gets_per_second(); },
//                       .limit = bench::at_least(0.9)});
//     });
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// What a ratio is to be.
struct ratio_limit {
  enum class kind { none, at_most, at_least };
  kind which = kind::none;
  double value = 0;

  bool met_by(double ratio) const noexcept {
    return which == kind::none || (which == kind::at_most ? ratio <= value : ratio >= value);
  }
};
constexpr ratio_limit no_limit{};
constexpr ratio_limit at_most(double value) { return {ratio_limit::kind::at_most, value}; }
constexpr ratio_limit at_least(double value) { return {ratio_limit::kind::at_least, value}; }

/// One measured line. `ratio` is the median of the rounds' ratios, not value / baseline.
struct row {
  std::string name;
  double value = 0;
  std::string unit;
  double baseline = 0;
  double ratio = 0;
  ratio_limit limit = no_limit;
};

/// One round of one side, of some milliseconds; returns its measure in the comparison's unit.
using trial = std::function<double()>;

struct comparison {
  std::string name;
  std::string unit;
  trial subject;
  trial baseline;
  ratio_limit limit = no_limit;
  std::size_t rounds = 200;  ///< of each side; a tenth of them with --quick
};

enum class effort { full, quick };

/// What a suite measures with, and tells its results to.
class report {
 public:
  report(std::string filter, effort how) : filter_(std::move(filter)), effort_(how) {}

  /// True when a line of this name, or lines that begin with it, are asked for.
  bool wants(std::string_view name) const;
  effort how() const noexcept { return effort_; }

  /// Measures both sides in turns (A B, B A, A B, …), after one round of each that is not counted.
  void compare(comparison const& what);
  /// A line that was measured in another way.
  void add(row line);
  /// A suite that cannot run here (no server) says so, on standard error.
  void skip(std::string_view name, std::string_view why);

  std::vector<row> const& rows() const noexcept { return rows_; }

 private:
  std::string filter_;
  effort effort_;
  std::vector<row> rows_;
};

/// Define one at namespace scope; `measure` runs if its name or one of its lines may be wanted.
class suite {
 public:
  using body = std::function<void(report&)>;
  suite(std::string name, body measure);
};

/// Nanoseconds that `work()` takes.
template <class Work>
double nanoseconds_of(Work&& work) {
  auto const begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/// With HERDLOCK_BENCH_PIN=1 keeps this process, and what it starts from now on, on one CPU: the
/// server goes to 0, the client to 1.
void pin_if_asked(int cpu);

/// Keeps the compiler from moving memory accesses across, or leaving them out.
inline void barrier() { asm volatile("" ::: "memory"); }

}  // namespace bench
