// The store is cut off from the leader alone: has it stopped before the next one starts?
//
//   cut_soak [--rounds N] [--ttl MS] [--case election|run|kill] [--strict]
//
// A relay between the leader and Redis goes silent; the next in the queue reaches the server
// directly. Measured is the time from the leader's last sign of life to the next one's first.
//   election  two candidates; the work stops when it is told to
//   run       `herdlock run` with a command of two processes that refuse SIGTERM
//   kill      the same, and herdlock itself gets SIGKILL instead
// The margin is what the documents promise: election: the grace; run and kill: a quarter of the
// grace, at most 250 ms. Ends with 1 when the next one started before the other had ended; with
// --strict already when less than the margin was between them.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <future>
#include <herdlock/herdlock.hpp>
#include <optional>
#include <string>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>
#include <utility>
#include <vector>

#include "support/as_result.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What the processes of a round tell each other, in a file that all map.
struct signs {
  std::atomic<std::int64_t> first_alive{0};
  std::atomic<std::int64_t> second_alive{0};
  std::atomic<std::int64_t> next_began{0};
  std::atomic<std::int64_t> stood_still{0};  // the longest between two signs of one process

  static signs& in(std::string const& path) {
    int const fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(signs)) != 0) throw std::runtime_error("no " + path);
    void* const place = ::mmap(nullptr, sizeof(signs), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (place == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    return *static_cast<signs*>(place);
  }
  std::int64_t last() const { return std::max(first_alive.load(), second_alive.load()); }
};

// The command: two processes that show every millisecond that they live, and refuse to end.
[[noreturn]] void beat(std::string const& path) {
  ::signal(SIGTERM, SIG_IGN);
  auto& shared = signs::in(path);
  auto& mine = ::fork() == 0 ? shared.second_alive : shared.first_alive;
  for (auto before = now_ns();;) {
    auto const now = now_ns();
    shared.stood_still = std::max(shared.stood_still.load(), now - std::exchange(before, now));
    mine = now;
    ::poll(nullptr, 0, 1);
  }
}

struct soak_options {
  int rounds = 2;
  milliseconds ttl = 2s;
  std::string only;
  bool strict = false;
};

struct outcome {
  milliseconds margin;
  std::vector<double> gaps_ms{};
  std::vector<double> survived_ms{};  // kill: how long the command outlived herdlock
};

std::string through(relay const& path) {
  return "redis://127.0.0.1:" + std::to_string(path.port());
}

void require(bool holds, std::string const& what) {
  if (!holds) throw std::runtime_error(what);
}

