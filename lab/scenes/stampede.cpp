// A hot entry expires under many requests: how many load it? One mode after the other, with real
// processes that share the cache and the database.
#include <fmt/format.h>

#include <CLI/StringTools.hpp>
#include <algorithm>
#include <herdlock/printable.hpp>
#include <optional>
#include <random>

#include "scenes/scenes.hpp"
#include "scenes/stampede_figures.hpp"
#include "stage/place.hpp"
#include "terminal/duration.hpp"
#include "terminal/notice.hpp"
#include "stage/temp_folder.hpp"
#include "terminal/store_argument.hpp"

namespace herdlock::lab {
namespace {

constexpr int max_expiries = 10'000;
// To the database: of all processes, and of each.
constexpr int max_connections = 256;
constexpr int max_connections_each = 64;

guard_mode const& mode_named(std::string const& name) {
  auto const all = all_modes();
  auto const found = std::find_if(all.begin(), all.end(),
                                  [&](guard_mode const& each) { return name == each.name; });
  if (found != all.end()) return *found;
  std::string names = "all";
  for (guard_mode const& each : all) names += fmt::format(", {}", each.name);
  throw command_error(exit_code::usage,
                      fmt::format("--mode {}: is none of {}", in_quotes(name), names));
}

std::string random_digits() {
  std::random_device bits;
  return fmt::format("{:08x}{:08x}", bits(), bits());
}

class stampede final : public scene {
 public:
  void declare(options& all) override;
  void check() override;
  void play(stage& on) override;

 private:
  bool plays(guard_mode const& mode) const {
    return std::find(modes_.begin(), modes_.end(), &mode) != modes_.end();
  }
  void read_modes();
  bool can_play(guard_mode const& mode) const;
  void leave_out_what_cannot_be() {
    std::erase_if(modes_, [this](auto const* mode) { return !can_play(*mode); });
  }
  void prepare_origin();
  void report_on(stage& on, place const& where) const;

