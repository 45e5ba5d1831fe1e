#include "scenes/election.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <herdlock/open.hpp>
#include <herdlock/url.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "stage/bench_board.hpp"
#include "scenes/takeover_rounds.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "terminal/forked_process.hpp"
#include "terminal/process_arguments.hpp"
#include "terminal/store_argument.hpp"
#include "terminal/temp_folder.hpp"
#include "terminal/unique_fd.hpp"
#include "terminal/usage_line.hpp"
#include "scenes/election_worker.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

constexpr int most_workers = 16;
constexpr milliseconds patience = 90s;

constexpr char const* election_footer = R"(
Workers, each a process of its own, stand for one job: one works, the others
wait. When the one that works has renewed its term, it is stopped, and the next
one takes over:

  graceful  it resigns, as at a shutdown: the next one is woken at once
  freeze    SIGSTOP: when its term is over, the next one works; continued then,
            it stops before it does anything else, and waits like the others
  kill      SIGKILL: the next one works when the term is over

By hand, in two terminals, with Ctrl-C, Ctrl-Z and kill -9:
  herdlock elect job --ttl 5s --verbose -- sh -c 'while date; do sleep 1; done'

A password in a URL can be read by every user in the list of processes: this
command has HERDLOCK_STORE for it.

Exit status: 0; 64 for usage; 69 if the store cannot be used.

Examples:
  herdlock demo election
  herdlock demo election --stop kill --ttl 5s --store redis://127.0.0.1)";

std::vector<leader_stop> stops_of(std::string const& text) {
  if (text == "all") return {leader_stop::graceful, leader_stop::freeze, leader_stop::kill};
  for (auto const how : {leader_stop::graceful, leader_stop::kill, leader_stop::freeze}) {
    if (text == name_of(how)) return {how};
  }
  throw command_error(exit_code::usage,
                      fmt::format("--stop '{}': is none of all, graceful, freeze, kill", text));
}

char const* name_of(worker_word word) {
  constexpr char const* names[] = {"stands", "leads", "renews", "stops", "resigned", "trouble"};
  return names[static_cast<std::size_t>(word)];
}

// ------------------------------------------------------------------------------- what is shown

class teller {
 public:
  explicit teller(election_demo_options const& options) : json_(options.json) {}

  void tell(worker_message const& m) {
    if (json_) {
      nlohmann::ordered_json line{
          {"at_ms", since_start(m.at_ns)}, {"worker", m.worker}, {"event", name_of(m.word)}};
      if (m.term != 0) line["term"] = m.term;
      if (m.text[0] != 0) line["why"] = std::string(m.text);
      return print(line);
    }
    say(m.at_ns, fmt::format("worker {}", m.worker), in_words(m));
  }
  void stopped(int worker, leader_stop how, std::int64_t at_ns) {
    constexpr char const* words[] = {"is told to resign", "SIGKILL", "SIGSTOP"};
    if (json_) {
      return print({{"at_ms", since_start(at_ns)},
                    {"worker", worker},
                    {"event", "stop"},
                    {"stop", cli::name_of(how)}});
    }
    say(at_ns, fmt::format("worker {}", worker),
        fmt::format("<<< {}", words[static_cast<std::size_t>(how)]));
  }
  void continued(int worker, std::int64_t at_ns) {
    if (json_) {
      return print({{"at_ms", since_start(at_ns)}, {"worker", worker}, {"event", "continue"}});
    }
    say(at_ns, fmt::format("worker {}", worker), "<<< SIGCONT");
  }
  void taken_over(leader_stop how, int from, int to, std::int64_t took_ns) {
    auto const ms = static_cast<double>(took_ns) / 1e6;
    nlohmann::ordered_json line{{"event", "taken_over"}, {"stop", cli::name_of(how)}};
    line.update({{"from", from}, {"to", to}, {"took_ms", ms}});
    if (json_) return print(line);
    fmt::print("{:>12}{}: worker {} took over from worker {} after {:.1f} ms\n\n", "",
               cli::name_of(how), to, from, ms);
    std::fflush(stdout);
  }

