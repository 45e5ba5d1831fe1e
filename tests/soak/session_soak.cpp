// How soon a command ends when the session behind its lock has, and does the next one begin before.
//
//   session_soak [--rounds N] [--grace TIME] [--only postgres|mysql|zookeeper]
//
// A holder with a ttl of a minute; the next one waits. Then the holder's session is ended, in each
// way and in each mode that has one: by a statement, with its process of the server, with the whole
// server, or by time. Both commands write down when they are at work, each millisecond.
//
// Ends with 1 when a command was at work for more than a second after its session had ended; with
// --grace (session_grace of both) also when two were at work at once.
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <support/child_process.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>
#include <support/relay.hpp>
#include <support/temp_dir.hpp>
#include <support/zookeeper_server.hpp>
#include <vector>

#include <herdlock/herdlock.hpp>

#include "number_argument.hpp"
#include "verdict.hpp"

namespace {

using namespace herdlock_test;
using std::chrono::seconds;

std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
double as_seconds(std::int64_t nanoseconds) { return double(nanoseconds) / 1e9; }

// When a command was at work first and last; 0: never.
struct times {
  std::atomic<std::int64_t> first;
  std::atomic<std::int64_t> last;
};
using board = std::array<times, 2>;

// The command of both: it is at work until it is killed.
[[noreturn]] void work(std::string const& file, std::size_t slot) {
  times& mine = shared_figures<board>(file).at(slot);
  mine.first = now();
  while (true) {
    mine.last = now();
    ::poll(nullptr, 0, 1);
  }
}

struct options {
  std::uint64_t rounds = 1;
  std::string grace;
  std::string only;
};

/// Where the lock is in a round.
struct place {
  std::string holder;
  std::string next;
};

struct way {
  std::string name;
  std::function<place()> prepare;
  /// The holder's session, as `end` takes it: looked up before, so that it costs no time after.
  std::function<std::string(place const&)> find;
  std::function<void(place const&, std::string const&)> end;
  std::function<void()> mend = [] {};  ///< so that the next can go on
};

std::string with_grace(std::string const& url, options const& how) {
  if (how.grace.empty()) return url;
  return url + (url.find('?') == std::string::npos ? "?" : "&") + "session_grace=" + how.grace;
}

class round {
 public:
  round(way const& what, options const& how) : way_(what), how_(how) {}

  void play() {
    place const where = way_.prepare();
    child_process holder = run(where.holder, 0);
    until("the holder works", [&] { return board_[0].first != 0; });
    child_process next = run(where.next, 1);
    // Where the store does not tell, it has had time to.
    seen_waiting_ = eventually(seconds(1), [&] { return waits(where.next); });
    std::string const session = way_.find(where);
    ended_at_ = now();
    way_.end(where, session);
    until("the holder ends", [&] { return !holder.running(); });
    way_.mend();
    until("the next one works", [&] { return board_[1].first != 0; });
    status_ = holder.wait()->code.value_or(-1);
    next.signal(SIGTERM);
    next.wait();
  }

  /// From the end of the session to the end of the command.
  std::int64_t gone() const { return board_[0].last - ended_at_; }
  /// How long both were at work; less than 0: so long nobody was.
  std::int64_t overlap() const { return board_[0].last - board_[1].first; }
  int status() const { return status_; }
  /// Whether the store told that the next one waits.
  bool seen_waiting() const { return seen_waiting_; }

 private:
  child_process run(std::string const& url, int slot) const {
    return child_process({.argv = {HERDLOCK_COMMAND, "run", "job", "--store", with_grace(url, how_),
                                   "--ttl", "60s", "--wait", "forever", "--", SOAK_PROGRAM,
                                   "--work", board_file(), std::to_string(slot)}});
  }
  template <class Holds>
  void until(char const* what, Holds const& holds) const {
    if (!eventually(seconds(60), holds)) throw std::runtime_error(way_.name + ": not so: " + what);
  }
  bool waits(std::string const& url) const {
    herdlock::lock const looker(herdlock::open_store(url), herdlock::resource("job"));
    auto const state = looker.inspect();
    return state && state->waiting != 0;
  }
  std::string board_file() const { return (folder_.path() / "board").string(); }

