// The processes are forked while this one has a single thread: the store that is opened to judge
// its URL is closed before them.
#include "scenes/hotkey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include <optional>
#include <string>
#include <thread>

#include "stage/bench_board.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/forked_process.hpp"
#include "terminal/temp_folder.hpp"
#include "stage/demo_processes.hpp"
#include "scenes/hotkey_board.hpp"
#include "scenes/hotkey_figures.hpp"
#include "scenes/hotkey_teller.hpp"
#include "scenes/hotkey_worker.hpp"
#include "stage/picture.hpp"
#include "terminal/progress_line.hpp"
#include "scenes/server_warnings.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds hotkey_patience = 60s;
constexpr milliseconds hotkey_tick = 10ms;
// For the processes to hear that it begins.
constexpr std::int64_t head_start_ns = 20'000'000;

class hotkey_play {
 public:
  explicit hotkey_play(hotkey_options const& options);
  int run();

 private:
  void play(hotkey_run which, hotkey_board& board);
  void start(hotkey_terms const& terms, hotkey_board& board, demo_processes& all) const;
  void go_on(hotkey_run which, hotkey_board const& board, demo_processes& all) const;
  template <class Condition>
  void await(char const* what, demo_processes& all, Condition holds) const;
  template <class Condition>
  bool wait(demo_processes& all, milliseconds longest, Condition holds) const;

  hotkey_options const& options_;
  std::optional<temp_folder> temporary_;
  std::string url_;
  std::string shown_;
  hotkey_keeping keeping_{};
  std::string const prefix_ = "herdlock-demo:" + owner_token::generate().str() + ":";
  progress_line progress_;
};

hotkey_play::hotkey_play(hotkey_options const& options) : options_(options) {
  check_picture(options.plot);
  url_ = options.store_url;
  if (url_.empty()) url_ = sqlite_url(temporary_.emplace().path() / "store.db");
  shown_ =
      temporary_ ? "a temporary SQLite file" : value_or_raise(store_url::parse(url_)).redacted();
  keeping_ = keeping_of(url_);
  if (keeping_ != hotkey_keeping::can) require_hot_in_each(options);
  note_interruptions();
}

template <class Condition>
bool hotkey_play::wait(demo_processes& all, milliseconds longest, Condition holds) const {
  auto const work = [&] {
    throw_if_interrupted();
    all.look(demo_processes::may_end::no);
    std::this_thread::sleep_for(hotkey_tick);
  };
  return work_until(holds, work, longest);
}

template <class Condition>
void hotkey_play::await(char const* what, demo_processes& all, Condition holds) const {
  if (wait(all, hotkey_patience, holds)) return;
  throw command_error(exit_code::unavailable,
                      fmt::format("{}: {} within {}", shown_, what, say(hotkey_patience)));
}

template <class Condition>
bool in_all(hotkey_board const& board, Condition holds) {
  for (std::size_t n = 0; n < board.processes(); ++n) {
    if (!holds(board.process(n))) return false;
  }
  return true;
}

void hotkey_play::start(hotkey_terms const& terms, hotkey_board& board, demo_processes& all) const {
  for (std::size_t n = 0; n < options_.processes; ++n) {
    all.start(fmt::format("process {}", n + 1), [&] { ask_for_keys(terms, n, board); });
  }
  await("a process could not fill the cache", all,
        [&] { return in_all(board, [](hotkey_record const& one) { return one.ready.load(); }); });
}

// Behind the end of the run those that still call the key hot have the time that cooling takes.
void hotkey_play::go_on(hotkey_run which, hotkey_board const& board, demo_processes& all) const {
  auto const end = board.began_ns() + options_.time.count() * 1'000'000;
  wait(all, options_.time + hotkey_patience, [&] {
    auto const left_ms = std::max<std::int64_t>((end - steady_ns()) / 1'000'000, 0);
    progress_.show(fmt::format("{} hot keys: {} of {} left …",
                               which == hotkey_run::with ? "with" : "without",
                               say(milliseconds(left_ms / 100 * 100)), say(options_.time)));
    return steady_ns() >= end;
  });
  wait(all, 2 * options_.window() + 5s,
       [&] { return in_all(board, [](hotkey_record const& one) { return !one.hot; }); });
}

void hotkey_play::play(hotkey_run which, hotkey_board& board) {
  hotkey_terms const terms{.options = options_,
                           .url = url_,
                           .prefix = prefix_,
                           .run = which,
                           .keeping = keeping_,
                           .patience = hotkey_patience};
  demo_processes all(board.why());
  progress_.show("the cache is filled …");
  start(terms, board, all);
  board.begin(steady_ns() + head_start_ns);
  board.go_on_to(hotkey_stage::playing);
  go_on(which, board, all);
  board.go_on_to(hotkey_stage::ending);
  await("a process did not end", all,
        [&] { return in_all(board, [](hotkey_record const& one) { return one.done.load(); }); });
  progress_.show({});
  board.go_on_to(hotkey_stage::clearing);
  auto const look = [&] {
    throw_if_interrupted();
    all.look(demo_processes::may_end::yes);
    std::this_thread::sleep_for(hotkey_tick);
  };
  if (work_until([&] { return all.all_ended(); }, look, hotkey_patience)) return;
  throw command_error(
      exit_code::unavailable,
      fmt::format("{}: the entries could not be removed within {}", shown_, say(hotkey_patience)));
}

int hotkey_play::run() {
  auto const slice_ns = options_.slice().count() * 1'000'000;
  hotkey_board without(options_.processes, hotkey_options::slices, slice_ns);
  hotkey_board with(options_.processes, hotkey_options::slices, slice_ns);
  play(hotkey_run::without, without);
  play(hotkey_run::with, with);
  hotkey_report const report(options_, {shown_, keeping_}, without, with);
  if (!options_.plot.empty()) write_picture(options_.plot, report.picture());
  report.print();
  tell_warnings(url_);
  return static_cast<int>(report.all_came_about() ? exit_code::success : exit_code::promise_broken);
}

}  // namespace

int hotkey_demo(hotkey_options const& options) { return hotkey_play(options).run(); }

}  // namespace herdlock::cli
