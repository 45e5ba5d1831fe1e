// `herdlock-lab near`: who sees a change when, while connections stand still.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <herdlock/url.hpp>
#include <optional>
#include <utility>

#include "scenes/near_fleet.hpp"
#include "scenes/near_teller.hpp"
#include "scenes/scenes.hpp"
#include "stage/place.hpp"
#include "stage/server_warnings.hpp"
#include "stage/wire.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

// Where they are not given, and --time is not too short for them.
constexpr milliseconds usual_freeze = 2'500ms;
constexpr milliseconds usual_every = 400ms;

constexpr char const* help =
#include "scenes/near_help.txt"
    ;

// The server that the relays stand in front of.
struct near_server {
  std::string host;
  std::uint16_t port = 0;
  std::string shown;  ///< both, as a URL has them
};

// The URL with this address in the place of its server.
std::string led_to(std::string const& address, std::string const& url) {
  auto const begin = url.find("://") + 3;
  auto const end = std::min(url.find_first_of("/?#", begin), url.size());
  auto const at = url.rfind('@', end);
  auto const host = at == std::string::npos || at < begin ? begin : at + 1;
  return url.substr(0, host) + address + url.substr(end);
}

// Throws command_error (usage) for what is not one Redis server over plain TCP at an address.
near_server near_server_of(std::string const& text) {
  auto const require = [](bool holds, std::string const& why) {
    if (!holds) throw command_error(exit_code::usage, why);
  };
  std::string const way_out = "use --store redis://HOST:PORT (redis-server --port 7777 starts one)";
  require(!text.empty(), "near needs a Redis server: " + way_out);
  store_url const url = cli::value_or_raise(store_url::parse(text));
  require(url.scheme == "redis" && url.hosts.empty() && !url.host.empty(),
          fmt::format("--store {}: the scene puts a relay in front of one Redis server over plain "
                      "TCP; {}",
                      url.redacted(), way_out));
  // Names are the library's to look up, and the relay is the scene's.
  boost::system::error_code code;
  std::string const host = url.host == "localhost" ? "127.0.0.1" : url.host;
  auto const address = boost::asio::ip::make_address(host, code);
  require(!code, fmt::format("--store {}: the scene's relay needs the address of {}; `getent hosts "
                             "{}` tells it",
                             url.redacted(), url.host, url.host));
  auto const port = url.port.value_or(6379);
  return {host, port, fmt::format("{}:{}", address.is_v6() ? "[" + host + "]" : host, port)};
}

class near_play {
 public:
  near_play(near_plan const& plan, near_server const& server, stage& on)
      : plan_(plan),
        server_(server),
        on_(on),
        // Should nobody take the value away, it goes by itself.
        fleet_(on, fresh_name() + ":near",
               {.ttl = plan.time + near_patience,
                .near = near_cache::hot,
                .max_staleness = plan.max_staleness},
               plan.processes, plan.most_changes(), plan.most_changes()),
        teller_(plan, board_, freeze_, on) {
    freeze_.first_reader = static_cast<std::size_t>(plan.first_frozen());
  }

  void run() {
    place const where(plan_.url, place::without_url::file);
    auto const goes_on = [this] { return fleet_.has_readers(); };
    wire steady(on_, server_.host, server_.port, goes_on);
    wire freezing(on_, server_.host, server_.port, goes_on);
    start_readers(steady, freezing);
    fleet_.begin(plan_.url);
    teller_.begin();
    on_.meanwhile([this] {
      change_when_due();
      teller_.follow(board_.acknowledged() - 1);
    });
    on_.pass(plan_.before_freeze());
    if (plan_.freeze > 0ms) freeze(freezing);
    on_.pass(plan_.after_freeze());
    on_.meanwhile([] {});
    await_last_change();
    teller_.follow(board_.acknowledged());
    fleet_.end_readers();
    near_figures const seen(board_, freeze_);
    judge_near(seen, {.max_staleness = plan_.max_staleness}, on_.judged());
    teller_.figures(seen);
    fleet_.remove();
    tell_warnings(plan_.url);
  }

 private:
  void start_readers(wire const& steady, wire const& freezing) {
    for (std::size_t n = 0; n < board_.readers.size(); ++n) {
      auto const port = (n < freeze_.first_reader ? steady : freezing).port();
      auto const address = fmt::format("127.0.0.1:{}", port);
      fleet_.start_reader(n, {led_to(address, plan_.url), address, server_.shown}, read);
    }
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
    if (now < due_ns_ || board_.acknowledged() == board_.most_changes()) return;
    if (fleet_.try_next()) due_ns_ = now + in_ns(plan_.every);
  }

  void freeze(wire& freezing) {
    await_last_change();
    freezing.freeze();
    freeze_.from_ns = steady_ns();
    teller_.event("stands still", "stand still");
    on_.pass(plan_.freeze);
    freezing.thaw();
    freeze_.to_ns = steady_ns();
    teller_.event("goes on", "go on");
  }

  // The last one as of now: more may come while this waits. Each process has been answered with it
  // then. A change that does not come is for the judge.
  void await_last_change() {
    auto const last = board_.acknowledged();
    auto const is_seen = [last](near_record const& one) { return one.served >= last; };
    on_.waited_for([&] { return board_.all(is_seen); }, near_patience);
  }

  near_plan const& plan_;
  near_server const& server_;
  stage& on_;
  near_fleet fleet_;
  near_board& board_ = fleet_.board;
  near_freeze freeze_;
  near_teller teller_;
  std::int64_t due_ns_ = 0;  // the next change
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
    server_ = near_server_of(plan_.url);
    plan_.shown = redacted(plan_.url);
    plan_.frozen = frozen_.value_or((plan_.processes + 1) / 2);
    if (plan_.frozen < 0 || plan_.frozen > plan_.processes) {
      throw command_error(exit_code::usage,
                          fmt::format("--frozen {}: must be between 0 and {}, the --processes",
                                      plan_.frozen, plan_.processes));
    }
    fit("--freeze", plan_.freeze, usual_freeze, {0ms, plan_.time / 2});
    fit("--every", plan_.every, usual_every, {20ms, plan_.time / 4});
    if (plan_.freeze == 0ms) plan_.frozen = 0;
  }

  void play(stage& on) override { near_play(plan_, server_, on).run(); }

 private:
  void fit(char const* name, milliseconds& time, milliseconds usual, range<milliseconds> allowed) {
    if (time < 0ms) time = std::min(usual, plan_.time / 4);
    cli::duration_between(name, duration_text(time), allowed.least, allowed.most);
  }

  near_plan plan_;
  near_server server_;
  std::optional<int> frozen_;
};

}  // namespace

listed_scene const near_scene{
    "near", "A value kept in each process is changed: who sees it when, and who is cut off?", help,
    false, made<near>};

}  // namespace herdlock::lab
