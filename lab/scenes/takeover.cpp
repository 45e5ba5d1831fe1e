#include "scenes/takeover.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <herdlock/url.hpp>
#include <nlohmann/json.hpp>

#include "scenes/store_figures.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr char const* takeover_footer = R"(
Three candidates in processes of their own; one leads and acts once in a
millisecond, asking its term before each act. It is stopped, again and again:

  graceful  it resigns, as at a shutdown
  kill      SIGKILL
  freeze    SIGSTOP, and SIGCONT as soon as the next one acts

The time runs until the next one's first act. A judge that knows nothing of
leases counts as an overlap each act in an older term than one that has acted,
and each work that begins while another runs. `thawed` is how long the work of a
leader that is continued takes to end; it does not act in that time.

What is promised: no overlap, and after kill and freeze a new leader within
the ttl and a second (or --excess). ZooKeeper ends a session, not a term: give such a URL
the ttl as its session_timeout.

Exit status: 0; 1 if a promise was broken; 64 for usage; 69 if a store could
not be measured (the others are).

Examples:
  herdlock bench takeover --store sqlite:a.db --store redis://127.0.0.1
  herdlock bench takeover --store redis://127.0.0.1 --stop kill --rounds 100)";

std::vector<leader_stop> stops_of(std::string const& text) {
  if (text == "all") return {leader_stop::graceful, leader_stop::kill, leader_stop::freeze};
  for (auto const how : {leader_stop::graceful, leader_stop::kill, leader_stop::freeze}) {
    if (text == name_of(how)) return {how};
  }
  throw command_error(exit_code::usage,
                      fmt::format("--stop '{}': is none of all, graceful, kill, freeze", text));
}

double worst(std::vector<double> const& values) { return store_figures::percentile(values, 1); }

struct promise {
  explicit promise(takeover_options const& options)
      : ttl(duration_argument("--ttl", options.ttl)),
        excess(duration_argument("--excess", options.excess)) {}

  milliseconds ttl;
  milliseconds excess;
};

// What the table promises; nothing for a hand-over, which depends on the store's round trip.
bool kept(takeover_figures const& of, promise const& what) {
  if (of.overlaps != 0) return false;
  auto const bound = static_cast<double>((what.ttl + what.excess).count());
  return of.how == leader_stop::graceful || worst(of.took_ms) <= bound;
}

std::vector<takeover_figures> measure_all(takeover_options const& options) {
  std::vector<takeover_figures> all;
  auto const ttl = duration_argument("--ttl", options.ttl);
  bool const tell = ::isatty(STDERR_FILENO) == 1;
  for (auto const& url : options.urls) {
    for (auto const how : stops_of(options.stop)) {
      auto& one = all.emplace_back();
      one.store = value_or_raise(store_url::parse(url)).redacted();
      one.how = how;
      auto const progress = [&](int round) {
        if (!tell) return;
        fmt::print(stderr, "\r\033[K{}: {}: round {} of {}", one.store, name_of(how), round,
                   options.rounds);
      };
      try {
        measure_takeover(url, options.rounds, ttl, progress, one);
      } catch (command_error const& e) {
        if (e.code() != exit_code::unavailable) throw;
        one.trouble = e.what();
      }
    }
  }
  if (tell) fmt::print(stderr, "\r\033[K");
  return all;
}

void print_table(std::vector<takeover_figures> const& all, promise const& what) {
  std::size_t width = 5;
  for (auto const& each : all) width = std::max(width, each.store.size());
  fmt::print("ttl {}\n{:<{}} {:<8} {:>6} {:>12} {:>12} {:>12} {:>12} {:>8}\n", say(what.ttl),
             "store", width, "stop", "rounds", "p50", "p99", "worst", "thawed, p99", "overlaps");
  for (auto const& each : all) {
    if (!each.trouble.empty()) {
      fmt::print("{:<{}} {:<8} not measured: {}\n", each.store, width, name_of(each.how),
                 each.trouble);
      continue;
    }
    auto const thawed =
        each.thawed_ms.empty()
            ? std::string("-")
            : fmt::format("{:.1f} ms", store_figures::percentile(each.thawed_ms, 0.99));
    fmt::print("{:<{}} {:<8} {:>6} {:>9.1f} ms {:>9.1f} ms {:>9.1f} ms {:>12} {:>8}{}\n",
               each.store, width, name_of(each.how), each.took_ms.size(),
               store_figures::percentile(each.took_ms, 0.5),
               store_figures::percentile(each.took_ms, 0.99), worst(each.took_ms), thawed,
               each.overlaps, kept(each, what) ? "" : "  BROKEN");
  }
}

