// `herdlock-lab near-soak`: is anything that a near cache serves too old? One writer, some readers,
// and something that happens to the server or the connection between them.
#include <support/redis_cluster.hpp>
#include <support/redis_sentinels.hpp>
#include <support/redis_server.hpp>

#include "scenes/near_fleet.hpp"
#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/wire.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using herdlock_test::redis_server;

constexpr char const* key = "k";

class near_soak final : public scene {
 public:
  void declare(options& all) override {
    all.choice("--case", what_, {"write", "flush", "swap", "kill", "freeze", "move", "failover"},
               "What happens (below)");
    all.number("--events", events_, {0, 1'000'000}, "How often");
    all.number("--writes", writes_, {1, 1'000'000}, "Before each event, and behind the last");
    all.number("--readers", readers_, {2, 64}, "Processes that read");
    all.time("--max-staleness", max_staleness_, {1ms, 10min}, "Of the readers");
    all.time("--excess", excess_, {0ms, 10min}, "That the machine may stand still");
    all.time("--pause", pause_, {0ms, 10s}, "Behind each write");
    all.time("--freeze", freeze_, {1ms, 60s},
             "How long the connections stand still (default: two and\n"
             "a half times --max-staleness)");
    all.number("--fence-every", fence_every_, {0, 1'000'000}, "0: no reader uses a fence");
    all.choice("--near", near_, {"all", "off"}, "What the readers keep");
  }

  void play(stage& on) override {
    auto const keeping = keeps() ? near_cache::all : near_cache::off;
    near_fleet fleet{on, key, near_terms(1h, keeping, max_staleness_),
                     near_board(readers_, (writes_ + 1) * (events_ + 1), 0)};
    if (what_ == "move") return play_cluster(fleet);
    if (what_ == "failover") return play_sentinels(fleet);
    play_one_server(fleet);
  }

 private:
  bool keeps() const { return near_ == "all"; }

  void play_one_server(near_fleet& fleet) const {
    auto const server = own_server<redis_server>();
    auto const url = server.url() + "?timeout=10s";
    near_state& state = *fleet.board.state;
    if (what_ == "freeze") return play_freeze(fleet, url, server.port());
    race(fleet, url, [&] {
      if (what_ == "kill") server.cli("CLIENT KILL TYPE normal");
      if (what_ == "flush") {
        state.nothing_follows = true;
        server.cli("FLUSHALL");
        fleet.board.acknowledge(steady_ns());
      }
      if (what_ == "swap") {
        constexpr char const* set =
            "redis.call('SELECT', 1) return redis.call('SET', KEYS[1], ARGV[1])";
        server.command({"EVAL", set, "1", key, std::to_string(state.acknowledged + 1)});
        await_kept(fleet);
        server.command({"SWAPDB", "0", "1"});
        ++state.swaps;
        fleet.board.acknowledge(steady_ns());
      }
    });
  }

  void play_freeze(near_fleet& fleet, std::string const& url, std::uint16_t port) const {
    auto const span = freeze_.count() >= 0 ? freeze_ : max_staleness_ * 5 / 2;
    wire way(fleet.on, "127.0.0.1", port, [&] { return fleet.has_readers(); });
    start_readers(fleet, fmt::format("redis://127.0.0.1:{}?timeout=10s", way.port()));
    write_all(fleet, url, [&] {
      await_kept(fleet);
      way.await_thaw();
      way.freeze(steady_ns() + in_ns(span));
    });
    way.await_thaw();
    end(fleet);
  }

  void play_cluster(near_fleet& fleet) const {
    auto group = own_server<herdlock_test::redis_cluster>();
    auto const slot = group.slot_of(key);
    race(fleet, group.url() + "?timeout=10s",
         [&] { group.move_slot(slot, (group.home_of(key) + 1) % 3); });
  }