  stampede_orders orders_;
  std::string modes_text_ = "naive,process,fleet";
  std::vector<guard_mode const*> modes_;
  std::vector<stampede_outcome> outcomes_;
};

// ---------------------------------------------------------------------------------- what is asked

void stampede::declare(options& all) {
  all.store(orders_.store_url,
            "Where the cache entry lives: sqlite:PATH, redis://…, memory:\n"
            "(default: a redis-server of its own where one is installed, else a temporary\n"
            "SQLite file)");
  all.text("--origin", orders_.origin.url,
           "The database: sqlite:PATH or mysql://user:password@host:port/database\n"
           "(default: a temporary SQLite file)",
           "URL");
  all.text("--locks", orders_.locks_url,
           "double-lock: where its locks live, any store\n(default: a temporary SQLite file)",
           "URL");
  all.app().get_option("--origin")->envname("HERDLOCK_ORIGIN");
  all.app().get_option("--locks")->envname("HERDLOCK_LOCKS");
  std::string modes = "Which ways are played, or all that the store can do:";
  for (guard_mode const& each : all_modes()) {
    modes += fmt::format("\n  {:<12} {}", each.name, each.does);
  }
  all.text("--mode", modes_text_, modes.c_str(), "MODE,…");
  all.number("--processes", orders_.processes, {1, stampede_orders::max_processes},
             "Real processes", "P");
  all.number("--requests", orders_.requests, {1, stampede_orders::max_requests},
             "Concurrent requests in each process", "R");
  all.number("--expiries", orders_.expiries, {1, max_expiries}, "How often the entry expires");
  constexpr milliseconds minutes10{600'000};
  all.time("--load-time", orders_.origin.load_time, {milliseconds(1), minutes10},
           "How long the query takes");
  all.time("--claim-ttl", orders_.claim_ttl, {milliseconds(100), minutes10},
           "fleet: how long the others wait for a loader that died");
  all.flag("--kill-loader", orders_.kill_loader,
           "fleet: in the first expiry SIGKILL the process that loads, while it does");
}

void stampede::read_modes() {
  if (modes_text_ == "all") {
    for (guard_mode const& each : all_modes()) modes_.push_back(&each);
    return;
  }
  for (std::string const& name : CLI::detail::split(modes_text_, ',')) {
    guard_mode const& mode = mode_named(name);
    if (plays(mode)) {
      throw command_error(exit_code::usage,
                          fmt::format("--mode {}: {} is twice there", modes_text_, name));
    }
    modes_.push_back(&mode);
  }
}

void stampede::check() {
  read_modes();
  if (orders_.kill_loader && (!plays(mode_named("fleet")) || orders_.processes < 2)) {
    throw command_error(exit_code::usage,
                        "--kill-loader: needs the mode fleet and at least 2 processes, so that "
                        "one is left to load");
  }
  require_shareable(orders_.store_url, orders_.processes);
  require_shareable(orders_.locks_url, orders_.processes);
  if (orders_.origin.url.empty()) return;
  origin_kind_of(cli::value_or_raise(store_url::parse(orders_.origin.url)));
}

// Not every store keeps values. Throws for a mode that was named; no server is asked.
bool stampede::can_play(guard_mode const& mode) const {
  stampede_orders orders = orders_;
  orders.mode = &mode;
  scheme_stores const stores = open_stores(orders);
  try {
    mode.make(stores, orders, {});
    return true;
  } catch (error const& e) {
    bool const near = mode.keeps_near && e.code() == errc::not_supported;
    auto const why = fmt::format("mode {}: {}{}", mode.name, e.what(),
                                 near ? "; --store redis://HOST:PORT can do it" : "");
    if (!near || modes_text_ != "all") throw command_error(cli::exit_code_of(e.code()), why);
    cli::notice("left out: " + why);
    return false;
  }
}

// -------------------------------------------------------------------------------- what is played

void stampede::play(stage& on) {
  orders_.run = random_digits();
  orders_.key = fmt::format("herdlock-demo:{}:product:{}", orders_.run, hot_product_id);
  std::optional<place> locks;
  if (plays(mode_named("double-lock"))) {
    orders_.locks_url = locks.emplace(orders_.locks_url, place::without_url::file).url();
  }
  // What was named is looked at before a server is asked, and all before a database gets tables.
  if (!orders_.store_url.empty()) leave_out_what_cannot_be();
  place const where(orders_.store_url, place::without_url::server);
  orders_.store_url = where.url();
  if (where.is_own()) leave_out_what_cannot_be();
  std::optional<temp_folder> folder;
  if (orders_.origin.url.empty()) {
    orders_.origin.url = cli::sqlite_url(folder.emplace().path() / "origin.db");
  }
  prepare_origin();
  on.out().line(
      fmt::format("One product, {} × {} at once, {}; a load takes {}; the cache is in {}.",
                  counted(orders_.processes, "process", "processes"),
                  counted(orders_.requests, "request", "requests"),
                  counted(orders_.expiries, "expiry", "expiries"),
                  cli::say(orders_.origin.load_time), where.shown()));
  if (!where.remark().empty()) on.out().line(where.remark());
  shared<shared_warnings> warnings;
  for (guard_mode const* mode : modes_) {
    orders_.mode = mode;
    outcomes_.push_back(play_mode(on, orders_, *warnings, [&](int expiry) {
      auto const done = static_cast<double>(outcomes_.size()) + (expiry - 1.0) / orders_.expiries;
      on.tell(fmt::format("{}: expiry {} of {}", mode->name, expiry, orders_.expiries),
              done / static_cast<double>(modes_.size()));
    }));
  }
  on.tell_nothing();
  report_on(on, where);
  warnings->tell();
}

// The connection is closed before a process is started.
void stampede::prepare_origin() {
  origin opened(orders_.origin);
  opened.create();
  int const shared = std::min(max_connections, opened.max_sessions() - 1) / orders_.processes;
  orders_.connections = std::max(1, std::min({shared, max_connections_each, orders_.requests}));
}

void stampede::report_on(stage& on, place const& where) const {
  on.out().line("\n" + table_of(outcomes_));
  on.out().data() = json_of(outcomes_);
  if (on.out().wants_picture()) on.out().picture(picture_of(outcomes_, where.shown()));
  for (auto const& each : outcomes_) judge_stampede(each, on.judged());
}

constexpr char const* help = R"(
A product's cache entry expires while every process gets requests for it. Each
process is a real one; they share the cache (--store) and the database
(--origin), whose query is deliberately slow. Loads are counted by the database:
each one leaves a row in the table herdlock_demo_load.

A request that finds no answer in the cache when it comes waits for a load, its
own or another's. early and logical have an answer meanwhile, the product as it
was before the expiry: a stale answer, which elsewhere is an error. In early the
requests come a little before the entry would expire, in the other modes when it
has. A process of these two goes on asking until it gets the new product; if it
has to wait for that, this counts as well. In near the requests come once more
when a process has the new product: Redis tells each process when it changes,
so they are answered without asking Redis.

The last answer is that of the slowest expiry. A process has at most 64
connections to the database, all together at most 256 (MySQL: four fifths of
its max_connections); further loads wait for one.

A database that you give is left with the tables Product and herdlock_demo_load;
the cache entry is removed. A password in a URL can be read by every user in the
list of processes: this command has HERDLOCK_STORE, HERDLOCK_LOCKS and
HERDLOCK_ORIGIN for it.

Exit status: 0; 1 if a request failed or got a wrong answer; 64 for usage;
69 if the store or the origin cannot be used, or a process dies.

Examples:
  herdlock-lab stampede
  herdlock-lab stampede --plot stampede.svg
  herdlock-lab stampede --mode fleet,early,logical
  herdlock-lab stampede --mode fleet --kill-loader
  herdlock-lab stampede --mode fleet,near --store redis://127.0.0.1:6379
  herdlock-lab stampede --store redis://127.0.0.1:6379 \
    --origin mysql://demo@127.0.0.1/demo --processes 10 --requests 10000 \
    --expiries 20 --mode fleet)";

}  // namespace

listed_scene const stampede_scene{"stampede",
                                  "A hot entry expires under many requests: how many load it?",
                                  help, true, made<stampede>};

}  // namespace herdlock::lab
