#include "scenes/soak.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "scenes/soak_judge.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/temp_folder.hpp"
#include "terminal/usage_line.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr char const* soak_footer = R"(
Every thread of every process acquires the lock, touches a thing that all share,
and releases, until the hand-overs are used up. The thing counts who is inside,
the increments made there, and the fencing tokens it was shown, so the locks
are judged by what they protect. Processes fork from this one; a store is opened
in each.

Exit status: 0; 1 if anything was broken: an overlap, a lost increment, a token
that did not rise, a wait that ended although the lock was passed on, a lease
lost before its release; 64 for usage; 69 if the store cannot be used.

Examples:
  herdlock bench soak --store redis://127.0.0.1 --hand-overs 1000000
  herdlock bench soak --threads 16 --resources 4 --json)";

constexpr milliseconds soak_ttl = 30s;
// Nobody holds for more than a moment, so a wait that ends at this was not woken.
constexpr milliseconds longest_wait = 1min;
constexpr std::int64_t max_failures = 1000;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch())
      .count();
}

volatile sig_atomic_t interrupted_by = 0;
void on_signal(int number) { interrupted_by = number; }

// One thread of one process.
void pass_around(store const& opened, std::string const& prefix, int resource, soak_judge& judge) {
  lock const where(opened, prefix + std::to_string(resource));
  while (judge.take_turn()) {
    try {
      auto const asked = now_us();
      auto held = where.acquire({.ttl = soak_ttl, .wait = longest_wait});
      if (!held) {
        ++judge.lost_wake_ups;
        continue;
      }
      judge.note_grant(resource, now_us(), asked);
      judge.guarded_work(resource, held->fencing().value);
      judge.note_release(resource, now_us());
      if (held->release() != release_reply::released) ++judge.lost_leases;
      ++judge.done;
    } catch (std::exception const& e) {
      judge.complain(e.what());
      if (++judge.failures >= max_failures) judge.stop();
    }
  }
}

int run_process(soak_options const& options, std::string const& prefix, soak_judge& judge) {
  auto const opened = try_open_store(options.store_url);
  if (!opened) {
    judge.complain(opened.error().message);
    ++judge.failures;
    return 1;
  }
  // A store that cannot be used is told at once, not after the longest wait.
  try {
    static_cast<void>(lock(*opened, prefix + "probe").try_acquire({.ttl = soak_ttl}));
  } catch (std::exception const& e) {
    judge.complain(e.what());
    ++judge.failures;
    return 1;
  }
  std::vector<std::jthread> threads;
  for (int i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] { pass_around(*opened, prefix, i % options.resources, judge); });
  }
  return 0;
}

// The children die with this process, in whatever way it ends.
pid_t start_process(soak_options const& options, std::string const& prefix, soak_judge& judge) {
  pid_t const parent = ::getpid();
  pid_t const child = ::fork();
  if (child < 0) throw command_error(exit_code::internal, "cannot start a process");
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGINT, SIG_IGN);  // of the terminal's group: the parent says when to stop
  if (::getppid() != parent) ::_exit(1);
  ::_exit(run_process(options, prefix, judge));
}

// Until all have ended; the number of those that did not end well.
int await_all(std::vector<pid_t> running, soak_options const& options, soak_judge& judge) {
  bool const tell = ::isatty(STDERR_FILENO) == 1;
  int failed = 0;
  while (!running.empty()) {
    if (interrupted_by != 0) judge.stop();
    std::this_thread::sleep_for(50ms);
    std::erase_if(running, [&](pid_t child) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) != child) return false;
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        ++failed;
        judge.stop();
      }
      return true;
    });
    if (tell) {
      fmt::print(stderr, "\r\033[K{} of {} hand-overs", judge.done.load(), options.hand_overs);
    }
  }
  if (tell) fmt::print(stderr, "\r\033[K");
  return failed;
}

