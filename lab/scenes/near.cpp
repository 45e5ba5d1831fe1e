// `herdlock-lab near`: who sees a change when, while connections stand still.
#include <boost/asio/ip/address.hpp>
#include <regex>

#include "scenes/near_fleet.hpp"
#include "scenes/near_teller.hpp"
#include "scenes/scenes.hpp"
#include "stage/server_warnings.hpp"
#include "stage/wire.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

void require(bool holds, std::string const& why) {
  if (!holds) throw command_error(exit_code::usage, why);
}

// The URL with this address in the place of its server.
std::string led_to(std::string const& address, std::string const& url) {
  std::regex const server("^([a-z]+://(?:[^/?#]*@)?)[^/?#]*");
  return std::regex_replace(url, server, "$01" + address);
}

// Throws command_error (usage) for what is not one Redis server over plain TCP at an address.
void read_server(near_plan& plan) {
  std::string const way_out = "use --store redis://HOST:PORT (redis-server --port 7777 starts one)";
  require(!plan.url.empty(), "near needs a Redis server: " + way_out);
  store_url const url = cli::value_or_raise(store_url::parse(plan.url));
  plan.shown = url.redacted();
  require(url.scheme == "redis" && url.hosts.empty() && !url.host.empty(),
          fmt::format("--store {}: the scene puts a relay in front of one Redis server over plain "
                      "TCP; {}",
                      plan.shown, way_out));
  // Names are the library's to look up, and the relay is the scene's.
  boost::system::error_code code;
  plan.host = url.host == "localhost" ? "127.0.0.1" : url.host;
  plan.port = url.port.value_or(6379);
  auto const address = boost::asio::ip::make_address(plan.host, code);
  require(!code, fmt::format("--store {}: the scene's relay needs the address of {}; `getent hosts "
                             "{}` tells it",
                             plan.shown, url.host, url.host));
  plan.server =
      fmt::format("{}:{}", address.is_v6() ? "[" + plan.host + "]" : plan.host, plan.port);
}

struct near_play {
  near_plan const& plan;
  stage& on;
  near_fleet fleet{on, fresh_name() + ":near",
                   near_terms(plan.time + near_patience, near_cache::hot, plan.max_staleness),
                   near_board(plan.processes, plan.most_changes(), plan.most_changes())};
  near_board& board = fleet.board;
  near_teller teller{plan, board, on};
  std::int64_t due_ns = 0;  // the next change

  void run() {
    place const where(plan.url, place::without_url::file);
    auto const goes_on = [this] { return fleet.has_readers(); };
    wire steady(on, plan.host, plan.port, goes_on);
    wire freezing(on, plan.host, plan.port, goes_on);
    for (std::size_t n = 0; n < board.readers.size(); ++n) {
      auto const port = (n < teller.freeze.first_reader ? steady : freezing).port();
      auto const address = fmt::format("127.0.0.1:{}", port);
      fleet.start_reader(n, led_to(address, plan.url), read, address, plan.server);
    }
    fleet.begin(plan.url);
    teller.begin();
    on.meanwhile([this] {
      change_when_due();
      teller.follow(board.acknowledged() - 1);
    });
    on.pass(plan.before_freeze());
    if (plan.freeze > 0ms) freeze(freezing);
    on.pass(plan.after_freeze());
    on.meanwhile([] {});
    await_last_change();
    teller.follow(board.acknowledged());
    fleet.end_readers();
    near_figures const seen(board, teller.freeze);
    judge_near(seen, {.max_staleness = plan.max_staleness}, on.judged());
    teller.figures(seen);
    try {
      fleet.remove();
    } catch (std::exception const&) {
      on.end();  // what was found out is told, whatever becomes of the value
      throw;
    }
    tell_warnings(plan.url);
  }

  // All but the first in a row are answered by the process itself.
  static void read(near_reader& one) {
    using fence = near_reader::fence;
    one.read_until_kept();
    std::thread fencing([&] { one.read_on(20ms, [&] { one.read(fence::in_front); }); });
    one.read_on(1ms, [&] {
      for (int i = 0; i < 100 && one.read(fence::none); ++i) {
      }
    });
    fencing.join();
  }

  void change_when_due() {
    auto const now = steady_ns();
    if (now < due_ns || board.acknowledged() == board.most_changes()) return;
    if (fleet.try_next()) due_ns = now + in_ns(plan.every);
  }

  void freeze(wire& freezing) {
    await_last_change();
    freezing.freeze();
    teller.freeze.from_ns = steady_ns();
    teller.event("stands still", "stand still");
    on.pass(plan.freeze);
    freezing.thaw();
    teller.freeze.to_ns = steady_ns();
    teller.event("goes on", "go on");
  }

  // The last one as of now: more may come while this waits. Each process has been answered with it
  // then. A change that does not come is for the judge.
  void await_last_change() {
    auto const last = board.acknowledged();
    auto const is_seen = [last](near_record const& one) { return one.served >= last; };
    on.waited_for([&] { return board.all(is_seen); }, near_patience);
  }
};

class near final : public scene {
 public:
  void declare(options& all) override {
    all.store(plan_.url, "The Redis server where the value is");
    all.number("--processes", plan_.processes, {1, 64}, "Real processes that read", "P");
    all.app()
        .add_option("--frozen", frozen_,
                    "The connections of so many of them stand still in the middle\n"
                    "(default: half of them)")
        ->type_name("N");
    all.time("--freeze", plan_.freeze, {0ms, 1min},
             "For how long (default: 2500ms, but no longer than\na quarter of --time)");
    all.time("--max-staleness", plan_.max_staleness, {10ms, 10min},
             "How old a value may be that a process serves by itself");
    all.time("--every", plan_.every, {20ms, 30s},
             "How often the value is changed (default: 400ms, but\n"
             "no longer than a quarter of --time)");
    all.time("--time", plan_.time, {1s, 2min}, "How long it is changed altogether");
  }

  void check() override {
    read_server(plan_);
    plan_.frozen = frozen_.value_or((plan_.processes + 1) / 2);
    require(plan_.frozen >= 0 && plan_.frozen <= plan_.processes,
            fmt::format("--frozen {}: must be between 0 and {}, the --processes", plan_.frozen,
                        plan_.processes));
    fit("--freeze", plan_.freeze, 2'500ms, {0ms, plan_.time / 2});
    fit("--every", plan_.every, 400ms, {20ms, plan_.time / 4});
    if (plan_.freeze == 0ms) plan_.frozen = 0;
  }

  void play(stage& on) override { near_play{plan_, on}.run(); }

 private:
  // `usual` where it is not given, and --time is not too short for that.
  void fit(char const* name, milliseconds& time, milliseconds usual, range<milliseconds> allowed) {
    if (time < 0ms) time = std::min(usual, plan_.time / 4);
    cli::duration_between(name, duration_text(time), allowed.least, allowed.most);
  }

  near_plan plan_;
  std::optional<int> frozen_;
};

}  // namespace

listed_scene const near_scene{
    "near", "A value kept in each process is changed: who sees it when, and who is cut off?",
#include "scenes/near_help.txt"
    , false, made<near>};

}  // namespace herdlock::lab
