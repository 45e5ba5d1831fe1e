// A deploy: all workers are restarted, one after the other, while there is work for all of them.
#include <unistd.h>

#include <herdlock/lock.hpp>
#include <random>

#include "scenes/deploy_judge.hpp"
#include "scenes/scenes.hpp"
#include "stage/drawing.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using order = deploy_worker::order;

class deploy : public scene {
 public:
  void declare(options& all) override {
    all.store(url_,
              "Where the locks live: sqlite:PATH, redis://…, postgres://…, zk://…\n"
              "(default: a redis-server of its own, else a temporary SQLite file)");
    all.number("--workers", workers_, {1, deploy_board::max_workers}, "Processes that do the jobs");
    all.number("--jobs", jobs_count_, {1, 100'000}, "Jobs, which come as the restarts go on");
    all.time("--work", work_, {1ms, 10s}, "What a job takes");
    all.time("--ttl", ttl_, {500ms, 1min}, "Of a job's lock");
    all.flag("--kill", kill_, "Every third worker is killed (SIGKILL) in the middle of a job");
    all.time("--in-time", in_time_, {0ms, 1h},
             "So long may it take to the end of a job that was begun\n"
             "(default: the ttl, twice the work and 10 s)");
  }

  void check() override {
    require_shareable(url_, workers_ + 1);
    if (kill_ && workers_ < 2) {
      cli::refuse("--kill: the second worker is the first to be killed; use --workers 2 or more");
    }
    if (in_time_ < 0ms) in_time_ = ttl_ + 2 * work_ + 10s;
  }

  void play(stage& on) override {
    place const where(url_, place::without_url::server);
    on.out().line(fmt::format("On {}.\n{}", where.shown(), where.remark()));
    figures_.workers = workers_;
    figures_.kills = kill_;
    jobs_.emplace(jobs_count_);
    prefix_ = fresh_name() + ":";
    board_->open = share(2);
    begin_ns_ = steady_ns();
    on.let_end();
    on.processes().start_all(workers_, "worker", [this, &where](std::size_t number) {
      work_at_jobs(where.url(), number);
    });
    for (int number = 0; number < workers_; ++number) {
      await(on, "too few jobs were done", [&] { return board_->done >= share(number + 1); });
      board_->open = share(number + 3);
      restart_worker(on, number);
    }
    await(on, "the jobs were not all done", [&] { return on.processes().all_ended(); });
    on.tell_nothing();
    figures_.seconds = in_seconds(steady_ns() - begin_ns_);
    figures_.add(*jobs_);
    report& out = on.out();
    report_counts(figures_.counts(), out);
    out.figure("slowest job", figures_.slowest_ms, "ms");
    out.figure("longest pause", figures_.longest_pause_ms, "ms");
    out.figure("seconds", figures_.seconds);
    out.figure("jobs per second", static_cast<double>(jobs_count_) / figures_.seconds);
    if (out.wants_picture()) out.picture(drawn());
    judge_deploy(figures_, in_time_, on.judged());
  }

 private:
  // Jobs come as the restarts go on: at each of them there is work for all, and not only at first.
  std::int64_t share(std::int64_t number) const {
    return jobs_count_ * std::min(number, std::int64_t{workers_} + 1) / (workers_ + 1);
  }

  template <class Condition>
  void await(stage& on, char const* what, Condition holds) {
    auto const told = [&] {
      auto const done = board_->done.load();
      on.tell(fmt::format("{} of {} workers restarted, {} of {} jobs done", figures_.restarted,
                          workers_, done, jobs_count_),
              static_cast<double>(done) / jobs_count_);
      return holds();
    };
    on.await(what, told, stage::patience + ttl_ + jobs_count_ * work_);
  }

  // It ends its job, and then itself; or it is killed in the middle of one.
  void restart_worker(stage& on, std::size_t number) {
    deploy_worker& one = board_->workers[number];
    one.told_ns = steady_ns();
    one.told = kill_ && number % 3 == 1 ? order::halt : order::stop;
    await(on, "a worker did not stop", [&] { return one.halted || on.processes().ended(number); });
    if (one.halted.exchange(false)) {
      on.processes().kill(number);
      ++figures_.killed;
    }
    auto const starts = one.starts.load();
    one.told = order::work;
    on.processes().start_again(number);
    await(on, "a new worker did not begin", [&] { return one.starts > starts; });
    one.ready_ns = steady_ns();
    ++figures_.restarted;
  }

  void work_at_jobs(std::string const& url, std::size_t number) {
    store const opened = open_here(url);
    deploy_worker& mine = board_->workers[number];
    std::minstd_rand random(std::random_device{}());
    ++mine.starts;
    while (mine.told != order::stop && board_->done < jobs_count_) {
      // Now and then one that somebody has begun: perhaps nobody is at it any more.
      auto const begun = random() % 5 == 0 ? undone_job(random(), 1) : std::nullopt;
      auto const found = begun ? begun : undone_job(random(), 0);
      if (!found) {
        if (mine.told == order::halt) return;
        nap();
        continue;
      }
      auto held = lock(opened, prefix_ + std::to_string(*found))
                      .acquire({.ttl = ttl_, .wait = begun ? 0ms : 50ms});
      if (!held) continue;
      do_job((*jobs_)[*found], number, *held, opened.traits());
      held->release();
    }
  }

  // The first one from there that was begun so often at least.
  std::optional<std::size_t> undone_job(std::size_t from, int begun) const {
    auto const open = static_cast<std::size_t>(board_->open);
    for (std::size_t i = 0; i < open; ++i) {
      auto const at = (from + i) % open;
      deploy_job const& job = (*jobs_)[at];
      if (job.thing.writes() == 0 && job.begun >= begun) return at;
    }
    return std::nullopt;
  }

  void do_job(deploy_job& job, std::size_t number, lease const& held, store_traits const& traits) {
    auto const spot = job.thing.enter(held);
    // Looked at behind the entry only: from there on a write of somebody who was in before is
    // refused.
    if (job.thing.writes() == 0) {
      job.note_begin(number, steady_ns());
      auto const end = steady_ns() + in_ns(work_);
      while (held.valid() && steady_ns() < end) {
        job.thing.stay(spot, held);
        if (board_->workers[number].told == order::halt) {
          // Where a lease belongs to a session the store ends it together with its holder.
          if (!traits.leaves_leases) job.thing.end(spot);
          board_->workers[number].halted = true;
          while (true) ::pause();
        }
        nap();
      }
      if (held.valid() && job.thing.write(held.fencing().value)) {
        job.done_ns = steady_ns();
        ++board_->done;
      }
    }
    job.thing.leave(spot, held);
  }

  // A row for each worker: its jobs, and when it was replaced.
  std::string drawn() const {
    constexpr double left = 60, right = 1040, top = 100, row = 16;
    double const bottom = top + row * workers_;
    scale const x{0, figures_.seconds, left, right};
    drawing picture(1080, bottom + 70, "A deploy under load",
                    fmt::format("{} workers restarted one after the other, {} of them killed; "
                                "{} jobs, {} left out, {} done twice",
                                workers_, figures_.killed, figures_.jobs, figures_.left_out,
                                figures_.done_twice));
    picture.panel(left, top, right - left, bottom - top,
                  "green: a job · grey: the worker is replaced · red: begun by one that was "
                  "killed, and done again by another");
    picture.x_axis(x, top, bottom, "seconds");
    auto const bar = [&](deploy_job::begin const& of, std::int64_t to_ns, char const* css) {
      double const from = x(in_seconds(of.at_ns - begin_ns_));
      double const wide = std::max(x(in_seconds(to_ns - begin_ns_)) - from, 0.5);
      picture.box(from, top + row * of.worker + 2, wide, row - 4, css);
    };
    auto const& workers = board_->workers;
    for (std::size_t worker = 0; worker < static_cast<std::size_t>(workers_); ++worker) {
      picture.text(left - 8, top + row * worker + 12, "tick", std::to_string(worker + 1),
                   drawing::anchor::end);
      bar({worker, workers[worker].told_ns}, workers[worker].ready_ns, "much");
    }
    for (auto const& job : *jobs_) {
      if (job.done_ns != 0) bar(job.last, job.done_ns, "good");
      if (job.begun > 1) bar(job.first, workers[job.first.worker].ready_ns, "bad");
    }
    return std::move(picture).document();
  }

  std::string url_;
  int workers_ = 20;
  std::int64_t jobs_count_ = 2000;
  milliseconds work_ = 20ms, ttl_ = 3s, in_time_{-1};
  bool kill_ = false;

  std::string prefix_;
  shared<deploy_board> board_;
  std::optional<shared_array<deploy_job>> jobs_;
  std::int64_t begin_ns_ = 0;
  deploy_figures figures_;
};

}  // namespace

listed_scene const deploy_scene{"deploy",
                                "All workers are restarted under load; is each job done once?",
#include "scenes/deploy_help.txt"
                                , true, made<deploy>};

}  // namespace herdlock::lab
