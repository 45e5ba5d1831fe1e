#include <fmt/ranges.h>

#include "scenes/hotkey.hpp"

namespace herdlock::lab {
namespace {

constexpr std::size_t slices_of_a_line = 5;
constexpr char const* kept_nowhere =
    "nowhere: this store pushes no changes, so a process cannot know that what\n"
    "               it keeps is old, or it is in the process itself; each call asks the store.\n"
    "               --store redis://HOST:PORT shows what it is like when values are kept";

struct told_calls {
  char const* name;   // in the data
  char const* words;  // in the table
  call_figures hotkey_figures::*of;
};
constexpr std::array calls_of_a_run{
    told_calls{"key", "the key", &hotkey_figures::key},
    told_calls{"others", "other keys, meanwhile", &hotkey_figures::others},
    told_calls{"others_before", "  before that", &hotkey_figures::others_before},
    told_calls{"others_until_kept", "  until all kept the key", &hotkey_figures::others_until_kept},
    told_calls{"others_when_kept", "  once all kept the key", &hotkey_figures::others_when_kept},
};

std::string per_second(std::uint64_t count, double seconds) {
  return with_commas(std::llround(count / seconds));
}

double seconds(milliseconds time) { return in_seconds(in_ns(time)); }

std::string in_words(hotkey_moment const& of, milliseconds since, int processes) {
  if (of.processes == 0) return "in no process";
  auto const time = [since](double ms) { return cli::say(milliseconds(std::llround(ms)) - since); };
  return fmt::format("in {} of {}, in the first after {}, in the last after {}", of.processes,
                     counted(processes, "process", "processes"), time(*of.first_ms),
                     time(*of.last_ms));
}

// Each row has cells of the run without hot keys, then of the one with them.
table table_of_both(table::column first, std::vector<table::column> const& of_each) {
  std::vector<table::column> heads{std::move(first)};
  for (int run = 0; run < 2; ++run) heads.insert(heads.end(), of_each.begin(), of_each.end());
  return table(std::move(heads));
}

std::string timeline(hotkey_runs const& runs) {
  table lines =
      table_of_both({"time"}, {{"|"}, {"requests/s"}, {"to store"}, {"p99 ms"}, {"others'"}});
  double const slice_s = in_seconds(runs[0].board.slice_ns);
  double const line_s = slice_s * slices_of_a_line;
  auto const p99 = [](call_figures const& of) { return of.took.count() ? short_p99(of) : "-"; };
  for (std::size_t at = 0; at < hotkey_terms::slices; at += slices_of_a_line) {
    std::vector<std::string> cells{fmt::format("{:.1f} s", at * slice_s)};
    for (auto const& run : runs) {
      auto const [key, others] = sum(run.board, at, at + slices_of_a_line);
      cells.insert(cells.end(), {"|", per_second(key.took.count(), line_s),
                                 per_second(key.asked, line_s), p99(key), p99(others)});
    }
    lines.row(std::move(cells));
  }
  return lines.text();
}

std::string latencies_of_both(hotkey_runs const& runs) {
  table rows = table_of_both({"", table::side::left}, {{"|"}, {"p50 ms"}, {"p99 ms"}, {"slowest"}});
  for (auto const& each : calls_of_a_run) {
    std::vector<std::string> cells{each.words};
    for (auto const& run : runs) {
      auto const& took = (run.*each.of).took;
      cells.emplace_back("|");
      for (double const ms :
           {took.percentile_ms(0.5), took.percentile_ms(0.99), took.slowest_ms()}) {
        cells.push_back(took.count() > 0 ? short_ms(ms) : "-");
      }
    }
    rows.row(std::move(cells));
  }
  return rows.text();
}

void tell_below_tables(hotkey_runs const& runs, report const& out) {
  auto const& [without, with] = runs;
  auto const& how = with.board.how;
  auto const say = [&](char const* name, std::string const& text) {
    out.line(fmt::format("{:<15}{}", name, text));
  };
  say("found", in_words(with.found, how.load_from(), how.processes));
  say("kept", how.can_keep ? in_words(with.kept, how.load_from(), how.processes) : kept_nowhere);
  say("cooled",
      in_words(with.cooled, how.load_to(), how.processes) + ", when the requests have ended");
  if (with.became_hot > 1) {
    say("", fmt::format("a process called it hot {} times", with.became_hot));
  }
  double const load_s = seconds(how.load_to() - how.load_from());
  say("to the store",
      fmt::format("{} calls without, {} with: {} and {} a second{}", with_commas(without.key.asked),
                  with_commas(with.key.asked), per_second(without.key.asked, load_s),
                  per_second(with.key.asked, load_s),
                  with.asked_when_kept
                      ? fmt::format("; {:.1f} a second once all kept it", *with.asked_when_kept)
                      : ""));
  for (auto const& run : runs) {
    say("others' p99", fmt::format("{} hot keys {}", run.board.hot_keys ? "with" : "without",
                                   fmt::join(why_others_wait(run), "\n               ")));
  }
  if (with.reports > 0) {
    say("reports", with_commas(with.reports) + " of all processes to each other, over the store");
  }
  auto const left_out = without.key.left_out + without.others.left_out;
  auto const left_out_with = with.key.left_out + with.others.left_out;
  if (left_out + left_out_with > 0) {
    say("left out", fmt::format("{} requests without, {} with: the machine was too slow for them",
                                with_commas(left_out), with_commas(left_out_with)));
  }
  auto const errors = without.store_errors + with.store_errors;
  if (errors > 0) say("store", with_commas(errors) + " questions without an answer");
}

json or_null(std::optional<double> const& at) { return at ? json(to_micros(*at)) : json(nullptr); }

// Near hits take less than a microsecond.
double to_nanos(double ms) { return to_micros(ms * 1e3) / 1e3; }

json data_of(hotkey_figures const& run) {
  json all;
  all["hot_keys"] = run.board.hot_keys ? "with" : "without";
  for (auto const& each : calls_of_a_run) {
    auto const& of = run.*each.of;
    all[each.name] = {{"calls", of.took.count()},
                      {"failed", of.failed},
                      {"left_out", of.left_out},
                      {"p50_ms", to_nanos(of.took.percentile_ms(0.5))},
                      {"p99_ms", to_nanos(of.took.percentile_ms(0.99))},
                      {"slowest_ms", to_nanos(of.took.slowest_ms())}};
  }
  all["key"]["asked"] = run.key.asked;
  if (!run.asked_when_kept) all["others_until_kept"] = all["others_when_kept"] = nullptr;
  for (auto const& [name, of] :
       {std::pair("found", run.found), {"kept", run.kept}, {"cooled", run.cooled}}) {
    all[name] = {{"processes", of.processes},
                 {"first_ms", or_null(of.first_ms)},
                 {"last_ms", or_null(of.last_ms)}};
  }
  all["became_hot_at_most"] = run.became_hot;
  all["reports"] = run.reports;
  all["store_errors"] = run.store_errors;
  all["asked_a_second_when_kept"] = or_null(run.asked_when_kept);
  for (std::size_t at = 0; at < hotkey_terms::slices; ++at) {
    auto const [key, others] = sum(run.board, at, at + 1);
    all["timeline"].push_back({{"at_ms", at * in_ms(run.board.slice_ns)},
                               {"calls", key.took.count()},
                               {"asked", key.asked},
                               {"p99_ms", to_nanos(key.took.percentile_ms(0.99))},
                               {"slowest_ms", to_nanos(key.took.slowest_ms())},
                               {"others", others.took.count()},
                               {"others_p99_ms", to_nanos(others.took.percentile_ms(0.99))}});
  }
  return all;
}

}  // namespace

std::vector<std::string> why_others_wait(hotkey_figures const& run) {
  std::vector<std::string> lines{
      "the store had the requests for the key, too, while there were any"};
  if (run.asked_when_kept) {
    auto const since = std::llround(*run.kept.last_ms) - run.board.how.load_from().count();
    lines = {fmt::format("the store had the requests for the key, too, until all kept it ({}):",
                         cli::say(milliseconds(since))),
             fmt::format("p99 {} ms until then, {} ms from then on",
                         short_p99(run.others_until_kept), short_p99(run.others_when_kept))};
  }
  if (run.key.left_out > 0) {
    lines.push_back(fmt::format(
        "{} requests for the key were left out: they would have begun over 100 ms late,",
        with_commas(run.key.left_out)));
    lines.emplace_back("so its p99 stays near 100 ms, and the store had less to do than was asked");
  }
  return lines;
}

void tell_hotkey(hotkey_runs const& runs, judge const& judged, report& out) {
  auto const& how = runs[0].board.how;
  out.line(fmt::format(
      "{}\n{} ask for one key {} times a second in all, from {:.1f} s to {:.1f} s; and for {} "
      "others\n{} times a second, all the time. On the left without hot keys, on the right with "
      "hot keys:\nthe requests for the key, those of them that reached the store, and the p99 of "
      "calls.\n",
      how.shown, counted(how.processes, "process", "processes"), with_commas(how.rate),
      seconds(how.load_from()), seconds(how.load_to()), with_commas(how.keys),
      with_commas(static_cast<std::int64_t>(how.rate_of_others()))));
  out.line(timeline(runs));
  out.line(latencies_of_both(runs));
  tell_below_tables(runs, out);
  out.data() = {{"store", how.shown},
                {"can_keep", how.can_keep},
                {"processes", how.processes},
                {"rate", how.rate},
                {"keys", how.keys},
                {"rate_of_other_keys", how.rate_of_others()},
                {"threshold", how.threshold},
                {"fleet_threshold", how.fleet_threshold()},
                {"window_ms", how.window().count()},
                {"load_from_ms", how.load_from().count()},
                {"load_to_ms", how.load_to().count()},
                {"slice_ms", how.slice().count()},
                {"broken", judged.broken()},
                {"runs", json::array({data_of(runs[0]), data_of(runs[1])})}};
}

}  // namespace herdlock::lab
