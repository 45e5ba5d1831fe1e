#include "scenes/hotkey_teller.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "terminal/duration.hpp"
#include "terminal/standard_output.hpp"
#include "stage/words.hpp"

namespace herdlock::cli {
namespace {

// Slices in a line of the table.
constexpr std::size_t slices_of_a_line = 5;

std::string short_ms(double ms) {
  if (ms < 0.0995) return fmt::format("{:.4f}", ms);
  if (ms < 9.95) return fmt::format("{:.2f}", ms);
  return fmt::format("{:.0f}", ms);
}

std::string per_second(std::uint64_t count, double seconds) {
  return with_commas(std::llround(static_cast<double>(count) / seconds));
}

double seconds(milliseconds time) { return static_cast<double>(time.count()) / 1e3; }

hotkey_span loaded(hotkey_options const& options) {
  return {.first = hotkey_options::first_loaded,
          .behind = hotkey_options::behind_loaded,
          .slice_ms = static_cast<double>(options.slice().count())};
}

std::string in_words(hotkey_moment const& of, double since_ms, std::size_t processes) {
  if (of.processes == 0) return "in no process";
  auto const time = [since_ms](double at_ms) {
    return say(milliseconds(std::llround(at_ms - since_ms)));
  };
  std::string const last = time(*of.last_ms);
  std::string const first = time(*of.first_ms);
  if (of.processes < processes) {
    return fmt::format("in {} of {} processes, after {} to {}", of.processes, processes, first,
                       last);
  }
  if (processes == 1) return fmt::format("after {}", first);
  return fmt::format("in the first process after {}, in all {} after {}", first, processes, last);
}

nlohmann::ordered_json json_of(hotkey_moment const& of) {
  auto const ms = [](std::optional<double> const& at) {
    return at ? nlohmann::ordered_json(to_micros(*at)) : nlohmann::ordered_json(nullptr);
  };
  return {{"processes", of.processes}, {"first_ms", ms(of.first_ms)}, {"last_ms", ms(of.last_ms)}};
}

// Near hits take less than a microsecond.
double to_nanos(double ms) { return to_micros(ms * 1e3) / 1e3; }

nlohmann::ordered_json json_of(call_figures const& of) {
  return {{"calls", of.calls},
          {"failed", of.failed},
          {"left_out", of.left_out},
          {"p50_ms", to_nanos(of.p50_ms)},
          {"p99_ms", to_nanos(of.p99_ms)},
          {"slowest_ms", to_nanos(of.slowest_ms)}};
}

nlohmann::ordered_json json_of(char const* name, hotkey_board const& board,
                               hotkey_figures const& seen, double slice_ms) {
  auto key = json_of(seen.key);
  key["asked"] = seen.key.asked;
  auto timeline = nlohmann::ordered_json::array();
  for (std::size_t slice = 0; slice < board.slices(); ++slice) {
    auto const one = sum(board, hotkey_kind::key, slice, slice + 1);
    auto const others = sum(board, hotkey_kind::others, slice, slice + 1);
    timeline.push_back({{"at_ms", static_cast<double>(slice) * slice_ms},
                        {"calls", one.calls},
                        {"asked", one.asked},
                        {"p99_ms", to_nanos(one.p99_ms)},
                        {"slowest_ms", to_nanos(one.slowest_ms)},
                        {"others", others.calls},
                        {"others_p99_ms", to_nanos(others.p99_ms)}});
  }
  nlohmann::ordered_json all{{"hot_keys", name},
                             {"key", key},
                             {"others", json_of(seen.others)},
                             {"found", json_of(seen.found)},
                             {"kept", json_of(seen.kept)},
                             {"cooled", json_of(seen.cooled)},
                             {"became_hot_at_most", seen.became_hot},
                             {"reports", seen.reports},
                             {"store_errors", seen.store_errors}};
  all["asked_a_second_when_kept"] = nullptr;
  if (seen.asked_a_second_when_kept) {
    all["asked_a_second_when_kept"] = to_micros(*seen.asked_a_second_when_kept);
  }
  all["timeline"] = timeline;
  return all;
}

}  // namespace

hotkey_report::hotkey_report(hotkey_options const& options, hotkey_store where,
                             hotkey_board const& without, hotkey_board const& with)
    : options_(options),
      where_(std::move(where)),
      without_(without),
      with_(with),
      seen_without_(count(without, loaded(options))),
      seen_with_(count(with, loaded(options))),
      shortcomings_(shortcomings(seen_with_, options.processes, where_.keeping)) {}

void hotkey_report::print() const {
  if (options_.json) {
    auto const text = json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fputs(text.c_str(), stdout);
    return flush_output();
  }
  fmt::print(
      "{}\n{} ask for one key {} times a second in all, from {:.1f} s to {:.1f} s; and for {} "
      "others\n{} times a second, all the time. Played without hot keys, then with them.\n\n",
      where_.shown, counted(options_.processes, "process", "processes"),
      with_commas(static_cast<std::int64_t>(options_.rate)), seconds(options_.load_from()),
      seconds(options_.load_to()), with_commas(static_cast<std::int64_t>(options_.keys)),
      with_commas(static_cast<std::int64_t>(options_.rate_of_others())));
  print_timeline();
  print_moments();
  print_load();
  print_rest();
  flush_output();
}

void hotkey_report::print_timeline() const {
  constexpr char const* line = "{:>8} | {:>10} {:>10} {:>8} {:>8} | {:>10} {:>10} {:>8} {:>8}\n";
  fmt::print("{:8} | {:<39} | with hot keys\n", "", "without hot keys");
  fmt::print(line, "", "requests", "of them", "p99", "others'", "requests", "of them", "p99",
             "others'");
  fmt::print(line, "time", "a second", "to store", "ms", "p99 ms", "a second", "to store", "ms",
             "p99 ms");
  double const line_s = seconds(options_.slice()) * slices_of_a_line;
  for (std::size_t at = 0; at < hotkey_options::slices; at += slices_of_a_line) {
    auto const cells = [&](hotkey_board const& board) {
      auto const key = sum(board, hotkey_kind::key, at, at + slices_of_a_line);
      auto const others = sum(board, hotkey_kind::others, at, at + slices_of_a_line);
      return std::array{per_second(key.calls, line_s), per_second(key.asked, line_s),
                        key.calls == 0 ? std::string("-") : short_ms(key.p99_ms),
                        others.calls == 0 ? std::string("-") : short_ms(others.p99_ms)};
    };
    auto const a = cells(without_);
    auto const b = cells(with_);
    fmt::print(line, fmt::format("{:.1f} s", static_cast<double>(at) * seconds(options_.slice())),
               a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]);
  }
}

