// One key is asked for by all, without and with hot keys.
#include "scenes/hotkey.hpp"

#include <cmath>
#include <herdlock/cache.hpp>

#include "scenes/hotkey_story.hpp"
#include "scenes/scenes.hpp"
#include "stage/place.hpp"
#include "stage/server_warnings.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds hotkey_patience = 60s;
// For the processes to hear that it begins.
constexpr std::int64_t head_start_ns = 20'000'000;
// A key whose rate is just that of the threshold may be found or not.
constexpr double clearly = 1.5;

[[noreturn]] void refuse(std::string const& line) { throw command_error(exit_code::usage, line); }

void require_findable(hotkey_options const& of) {
  bool const by_each = of.rate_of_each() >= clearly * of.threshold;
  bool const by_all = of.rate >= clearly * of.fleet_threshold();
  if (!by_each && !by_all) {
    refuse(fmt::format(
        "--rate {}: no process would call the key hot; use --rate {:.0f} or more "
        "for --processes {}, or a smaller --threshold",
        of.rate, std::ceil(clearly * of.threshold * std::min(of.processes, 10)), of.processes));
  }
  // So often it is to be read within half a window, to be sure.
  auto const least = 2 * static_cast<double>(hot_keys_options{}.min_reads);
  double const half_s = in_seconds(in_ns(of.window())) / 2;
  if (of.rate_of_each() * half_s < least) {
    refuse(
        fmt::format("--rate {}: too few requests for --processes {} in --time {}; use --rate "
                    "{:.0f} or more, or a longer --time",
                    of.rate, of.processes, cli::say_exactly(of.time),
                    std::ceil(least / half_s * of.processes)));
  }
  // What hot_keys refuses: a key at the threshold would never be found.
  if (of.threshold * half_s < least / 2) {
    refuse(
        fmt::format("--threshold {}: too small for --time {}; use {:.0f} or more, or a longer "
                    "--time",
                    of.threshold, cli::say_exactly(of.time), std::ceil(least / 2 / half_s)));
  }
}

// Over a store over which processes do not tell each other.
void require_hot_in_each(hotkey_options const& of) {
  if (of.rate_of_each() >= clearly * of.threshold) return;
  refuse(
      fmt::format("--rate {}: over this store each process goes by its own counts, and none "
                  "would call the key hot; use --rate {:.0f} or more for --processes {}, or a "
                  "smaller --threshold",
                  of.rate, std::ceil(clearly * of.threshold * of.processes), of.processes));
}

// Throws for a store that cannot be a cache. Without a round trip.
hotkey_keeping keeping_of(std::string const& url) {
  if (url.empty()) return hotkey_keeping::cannot;  // a SQLite file
  store const asked = open_here(url);
  bool const is_shared = asked.traits().across_processes;
  try {
    cache<std::string> const one(asked, {.prefix = no_prefix, .near = near_cache::hot});
    return is_shared ? hotkey_keeping::can : hotkey_keeping::needless;
  } catch (error const& e) {
    if (is_shared && e.code() != errc::not_supported) throw;
  }
  cache<std::string> const one(asked, {.prefix = no_prefix});  // throws where nothing is kept
  return is_shared ? hotkey_keeping::cannot : hotkey_keeping::needless;
}

