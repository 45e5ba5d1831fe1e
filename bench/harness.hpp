// Benchmarks as ratios. The machine's speed differs from day to day, and from minute to minute;
// what a thing costs beside another, measured in turns in the same run, hardly does.
//
// To add a suite: a file of this folder with
//
//     bench::suite const redis("redis", [](bench::report& report) {
//       if (!report.wants("redis.hit")) return;           // costly set-up only when asked for
//       ...
//       report.compare("redis.hit", "ops/s", [&] { return hits_per_second(); },
//                      [&] { return raw_gets_per_second(); }, bench::at_least(0.9));
//     });
#pragma once

#include <functional>
#include <string>

#include "stage/clock.hpp"
#include "stage/latencies.hpp"

namespace bench {

namespace lab = herdlock::lab;

/// What a ratio is to be.
struct ratio_limit {
  std::string_view sign;  ///< as it is printed; empty: anything
  double value = 0;

  bool met_by(double ratio) const {
    return sign.empty() || (sign == "<=" ? ratio <= value : ratio >= value);
  }
};
constexpr ratio_limit no_limit{};
constexpr ratio_limit at_most(double value) { return {"<=", value}; }
constexpr ratio_limit at_least(double value) { return {">=", value}; }

/// One measured line.
struct row {
  std::string name;
  double value = 0;
  std::string unit;
  double baseline = 0;
  double ratio = 0;
  ratio_limit limit = no_limit;
};

/// One round of one side, of some milliseconds; returns its measure in the line's unit.
using trial = std::function<double()>;

/// What a suite measures with, and tells its results to.
class report {
 public:
  report(std::string filter, bool quick) : filter_(std::move(filter)), quick_(quick) {}

  /// True when a line of this name, or lines that begin with it, are asked for.
  bool wants(std::string_view name) const;
  bool quick() const { return quick_; }
  /// So many, or a tenth of them with --quick.
  std::size_t times(std::size_t full) const { return quick_ ? full / 10 : full; }

  /// Measures both sides in turns (A B, B A, A B, …), after one round of each that is not counted.
  /// The ratio is the median of the rounds' ratios, not that of the medians.
  void compare(std::string const& name, std::string unit, trial const& subject,
               trial const& baseline, ratio_limit limit = no_limit, std::size_t rounds = 200);
  /// The same of two things, by what `measure` comes to with each.
  template <class Measure, class Subject, class Baseline>
  void compare_by(Measure measure, std::string const& name, std::string unit, Subject&& subject,
                  Baseline&& baseline, ratio_limit limit = no_limit, std::size_t rounds = 200) {
    compare(
        name, std::move(unit), [&] { return std::invoke(measure, subject); },
        [&] { return std::invoke(measure, baseline); }, limit, rounds);
  }
  /// A line that was measured in another way. Beside a baseline of 0 the ratio is the value.
  void add(std::string name, double value, std::string unit, double baseline,
           ratio_limit limit = no_limit);

  std::vector<row> const& rows() const { return rows_; }

 private:
  std::string filter_;
  bool quick_;
  std::vector<row> rows_;
};

/// Define one at namespace scope; `measure` runs if its name or one of its lines may be wanted. One
/// that cannot run here is skipped, and says so on standard error: a std::runtime_error comes out
/// of it, most often since its server is not installed.
struct suite {
  suite(std::string name, std::function<void(report&)> measure);
};

/// Nanoseconds that `work()` takes.
template <class Work>
double nanoseconds_of(Work&& work) {
  auto const begin = lab::steady_ns();
  work();
  return static_cast<double>(lab::steady_ns() - begin);
}

/// Nanoseconds that it takes once, of so many times in a row.
template <class Work>
double nanoseconds_each(std::size_t times, Work&& work) {
  return nanoseconds_of([&] {
           for (std::size_t i = 0; i < times; ++i) work();
         }) /
         static_cast<double>(times);
}

/// With HERDLOCK_BENCH_PIN=1 keeps this process, and what it starts from now on, on one CPU.
void pin_if_asked(int cpu);

/// A server; it goes to CPU 0, if that is asked for, and this process to CPU 1.
template <class Server, class... With>
Server started(With&&... with) {
  struct pinned {
    pinned() { pin_if_asked(0); }
    ~pinned() { pin_if_asked(1); }
  } const while_it_starts;
  return Server(std::forward<With>(with)...);
}

/// Aborts, saying why, when it is not so: what fails would be timed as if it were quick.
void must(bool fine, std::string_view why);

/// Keeps the compiler from moving memory accesses across, or leaving them out.
inline void barrier() { asm volatile("" ::: "memory"); }

}  // namespace bench