  way const& way_;
  options const& how_;
  temp_dir folder_;
  board& board_ = shared_figures<board>(board_file());
  std::int64_t ended_at_ = 0;
  int status_ = -1;
  bool seen_waiting_ = false;
};

std::string nothing_to_find(place const&) { return {}; }

void add_postgres(std::vector<way>& all, std::string const& mode) {
  auto& server = postgres_server::shared();
  auto const prepare = [&server, mode] {
    auto const url = server.fresh_url() + "&mode=" + mode;
    return place{url, url};
  };
  // The session that has the lock: the next one's waits for it.
  std::string const holder =
      mode == "advisory"
          ? "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted LIMIT 1"
          : "SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND "
            "application_name LIKE 'herdlock %' ORDER BY xact_start LIMIT 1";
  auto const find = [&server, holder](place const& where) {
    auto const pid = server.sql(where.holder, holder);
    if (pid.empty()) throw std::runtime_error("no session of PostgreSQL has the lock");
    return pid;
  };
  all.push_back({"postgres " + mode + ", pg_terminate_backend", prepare, find,
                 [&server](place const& where, std::string const& pid) {
                   server.sql(where.holder, "SELECT pg_terminate_backend(" + pid + ")");
                 }});
  all.push_back({"postgres " + mode + ", kill -9 of the backend", prepare, find,
                 [](place const&, std::string const& pid) { ::kill(std::stoi(pid), SIGKILL); }});
}

void add_mysql(std::vector<way>& all, std::string const& mode) {
  auto& server = mariadb_server::shared();
  std::string const database = "session_soak_" + mode;
  auto const prepare = [&server, database, mode] {
    auto const url = server.url(database) + "?mode=" + mode;
    return place{url, url};
  };
  auto const session =
      "SELECT session FROM `" + database + "`.herdlock_" + mode + "_leases WHERE resource = 'job'";
  all.push_back({"mysql " + mode + ", KILL", prepare,
                 [&server, session](place const&) { return server.sql(session); },
                 [&server](place const&, std::string const& id) { server.sql("KILL " + id); }});
  all.push_back({"mysql " + mode + ", kill -9 of mariadbd", prepare, nothing_to_find,
                 [&server](auto const&...) { server.kill(); }, [&server] { server.restart(); }});
}

void add_zookeeper(std::vector<way>& all) {
  auto& server = zookeeper_server::shared();
  auto const between = std::make_shared<relay>(server.port());
  auto const prepare = [&server, between] {
    auto const chroot = server.fresh_chroot();
    return place{
        "zk://127.0.0.1:" + std::to_string(between->port()) + chroot + "?session_timeout=3s",
        server.url(chroot) + "?session_timeout=20s"};
  };
  // Its end is later than this; when it comes the command must have gone.
  all.push_back({"zookeeper, a cut of the connection", prepare, nothing_to_find,
                 [between](auto const&...) { between->refuse(); },
                 [between] { between->accept(); }});
}

void soak(way const& what, options const& how, verdict& result) {
  std::int64_t longest = 0, overlap = std::numeric_limits<std::int64_t>::min();
  std::uint64_t overlaps = 0, told = 0, waited = 0;
  for (std::uint64_t i = 0; i < how.rounds; ++i) {
    round one(what, how);
    one.play();
    longest = std::max(longest, one.gone());
    overlap = std::max(overlap, one.overlap());
    overlaps += one.overlap() > 0;
    told += one.status() == 76;
    waited += one.seen_waiting();
  }
  std::printf("%s: %zu of %zu told, the command gone after %.3f s at most; ", what.name.c_str(),
              std::size_t{told}, std::size_t{how.rounds}, as_seconds(longest));
  std::printf("the next one seen waiting %zu times, %zu overlaps, ", std::size_t{waited},
              std::size_t{overlaps});
  if (overlap > 0) {
    std::printf("the longest %.3f s\n", as_seconds(overlap));
  } else {
    std::printf("nobody at work for %.3f s at least\n", as_seconds(-overlap));
  }
  std::fflush(stdout);
  result.demand(told == how.rounds, "each command ends with 76");
  result.demand(longest <= 1'000'000'000, "each command has ended a second after its session");
  if (!how.grace.empty()) result.demand(overlaps == 0, "with a grace no two work at once");
}

std::optional<options> parse(std::vector<std::string> const& words) {
  options how;
  if (words.size() % 2 != 0) return {};
  for (std::size_t i = 0; i < words.size(); i += 2) {
    auto const& value = words[i + 1];
    if (words[i] == "--rounds") {
      how.rounds = number_argument(words[i], value, 1'000'000);
    } else if (words[i] == "--grace") {
      how.grace = value;
    } else if (words[i] == "--only" &&
               (value == "postgres" || value == "mysql" || value == "zookeeper")) {
      how.only = value;
    } else {
      return {};
    }
  }
  return how.rounds == 0 ? std::nullopt : std::optional(how);
}

int soak_all(options const& how) {
  std::vector<way> all;
  auto const wanted = [&how](std::string const& name) {
    return how.only.empty() || how.only == name;
  };
  for (auto const* mode : {"advisory", "row"}) {
    if (wanted("postgres")) add_postgres(all, mode);
  }
  for (auto const* mode : {"named", "row"}) {
    if (wanted("mysql")) add_mysql(all, mode);
  }
  if (wanted("zookeeper")) add_zookeeper(all);
  verdict result;
  for (auto const& each : all) soak(each, how, result);
  return result.good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "--work") work(words[1], words[2] == "0" ? 0 : 1);
  try {
    if (auto const how = parse(words)) return soak_all(*how);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "session_soak: %s\n", e.what());
    return 1;
  }
  std::fputs("usage: session_soak [--rounds N] [--grace TIME] [--only postgres|mysql|zookeeper]\n",
             stderr);
  return 64;
}
