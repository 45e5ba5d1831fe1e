#include "harness.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace bench {
namespace {

struct named_suite {
  std::string name;
  suite::body measure;
};

// A function's static, since suites are registered before main() in no particular order.
std::vector<named_suite>& all_suites() {
  static std::vector<named_suite> suites;
  return suites;
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string limit_text(ratio_limit const& limit) {
  if (limit.which == ratio_limit::kind::none) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%s %.2f",
                limit.which == ratio_limit::kind::at_most ? "<=" : ">=", limit.value);
  return text;
}

void print_table(std::vector<row> const& rows) {
  std::size_t width = 4;
  for (row const& line : rows) width = std::max(width, line.name.size());
  int const w = static_cast<int>(width);
  std::printf("%-*s %14s %14s  %-12s %8s  %s\n", w, "name", "value", "baseline", "unit", "ratio",
              "limit");
  for (row const& line : rows) {
    std::string const limit = limit_text(line.limit);
    char const* verdict = limit.empty() ? "" : line.limit.met_by(line.ratio) ? "  ok" : "  MISSED";
    std::printf("%-*s %14.1f %14.1f  %-12s %8.3f  %s%s\n", w, line.name.c_str(), line.value,
                line.baseline, line.unit.c_str(), line.ratio, limit.c_str(), verdict);
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

void print_json(std::vector<row> const& rows) {
  std::printf("[");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    row const& line = rows[i];
    std::printf(
        "%s\n  {\"name\": %s, \"value\": %.6g, \"unit\": %s, \"baseline\": %.6g, "
        "\"ratio\": %.6g}",
        i == 0 ? "" : ",", quoted(line.name).c_str(), line.value, quoted(line.unit).c_str(),
        line.baseline, line.ratio);
  }
  std::printf("\n]\n");
}

struct arguments {
  std::string filter;
  effort how = effort::full;
  bool json = false;
  bool check = false;
  std::optional<int> pin;
};

constexpr char usage[] =
    "Usage: herdlock_bench [--filter PREFIX] [--quick] [--json] [--check] [--pin CPU]\n"
    "  --filter PREFIX  only lines whose name begins so\n"
    "  --quick          a tenth of the rounds\n"
    "  --json           a list of objects: name, value, unit, baseline, ratio\n"
    "  --check          exit code 1 when a ratio misses its limit\n"
    "  --pin CPU        run on this processor only\n";

[[noreturn]] void refuse(std::string const& why) {
  std::fprintf(stderr, "herdlock_bench: %s\n%s", why.c_str(), usage);
  std::exit(64);
}

int processor_number(std::string const& text) {
  char* end = nullptr;
  long const number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < 0 || number >= CPU_SETSIZE) {
    refuse("'" + text + "' is not a processor's number");
  }
  return static_cast<int>(number);
}

arguments parse(std::vector<std::string> const& given) {
  arguments parsed;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string const& option = given[i];
    bool const has_value = i + 1 < given.size();
    if (option == "--quick") {
      parsed.how = effort::quick;
    } else if (option == "--json") {
      parsed.json = true;
    } else if (option == "--check") {
      parsed.check = true;
    } else if (option == "--help") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else if (option == "--filter" && has_value) {
      parsed.filter = given[++i];
    } else if (option == "--pin" && has_value) {
      parsed.pin = processor_number(given[++i]);
    } else {
      refuse("unknown option, or one without its value: '" + option + "'");
    }
  }
  return parsed;
}

// Before any thread is started: they inherit it.
void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    refuse("cannot run on processor " + std::to_string(processor));
  }
}

int run(arguments const& with) {
  if (with.pin) pin_to(*with.pin);
  auto suites = all_suites();
  std::sort(suites.begin(), suites.end(),
            [](auto const& a, auto const& b) { return a.name < b.name; });
  report results(with.filter, with.how);
  for (auto const& each : suites) {
    if (results.wants(each.name)) each.measure(results);
  }
  if (results.rows().empty()) {
    std::fprintf(stderr, "herdlock_bench: nothing was measured\n");
  }
  if (with.json) {
    print_json(results.rows());
  } else {
    print_table(results.rows());
  }
  bool const met = std::all_of(results.rows().begin(), results.rows().end(),
                               [](row const& line) { return line.limit.met_by(line.ratio); });
  return with.check && (!met || results.rows().empty()) ? 1 : 0;
}

}  // namespace

bool report::wants(std::string_view name) const {
  std::string_view const filter = filter_;
  std::size_t const common = std::min(name.size(), filter.size());
  return name.substr(0, common) == filter.substr(0, common);
}

void report::compare(comparison const& what) {
  if (!wants(what.name)) return;
  std::size_t const rounds =
      std::max<std::size_t>(5, effort_ == effort::quick ? what.rounds / 10 : what.rounds);
  std::vector<double> subject;
  std::vector<double> baseline;
  std::vector<double> ratios;
  what.subject();
  what.baseline();
  for (std::size_t round = 0; round < rounds; ++round) {
    // The order changes, so that whoever comes second has no standing advantage.
    bool const subject_first = round % 2 == 0;
    if (subject_first) subject.push_back(what.subject());
    baseline.push_back(what.baseline());
    if (!subject_first) subject.push_back(what.subject());
    ratios.push_back(subject.back() / baseline.back());
  }
  rows_.push_back(
      {what.name, median(subject), what.unit, median(baseline), median(ratios), what.limit});
}

void report::add(row line) {
  if (wants(line.name)) rows_.push_back(std::move(line));
}

void report::skip(std::string_view name, std::string_view why) {
  std::fprintf(stderr, "skipped %s: %s\n", std::string(name).c_str(), std::string(why).c_str());
}

void pin_if_asked(int cpu) {
  char const* wanted = std::getenv("HERDLOCK_BENCH_PIN");
  if (wanted && *wanted == '1' && std::thread::hardware_concurrency() >= 2) pin_to(cpu);
}

suite::suite(std::string name, body measure) {
  all_suites().push_back({std::move(name), std::move(measure)});
}

}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::run(bench::parse({argv + 1, argv + argc}));
  } catch (std::exception const& why) {
    std::fprintf(stderr, "herdlock_bench: %s\n", why.what());
    return 70;
  }
}