  void play_sentinels(near_fleet& fleet) const {
    auto group = own_server<herdlock_test::redis_sentinels>(
        herdlock_test::sentinels_options{.down_after = herdlock_test::never_down});
    // A master that has lost its place answers until Sentinel has told everybody, and what is
    // written there is lost: that is for any client to see, with a near cache or without.
    race(fleet, group.url() + "?timeout=10s", [&] {
      group.await_replicas(2);
      redis_server& old = group.master();
      group.failover();
      fleet.on.await("clients stay at the old master", [&] {
        return old.cli("CLIENT LIST").find("name=herdlock") == std::string::npos;
      });
    });
  }

  void race(near_fleet& fleet, std::string const& url, std::function<void()> const& event) const {
    start_readers(fleet, url);
    write_all(fleet, url, event);
    end(fleet);
  }

  void start_readers(near_fleet& fleet, std::string const& url) const {
    for (std::size_t n = 0; n < fleet.board.readers.size(); ++n) {
      auto const every = n > 0 ? fence_every_ : 0;
      fleet.start_reader(n, url, [every](near_reader& one) {
        std::int64_t round = 0;
        one.read_on(0ms, [&] {
          bool const fences = every > 0 && round++ % every == 0;
          one.read(fences ? near_reader::fence::in_front : near_reader::fence::none);
        });
      });
    }
  }

  void write_all(near_fleet& fleet, std::string const& url,
                 std::function<void()> const& event) const {
    fleet.begin(url);
    for (std::int64_t i = 0; i <= events_; ++i) {
      fleet.on.tell(fmt::format("event {} of {}", i, events_), 1.0 * i / (events_ + 1));
      for (std::int64_t n = 0; n < writes_; ++n) {
        throw_if_interrupted();
        auto const write = [&] { return fleet.try_next(); };
        fleet.on.await("the writer was not answered", write, near_patience);
        // So that readers find it unchanged for a while.
        if (pause_ > 0ms) fleet.on.pass(pause_);
      }
      if (i < events_) event();
    }
  }

  // Until each reader was answered with the last value by what it keeps: before that, what comes
  // next may show nothing.
  void await_kept(near_fleet& fleet) const {
    if (!keeps()) return;
    auto const last = fleet.board.acknowledged();
    auto const keeps_it = [last](near_record const& one) { return one.kept == last; };
    fleet.board.state->watched = true;
    fleet.on.await("a reader does not keep the last value",
                   [&] { return fleet.board.all(keeps_it); });
    fleet.board.state->watched = false;
  }

  void end(near_fleet& fleet) const {
    fleet.end_readers();
    near_figures const seen(fleet.board, {});
    judge& judged = fleet.on.judged();
    bool const needs_hits = pause_ > 0ms && keeps();
    judge_near(seen, {max_staleness_, excess_, needs_hits ? 0.8 : 0.0}, judged);
    report& out = fleet.on.out();
    out.figure("case", what_);
    out.figure("events", events_);
    out.figure("reads", fleet.board.sum(&near_record::reads));
    out.figure("errors", fleet.board.sum(&near_record::failures));
    out.figure("hits", 100 * seen.share_of_near_hits(), "%");
    out.figure("stale", fleet.board.sum(&near_record::stale));
    out.figure("oldest", seen.oldest_ms(), "ms");
    out.figure("stale a second", fleet.board.sum(&near_record::stale_a_second));
    out.figure("stale behind fence", fleet.board.sum(&near_record::stale_fenced));
    out.data()["broken"] = judged.broken();
  }

  std::string what_ = "write";
  std::int64_t events_ = 20;
  std::int64_t writes_ = 50;
  int readers_ = 2;
  milliseconds max_staleness_{1'000};
  milliseconds excess_{50};
  milliseconds pause_{2};
  milliseconds freeze_{-1};
  std::int64_t fence_every_ = 10;
  std::string near_ = "all";
};

}  // namespace

listed_scene const near_soak_scene{
    "near-soak", "Is anything too old that a near cache serves, whatever happens to its server?",
#include "scenes/near_soak_help.txt"
    , false, made<near_soak>};

}  // namespace herdlock::lab
