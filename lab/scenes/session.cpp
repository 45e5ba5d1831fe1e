// How soon a command ends when the session behind its lock has, and does the next one begin before.
#include <signal.h>

#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>
#include <support/relay.hpp>
#include <support/zookeeper_server.hpp>

#include "scenes/cut.hpp"
#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;
using namespace herdlock_test;
using taking = run_trial::taking;
using action = std::function<void()>;

/// In which a session ends.
struct way {
  std::string name;
  std::function<taking()> prepare;
};

/// Of both commands in a database of their own.
way way_of(
    std::string name, std::function<std::string()> const& fresh_url,
    std::function<action(std::string const& url)> const& prepare, action const& mend = [] {}) {
  return {std::move(name), [=] {
            auto const url = fresh_url();
            return taking{.holder_url = url,
                          .next_url = url,
                          .prepare = [=](child_process&) { return prepare(url); },
                          .mend = mend};
          }};
}

std::vector<way> ways_of(postgres_server& server, std::string const& mode) {
  auto const url = [&server, mode] { return server.fresh_url() + "&mode=" + mode; };
  // The session that has the lock: the next one's waits for it.
  auto const session = [&server, mode](std::string const& at) {
    auto const pid = server.sql(
        at, mode == "advisory"
                ? "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted LIMIT 1"
                : "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND "
                  "application_name LIKE 'herdlock %' ORDER BY xact_start LIMIT 1");
    if (!pid.empty()) return pid;
    throw command_error(exit_code::unavailable, "no session of PostgreSQL has the lock");
  };
  auto const terminate = [=, &server](std::string const& at) {
    return [at, &server, end = "SELECT pg_terminate_backend(" + session(at) + ")"] {
      server.sql(at, end);
    };
  };
  auto const kill = [=](std::string const& at) {
    return [pid = std::stoi(session(at))] { ::kill(pid, SIGKILL); };
  };
  return {way_of("postgres " + mode + ", pg_terminate_backend", url, terminate),
          way_of("postgres " + mode + ", kill -9 of the backend", url, kill)};
}

std::vector<way> ways_of(mariadb_server& server, std::string const& mode) {
  std::string const database = "session_" + mode;
  auto const url = [=, &server] { return server.url(database) + "?mode=" + mode; };
  auto const end = [=, &server](auto const&) {
    return
        [&server, id = server.sql("SELECT session FROM `" + database + "`.herdlock_" + mode +
                                  "_leases WHERE resource = 'job'")] { server.sql("KILL " + id); };
  };
  auto const kill = [&server](auto const&) { return [&server] { server.kill(); }; };
  return {way_of("mysql " + mode + ", KILL", url, end),
          way_of("mysql " + mode + ", kill -9 of mariadbd", url, kill, [&] { server.restart(); })};
}

way way_of(zookeeper_server& server, relay& between) {
  return {"zookeeper, a cut of the connection", [&] {
            auto const chroot = server.fresh_chroot();
            auto const holder = fmt::format("zk://127.0.0.1:{}{}", between.port(), chroot);
            // Its end is later than that of the holder's; when it comes the command must have gone.
            return taking{.holder_url = holder + "?session_timeout=3s",
                          .next_url = server.url(chroot) + "?session_timeout=20s",
                          .prepare = [&](auto&) { return [&] { between.refuse(); }; },
                          .mend = [&] { between.accept(); }};
          }};
}

class session : public cases_of_a_cut {
 public:
  session() : cases_of_a_cut("session", 1) {}

  void declare(options& all) override {
    cases_of_a_cut::declare(all);
    all.time("--grace", grace_, {0ms, 5min}, "session_grace of both (default: none)");
    all.choice("--only", only_, {"all", "postgres", "mysql", "zookeeper"},
               "all, postgres, mysql or zookeeper");
  }

 private:
  void play_cases(stage& on) override {
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

  void try_all(stage& on, std::vector<way> const& ways) {
    cut_promises const promised{.one_at_a_time = grace_ >= 0ms, .outlived_ms = 1'000};
    for (auto const& each : ways) {
      play_case(on, {.name = each.name}, promised, [&](cut_figures& into) {
        auto what = each.prepare();
        what.how = {"--ttl", "60s", "--wait", "forever"};
        what.holder_url = with_grace(what.holder_url);
        what.next_url = with_grace(what.next_url);
        into.take(trial_.play(on, what));
      });
    }
  }

  std::string with_grace(std::string const& url) const {
    if (grace_ < 0ms) return url;
    return fmt::format("{}{}session_grace={}", url, url.find('?') == std::string::npos ? '?' : '&',
                       duration_text(grace_));
  }

  milliseconds grace_{-1};
  std::string only_ = "all";
};

}  // namespace

listed_scene const session_scene{
    "session", "How soon a command ends when the session behind its lock has, and what comes next",
#include "scenes/session_help.txt"
    , false, made<session>};

}  // namespace herdlock::lab