class hotkey : public scene {
 public:
  void declare(options& all) override {
    all.store(of_.store,
              "Where the cache is: redis://…, sqlite:PATH\n"
              "(default: a temporary SQLite file)");
    all.number("--processes", of_.processes, {1, 32}, "Real processes that ask", "P");
    all.number("--rate", of_.rate, {1, 1'000'000},
               "So often a second they ask for the key, all together", "R");
    all.number("--keys", of_.keys, {1, 100'000}, "Other keys, asked for all the time");
    all.number("--threshold", of_.threshold, {1, 1'000'000},
               "Reads a second from which a key is hot in a process;\n"
               "for all processes together ten times that",
               "R");
    all.time("--time", of_.time, {2s, 2min}, "How long each of the two runs is");
  }

  void check() override {
    require_shareable(of_.store, of_.processes);
    require_findable(of_);
    keeping_ = keeping_of(of_.store);
    if (keeping_ != hotkey_keeping::can) require_hot_in_each(of_);
  }

  void play(stage& on) override {
    place const where(of_.store, place::without_url::file);
    of_.store = where.url();
    auto const processes = static_cast<std::size_t>(of_.processes);
    hotkey_board without(processes, of_.slice());
    hotkey_board with(processes, of_.slice());
    hotkey_terms terms{of_, fresh_name() + ":", hotkey_run::without, keeping_, hotkey_patience};
    play_run(on, terms, where.shown(), without);
    terms.run = hotkey_run::with;
    play_run(on, terms, where.shown(), with);
    on.tell_nothing();
    hotkey_story const story{of_, where.shown(), keeping_, {"without", without}, {"with", with}};
    judge_hotkey(story.with.seen, processes, keeping_, on.judged());
    tell_hotkey(story, on.judged(), on.out());
    if (on.out().wants_picture()) on.out().picture(drawn_hotkey(story));
    tell_warnings(where.url());
  }

 private:
  void play_run(stage& on, hotkey_terms const& terms, std::string const& shown,
                hotkey_board& board) const {
    auto const all = [&](auto holds) {
      return std::all_of(board.processes.begin(), board.processes.end(), holds);
    };
    on.clear();
    on.tell("the cache is filled");
    for (std::size_t n = 0; n < board.processes.size(); ++n) {
      on.processes().start(fmt::format("process {}", n + 1),
                           [&terms, n, &board] { ask_for_keys(terms, n, board); });
    }
    on.await(
        shown + ": a process could not fill the cache",
        [&] { return all([](auto const& one) { return one.ready.load(); }); }, terms.patience);
    board.now->began_ns = steady_ns() + head_start_ns;
    board.now->phase = hotkey_phase::playing;
    pass_time(on, terms.run, board);
    // Those that still call the key hot have the time that cooling takes.
    on.waited_for([&] { return all([](auto const& one) { return !one.hot; }); },
                  2 * of_.window() + 5s);
    board.now->phase = hotkey_phase::ending;
    on.await(
        shown + ": a process did not end",
        [&] { return all([](auto const& one) { return one.done.load(); }); }, terms.patience);
    on.let_end();
    board.now->phase = hotkey_phase::clearing;
    on.await(
        shown + ": the entries could not be removed", [&] { return on.processes().all_ended(); },
        terms.patience);
  }

  void pass_time(stage& on, hotkey_run which, hotkey_board const& board) const {
    bool const second = which == hotkey_run::with;
    auto const length = static_cast<double>(in_ns(of_.time));
    on.waited_for(
        [&] {
          auto const since = static_cast<double>(steady_ns() - board.now->began_ns);
          on.tell(second ? "with hot keys" : "without hot keys",
                  (since / length + (second ? 1 : 0)) / 2);
          return since >= length;
        },
        of_.time + hotkey_patience);
  }

  hotkey_options of_;
  hotkey_keeping keeping_ = hotkey_keeping::cannot;
};

}  // namespace

listed_scene const hotkey_scene{
    .name = "hotkey",
    .does = "All ask for one key at once: when is it found, and what has the store of it?",
    .help = R"(Processes ask a cache for many keys, some of them often and most of them seldom
(Zipf). Then all of them ask for one key that nobody has asked for before, --rate
times a second, and after a while nobody does any more. This is played twice: with
caches that count no keys, and with caches that find their hot keys and keep them
in the process.

In a run of 10 s the key is asked for from second 2 to second 6; in a longer or
shorter one it is the same share of the time. Keys are counted in a window of 3/20
of that time, so that it is seen how the key cools (by default it is 10 s).

What is told is measured in the processes: each call, whether it asked the store
or was answered by what the process keeps, and how long it took. A tenth of --rate
goes to the other keys. p99 is right within a tenth. Should the machine be too
slow, requests that would begin more than 100 ms late are left out, and counted.

  found   a process has called the key hot, by its own counts or by what the
          others told it
  kept    a call was answered by what the process keeps, the first one
  cooled  the process has called it hot no more

Values are kept where the store pushes changes: redis://…, Redis 7.0 or newer, or
Valkey. For one that nobody else uses:
  redis-server --port 7777 --save '' --daemonize yes
Elsewhere, as in the temporary SQLite file that is the default, a key is found and
not kept: the store has the same load in both runs.

The entries are removed at the end; when the command is interrupted they go by
themselves, after two minutes and twice --time. A password in a URL can be read by
every user in the list of processes: this command has HERDLOCK_STORE for it.

Exit status: 0; 1 if a call had no answer, or a process did not find the key, keep
it where it can be kept, or call it cooled; 64 for usage, and for a server that
pushes no changes; 69 if the store cannot be used, or a process was killed; 70 for
lack of memory or processes, or if the output cannot be written.

Examples:
  herdlock-lab hotkey --store redis://127.0.0.1:7777
  herdlock-lab hotkey --store redis://127.0.0.1:7777 --plot hotkey.svg
  herdlock-lab hotkey --store redis://127.0.0.1:7777 --rate 50000 --time 30s
  herdlock-lab hotkey --processes 2 --rate 4000)",
    .draws = true,
    .make = made<hotkey>};

}  // namespace herdlock::lab
