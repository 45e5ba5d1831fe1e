// One lock, or some, passed around for as long as it takes.
#include <herdlock/lock.hpp>

#include "scenes/scenes.hpp"
#include "scenes/soak_judge.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds soak_ttl = 30s;
// Nobody holds for more than a moment, so a wait that ends at this was not woken.
constexpr milliseconds longest_wait = 1min;
constexpr std::int64_t max_failures = 1000;

// One thread of one process.
void pass_around(store const& opened, std::string const& prefix, std::size_t resource,
                 soak_board& board) {
  lock const where(opened, prefix + std::to_string(resource));
  guarded_thing& thing = board.things[resource];
  while (board.take_turn()) {
    try {
      auto const asked = steady_ns();
      auto held = where.acquire({.ttl = soak_ttl, .wait = longest_wait});
      if (!held) {
        ++board.lost_wake_ups;
        continue;
      }
      board.note_grant(resource, steady_ns(), asked);
      // Two inside are an overlap, whatever either of them holds: the lease is not asked.
      auto const spot = thing.enter(held->fencing().value);
      thing.increment();
      thing.leave(spot);
      board.note_release(resource, steady_ns());
      if (held->release() != release_reply::released) ++board.lost_leases;
      ++board.done;
    } catch (std::exception const& e) {
      board.why.raise(exit_code::unavailable, e.what());
      if (++board.failures >= max_failures) board.stop();
    }
  }
  --board.running;
}

class soak : public scene {
 public:
  void declare(options& all) override {
    all.store(url_,
              "Where the lock lives: sqlite:PATH, redis://…, memory:\n"
              "(default: a temporary SQLite file)");
    all.number("--hand-overs", hand_overs_, {1, 1'000'000'000'000},
               "How often the lock is taken, in all");
    all.number("--processes", processes_, {1, 256}, "Processes that take it");
    all.number("--threads", threads_, {1, 256}, "Of each process");
    all.number("--resources", resources_, {1, soak_board::max_resources},
               "Locks; the threads are dealt out to them");
  }
  void check() override { require_shareable(url_, processes_); }

  void play(stage& on) override {
    place const where(url_, place::without_url::file);
    shared<soak_board> board;
    auto const prefix = fresh_name() + ":";
    board->turns_left = hand_overs_;
    board->running = std::int64_t{processes_} * threads_;
    on.let_end();
    auto const begin = steady_ns();
    on.processes().start_all(processes_, "process", [&](auto) {
      store const opened = open_here(where.url());
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < threads_; ++thread) {
        threads.emplace_back(pass_around, std::cref(opened), prefix, thread % resources_,
                             std::ref(*board));
      }
    });
    auto const trouble = awaited(on, *board);
    auto const seconds = in_seconds(steady_ns() - begin);
    report& out = on.out();
    report_counts({{"processes", processes_}, {"threads", threads_}, {"resources", resources_}},
                  out);
    report_counts(board->counts(), out);
    out.figure("longest wait", in_ms(board->longest_wait_ns), "ms");
    out.figure("seconds", seconds);
    out.figure("per second", seconds > 0 ? static_cast<double>(board->done) / seconds : 0);
    judge_soak(*board, on.judged());
    if (!trouble) return;
    on.end();
    throw command_error(*trouble);
  }

 private:
  // Until all have ended: why that is not good, if it is not. The figures are told in every case.
  std::optional<command_error> awaited(stage& on, soak_board& board) const {
    try {
      while (!on.waited_for([&] { return on.processes().all_ended(); }, 50ms)) {
        auto const done = board.done.load();
        on.tell(fmt::format("{} of {} hand-overs", with_commas(done), with_commas(hand_overs_)),
                static_cast<double>(done) / static_cast<double>(hand_overs_));
      }
      on.tell_nothing();
    } catch (command_error const& e) {
      // Who is inside leaves, so that what is counted fits together.
      board.stop();
      wait_until(5s, [&] { return board.running == 0; });
      return e;
    }
    if (board.failures == 0) return std::nullopt;
    return command_error(board.why.status(), std::string(board.why.text()));
  }

  std::string url_;
  int processes_ = 4, threads_ = 4, resources_ = 1;
  std::int64_t hand_overs_ = 10'000;
};

}  // namespace

listed_scene const soak_scene{"soak", "Pass one lock around for long; is it ever broken?",
#include "scenes/soak_help.txt"
                              , false, made<soak>};

}  // namespace herdlock::lab
