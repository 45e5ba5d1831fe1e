// A hot entry expires under many requests: how many load it? One mode after the other, with real
// processes that share the cache and the database.
#include <CLI/StringTools.hpp>
#include <herdlock/printable.hpp>
#include <random>

#include "scenes/scenes.hpp"
#include "scenes/stampede.hpp"
#include "stage/place.hpp"
#include "stage/temp_folder.hpp"
#include "terminal/notice.hpp"
#include "terminal/store_argument.hpp"

namespace herdlock::lab {
namespace {

[[noreturn]] void refuse(std::string const& why) { throw command_error(exit_code::usage, why); }

class stampede final : public scene {
 public:
  void declare(options& all) override {
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
    all.number("--expiries", orders_.expiries, {1, 10'000}, "How often the entry expires");
    constexpr milliseconds minutes10{600'000};
    all.time("--load-time", orders_.origin.load_time, {milliseconds(1), minutes10},
             "How long the query takes");
    all.time("--claim-ttl", orders_.claim_ttl, {milliseconds(100), minutes10},
             "fleet: how long the others wait for a loader that died");
    all.flag("--kill-loader", orders_.kill_loader,
             "fleet: in the first expiry SIGKILL the process that loads, while it does");
  }

  void check() override {
    read_modes();
    if (orders_.kill_loader && (!plays("fleet") || orders_.processes < 2)) {
      refuse(
          "--kill-loader: needs the mode fleet and at least 2 processes, so that one is left to "
          "load");
    }
    require_shareable(orders_.store_url, orders_.processes);
    require_shareable(orders_.locks_url, orders_.processes);
    if (orders_.origin.url.empty()) return;
    origin_kind_of(cli::value_or_raise(store_url::parse(orders_.origin.url)));
  }

  void play(stage& on) override {
    std::random_device bits;
    orders_.run = fmt::format("{:08x}{:08x}", bits(), bits());
    orders_.key = fmt::format("herdlock-demo:{}:product:{}", orders_.run, hot_product_id);
    std::optional<place> locks;
    if (plays("double-lock")) {
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
    {  // closed before a process is started
      origin opened(orders_.origin);
      opened.create();
      // To the database at most: of all processes 256, of each 64.
      int const shared = std::min(256, opened.max_sessions() - 1) / orders_.processes;
      orders_.connections = std::max(1, std::min({shared, 64, orders_.requests}));
    }
    on.out().line(
        fmt::format("One product, {} × {} at once, {}; a load takes {}; the cache is in {}.",
                    counted(orders_.processes, "process", "processes"),
                    counted(orders_.requests, "request", "requests"),
                    counted(orders_.expiries, "expiry", "expiries"),
                    cli::say(orders_.origin.load_time), where.shown()));
    if (!where.remark().empty()) on.out().line(where.remark());
    shared<shared_warnings> warnings;
    std::vector<stampede_outcome> outcomes;
    for (guard_mode const* mode : modes_) {
      orders_.mode = mode;
      outcomes.push_back(play_mode(on, orders_, *warnings, [&](int expiry) {
        on.tell(fmt::format("{}: expiry {} of {}", mode->name, expiry, orders_.expiries),
                (outcomes.size() + (expiry - 1.0) / orders_.expiries) / modes_.size());
      }));
    }
    on.tell_nothing();
    tell_stampede(outcomes, on.out());
    if (on.out().wants_picture()) on.out().picture(picture_of(outcomes, where.shown()));
    for (auto const& each : outcomes) judge_stampede(each, on.judged());
    warnings->tell();
  }

 private:
  bool plays(std::string_view name) const {
    return std::ranges::any_of(modes_, [&](auto const* mode) { return name == mode->name; });
  }

  void read_modes() {
    for (std::string const& name : CLI::detail::split(modes_text_, ',')) {
      if (plays(name)) refuse(fmt::format("--mode {}: {} is twice there", modes_text_, name));
      std::string names = "all";
      for (guard_mode const& each : all_modes()) {
        if (name == each.name || modes_text_ == "all") modes_.push_back(&each);
        names += fmt::format(", {}", each.name);
      }
      if (modes_text_ == "all" || plays(name)) continue;
      refuse(fmt::format("--mode {}: is none of {}", in_quotes(name), names));
    }
  }

  void leave_out_what_cannot_be() {
    std::erase_if(modes_, [this](auto const* mode) { return !can_play(*mode); });
  }

  // Not every store keeps values. Throws for a mode that was named; no server is asked.
  bool can_play(guard_mode const& mode) const {
    stampede_orders orders = orders_;
    orders.mode = &mode;
    try {
      make_scheme(orders, {});
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

  stampede_orders orders_;
  std::string modes_text_ = "naive,process,fleet";
  std::vector<guard_mode const*> modes_;
};

}  // namespace

listed_scene const stampede_scene{"stampede",
                                  "A hot entry expires under many requests: how many load it?",
#include "scenes/stampede_help.txt"
                                  , true, made<stampede>};

}  // namespace herdlock::lab