nlohmann::ordered_json figures(soak_options const& options, soak_judge const& judge,
                               double seconds) {
  auto const done = judge.done.load();
  return {{"processes", options.processes},
          {"threads", options.threads},
          {"resources", options.resources},
          {"hand_overs", done},
          {"overlaps", judge.overlaps.load()},
          {"lost_increments", done - judge.guarded_increments()},
          {"fencing_steps_back", judge.fencing_steps_back.load()},
          {"lost_wake_ups", judge.lost_wake_ups.load()},
          {"lost_leases", judge.lost_leases.load()},
          {"failures", judge.failures.load()},
          {"stalls_over_1s", judge.stalls.load()},
          {"longest_wait_ms", static_cast<double>(judge.longest_wait_us.load()) / 1000},
          {"seconds", seconds},
          {"per_second", seconds > 0 ? static_cast<double>(done) / seconds : 0}};
}

bool is_clean(soak_judge const& judge) {
  return judge.overlaps == 0 && judge.fencing_steps_back == 0 && judge.lost_wake_ups == 0 &&
         judge.lost_leases == 0 && judge.failures == 0 &&
         judge.guarded_increments() == judge.done.load();
}

void print_table(nlohmann::ordered_json const& result) {
  for (auto const& [name, value] : result.items()) {
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    fmt::print("{:<20} {}\n", label, value.dump());
  }
}

}  // namespace

CLI::App* add_soak_command(CLI::App& bench, soak_options& arguments) {
  CLI::App* app = bench.add_subcommand("soak", "Pass one lock around for long; is it ever broken?");
  usage_line::set(*app, "herdlock bench soak [OPTIONS]");
  app->add_option("--store", arguments.store_url,
                  "Where the lock lives: sqlite:PATH, redis://…, memory:\n"
                  "(default: a temporary SQLite file)")
      ->envname("HERDLOCK_STORE")
      ->type_name("URL");
  add_store_file_option(*app, arguments.store_url);
  app->add_option("--hand-overs", arguments.hand_overs, "How often the lock is taken, in all")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--processes", arguments.processes)->type_name("N")->capture_default_str();
  app->add_option("--threads", arguments.threads, "Of each process")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--resources", arguments.resources, "Locks; the threads are dealt out to them")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--json", arguments.json, "Print the figures as JSON");
  app->footer(soak_footer);
  return app;
}

void check(soak_options const& options) {
  require_between("--hand-overs", options.hand_overs, 1'000'000'000'000);
  require_between("--processes", options.processes, 256);
  require_between("--threads", options.threads, 256);
  require_between("--resources", options.resources, soak_judge::max_resources);
  require_shareable(options.store_url, options.processes);
}

int soak(soak_options options) {
  std::optional<temp_folder> temporary;
  if (options.store_url.empty()) {
    temporary.emplace();
    options.store_url = sqlite_url(temporary->path() / "store.db");
  }
  soak_judge& judge = soak_judge::in_shared_memory();
  judge.turns_left = options.hand_overs;
  auto const prefix = "herdlock-soak:" + owner_token::generate().str() + ":";
  for (int const number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, on_signal);
  auto const begin = std::chrono::steady_clock::now();
  std::vector<pid_t> running;
  for (int i = 0; i < options.processes; ++i) {
    running.push_back(start_process(options, prefix, judge));
  }
  int const failed = await_all(std::move(running), options, judge);
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
  auto const result = figures(options, judge, took.count());
  if (options.json) {
    fmt::print("{}\n", result.dump(2));
  } else {
    print_table(result);
  }
  if (!judge.complaint().empty()) {
    throw command_error(exit_code::unavailable, std::string(judge.complaint()));
  }
  if (interrupted_by != 0) return 128 + interrupted_by;
  if (failed > 0) throw command_error(exit_code::internal, "a process ended before its work");
  return is_clean(judge) ? 0 : 1;
}

}  // namespace herdlock::cli