 private:
  double since_start(std::int64_t at_ns) const {
    return static_cast<double>(at_ns - began_ns_) / 1e6;
  }
  void say(std::int64_t at_ns, std::string const& who, std::string const& what) const {
    fmt::print("{:>8.3f} s  {:<10} {}\n", since_start(at_ns) / 1000, who, what);
    std::fflush(stdout);
  }
  static void print(nlohmann::ordered_json const& line) {
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(stdout);
  }
  static std::string in_words(worker_message const& m) {
    switch (m.word) {
      case worker_word::stands:
        return "waits";
      case worker_word::leads:
        return fmt::format("WORKS, term {}", m.term);
      case worker_word::renews:
        return fmt::format("works, term {} renewed", m.term);
      case worker_word::stops:
        return fmt::format("has stopped, term {}", m.term);
      case worker_word::resigned:
        return "has resigned";
      case worker_word::trouble:
        break;
    }
    return std::string("trouble: ") + m.text;
  }

  bool json_;
  std::int64_t began_ns_ = steady_ns();
};

// ---------------------------------------------------------------------------------- what is done

worker_orders_page* shared_pages() {
  void* const place = ::mmap(nullptr, sizeof(worker_orders_page) * most_workers,
                             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw command_error(exit_code::internal, "no shared memory");
  auto* const pages = static_cast<worker_orders_page*>(place);
  for (int i = 0; i < most_workers; ++i) new (pages + i) worker_orders_page;
  return pages;
}

class election_play {
 public:
  explicit election_play(election_demo_options const& options);
  void run();

 private:
  struct worker {
    std::optional<forked_process> process;
    bool works = false;
    bool waits = false;
    bool stands = false;  // until it has resigned
    std::uint64_t term = 0;
    std::int64_t began_ns = 0;
    int renewals = 0;
  };

  void start(int n);
  void listen();
  void note(worker_message const& message);
  template <class Condition>
  void await(char const* what, Condition holds);
  void stop_the_leader(leader_stop how);
  void leave(int n);
  int leader() const;
  worker& at(int n) { return workers_.at(static_cast<std::size_t>(n - 1)); }
  worker_orders_page& orders(int n) { return pages_[n - 1]; }

  election_demo_options const& options_;
  std::optional<temp_folder> temporary_;
  worker_orders_page* const pages_ = shared_pages();
  unique_fd ears_;
  unique_fd mouth_;
  std::optional<worker_terms> place_;
  teller teller_;
  std::string last_trouble_;
  std::vector<worker> workers_;
};

election_play::election_play(election_demo_options const& options)
    : options_(options), teller_(options), workers_(static_cast<std::size_t>(options.workers)) {
  std::string url = options.store;
  if (url.empty()) {
    temporary_.emplace();
    url = sqlite_url(temporary_->path() / "election.db");
  }
  value_or_raise(try_open_store(url));  // what makes no sense is told before anything starts
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw command_error(exit_code::internal, "no pipe");
  ears_ = unique_fd(ends[0]);
  mouth_ = unique_fd(ends[1]);
  auto const name = "herdlock-demo:" + owner_token::generate().str();
  place_.emplace(
      worker_terms{url, resource(name), duration_argument("--ttl", options.ttl), mouth_.get()});
  note_interruptions();
}

void election_play::start(int n) {
  at(n).process.emplace(
      [this, n] { stand_as_worker(*place_, n, orders(n)); },
      [this, n](std::string_view why) {
        worker_message message{steady_ns(), n, worker_word::trouble, 0, {}};
        std::copy_n(why.begin(), std::min(why.size(), sizeof(message.text) - 1), message.text);
        [[maybe_unused]] auto const written = ::write(mouth_.get(), &message, sizeof(message));
      });
}

int election_play::leader() const {
  int found = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    auto const& each = workers_[i];
    bool const later = found == 0 || each.term > workers_[static_cast<std::size_t>(found - 1)].term;
    if (each.works && later) found = static_cast<int>(i) + 1;
  }
  return found;
}

void election_play::note(worker_message const& message) {
  worker& who = at(message.worker);
  teller_.tell(message);
  switch (message.word) {
    case worker_word::stands:
      who.waits = true;
      who.stands = true;
      break;
    case worker_word::leads:
      who.waits = false;
      who.works = true;
      who.term = message.term;
      who.began_ns = message.at_ns;
      who.renewals = 0;
      break;
    case worker_word::renews:
      ++who.renewals;
      break;
    case worker_word::stops:
      who.works = false;
      break;
    case worker_word::resigned:
      who.waits = false;
      who.stands = false;
      break;
    case worker_word::trouble:
      who.waits = false;
      last_trouble_ = message.text;
      break;
  }
}

void election_play::listen() {
  pollfd asked{ears_.get(), POLLIN, 0};
  if (::poll(&asked, 1, 10) != 1) return;
  worker_message message{};
  if (::read(ears_.get(), &message, sizeof(message)) == sizeof(message)) note(message);
}

