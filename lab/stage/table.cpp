#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "terminal/duration.hpp"
#include "stage/outcome.hpp"
#include "stage/words.hpp"

namespace herdlock::cli {
namespace {

std::string told_of_near(mode_outcome const& o) {
  return fmt::format(
      "\n{}: when the {} requests came once more, {} were answered from what their process "
      "keeps\n",
      name_of(o.mode), std::int64_t{o.processes} * o.requests * o.expiries, o.near_hits);
}

}  // namespace

std::string render_table(stampede_options const& options, std::vector<mode_outcome>& outcomes) {
  std::string text =
      fmt::format("One product, {} × {} at once, {}; a load takes {}.\n\n",
                  counted(options.processes, "process", "processes"),
                  counted(options.requests, "request", "requests"),
                  counted(options.expiries, "expiry", "expiries"), say(options.origin.load_time));
  text += fmt::format("{:<11} {:>12} {:>9} {:>17} {:>7} {:>6} {:>8} {:>8} {:>8} {:>14}\n", "mode",
                      "loads/expiry", "answers", "waited for a load", "stale", "errors", "p50 ms",
                      "p99 ms", "max ms", "last answer");
  for (mode_outcome& o : outcomes) {
    double const loads = o.loads_per_expiry();
    std::string const shown =
        std::floor(loads) == loads ? fmt::format("{:.0f}", loads) : fmt::format("{:.1f}", loads);
    text += fmt::format(
        "{:<11} {:>12} {:>9} {:>17} {:>7} {:>6} {:>8.1f} {:>8.1f} {:>8.1f} {:>11.1f} ms\n",
        name_of(o.mode), shown, o.answers, o.waited, o.stale, o.errors, o.percentile_ms(0.5),
        o.percentile_ms(0.99), o.percentile_ms(1.0), o.last_answer_ms());
  }
  for (mode_outcome const& o : outcomes) {
    if (facts_of(o.mode).keeps_near) text += told_of_near(o);
    if (!o.note.empty()) text += fmt::format("\n{}: {}\n", name_of(o.mode), o.note);
    if (o.errors) {
      text += fmt::format("\n{}: {} without a right answer; the first: {}\n", name_of(o.mode),
                          o.errors, o.first_error);
    }
  }
  return text;
}

std::string render_json(std::vector<mode_outcome>& outcomes) {
  auto list = nlohmann::ordered_json::array();
  for (mode_outcome& o : outcomes) {
    list.push_back({{"mode", name_of(o.mode)},
                    {"processes", o.processes},
                    {"requests", o.requests},
                    {"expiries", o.expiries},
                    {"loads", o.loads},
                    {"answers", o.answers},
                    {"waited", o.waited},
                    {"stale", o.stale},
                    {"errors", o.errors},
                    {"near_hits", o.near_hits},
                    {"p50_ms", to_micros(o.percentile_ms(0.5))},
                    {"p99_ms", to_micros(o.percentile_ms(0.99))},
                    {"last_answer_ms", to_micros(o.last_answer_ms())},
                    {"load_time_ms", o.load_time.count()}});
  }
  return list.dump(2) + "\n";
}

}  // namespace herdlock::cli
