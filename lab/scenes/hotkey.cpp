// One key is asked for by all, without and with hot keys.
#include <herdlock/cache.hpp>

#include "scenes/hotkey.hpp"
#include "scenes/scenes.hpp"
#include "stage/server_warnings.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

// A key whose rate is just that of the threshold may be found or not.
constexpr double clearly = 1.5;

void require(bool holds, std::string const& sentence) {
  if (!holds) throw command_error(exit_code::usage, sentence);
}

bool is_hot_in_each(hotkey_terms const& how) {
  return how.rate_of_each() >= clearly * how.threshold;
}

// So many times the threshold it is to be asked for, by all processes together.
std::string way_to_be_hot(hotkey_terms const& how, int thresholds) {
  return fmt::format("use --rate {:.0f} or more for --processes {}, or a smaller --threshold",
                     std::ceil(clearly * how.threshold * thresholds), how.processes);
}

void require_findable(hotkey_terms const& how) {
  require(is_hot_in_each(how) || how.rate >= clearly * how.fleet_threshold(),
          fmt::format("--rate {}: no process would call the key hot; {}", how.rate,
                      way_to_be_hot(how, std::min(how.processes, 10))));
  // So often it is to be read within half a window, to be sure.
  auto const least = 2 * static_cast<double>(hot_keys_options{}.min_reads);
  double const half_s = in_seconds(in_ns(how.window())) / 2;
  auto const time = duration_text(how.time);
  require(how.rate_of_each() * half_s >= least,
          fmt::format("--rate {}: too few requests for --processes {} in --time {}; use --rate "
                      "{:.0f} or more, or a longer --time",
                      how.rate, how.processes, time, std::ceil(least / half_s * how.processes)));
  // What hot_keys refuses: a key at the threshold would never be found.
  require(how.threshold * half_s >= least / 2,
          fmt::format("--threshold {}: too small for --time {}; use {:.0f} or more, or a longer "
                      "--time",
                      how.threshold, time, std::ceil(least / 2 / half_s)));
}

// Throws for a store that cannot be a cache. Without a round trip.
bool can_keep(std::string const& url) {
  if (url.empty()) return false;  // a SQLite file
  store const asked = open_here(url);
  bool const is_shared = asked.traits().across_processes;
  try {
    cache<std::string> const one(asked, {.prefix = no_prefix, .near = {.mode = near_cache::hot}});
    return is_shared;
  } catch (error const& e) {
    if (is_shared && e.code() != errc::not_supported) throw;
  }
  cache<std::string> const one(asked, {.prefix = no_prefix});  // throws where nothing is kept
  return false;
}

void play_run(stage& on, hotkey_board& board) {
  auto const& how = board.how;
  auto const all = [&board](hotkey_process::flag hotkey_process::*are) {
    return [&board, are] { return std::ranges::all_of(board.processes, are); };
  };
  on.clear();
  on.tell("the cache is filled");
  on.processes().start_all(board.processes.size(), "process",
                           [&board](std::size_t n) { ask_for_keys(board, n); });
  on.await(how.shown + ": a process could not fill the cache", all(&hotkey_process::ready),
           how.patience);
  board.now->began_ns = steady_ns() + in_ns(20ms);  // for the processes to hear that it begins
  board.now->phase = hotkey_phase::playing;
  auto const is_over = [&] {
    double const share = in_ms(steady_ns() - board.now->began_ns) / in_ms(in_ns(how.time));
    on.tell(board.hot_keys ? "with hot keys" : "without hot keys",
            (share + (board.hot_keys ? 1 : 0)) / 2);
    return share >= 1;
  };
  on.waited_for(is_over, how.time + how.patience);
  // Those that still call the key hot have the time that cooling takes.
  on.waited_for(all(&hotkey_process::is_cool), 2 * how.window() + 5s);
  board.now->phase = hotkey_phase::ending;
  on.await(how.shown + ": a process did not end", all(&hotkey_process::done), how.patience);
  on.let_end();
  board.now->phase = hotkey_phase::clearing;
  auto const have_ended = [&] { return on.processes().all_ended(); };
  on.await(how.shown + ": the entries could not be removed", have_ended, how.patience);
}

class hotkey : public scene {
 public:
  void declare(options& all) override {
    all.store(how_.store,
              "Where the cache is: redis://…, sqlite:PATH\n"
              "(default: a temporary SQLite file)");
    all.number("--processes", how_.processes, {1, 32}, "Real processes that ask", "P");
    all.number("--rate", how_.rate, {1, 1'000'000},
               "So often a second they ask for the key, all together", "R");
    all.number("--keys", how_.keys, {1, 100'000}, "Other keys, asked for all the time");
    all.number("--threshold", how_.threshold, {1, 1'000'000},
               "Reads a second from which a key is hot in a process;\n"
               "for all processes together ten times that",
               "R");
    all.time("--time", how_.time, {2s, 2min}, "How long each of the two runs is");
  }

  void check() override {
    require_shareable(how_.store, how_.processes);
    require_findable(how_);
    how_.can_keep = can_keep(how_.store);
    require(how_.can_keep || is_hot_in_each(how_),
            fmt::format("--rate {}: over this store each process goes by its own counts, and none "
                        "would call the key hot; {}",
                        how_.rate, way_to_be_hot(how_, how_.processes)));
  }

  void play(stage& on) override {
    place const where(how_.store, place::without_url::file);
    how_.store = where.url();
    how_.shown = where.shown();
    how_.prefix = fresh_name() + ":";
    hotkey_board without{how_, false}, with{how_, true};
    play_run(on, without);
    play_run(on, with);
    on.tell_nothing();
    hotkey_runs const runs{hotkey_figures(without), hotkey_figures(with)};
    judge_hotkey(runs[1], on.judged());
    tell_hotkey(runs, on.judged(), on.out());
    if (on.out().wants_picture()) on.out().picture(drawn_hotkey(runs));
    tell_warnings(where.url());
  }

 private:
  hotkey_terms how_;
};

}  // namespace

listed_scene const hotkey_scene{
    "hotkey", "All ask for one key at once: when is it found, and what has the store of it?",
#include "scenes/hotkey_help.txt"
    , true, made<hotkey>};

}  // namespace herdlock::lab