template <class Condition>
void election_play::await(char const* what, Condition holds) {
  auto const end = steady_ns() + patience.count() * 1'000'000;
  while (!holds()) {
    throw_if_interrupted();
    listen();
    for (auto& each : workers_) {
      if (!each.process || !each.process->ended()) continue;
      listen();
      throw command_error(exit_code::unavailable, last_trouble_.empty()
                                                      ? std::string("a worker died by itself")
                                                      : last_trouble_);
    }
    if (steady_ns() > end) {
      throw command_error(exit_code::unavailable,
                          last_trouble_.empty() ? std::string(what) : last_trouble_);
    }
  }
}

void election_play::stop_the_leader(leader_stop how) {
  await("nobody renews", [this] { return leader() != 0 && at(leader()).renewals > 0; });
  int const old = leader();
  auto const old_term = at(old).term;
  await("nobody waits", [&] {
    for (int n = 1; n <= options_.workers; ++n) {
      if (n != old && at(n).waits) return true;
    }
    return false;
  });
  auto const since = steady_ns();
  teller_.stopped(old, how, since);
  if (how == leader_stop::graceful) {
    orders(old).stand = false;
    orders(old).resign = true;
  } else {
    at(old).process->signal(how == leader_stop::kill ? SIGKILL : SIGSTOP);
  }
  if (how == leader_stop::kill) {
    at(old).process->kill();
    at(old).works = false;
  }
  await("nobody took over", [&] { return leader() != 0 && at(leader()).term > old_term; });
  int const next = leader();
  teller_.taken_over(how, old, next, at(next).began_ns - since);
  if (how == leader_stop::freeze) {
    teller_.continued(old, steady_ns());
    at(old).process->signal(SIGCONT);
    await("the frozen one did not stop", [&] { return !at(old).works && at(old).waits; });
  }
  if (how == leader_stop::kill) {
    at(old) = worker();
    start(old);
  }
  orders(old).stand = true;
}

void election_play::run() {
  for (int n = 1; n <= options_.workers; ++n) {
    start(n);
    await("a worker did not stand", [&] { return at(n).works || (n > 1 && at(n).waits); });
  }
  for (auto const how : stops_of(options_.stop)) stop_the_leader(how);
  await("nobody renews", [this] { return leader() != 0 && at(leader()).renewals > 0; });
  // Those that wait go first, so that the term is given back to nobody.
  int const last = leader();
  for (int n = 1; n <= options_.workers; ++n) {
    if (n != last) leave(n);
  }
  leave(last);
}

void election_play::leave(int n) {
  orders(n).stand = false;
  orders(n).resign = true;
  await("a worker did not resign", [&] { return !at(n).stands; });
}

}  // namespace

CLI::App* add_election_command(CLI::App& demo, election_demo_options& arguments) {
  CLI::App* app =
      demo.add_subcommand("election", "Workers stand for a job: who works, and who takes over?");
  usage_line::set(*app, "herdlock demo election [OPTIONS]");
  app->add_option("--store", arguments.store,
                  "Where they stand: sqlite:PATH, redis://…, …\n(default: a temporary SQLite file)")
      ->envname("HERDLOCK_STORE")
      ->type_name("URL");
  add_store_file_option(*app, arguments.store);
  app->add_option("--workers", arguments.workers, "Real processes")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--ttl", arguments.ttl, "How long a dead worker is waited for")
      ->type_name("TIME")
      ->capture_default_str();
  app->add_option("--stop", arguments.stop, "all, graceful, freeze or kill")
      ->type_name("HOW")
      ->capture_default_str();
  app->add_flag("--json", arguments.json, "Print a JSON object for each event");
  app->footer(election_footer);
  return app;
}

void check(election_demo_options const& options) {
  require_between("--workers", options.workers, most_workers);
  if (options.workers < 2) {
    throw command_error(exit_code::usage, "--workers 1: somebody must be there to take over");
  }
  auto const ttl = duration_argument("--ttl", options.ttl);
  if (ttl < 200ms || ttl > 60s) {
    throw command_error(exit_code::usage,
                        fmt::format("--ttl {}: must be between 200 ms and 60 s", options.ttl));
  }
  stops_of(options.stop);
  require_shareable(options.store, options.workers);
}

int election_demo(election_demo_options options) {
  election_play(options).run();
  return 0;
}

}  // namespace herdlock::cli
