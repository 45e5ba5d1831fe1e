// Workers stand for a job: who waits, who works, and who takes over.
#include "scenes/contest.hpp"
#include "scenes/scenes.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

// What happens, to programs and to people: {0} is the term, {1} the trouble, or what is sent.
constexpr std::pair<char const*, char const*> wordings[] = {{"stands", "waits"},
                                                            {"leads", "WORKS, term {0}"},
                                                            {"renews", "works, term {0} renewed"},
                                                            {"stops", "has stopped, term {0}"},
                                                            {"resigned", "has resigned"},
                                                            {"trouble", "trouble: {1}"},
                                                            {"stop", "<<< {1}"},
                                                            {"continue", "<<< SIGCONT"}};

void tell(report const& to, contest::happening const& what, double at_ms) {
  auto const& [event, sentence] = wordings[static_cast<std::size_t>(what.word)];
  json line{{"at_ms", at_ms}, {"worker", what.who + 1}, {"event", event}};
  auto why = what.why;
  if (what.term != 0) line["term"] = what.term;
  if (what.word == contest_word::trouble) line["why"] = why;
  if (what.word == contest_word::stop) {
    line["stop"] = why;
    why = why == "graceful" ? "is told to resign" : why == "kill" ? "SIGKILL" : "SIGSTOP";
  }
  to.event(line);
  to.line(fmt::format("{:>8.3f} s  worker {:<3} {}", at_ms / 1e3, what.who + 1,
                      fmt::format(fmt::runtime(sentence), what.term, why)));
}

void tell(report const& to, contest::change const& what) {
  auto const* const how = name_of(what.how);
  to.event({{"event", "taken_over"},
            {"stop", how},
            {"from", what.from + 1},
            {"to", what.to + 1},
            {"took_ms", what.took_ms}});
  to.line(fmt::format("{:>12}{}: worker {} took over from worker {} after {:.1f} ms\n", "", how,
                      what.to + 1, what.from + 1, what.took_ms));
}

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
    auto const began_ns = steady_ns();
    contest job(on, *board, {where.url(), resource(fresh_name()), ttl_, workers_},
                [&](auto const& what) { tell(on.out(), what, in_ms(what.at_ns - began_ns)); });
    job.start();
    for (auto const how :
         chosen_stops(stop_, {leader_stop::graceful, leader_stop::freeze, leader_stop::kill})) {
      job.settle(1);
      auto const change = job.stop(how);
      tell(on.out(), change);
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
#include "scenes/election_help.txt"
                                  , false, made<election_of_workers>};

}  // namespace herdlock::lab
