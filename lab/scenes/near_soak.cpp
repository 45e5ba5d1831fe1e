// `herdlock-lab near-soak`: is anything that a near cache serves too old? One writer, some readers,
// and something that happens to the server or the connection between them.
#include <fmt/format.h>

#include <optional>
#include <support/redis_cluster.hpp>
#include <support/redis_sentinels.hpp>
#include <support/redis_server.hpp>

#include "scenes/near_race.hpp"
#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/wire.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using herdlock_test::redis_server;

constexpr char const* key = near_soak_key;

constexpr char const* help =
    R"(One process writes 1, 2, 3, … to a key of a Redis server of its own; the others
read it as fast as they can, each from a near cache. The cases:

  write     nothing but the writes
  flush     FLUSHALL
  swap      SWAPDB with a database that has the next value; the server tells
            nobody, so each reader calls drop_kept() once it is done
  kill      every connection of a client is killed
  freeze    the readers' connections stand still; from when each reader keeps
            the last value
  move      the key's slot goes to another node of a cluster
  failover  another server becomes the master, by Sentinel, and all clients have
            gone there

Each event comes after --writes writes. All readers but the first read every
tenth time (--fence-every) behind a fence.

Exit status: 0; 1 if a value behind a fence was older than a write that was
acknowledged before the fence; if any was older than --max-staleness and
--excess; or if fewer than four reads of five were near hits, for then it shows
nothing (without a --pause there are few); 64 usage; 69 if a server does not
start or answer, or a reader does not.

bench/peers/near_beside.py plays the same with other clients.

Examples:
  herdlock-lab near-soak --case flush --events 1000
  herdlock-lab near-soak --case freeze --max-staleness 500ms)";

class near_soak final : public scene {
 public:
  void declare(options& all) override {
    all.choice("--case", terms_.what,
               {"write", "flush", "swap", "kill", "freeze", "move", "failover"},
               "What happens (below)");
    all.number("--events", terms_.events, {0, 1'000'000}, "How often");
    all.number("--writes", terms_.writes, {1, 1'000'000}, "Before each event, and behind the last");
    all.number("--readers", terms_.readers, {2, 64}, "Processes that read");
    all.time("--max-staleness", terms_.max_staleness, {1ms, 10min}, "Of the readers");
    all.time("--excess", terms_.excess, {0ms, 10min}, "That the machine may stand still");
    all.time("--pause", terms_.pause, {0ms, 10s}, "Behind each write");
    all.time("--freeze", terms_.freeze, {1ms, 60s},
             "How long the connections stand still (default: two and\n"
             "a half times --max-staleness)");
    all.number("--fence-every", terms_.fence_every, {0, 1'000'000}, "0: no reader uses a fence");
    all.choice("--near", terms_.near, {"all", "off"}, "What the readers keep");
  }

  void play(stage& on) override {
    near_race one(terms_, on);
    if (terms_.what == "move") return play_cluster(one);
    if (terms_.what == "failover") return play_sentinels(one, on);
    play_one_server(one, on);
  }

 private:
  void play_one_server(near_race& one, stage& on) const {
    auto const server = own_server<redis_server>();
    auto const url = server.url() + "?timeout=10s";
    happening where{.url_of_readers = url, .url_of_writer = url};
    // A relay costs time and processor: only where something is to happen to it.
    std::optional<wire> way;
    if (terms_.what == "flush") {
      where.by_event = replacement::nothing;
      where.event = [&] { server.cli("FLUSHALL"); };
    } else if (terms_.what == "swap") {
      where.by_event = replacement::next;
      where.once_kept = true;
      where.prepare = [&](std::int64_t next) {
        constexpr char const* set =
            "redis.call('SELECT', 1) return redis.call('SET', KEYS[1], ARGV[1])";
        server.command({"EVAL", set, "1", key, std::to_string(next)});
      };
      where.event = [&] { server.command({"SWAPDB", "0", "1"}); };
    } else if (terms_.what == "kill") {
      where.event = [&] { server.cli("CLIENT KILL TYPE normal"); };
    } else if (terms_.what == "freeze") {
      way.emplace(on, "127.0.0.1", server.port(), [&] { return one.has_readers(); });
      where.url_of_readers = fmt::format("redis://127.0.0.1:{}?timeout=10s", way->port());
      where.once_kept = true;
      where.settle = [&] { way->await_thaw(); };
      where.event = [&] {
        way->await_thaw();
        way->freeze(steady_ns() + in_ns(terms_.freeze_time()));
      };
    }
    one.run(where);
  }

  static void play_cluster(near_race& one) {
    auto group = own_server<herdlock_test::redis_cluster>();
    auto const url = group.url() + "?timeout=10s";
    auto const slot = group.slot_of(key);
    one.run({.url_of_readers = url, .url_of_writer = url, .event = [&] {
               group.move_slot(slot, (group.home_of(key) + 1) % 3);
             }});
  }

  static void play_sentinels(near_race& one, stage& on) {
    herdlock_test::sentinels_options how;
    how.down_after = herdlock_test::never_down;
    auto group = own_server<herdlock_test::redis_sentinels>(how);
    auto const url = group.url() + "?timeout=10s";
    // A master that has lost its place answers until Sentinel has told everybody, and what is
    // written there is lost: that is for any client to see, with a near cache or without.
    auto const fail_over = [&] {
      group.await_replicas(2);
      redis_server& old = group.master();
      group.failover();
      on.await("clients stay at the old master",
               [&] { return old.cli("CLIENT LIST").find("name=herdlock") == std::string::npos; });
    };
    one.run({.url_of_readers = url, .url_of_writer = url, .event = fail_over});
  }

  near_soak_terms terms_;
};

}  // namespace

listed_scene const near_soak_scene{
    "near-soak", "Is anything too old that a near cache serves, whatever happens to its server?",
    help, false, made<near_soak>};

}  // namespace herdlock::lab
