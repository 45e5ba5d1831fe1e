// How soon a command ends when the session behind its lock has, and does the next one begin before.
#include <fmt/format.h>
#include <signal.h>

#include <herdlock/lock.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>
#include <support/relay.hpp>
#include <support/zookeeper_server.hpp>

#include "scenes/scenes.hpp"
#include "scenes/session_judge.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"
#include "stage/programs.hpp"
#include "stage/temp_folder.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using namespace herdlock_test;

constexpr char const* session_help =
    R"(A holder with a ttl of a minute; the next one waits. Then the holder's session is
ended, in each way and in each mode that has one: by a statement, with its
process of the server, with the whole server, or by time. Both commands write
down when they are at work, each millisecond. The servers are the scene's own.

What is promised: each command has ended a second after its session, and herdlock
run with 76; with --grace (session_grace of both) also that never two are at work
at once.

Examples:
  herdlock-lab session --only postgres
  herdlock-lab session --rounds 20 --grace 1s)";

struct way {
  struct urls {
    std::string holder;
    std::string next;
  };

  std::string name;
  std::function<urls()> prepare;
  /// The holder's session, as `end` takes it: looked up before, so that it costs no time after.
  std::function<std::string(urls const&)> find;
  std::function<void(urls const&, std::string const& session)> end;
  std::function<void()> mend = [] {};  ///< so that the next can go on
};

std::string nothing_to_find(way::urls const&) { return {}; }

std::vector<way> ways_of(postgres_server& server, std::string const& mode) {
  auto const prepare = [&server, mode] {
    auto const url = server.fresh_url() + "&mode=" + mode;
    return way::urls{url, url};
  };
  // The session that has the lock: the next one's waits for it.
  std::string const holder =
      mode == "advisory"
          ? "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted LIMIT 1"
          : "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND "
            "application_name LIKE 'herdlock %' ORDER BY xact_start LIMIT 1";
  auto const find = [&server, holder](way::urls const& where) {
    auto const pid = server.sql(where.holder, holder);
    if (!pid.empty()) return pid;
    throw command_error(exit_code::unavailable, "no session of PostgreSQL has the lock");
  };
  return {{"postgres " + mode + ", pg_terminate_backend", prepare, find,
           [&server](way::urls const& where, std::string const& pid) {
             server.sql(where.holder, "SELECT pg_terminate_backend(" + pid + ")");
           }},
          {"postgres " + mode + ", kill -9 of the backend", prepare, find,
           [](way::urls const&, std::string const& pid) { ::kill(std::stoi(pid), SIGKILL); }}};
}

std::vector<way> ways_of(mariadb_server& server, std::string const& mode) {
  std::string const database = "session_" + mode;
  auto const prepare = [&server, database, mode] {
    auto const url = server.url(database) + "?mode=" + mode;
    return way::urls{url, url};
  };
  auto const session =
      "SELECT session FROM `" + database + "`.herdlock_" + mode + "_leases WHERE resource = 'job'";
  return {{"mysql " + mode + ", KILL", prepare,
           [&server, session](way::urls const&) { return server.sql(session); },
           [&server](way::urls const&, std::string const& id) { server.sql("KILL " + id); }},
          {"mysql " + mode + ", kill -9 of mariadbd", prepare, nothing_to_find,
           [&server](auto const&...) { server.kill(); }, [&server] { server.restart(); }}};
}

way way_of(zookeeper_server& server, relay& between) {
  auto const prepare = [&server, &between] {
    auto const chroot = server.fresh_chroot();
    return way::urls{fmt::format("zk://127.0.0.1:{}{}?session_timeout=3s", between.port(), chroot),
                     server.url(chroot) + "?session_timeout=20s"};
  };
  // Its end is later than this; when it comes the command must have gone.
  return {"zookeeper, a cut of the connection", prepare, nothing_to_find,
          [&between](auto const&...) { between.refuse(); }, [&between] { between.accept(); }};
}

class session : public scene {
 public:
  void declare(options& all) override {
    all.number("--rounds", rounds_, {1, 1'000'000}, "Of each way in which a session ends");
    all.time("--grace", grace_, {0ms, 5min}, "session_grace of both (default: none)");
    all.choice("--only", only_, {"all", "postgres", "mysql", "zookeeper"},
               "all, postgres, mysql or zookeeper");
    trial_.declare(all);
  }
  void check() override { trial_.check(); }