std::string hotkey_report::where_kept() const {
  switch (where_.keeping) {
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
  auto const from_ms = static_cast<double>(options_.load_from().count());
  return in_words(seen_with_.kept, from_ms, options_.processes);
}

void hotkey_report::print_moments() const {
  auto const from_ms = static_cast<double>(options_.load_from().count());
  auto const to_ms = static_cast<double>(options_.load_to().count());
  fmt::print("\nfound          {}\n", in_words(seen_with_.found, from_ms, options_.processes));
  fmt::print("kept           {}\n", where_kept());
  fmt::print("cooled         {}, when the requests have ended\n",
             in_words(seen_with_.cooled, to_ms, options_.processes));
  if (seen_with_.became_hot > 1) {
    fmt::print("               a process called it hot {} times\n", seen_with_.became_hot);
  }
}

void hotkey_report::print_load() const {
  double const load_s = seconds(options_.load_to() - options_.load_from());
  fmt::print("to the store   {} calls without, {} with: {} and {} a second",
             with_commas(static_cast<std::int64_t>(seen_without_.key.asked)),
             with_commas(static_cast<std::int64_t>(seen_with_.key.asked)),
             per_second(seen_without_.key.asked, load_s), per_second(seen_with_.key.asked, load_s));
  if (seen_with_.asked_a_second_when_kept) {
    fmt::print("; {:.1f} a second once all kept it", *seen_with_.asked_a_second_when_kept);
  }
  fmt::print("\n");
  auto const latency = [](char const* what, call_figures const& a, call_figures const& b) {
    fmt::print("{:<14} p50 {} ms, p99 {} ms, slowest {} ms without; {}, {}, {} with\n", what,
               short_ms(a.p50_ms), short_ms(a.p99_ms), short_ms(a.slowest_ms), short_ms(b.p50_ms),
               short_ms(b.p99_ms), short_ms(b.slowest_ms));
  };
  latency("the key", seen_without_.key, seen_with_.key);
  latency("other keys", seen_without_.others, seen_with_.others);
}

void hotkey_report::print_rest() const {
  if (seen_with_.reports > 0) {
    fmt::print("reports        {} of all processes to each other, over the store\n",
               with_commas(seen_with_.reports));
  }
  auto const left_out = [](hotkey_figures const& of) {
    return with_commas(static_cast<std::int64_t>(of.key.left_out + of.others.left_out));
  };
  if (left_out(seen_without_) != "0" || left_out(seen_with_) != "0") {
    fmt::print("left out       {} requests without, {} with: the machine was too slow for them\n",
               left_out(seen_without_), left_out(seen_with_));
  }
  auto const errors = seen_without_.store_errors + seen_with_.store_errors;
  if (errors > 0) {
    fmt::print("store          {} questions without an answer\n", with_commas(errors));
  }
  for (auto const& each : shortcomings_) fmt::print("BROKEN         {}\n", each);
  if (!options_.plot.empty()) fmt::print("\nThe timeline is in {}\n", options_.plot.string());
}

nlohmann::ordered_json hotkey_report::json() const {
  auto const slice_ms = static_cast<double>(options_.slice().count());
  return {
      {"store", where_.shown},
      {"can_keep", where_.keeping == hotkey_keeping::can},
      {"processes", options_.processes},
      {"rate", options_.rate},
      {"keys", options_.keys},
      {"rate_of_other_keys", options_.rate_of_others()},
      {"threshold", options_.threshold},
      {"fleet_threshold", options_.fleet_threshold()},
      {"window_ms", options_.window().count()},
      {"load_from_ms", options_.load_from().count()},
      {"load_to_ms", options_.load_to().count()},
      {"slice_ms", slice_ms},
      {"broken", shortcomings_},
      {"runs", nlohmann::ordered_json::array({json_of("without", without_, seen_without_, slice_ms),
                                              json_of("with", with_, seen_with_, slice_ms)})}};
}

std::string hotkey_report::picture() const {
  return render_hotkey_plot(
      options_, where_.shown,
      {{"without hot keys", without_, seen_without_}, {"with hot keys", with_, seen_with_}});
}

}  // namespace herdlock::cli
