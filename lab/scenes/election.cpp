// Workers stand for a job: who waits, who works, and who takes over.
#include <fmt/format.h>

#include "scenes/contest.hpp"
#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr char const* election_help =
    R"(Workers, each a process of its own, stand for one job: one works, the others
wait. When the one that works has renewed its term, it is stopped, and the next
one takes over:

  graceful  it resigns, as at a shutdown: the next one is woken at once
  freeze    SIGSTOP: when its term is over, the next one works; continued then,
            it stops before it does anything else, and waits like the others
  kill      SIGKILL: the next one works when the term is over

With --json each event is an object on a line of its own, at once. When the
store goes away the scene ends with 69, its ttl and some seconds later.

By hand, in two terminals, with Ctrl-C, Ctrl-Z and kill -9:
  herdlock elect job --ttl 5s --verbose -- sh -c 'while date; do sleep 1; done'

Examples:
  herdlock-lab election
  herdlock-lab election --stop kill --ttl 5s --store redis://127.0.0.1)";

// To people and to programs.
class teller {
 public:
  explicit teller(report const& into) : into_(into) {}

  void tell(contest::happening const& what) const {
    constexpr char const* events[] = {"stands",   "leads",   "renews", "stops",
                                      "resigned", "trouble", "stop",   "continue"};
    json line{{"at_ms", since_start_ms(what)},
              {"worker", what.who + 1},
              {"event", events[static_cast<std::size_t>(what.word)]}};
    if (what.term != 0) line["term"] = what.term;
    if (what.word == contest_word::trouble) line["why"] = what.why;
    if (what.word == contest_word::stop) line["stop"] = what.why;
    into_.event(line);
    into_.line(fmt::format("{:>8.3f} s  worker {:<3} {}", since_start_ms(what) / 1e3, what.who + 1,
                           in_words(what)));
  }
  void taken_over(contest::change const& what) const {
    into_.event({{"event", "taken_over"},
                 {"stop", name_of(what.how)},
                 {"from", what.from + 1},
                 {"to", what.to + 1},
                 {"took_ms", what.took_ms}});
    into_.line(fmt::format("{:>12}{}: worker {} took over from worker {} after {:.1f} ms\n", "",
                           name_of(what.how), what.to + 1, what.from + 1, what.took_ms));
  }

 private:
  double since_start_ms(contest::happening const& what) const {
    return in_ms(what.at_ns - began_ns_);
  }
  static std::string in_words(contest::happening const& what) {
    switch (what.word) {
      case contest_word::stands:
        return "waits";
      case contest_word::leads:
        return fmt::format("WORKS, term {}", what.term);
      case contest_word::renews:
        return fmt::format("works, term {} renewed", what.term);
      case contest_word::stops:
        return fmt::format("has stopped, term {}", what.term);
      case contest_word::resigned:
        return "has resigned";
      case contest_word::trouble:
        return "trouble: " + what.why;
      case contest_word::stop:
        if (what.why == name_of(leader_stop::graceful)) return "<<< is told to resign";
        return what.why == name_of(leader_stop::kill) ? "<<< SIGKILL" : "<<< SIGSTOP";
      case contest_word::go_on:
        break;
    }
    return "<<< SIGCONT";
  }

  report const& into_;
  std::int64_t const began_ns_ = steady_ns();
};

class election_of_workers : public scene {
 public:
  void declare(options& all) override {
    all.store(url_,
              "Where they stand: sqlite:PATH, redis://…, …\n"
              "(default: a temporary SQLite file)");
    all.number("--workers", workers_, {2, contest_board::most}, "Real processes");
    all.time("--ttl", ttl_, {200ms, 60s}, "How long a dead worker is waited for");
    all.choice("--stop", stop_, {"all", "graceful", "freeze", "kill"},
               "all, graceful, freeze or kill");
  }
  void check() override { require_shareable(url_, workers_); }

  void play(stage& on) override {
    place const where(url_, place::without_url::file);
    shared<contest_board> board;
    teller const tells(on.out());
    contest job(on, *board, {where.url(), resource(fresh_name()), ttl_}, workers_,
                [&](auto const& what) { tells.tell(what); });
    job.start();
    for (auto const how :
         chosen_stops(stop_, {leader_stop::graceful, leader_stop::freeze, leader_stop::kill})) {
      job.settle(1);
      auto const change = job.stop(how);
      tells.taken_over(change);
      job.bring_back(change);
    }
    job.settle(1);
    job.dismiss();
  }

 private:
  std::string url_;
  int workers_ = 3;
  milliseconds ttl_ = 2s;
  std::string stop_ = "all";
};

}  // namespace

listed_scene const election_scene{"election",
                                  "Workers stand for a job: who works, and who takes over?",
                                  election_help, false, made<election_of_workers>};

}  // namespace herdlock::lab