  void play(stage& on) override {
    trial_.live_if_asked();
    on.out().data() = json::array();
    auto const wanted = [this](char const* name) { return only_ == "all" || only_ == name; };
    if (wanted("postgres")) {
      auto server = own_server<postgres_server>();
      for (auto const* mode : {"advisory", "row"}) try_all(on, ways_of(server, mode));
    }
    if (wanted("mysql")) {
      auto server = own_server<mariadb_server>();
      for (auto const* mode : {"named", "row"}) try_all(on, ways_of(server, mode));
    }
    if (wanted("zookeeper")) {
      auto server = own_server<zookeeper_server>();
      relay between(server.port());
      try_all(on, {way_of(server, between)});
    }
  }

 private:
  void try_all(stage& on, std::vector<way> const& ways) const {
    for (auto const& each : ways) {
      session_figures found;
      found.way = each.name;
      for (int round = 1; round <= rounds_; ++round) {
        on.tell(fmt::format("{}: round {} of {}", each.name, round, rounds_));
        play_round(on, each, found);
      }
      on.tell_nothing();
      judge_session(found, grace_.count() < 0 ? session_grace::none : session_grace::given,
                    on.judged());
      tell(on.out(), found);
    }
  }

  void play_round(stage& on, way const& what, session_figures& into) const {
    temp_folder const folder;
    auto const file = folder.path() / "lives";
    auto& all = lives_in(file);
    life const& first = all[0];
    life const& second = all[1];
    auto const run = [&](std::string const& url, std::size_t number) {
      return trial_.start(with_grace(url), {"--ttl", "60s", "--wait", "forever"}, file, number,
                          run_trial::command::ends_at_sigterm);
    };
    auto const until = [&](char const* why, auto holds) {
      on.await(fmt::format("{}: {}", what.name, why), holds, 60s);
    };
    auto const where = what.prepare();
    child_process holder = run(where.holder, 0);
    until("the holder did not work", [&] { return first.first_ns != 0; });
    child_process next = run(where.next, 1);
    // Where the store does not tell, it has had time to.
    into.seen_waiting += has_waiter(on, where.next);
    std::string const id = what.find(where);
    auto const ended_ns = steady_ns();
    what.end(where, id);
    until("the holder did not end", [&] { return !holder.running(); });
    what.mend();
    until("the next one did not work", [&] { return second.first_ns != 0; });
    next.signal(SIGTERM);
    next.wait();
    auto const overlap_ns = first.last_ns - second.first_ns;
    ++into.rounds;
    into.told += holder.wait()->code == 76;
    into.overlaps += overlap_ns > 0;
    into.gone_ns = std::max(into.gone_ns, first.last_ns - ended_ns);
    into.overlap_ns = std::max(into.overlap_ns, overlap_ns);
  }

  static bool has_waiter(stage& on, std::string const& url) {
    lock const looker(open_here(url), "job");
    return on.waited_for(
        [&] {
          auto const state = looker.inspect();
          return state && state->waiting != 0;
        },
        1s);
  }

  std::string with_grace(std::string const& url) const {
    if (grace_.count() < 0) return url;
    return fmt::format("{}{}session_grace={}", url, url.find('?') == std::string::npos ? '?' : '&',
                       duration_text(grace_));
  }

  static void tell(report& to, session_figures const& of) {
    to.line(fmt::format(
        "{}: {} of {} told, the command gone after {:.3f} s at most; the next one seen waiting {} "
        "times, {} overlaps, {} {:.3f} s{}",
        of.way, of.told, of.rounds, in_seconds(of.gone_ns), of.seen_waiting, of.overlaps,
        of.overlap_ns > 0 ? "the longest" : "nobody at work for",
        std::abs(in_seconds(of.overlap_ns)), of.overlap_ns > 0 ? "" : " at least"));
    to.data().push_back({{"way", of.way},
                         {"rounds", of.rounds},
                         {"told", of.told},
                         {"gone_ms", to_micros(in_ms(of.gone_ns))},
                         {"seen_waiting", of.seen_waiting},
                         {"overlaps", of.overlaps},
                         {"overlap_ms", to_micros(in_ms(of.overlap_ns))}});
  }

  int rounds_ = 1;
  milliseconds grace_{-1};
  std::string only_ = "all";
  run_trial trial_{"session"};
};

}  // namespace

listed_scene const session_scene{
    "session", "How soon a command ends when the session behind its lock has, and what comes next",
    session_help, false, made<session>};

}  // namespace herdlock::lab
