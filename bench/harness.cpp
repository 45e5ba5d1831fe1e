#include "harness.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>

#include "stage/place.hpp"
#include "stage/report.hpp"
#include "terminal/command_line.hpp"

namespace bench {
namespace {

using named_suite = std::pair<std::string, std::function<void(report&)>>;

// A function's static, since suites are registered before main() in no particular order.
std::vector<named_suite>& all_suites() {
  static std::vector<named_suite> suites;
  return suites;
}

std::string as_table(std::vector<row> const& rows) {
  constexpr auto left = lab::table::side::left;
  lab::table all(
      {{"name", left}, {"value"}, {"baseline"}, {"unit", left}, {"ratio"}, {"limit", left}});
  for (auto const& [name, value, unit, baseline, ratio, limit] : rows) {
    std::vector cells{name, fmt::format("{:.1f}", value), fmt::format("{:.1f}", baseline), unit,
                      fmt::format("{:.3f}", ratio)};
    if (!limit.sign.empty()) {
      cells.push_back(fmt::format("{} {:.2f}", limit.sign, limit.value));
      cells.push_back(limit.met_by(ratio) ? "ok" : "MISSED");
    }
    all.row(cells);
  }
  return all.text();
}

std::string as_json(std::vector<row> const& rows) {
  auto all = lab::json::array();
  for (auto const& [name, value, unit, baseline, ratio, limit] : rows) {
    all.push_back(lab::json{{"name", name},
                            {"value", value},
                            {"unit", unit},
                            {"baseline", baseline},
                            {"ratio", ratio}});
  }
  return all.dump(1) + "\n";
}

// Before any thread is started: they inherit it.
void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return;
  fmt::print(stderr, "herdlock_bench: cannot run on processor {}\n", processor);
  std::exit(64);
}

int run(int argc, char** argv) {
  std::string filter;
  bool quick = false, json = false, check = false;
  int processor = -1;
  CLI::App app("Benchmarks as ratios to the least that does the same", "herdlock_bench");
  app.add_option("--filter", filter, "Only lines whose name begins so")->type_name("PREFIX");
  app.add_flag("--quick", quick, "A tenth of the rounds");
  app.add_flag("--json", json, "A list of objects: name, value, unit, baseline, ratio");
  app.add_flag("--check", check, "Exit code 1 when a ratio misses its limit");
  app.add_option("--pin", processor, "Run on this processor only")
      ->type_name("CPU")
      ->check(CLI::Range(0, CPU_SETSIZE - 1));
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& why) {
    return app.exit(why) == 0 ? 0 : 64;
  }
  if (processor >= 0) pin_to(processor);
  report results(filter, quick);
  std::ranges::sort(all_suites(), {}, &named_suite::first);
  for (auto const& [name, measure] : all_suites()) {
    try {
      if (results.wants(name)) measure(results);
    } catch (std::runtime_error const& why) {
      fmt::print(stderr, "skipped {}: {}\n", name, why.what());
    }
  }
  auto const& rows = results.rows();
  if (rows.empty()) fmt::print(stderr, "herdlock_bench: nothing was measured\n");
  fmt::print("{}", json ? as_json(rows) : as_table(rows));
  bool const met =
      std::ranges::all_of(rows, [](row const& line) { return line.limit.met_by(line.ratio); });
  return check && (!met || rows.empty()) ? 1 : 0;
}

}  // namespace

bool report::wants(std::string_view name) const {
  return name.starts_with(filter_) || filter_.starts_with(name);
}

void report::compare(std::string const& name, std::string unit, trial const& subject,
                     trial const& baseline, ratio_limit limit, std::size_t rounds) {
  if (!wants(name)) return;
  std::vector<double> ours, theirs, ratios;
  subject();
  baseline();
  for (std::size_t round = 0; round < std::max<std::size_t>(5, times(rounds)); ++round) {
    // The order changes, so that whoever comes second has no standing advantage.
    bool const subject_first = round % 2 == 0;
    if (subject_first) ours.push_back(subject());
    theirs.push_back(baseline());
    if (!subject_first) ours.push_back(subject());
    ratios.push_back(ours.back() / theirs.back());
  }
  rows_.push_back({name, lab::percentile(ours, 0.5), std::move(unit), lab::percentile(theirs, 0.5),
                   lab::percentile(ratios, 0.5), limit});
}

void report::add(std::string name, double value, std::string unit, double baseline,
                 ratio_limit limit) {
  if (!wants(name)) return;
  double const ratio = baseline == 0 ? value : value / baseline;
  rows_.push_back({std::move(name), value, std::move(unit), baseline, ratio, limit});
}

suite::suite(std::string name, std::function<void(report&)> measure) {
  all_suites().emplace_back(std::move(name), std::move(measure));
}

void pin_if_asked(int cpu) {
  char const* const wanted = std::getenv("HERDLOCK_BENCH_PIN");
  if (wanted && *wanted == '1' && std::thread::hardware_concurrency() >= 2) pin_to(cpu);
}

void must(bool fine, std::string_view why) {
  if (fine) return;
  fmt::print(stderr, "herdlock_bench: {}\n", why);
  std::abort();
}

}  // namespace bench

// The stage asks its program; each suite opens the one that it measures.
herdlock::result<herdlock::store> herdlock::lab::try_open_here(std::string const& url,
                                                               open_options how) {
  return try_open_store(url, std::move(how));
}

int main(int argc, char** argv) {
  return herdlock::cli::ended("herdlock_bench", [&] { return bench::run(argc, argv); });
}
