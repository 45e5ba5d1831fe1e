#include "scenes/hotkey_story.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "terminal/duration.hpp"

namespace herdlock::lab {
namespace {

constexpr std::size_t slices_of_a_line = 5;

std::string per_second(std::uint64_t count, double seconds) {
  return with_commas(std::llround(static_cast<double>(count) / seconds));
}

double seconds(milliseconds time) { return in_seconds(in_ns(time)); }

std::string in_words(hotkey_moment const& of, milliseconds since, int processes) {
  if (of.processes == 0) return "in no process";
  auto const time = [since](double at_ms) {
    return cli::say(milliseconds(std::llround(at_ms)) - since);
  };
  std::string const first = time(*of.first_ms);
  std::string const last = time(*of.last_ms);
  if (of.processes < static_cast<std::size_t>(processes)) {
    return fmt::format("in {} of {} processes, after {} to {}", of.processes, processes, first,
                       last);
  }
  if (processes == 1) return fmt::format("after {}", first);
  return fmt::format("in the first process after {}, in all {} after {}", first, processes, last);
}

std::string where_kept(hotkey_story const& of) {
  switch (of.keeping) {
    case hotkey_keeping::cannot:
      return "nowhere: this store pushes no changes, so a process cannot know that what\n"
             "               it keeps is old; each call asks the store, as without hot keys.\n"
             "               --store redis://HOST:PORT shows what it is like when they are kept";
    case hotkey_keeping::needless:
      return "nowhere: this store is in the process itself; --store redis://HOST:PORT\n"
             "               shows what it is like when values are kept";
    case hotkey_keeping::can:
      break;
  }
  return in_words(of.with.seen.kept, of.options.load_from(), of.options.processes);
}

// A row whose cells are of the run without hot keys, then of the one with them.
template <class Cells>
std::vector<std::string> both(std::string name, Cells cells, hotkey_story const& of) {
  std::vector<std::string> row{std::move(name)};
  auto const add = [&row](auto const& more) { row.insert(row.end(), more.begin(), more.end()); };
  add(cells(of.without));
  row.emplace_back("|");
  add(cells(of.with));
  return row;
}

std::string timeline(hotkey_story const& of) {
  table lines({{"time"},
               {"requests/s"},
               {"to store"},
               {"p99 ms"},
               {"others'"},
               {"|"},
               {"requests/s"},
               {"to store"},
               {"p99 ms"},
               {"others'"}});
  double const line_s = seconds(of.options.slice()) * slices_of_a_line;
  for (std::size_t at = 0; at < hotkey_options::slices; at += slices_of_a_line) {
    auto const p99 = [](call_figures const& of_calls) {
      auto const& took = of_calls.took;
      return took.count() == 0 ? std::string("-") : short_ms(took.percentile_ms(0.99));
    };
    auto const cells = [&](hotkey_seen const& run) {
      auto const key = sum(run.board, hotkey_kind::key, at, at + slices_of_a_line);
      auto const others = sum(run.board, hotkey_kind::others, at, at + slices_of_a_line);
      return std::array{per_second(key.took.count(), line_s), per_second(key.asked, line_s),
                        p99(key), p99(others)};
    };
    double const from_s = static_cast<double>(at) * seconds(of.options.slice());
    lines.row(both(fmt::format("{:.1f} s", from_s), cells, of));
  }
  return lines.text();
}

std::string latencies_of_both(hotkey_story const& of) {
  table rows({{"", table::side::left},
              {"p50 ms"},
              {"p99 ms"},
              {"slowest"},
              {"|"},
              {"p50 ms"},
              {"p99 ms"},
              {"slowest"}});
  auto const row = [&](char const* name, auto const& figures_of) {
    auto const cells = [&](hotkey_seen const& run) {
      call_figures const* const one = figures_of(run.seen);
      if (!one) return std::array<std::string, 3>{"-", "-", "-"};
      return std::array{short_ms(one->took.percentile_ms(0.5)),
                        short_ms(one->took.percentile_ms(0.99)), short_ms(one->took.slowest_ms())};
    };
    rows.row(both(name, cells, of));
  };
  row("the key", [](hotkey_figures const& all) { return &all.key; });
  row("other keys, meanwhile", [](hotkey_figures const& all) { return &all.others; });
  row("  before that", [](hotkey_figures const& all) { return &all.others_before; });
  row("  once all kept the key", [](hotkey_figures const& all) {
    return all.kept_by_all ? &all.kept_by_all->others : nullptr;
  });
  return rows.text();
}

void tell_moments(hotkey_story const& of, report const& out) {
  auto const& seen = of.with.seen;
  auto const processes = of.options.processes;
  out.line("\nfound          " + in_words(seen.found, of.options.load_from(), processes));
  out.line("kept           " + where_kept(of));
  out.line(fmt::format("cooled         {}, when the requests have ended",
                       in_words(seen.cooled, of.options.load_to(), processes)));
  if (seen.became_hot > 1) {
    out.line(fmt::format("               a process called it hot {} times", seen.became_hot));
  }
}

void tell_load(hotkey_story const& of, report const& out) {
  auto const& without = of.without.seen;
  auto const& with = of.with.seen;
  auto const commas = [](auto number) { return with_commas(static_cast<std::int64_t>(number)); };
  double const load_s = seconds(of.options.load_to() - of.options.load_from());
  out.line(fmt::format("to the store   {} calls without, {} with: {} and {} a second{}",
                       commas(without.key.asked), commas(with.key.asked),
                       per_second(without.key.asked, load_s), per_second(with.key.asked, load_s),
                       with.kept_by_all ? fmt::format("; {:.1f} a second once all kept it",
                                                      with.kept_by_all->asked_a_second)
                                        : ""));
  if (with.reports > 0) {
    out.line(fmt::format("reports        {} of all processes to each other, over the store",
                         commas(with.reports)));
  }
  auto const left_out = [](hotkey_figures const& all) {
    return all.key.left_out + all.others.left_out;
  };
  if (left_out(without) + left_out(with) > 0) {
    out.line(fmt::format(
        "left out       {} requests without, {} with: the machine was too slow for them",
        commas(left_out(without)), commas(left_out(with))));
  }
  auto const errors = without.store_errors + with.store_errors;
  if (errors > 0) {
    out.line(fmt::format("store          {} questions without an answer", commas(errors)));
  }
}

json data_of(hotkey_moment const& of) {
  auto const ms = [](std::optional<double> const& at) {
    return at ? json(to_micros(*at)) : json(nullptr);
  };
  return {{"processes", of.processes}, {"first_ms", ms(of.first_ms)}, {"last_ms", ms(of.last_ms)}};
}

// Near hits take less than a microsecond.
double to_nanos(double ms) { return to_micros(ms * 1e3) / 1e3; }

json data_of(call_figures const& of) {
  return {{"calls", of.took.count()},
          {"failed", of.failed},
          {"left_out", of.left_out},
          {"p50_ms", to_nanos(of.took.percentile_ms(0.5))},
          {"p99_ms", to_nanos(of.took.percentile_ms(0.99))},
          {"slowest_ms", to_nanos(of.took.slowest_ms())}};
}

json data_of(hotkey_seen const& run) {
  auto const& seen = run.seen;
  json key = data_of(seen.key);
  key["asked"] = seen.key.asked;
  json timeline = json::array();
  for (auto const& slice : run.slices) {
    timeline.push_back({{"at_ms", static_cast<double>(timeline.size()) * in_ms(run.board.slice_ns)},
                        {"calls", slice.key.took.count()},
                        {"asked", slice.key.asked},
                        {"p99_ms", to_nanos(slice.key.took.percentile_ms(0.99))},
                        {"slowest_ms", to_nanos(slice.key.took.slowest_ms())},
                        {"others", slice.others.took.count()},
                        {"others_p99_ms", to_nanos(slice.others.took.percentile_ms(0.99))}});
  }
  auto const& kept = seen.kept_by_all;
  return {
      {"hot_keys", run.name},
      {"key", key},
      {"others", data_of(seen.others)},
      {"others_before", data_of(seen.others_before)},
      {"others_when_kept", kept ? data_of(kept->others) : json(nullptr)},
      {"found", data_of(seen.found)},
      {"kept", data_of(seen.kept)},
      {"cooled", data_of(seen.cooled)},
      {"became_hot_at_most", seen.became_hot},
      {"reports", seen.reports},
      {"store_errors", seen.store_errors},
      {"asked_a_second_when_kept", kept ? json(to_micros(kept->asked_a_second)) : json(nullptr)},
      {"timeline", timeline}};
}

}  // namespace

void tell_hotkey(hotkey_story const& story, judge const& judged, report& out) {
  auto const& of = story.options;
  out.line(fmt::format(
      "{}\n{} ask for one key {} times a second in all, from {:.1f} s to {:.1f} s; and for {} "
      "others\n{} times a second, all the time. On the left without hot keys, on the right with "
      "hot keys:\nthe requests for the key, those of them that reached the store, and the p99 of "
      "calls.\n",
      story.store, counted(of.processes, "process", "processes"), with_commas(of.rate),
      seconds(of.load_from()), seconds(of.load_to()), with_commas(of.keys),
      with_commas(static_cast<std::int64_t>(of.rate_of_others()))));
  out.line(timeline(story));
  out.line(latencies_of_both(story));
  tell_moments(story, out);
  tell_load(story, out);
  out.data() = {{"store", story.store},
                {"can_keep", story.keeping == hotkey_keeping::can},
                {"processes", of.processes},
                {"rate", of.rate},
                {"keys", of.keys},
                {"rate_of_other_keys", of.rate_of_others()},
                {"threshold", of.threshold},
                {"fleet_threshold", of.fleet_threshold()},
                {"window_ms", of.window().count()},
                {"load_from_ms", of.load_from().count()},
                {"load_to_ms", of.load_to().count()},
                {"slice_ms", of.slice().count()},
                {"broken", judged.broken()},
                {"runs", json::array({data_of(story.without), data_of(story.with)})}};
}

}  // namespace herdlock::lab
