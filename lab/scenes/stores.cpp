#include "scenes/stores.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <herdlock/url.hpp>
#include <nlohmann/json.hpp>

#include "terminal/exit_code.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

constexpr char const* stores_footer = R"(
Of each store, in turn, round after round:
  pairs/s      acquire and release, one after the other, nobody else there
  64 at once   the same by 64 users in one process, each with its own resource
  hand-over    8 processes arrive together on one resource and hold it for 1 ms:
               from the call of release to the next one's return from acquire
  take-over    a holder is killed with SIGKILL while another waits: until that
               one has it; the ttl is 3 s, renewed

The rates are the median of the rounds. Stores measured in one run can be
compared with each other; two runs, on a machine with other work, hardly.

Exit status: 0; 64 for usage; 69 if a store could not be measured (the others
are).

Examples:
  herdlock bench stores --store sqlite:a.db --store redis://127.0.0.1
  herdlock bench stores --store redis://127.0.0.1 --plot stores.svg --json)";

double median(std::vector<double> const& values) { return store_figures::percentile(values, 0.5); }

double rounded(double value) {
  double const factor = value < 100 ? 1000 : 1;
  return std::round(value * factor) / factor;
}

using measure = void (*)(std::string const& url, store_figures& into);

void measure_all(stores_options const& options, std::vector<store_figures>& all) {
  struct named {
    char const* name;
    measure how;
  };
  constexpr named measures[] = {{"pairs", store_bench::measure_pairs},
                                {"64 at once", store_bench::measure_pairs_of_64},
                                {"hand-over", store_bench::measure_hand_over},
                                {"take-over", store_bench::measure_take_over}};
  bool const tell = ::isatty(STDERR_FILENO) == 1;
  for (int round = 1; round <= options.rounds; ++round) {
    for (auto const& [name, how] : measures) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].trouble.empty()) continue;
        if (tell) {
          fmt::print(stderr, "\r\033[Kround {} of {}: {}: {}", round, options.rounds, name,
                     all[i].store);
        }
        try {
          how(options.urls[i], all[i]);
        } catch (command_error const& e) {
          if (e.code() != exit_code::unavailable) throw;
          all[i].trouble = e.what();
        }
      }
    }
  }
  if (tell) fmt::print(stderr, "\r\033[K");
}

void print_table(std::vector<store_figures> const& all) {
  std::size_t width = 5;
  for (auto const& each : all) width = std::max(width, each.store.size());
  fmt::print("{:<{}} {:>9} {:>11} {:>13} {:>13} {:>13}\n", "store", width, "pairs/s", "64 at once",
             "hand-over p50", "hand-over p99", "take-over");
  for (auto const& each : all) {
    if (!each.trouble.empty()) {
      fmt::print("{:<{}} not measured: {}\n", each.store, width, each.trouble);
      continue;
    }
    fmt::print("{:<{}} {:>9.0f} {:>11.0f} {:>10.2f} ms {:>10.2f} ms {:>10.0f} ms\n", each.store,
               width, median(each.pairs), median(each.pairs_of_64), median(each.hand_over_ms),
               store_figures::percentile(each.hand_over_ms, 0.99), median(each.take_over_ms));
  }
}

void print_json(std::vector<store_figures> const& all) {
  auto list = nlohmann::ordered_json::array();
  for (auto const& each : all) {
    nlohmann::ordered_json one{{"store", each.store}};
    if (!each.trouble.empty()) {
      one["error"] = each.trouble;
      list.push_back(std::move(one));
      continue;
    }
    one["pairs_per_second"] = rounded(median(each.pairs));
    one["pairs_per_second_64_at_once"] = rounded(median(each.pairs_of_64));
    one["hand_overs"] = each.hand_over_ms.size();
    one["hand_over_p50_ms"] = rounded(median(each.hand_over_ms));
    one["hand_over_p99_ms"] = rounded(store_figures::percentile(each.hand_over_ms, 0.99));
    one["take_over_ms"] = rounded(median(each.take_over_ms));
    one["take_over_ttl_ms"] = store_bench::crash_ttl.count();
    list.push_back(std::move(one));
  }
  fmt::print("{}\n", list.dump(2));
}

}  // namespace

CLI::App* add_stores_command(CLI::App& bench, stores_options& arguments) {
  CLI::App* app = bench.add_subcommand("stores", "What a lock costs on each store, side by side");
  usage_line::set(*app, "herdlock bench stores --store URL… [OPTIONS]");
  app->add_option("--store", arguments.urls, "A store to measure; again for each further one")
      ->type_name("URL")
      ->expected(1)
      ->take_all();
  add_store_files_option(*app, arguments.urls);
  app->add_option("--rounds", arguments.rounds, "More of them, steadier figures")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--plot", arguments.plot, "Draw the figures into this file (SVG)")
      ->type_name("FILE");
  app->add_flag("--json", arguments.json, "Print the figures as JSON");
  app->footer(stores_footer);
  return app;
}

void check(stores_options const& options) {
  if (options.urls.empty()) {
    throw command_error(exit_code::usage,
                        "--store URL: say which store to measure, e.g. --store sqlite:a.db");
  }
  require_between("--rounds", options.rounds, 1000);
  for (auto const& url : options.urls) {
    require_shareable(url, store_bench::contenders);
    value_or_raise(store_url::parse(url));
  }
}

int bench_stores(stores_options const& options) {
  std::vector<store_figures> all;
  for (auto const& url : options.urls) {
    all.push_back({.store = value_or_raise(store_url::parse(url)).redacted()});
  }
  std::ofstream picture;
  if (!options.plot.empty()) {
    picture.open(options.plot);
    if (!picture) {
      throw command_error(exit_code::usage, "--plot " + options.plot + ": cannot be written");
    }
  }
  measure_all(options, all);
  if (options.json) {
    print_json(all);
  } else {
    print_table(all);
  }
  if (picture.is_open()) picture << render_stores_plot(all);
  for (auto const& each : all) {
    if (!each.trouble.empty()) return static_cast<int>(exit_code::unavailable);
  }
  return 0;
}

}  // namespace herdlock::cli