void print_json(std::vector<takeover_figures> const& all, promise const& what) {
  auto list = nlohmann::ordered_json::array();
  auto const rounded = [](double value) { return std::round(value * 1000) / 1000; };
  for (auto const& each : all) {
    nlohmann::ordered_json one{{"store", each.store}, {"stop", name_of(each.how)}};
    if (!each.trouble.empty()) {
      one["error"] = each.trouble;
      list.push_back(std::move(one));
      continue;
    }
    one["ttl_ms"] = what.ttl.count();
    one["excess_ms"] = what.excess.count();
    one["rounds"] = each.took_ms.size();
    one["p50_ms"] = rounded(store_figures::percentile(each.took_ms, 0.5));
    one["p99_ms"] = rounded(store_figures::percentile(each.took_ms, 0.99));
    one["worst_ms"] = rounded(worst(each.took_ms));
    if (!each.thawed_ms.empty()) {
      one["thawed_p99_ms"] = rounded(store_figures::percentile(each.thawed_ms, 0.99));
    }
    one["acts"] = each.acts;
    one["overlaps"] = each.overlaps;
    one["kept"] = kept(each, what);
    list.push_back(std::move(one));
  }
  fmt::print("{}\n", list.dump(2));
}

}  // namespace

CLI::App* add_takeover_command(CLI::App& bench, takeover_options& arguments) {
  CLI::App* app = bench.add_subcommand(
      "takeover", "A leader is stopped: how soon does another lead, and do ever two?");
  usage_line::set(*app, "herdlock bench takeover --store URL… [OPTIONS]");
  app->add_option("--store", arguments.urls, "A store to try; again for each further one")
      ->type_name("URL")
      ->expected(1)
      ->take_all();
  add_store_files_option(*app, arguments.urls);
  app->add_option("--rounds", arguments.rounds, "Of each way to stop a leader")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--ttl", arguments.ttl, "How long a dead leader is waited for")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_option("--excess", arguments.excess, "How much longer than the ttl it may take")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_option("--stop", arguments.stop, "all, graceful, kill or freeze")
      ->type_name("HOW")
      ->capture_default_str();
  app->add_flag("--json", arguments.json, "Print the figures as JSON");
  app->footer(takeover_footer);
  return app;
}

void check(takeover_options const& options) {
  if (options.urls.empty()) {
    throw command_error(exit_code::usage,
                        "--store URL: say which store to try, e.g. --store sqlite:a.db");
  }
  require_between("--rounds", options.rounds, 100'000);
  auto const ttl = duration_argument("--ttl", options.ttl);
  if (ttl < 100ms || ttl > 60s) {
    throw command_error(exit_code::usage,
                        fmt::format("--ttl {}: must be between 100 ms and 60 s", options.ttl));
  }
  if (duration_argument("--excess", options.excess) > 1h) {
    throw command_error(exit_code::usage,
                        fmt::format("--excess {}: must be at most 1 h", options.excess));
  }
  stops_of(options.stop);
  for (auto const& url : options.urls) {
    require_shareable(url, 3);
    value_or_raise(store_url::parse(url));
  }
}

int bench_takeover(takeover_options const& options) {
  auto const all = measure_all(options);
  promise const what(options);
  if (options.json) {
    print_json(all, what);
  } else {
    print_table(all, what);
  }
  bool const unmeasured =
      std::any_of(all.begin(), all.end(), [](auto const& f) { return !f.trouble.empty(); });
  bool const fine = std::all_of(all.begin(), all.end(),
                                [&](auto const& f) { return !f.trouble.empty() || kept(f, what); });
  if (!fine) return 1;
  return static_cast<int>(unmeasured ? exit_code::unavailable : exit_code::success);
}

}  // namespace herdlock::cli
