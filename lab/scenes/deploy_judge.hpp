// What the workers of the deploy share, what comes of it, and what is promised of that.
#pragma once

#include "stage/clock.hpp"
#include "stage/counts.hpp"
#include "stage/guarded_thing.hpp"

namespace herdlock::lab {

/// A job, and what was done of it. Its thing takes no write of a worker who comes too late.
struct deploy_job {
  struct begin {
    std::size_t worker = 0;
    std::int64_t at_ns = 0;
  };

  guarded_thing thing{};
  std::atomic<int> begun{0};  ///< by a holder of its lock who has found it undone
  begin first{}, last{};      ///< looked at when all is over
  std::atomic<std::int64_t> done_ns{0};

  void note_begin(std::size_t worker, std::int64_t now_ns) {
    last = {worker, now_ns};
    if (++begun == 1) first = {worker, now_ns};
  }
};

struct deploy_worker {
  enum class order { work, stop, halt };
  std::atomic<order> told{order::work};
  std::atomic<bool> halted{false};  ///< in the middle of a job, to be killed
  std::atomic<int> starts{0};
  std::int64_t told_ns = 0, ready_ns = 0;  ///< the scene's: of its restart
};

struct deploy_board {
  static constexpr std::size_t max_workers = 64;
  std::array<deploy_worker, max_workers> workers{};
  std::atomic<std::int64_t> open{0};  ///< jobs that there are by now
  std::atomic<std::int64_t> done{0};
};

struct deploy_figures {
  std::int64_t workers = 0, restarted = 0;
  std::int64_t killed = 0;  ///< in the middle of a job; they count among the restarted
  bool kills = false;       ///< whether some were to be killed
  std::int64_t jobs = 0, left_out = 0, done_twice = 0, begun_again = 0;
  guarded_thing::findings seen{};
  double slowest_ms = 0;        ///< a job, from its first begin on
  double longest_pause_ms = 0;  ///< in which no job was done
  double seconds = 0;

  void add(shared_array<deploy_job> const& all) {
    std::vector<std::int64_t> times;
    for (auto const& each : all) {
      auto const at = each.thing.seen();
      ++jobs;
      left_out += at.writes == 0;
      done_twice += at.writes > 1;
      begun_again += std::max(0, each.begun - 1);
      seen += at;
      if (at.writes == 0) continue;
      slowest_ms = std::max(slowest_ms, in_ms(each.done_ns - each.first.at_ns));
      times.push_back(each.done_ns);
    }
    std::ranges::sort(times);
    for (std::size_t i = 1; i < times.size(); ++i) {
      longest_pause_ms = std::max(longest_pause_ms, in_ms(times[i] - times[i - 1]));
    }
  }

  tallies counts() const {
    return {
        {"workers", workers},
        {"restarted", restarted},
        {"killed", killed},
        {"jobs", jobs},
        {"left out", left_out, "{} jobs were left out"},
        {"done twice", done_twice, "{} jobs were done more than once"},
        {"begun again", begun_again},
        {"late writes refused", seen.refused},
        {"overlaps", seen.overlaps,
         "a job was begun while another's lease on it had not ended, {} times"},
        {"fencing steps back", seen.steps_back, "a fencing token did not rise, {} times"},
        {"lost leases", seen.lost},
    };
  }
};

inline void judge_deploy(deploy_figures const& all, milliseconds in_time, judge& by) {
  by.demand(all.restarted == all.workers,
            fmt::format("only {} of {} workers were restarted", all.restarted, all.workers));
  judge_counts(all.counts(), by);
  by.demand(!all.kills || all.killed > 0,
            "no worker was killed in the middle of a job, so this shows nothing; use more --jobs");
  // Who is told to stop ends his job before.
  by.demand(all.begun_again <= all.killed + all.seen.lost,
            fmt::format("{} jobs were begun again, but only {} workers died at one and {} lost it",
                        all.begun_again, all.killed, all.seen.lost));
  by.demand(all.slowest_ms <= static_cast<double>(in_time.count()),
            fmt::format("a job was done only {:.0f} ms behind its begin", all.slowest_ms));
}

}  // namespace herdlock::lab