double ms_of(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

std::size_t waiting(lock const& where) {
  auto const seen = where.inspect();
  return seen ? seen->waiting : 0;
}

// ----------------------------------------------------------------------------------- election

// Notes when its work begins and when it has ended.
struct candidate {
  candidate(std::string const& url, std::string id, soak_options const& options)
      : where(open_store(url)) {
    election_options terms;
    terms.ttl = options.ttl;
    terms.candidate = std::move(id);
    auto const work = [this](election_term& term) -> asio::awaitable<void> {
      began = now_ns();
      auto waiting = term.until_stop();
      co_await std::move(waiting);
      ended = now_ns();
    };
    job.emplace(where, resource("job"), election_services{work, {}}, terms);
  }
  void stand() { campaign = job->async_campaign(as_result(asio::use_future)); }
  ~candidate() {
    if (!campaign.valid()) return;
    job->resign();
    campaign.wait();
  }

  store where;
  std::atomic<std::int64_t> began{0};
  std::atomic<std::int64_t> ended{0};
  std::optional<election> job;
  std::future<result<void>> campaign;
};

void cut_off_a_leader(soak_options const& options, outcome& into) {
  auto& server = redis_server::shared();
  server.flush();
  relay path(server.port());
  candidate leader(through(path), "leader", options);
  candidate next(server.url(), "next", options);
  lock const judge(open_store(server.url()), "job");
  leader.stand();
  require(eventually([&] { return leader.began != 0; }), "nobody leads");
  next.stand();
  require(eventually([&] { return waiting(judge) == 1; }), "nobody waits");
  path.stop_forwarding();
  require(eventually([&] { return next.began != 0; }), "nobody took over");
  require(eventually([&] { return leader.ended != 0; }), "the leader never stopped");
  into.gaps_ms.push_back(ms_of(next.began - leader.ended));
  path.cut_all();
  path.resume_forwarding();
}

// ---------------------------------------------------------------------------------------- run

child_process start_run(std::string const& url, soak_options const& options,
                        std::vector<std::string> const& command) {
  std::vector<std::string> words{HERDLOCK_COMMAND,
                                 "run",
                                 "job",
                                 "--store",
                                 url,
                                 "--ttl",
                                 std::to_string(options.ttl.count()) + "ms",
                                 "--grace",
                                 std::to_string(options.ttl.count() * 2 / 5) + "ms",
                                 "--wait",
                                 "60s",
                                 "--"};
  words.insert(words.end(), command.begin(), command.end());
  return child_process({.argv = words});
}

enum class fault { cut, kill };

// Did nobody end it, or did nobody run at all?
void tell_of_a_long_life(outcome const& of, signs const& shared) {
  double const survived = of.survived_ms.back();
  if (survived < 100) return;
  std::printf(
      "kill: round %zu: the command outlived herdlock by %.1f ms; one of its processes\n"
      "  did not get to run for %.1f ms in between\n",
      of.survived_ms.size(), survived, ms_of(shared.stood_still));
  std::fflush(stdout);
}

void take_a_command_away(soak_options const& options, fault what, outcome& into) {
  auto& server = redis_server::shared();
  server.flush();
  temp_dir folder;
  auto const page = (folder.path() / "signs").string();
  auto& shared = signs::in(page);
  relay path(server.port());
  lock const judge(open_store(server.url()), "job");
  auto holder = start_run(through(path), options, {SOAK_PROGRAM, "--beat", page});
  require(eventually([&] { return shared.first_alive != 0 && shared.second_alive != 0; }),
          "the command does not run: " + holder.errors());
  auto next = start_run(server.url(), options, {SOAK_PROGRAM, "--mark", page});
  require(eventually([&] { return waiting(judge) == 1; }), "nobody waits: " + next.errors());
  shared.stood_still = 0;
  auto const since = now_ns();
  if (what == fault::cut) path.stop_forwarding();
  if (what == fault::kill) holder.kill();
  auto const taken_over = next.wait(60s);
  require(taken_over && shared.next_began != 0, "nobody took over: " + next.errors());
  auto const last = shared.last();
  if (what == fault::cut) {
    auto const status = holder.wait();
    require(status && status->code == 76, "the lease was not lost: " + holder.errors());
  } else {
    into.survived_ms.push_back(std::max(0.0, ms_of(last - since)));
    tell_of_a_long_life(into, shared);
  }
  require(shared.last() == last, "the command lives on");
  into.gaps_ms.push_back(ms_of(shared.next_began - last));
}

// ------------------------------------------------------------------------------------- report

bool report(char const* name, outcome const& seen, soak_options const& options) {
  auto gaps = seen.gaps_ms;
  std::sort(gaps.begin(), gaps.end());
  auto const margin = static_cast<double>(seen.margin.count());
  auto const kept = std::count_if(gaps.begin(), gaps.end(), [&](double g) { return g >= margin; });
  auto const overlaps = std::count_if(gaps.begin(), gaps.end(), [](double g) { return g <= 0; });
  std::printf(
      "%-9s %zu rounds: margin %.0f ms kept in %zu; least %.1f ms, median %.1f ms; "
      "%zu overlaps",
      name, gaps.size(), margin, static_cast<std::size_t>(kept), gaps.front(),
      gaps[gaps.size() / 2], static_cast<std::size_t>(overlaps));
  if (!seen.survived_ms.empty()) {
    std::printf("; the command outlived herdlock by %.1f ms at most",
                *std::max_element(seen.survived_ms.begin(), seen.survived_ms.end()));
  }
  std::printf("\n");
  std::fflush(stdout);
  bool const all = static_cast<std::size_t>(kept) == gaps.size();
  return overlaps == 0 && (all || !options.strict);
}

int soak(soak_options const& options) {
  auto const grace = options.ttl / 4;
  auto const kill_margin = std::min<milliseconds>(250ms, options.ttl * 2 / 5 / 4);
  struct known {
    char const* name;
    milliseconds margin;
    void (*round)(soak_options const&, outcome&);
  };
  known const all[] = {
      {"election", grace, cut_off_a_leader},
      {"run", kill_margin,
       [](soak_options const& o, outcome& into) { take_a_command_away(o, fault::cut, into); }},
      {"kill", kill_margin,
       [](soak_options const& o, outcome& into) { take_a_command_away(o, fault::kill, into); }}};
  bool fine = true;
  for (auto const& [name, margin, round] : all) {
    if (!options.only.empty() && options.only != name) continue;
    outcome seen{margin};
    for (int i = 0; i < options.rounds; ++i) round(options, seen);
    fine = report(name, seen, options) && fine;
  }
  return fine ? 0 : 1;
}

std::optional<soak_options> parse(std::vector<std::string> const& words) {
  soak_options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--strict") {
      options.strict = true;
      continue;
    }
    if (i + 1 == words.size()) return std::nullopt;
    std::string const& value = words[i + 1];
    if (words[i] == "--rounds") {
      options.rounds = std::stoi(value);
    } else if (words[i] == "--ttl") {
      options.ttl = milliseconds(std::stoi(value));
    } else if (words[i] == "--case") {
      options.only = value;
    } else {
      return std::nullopt;
    }
    ++i;
  }
  if (options.rounds < 1 || options.ttl < 200ms) return std::nullopt;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const words(argv + 1, argv + argc);
  try {
    if (words.size() == 2 && words[0] == "--beat") beat(words[1]);
    if (words.size() == 2 && words[0] == "--mark") {
      signs::in(words[1]).next_began = now_ns();
      return 0;
    }
    auto const options = parse(words);
    if (!options) throw std::runtime_error("see the top of cut_soak.cpp");
    return soak(*options);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "cut_soak: %s\n", e.what());
    return 1;
  }
}
