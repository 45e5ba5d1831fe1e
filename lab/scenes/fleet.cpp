// Fleets of several sizes with the same hot keys: what the server has of them, how soon all keep a
// key, and what becomes of it when their collector is stopped, goes on, is killed.
#include "scenes/fleet.hpp"

#include <charconv>
#include <sstream>

#include "scenes/fleet_server.hpp"
#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"
#include "stage/table_of.hpp"

namespace herdlock::lab {
namespace fleet {
namespace {

using namespace std::chrono_literals;
using list = fleet_server::list;

constexpr milliseconds patience{30'000};
constexpr milliseconds interval{1000};

// A fleet of one size.
class part {
 public:
  part(stage& on, terms const& how) : on_(on), how_(how) { seen_.members = how.members; }

  figures play() {
    start_members();
    find_keys();
    if (seen_.kept_ms.size() == how_.keys) {
      watch();
      stop_collector();
      kill_collector();
    }
    board_->stop = true;
    on_.await_end();
    on_.clear();
    return std::move(seen_);
  }

 private:
  void tell(std::string const& what) {
    on_.tell(fmt::format("{} members: {}", how_.members, what));
  }

  void start_members() {
    tell("they start");
    on_.processes().start_all(
        how_.processes, "process of members",
        [this, url = server_.url()](std::size_t n) { work(how_, *board_, n, url); });
    on_.await(
        "the members do not start", [this] { return board_->ready == how_.processes; }, 180s);
    board_->standing = 1;
    collector();
    board_->standing = apart;
    on_.await(
        "nobody waits to collect next", [this] { return server_.has_candidate(); }, patience);
  }

  void find_keys() {
    for (std::size_t key = 0; key < how_.keys; ++key) {
      tell(fmt::format("key {} of {}", key + 1, how_.keys));
      board_->asked = key + 1;
      auto const kept_ns = [&] { return board_->kept_ns(key, how_.processes); };
      if (!on_.waited_for([&] { return kept_ns() != 0; }, 2 * patience)) return;
      seen_.kept_ms.push_back(in_ms(kept_ns() - board_->first_ns[key]));
    }
  }

  void watch() {
    tell("all keys are hot");
    on_.pass(2 * interval);
    auto const reads = board_->sum(&process::asked_server);
    auto const before = server_.so_far();
    auto const began = steady_ns();
    on_.pass(how_.time);
    auto const time_s = in_seconds(steady_ns() - began);
    seen_.a_second = (server_.so_far() - before) / time_s;
    seen_.reads_a_second =
        static_cast<double>(board_->sum(&process::asked_server) - reads) / time_s;
  }

  // The number of the process that collects.
  std::size_t collector() {
    auto const& all = board_->processes;
    auto found = all.end();
    on_.await(
        "no process of the fleet collects: is the server used by others, too?",
        [&] {
          auto const pid = server_.collector();
          found = std::ranges::find_if(all, [pid](process const& one) { return one.pid == pid; });
          return pid != 0 && found != all.end();
        },
        patience);
    return static_cast<std::size_t>(found - all.begin());
  }

  list newest() const { return server_.newest(how_.prefix); }

  template <class IsNext>
  std::optional<double> next_list_ms(std::int64_t since_ns, IsNext is_next) {
    if (!on_.waited_for([&] { return is_next(newest()); }, patience)) return std::nullopt;
    return in_ms(steady_ns() - since_ns);
  }

  void stop_collector() {
    tell("the collector is stopped");
    auto const stopped = collector();
    auto const old = newest();
    auto const in_next_term = [&](list const& one) { return one.term > old.term; };
    auto since = steady_ns();
    on_.processes().signal(stopped, SIGSTOP);
    seen_.stopped_ms = next_list_ms(since, in_next_term);
    // It may have said something just before.
    auto const last = server_.of_term(old.term, how_.prefix);
    auto const before = newest();
    since = steady_ns();
    on_.processes().signal(stopped, SIGCONT);
    seen_.continued_ms =
        next_list_ms(since, [&](list const& one) { return one.is_newer_than(before); });
    tell("the stopped one goes on");
    on_.pass(2 * interval);
    auto const now = server_.of_term(old.term, how_.prefix);
    if (now.counter > last.counter) {
      seen_.late_lists = static_cast<std::int64_t>(now.counter - last.counter);
    }
    tell_late(old);
  }

  // Just behind a list, so that all hear it before the next one.
  void tell_late(list const& old) {
    auto const before = newest();
    next_list_ms(0, [&](list const& one) { return one.is_newer_than(before); });
    auto const refused_before = board_->sum(&process::refused);
    auto const all = static_cast<std::int64_t>(how_.members);
    auto const unheard = [&] {
      auto const refused = board_->sum(&process::refused) - refused_before;
      return std::max<std::int64_t>(all - refused - board_->sum(&process::believed), 0);
    };
    server_.tell_late(old, how_.prefix);
    on_.waited_for([&] { return unheard() == 0; }, patience);
    seen_.unheard = unheard();
    on_.pass(interval);
    seen_.believed = board_->sum(&process::believed);
  }

  void kill_collector() {
    tell("the collector is killed");
    auto const killed = collector();
    auto const old = newest();
    auto const since = steady_ns();
    on_.processes().kill(killed);
    seen_.killed_ms = next_list_ms(since, [&](list const& one) { return one.term > old.term; });
  }

  stage& on_;
  terms const& how_;
  fleet_server const server_ = own_server<fleet_server>(how_.store);
  shared<board> board_;
  figures seen_;
};

class played : public scene {
 public:
  void declare(options& all) override {
    all.store(how_.store, "A Redis that nobody else uses (default: one that the scene starts)");
    all.text("--members", members_, "Sizes of the fleet: store handles with a cache each", "N,N");
    all.number("--processes", how_.processes, {apart + 1, most_processes}, "They are in so many");
    all.number("--keys", how_.keys, {1, most_keys}, "Keys that become hot, one after the other");
    all.number("--rate", how_.rate, {4, 1000}, "Reads a second of each key by each member");
    all.time("--time", how_.time, {100ms, 1h}, "How long the server is watched then");
    all.time("--window", how_.window, {1s, 60s}, "In which keys are counted");
    all.number("--times", how_.times, {0, 1}, "0: how soon the next list comes is not judged");
  }

  void check() override {
    std::istringstream words(members_);
    for (std::string word; std::getline(words, word, ',');) {
      std::size_t size = 0;
      auto const* const end = word.data() + word.size();
      auto const [at, wrong] = std::from_chars(word.data(), end, size);
      bool const is_number = wrong == std::errc() && at == end;
      if (!is_number || size < how_.processes || size > most_members) {
        throw command_error(exit_code::usage, refusal());
      }
      how_.sizes.push_back(size);
    }
    if (how_.sizes.empty()) throw command_error(exit_code::usage, refusal());
    if (how_.store.empty()) return;
    auto const at = cli::value_or_raise(store_url::parse(how_.store));
    if (at.scheme == "redis" && at.hosts.empty()) return;
    throw command_error(exit_code::usage,
                        at.redacted() + ": the fleet is over one redis://HOST:PORT");
  }

  void play(stage& on) override {
    report& out = on.out();
    out.line(fmt::format(
        "{} processes with nice 19, {}, each read {} times a second by each "
        "member",
        how_.processes, counted(static_cast<std::int64_t>(how_.keys), "key", "keys"), how_.rate));
    std::vector<figures> all;
    json rows;
    for (auto const size : how_.sizes) {
      auto of_size = how_;
      of_size.members = size;
      of_size.prefix = fresh_name() + ":";
      all.push_back(part(on, of_size).play());
      judge_size(of_size, all.back(), on.judged());
      rows.push_back(row_of(all.back()));
    }
    judge_growth(all, on.judged());
    on.tell_nothing();
    out.line("\nA second, while all keys are hot:\n");
    out.line(table_of(rows, {"members", "kb_in", "kb_out", "commands", "scripts", "reads"}));
    out.line(
        "Until all processes keep a key; until the next list behind what became of the "
        "collector:\n");
    out.line(table_of(rows, {"members", "kept_p50_ms", "kept_p99_ms", "stopped_ms", "continued_ms",
                             "killed_ms", "late_lists", "believed"}));
    out.data()["sizes"] = std::move(rows);
    out.data()["broken"] = on.judged().broken();
  }

 private:
  std::string refusal() const {
    return fmt::format("--members '{}': numbers from --processes ({}) to {}, with commas between",
                       members_, how_.processes, most_members);
  }

  terms how_;
  std::string members_ = "100,200,400";
};

}  // namespace
}  // namespace fleet

listed_scene const fleet_scene{"fleet", "What has a server of a large fleet with hot keys?",
#include "scenes/fleet_help.txt"
                               , false, made<fleet::played>};

}  // namespace herdlock::lab
