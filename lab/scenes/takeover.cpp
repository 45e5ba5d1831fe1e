// A leader is stopped: how soon does another lead, and do ever two?
#include <fmt/format.h>

#include <optional>
#include <random>
#include <support/postgres_server.hpp>
#include <support/redis_server.hpp>
#include <support/zookeeper_server.hpp>

#include "scenes/contest.hpp"
#include "scenes/scenes.hpp"
#include "scenes/takeover_judge.hpp"
#include "stage/latencies.hpp"
#include "stage/place.hpp"
#include "stage/temp_folder.hpp"
#include "terminal/store_argument.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr char const* takeover_help =
    R"(Three candidates in processes of their own; one leads and acts once in a
millisecond, asking its term before each act. It is stopped, again and again:

  graceful  it resigns, as at a shutdown
  kill      SIGKILL
  freeze    SIGSTOP, and SIGCONT as soon as the next one acts

The time runs until the next one's first act. A judge that knows nothing of
leases counts as an overlap each act in an older term than one that has acted,
and each work that begins while another runs. `thawed` is how long the work of a
leader that is continued takes to end; it does not act in that time.

What is promised: no overlap, and after kill and freeze a new leader within
the ttl and a second (or --excess). ZooKeeper ends a session, not a term: give
such a URL the ttl as its session_timeout.

A store that cannot be measured is left out: the exit status is then 69.

Examples:
  herdlock-lab takeover --store sqlite:a.db --store redis://127.0.0.1
  herdlock-lab takeover --store redis://127.0.0.1 --stop kill --rounds 100
  herdlock-lab takeover --servers --rounds 100 --ttl 2s)";

constexpr int candidates = 3;

class takeover : public scene {
 public:
  void declare(options& all) override {
    all.stores(urls_, "A store to try; again for each further one");
    all.flag("--servers", on_servers_,
             "Try servers of its own, which it starts: Redis, SQLite,\nPostgreSQL, ZooKeeper");
    all.choice("--only", only_, {"all", "redis", "sqlite", "postgres", "zookeeper"},
               "--servers, but this one alone");
    all.number("--rounds", rounds_, {1, 100'000}, "Of each way to stop a leader");
    all.time("--ttl", ttl_, {100ms, 60s}, "How long a dead leader is waited for");
    all.time("--excess", excess_, {0ms, 1h}, "How much longer than the ttl it may take");
    all.choice("--stop", stop_, {"all", "graceful", "kill", "freeze"},
               "all, graceful, kill or freeze");
  }

  void check() override {
    on_servers_ = on_servers_ || only_ != "all";
    if (urls_.empty() && !on_servers_) {
      throw command_error(exit_code::usage,
                          "--store URL: say which store to try, e.g. --store sqlite:a.db; or "
                          "--servers");
    }
    for (auto const& url : urls_) require_shareable(url, candidates);
  }

  void play(stage& on) override {
    if (on_servers_) start_servers();
    auto const stops =
        chosen_stops(stop_, {leader_stop::graceful, leader_stop::kill, leader_stop::freeze});
    for (auto const& url : urls_) {
      for (auto const how : stops) {
        figures_.push_back({redacted(url), how});
        measure(on, url, 1.0 / static_cast<double>(urls_.size() * stops.size()));
      }
    }
    tell(on);
  }

 private:
  // They end with this process.
  void start_servers() try {
    using namespace herdlock_test;
    auto const wanted = [this](char const* name) { return only_ == "all" || only_ == name; };
    if (wanted("redis")) urls_.push_back(redis_server::shared().url());
    if (wanted("sqlite")) {
      urls_.push_back(cli::sqlite_url(folder_.emplace().path() / "takeover.db"));
    }
    if (wanted("postgres")) urls_.push_back(postgres_server::shared().fresh_url());
    if (wanted("zookeeper")) {
      auto& server = zookeeper_server::shared();
      // Its session ends where the ttl of the others does.
      urls_.push_back(server.url(server.fresh_chroot()) +
                      "?session_timeout=" + duration_text(ttl_));
    }
  } catch (std::exception const& e) {
    throw command_error(exit_code::unavailable, e.what());
  }

  void measure(stage& on, std::string const& url, double share) {
    auto& into = figures_.back();
    shared<contest_board> board;
    try {
      place const where(url, place::without_url::file);
      contest between(on, *board, {url, resource(fresh_name()), ttl_}, candidates);
      between.start();
      for (int round = 1; round <= rounds_; ++round) {
        auto const done = static_cast<double>(figures_.size() - 1) +
                          static_cast<double>(round - 1) / static_cast<double>(rounds_);
        on.tell(
            fmt::format("{}: {}: round {} of {}", into.store, name_of(into.how), round, rounds_),
            done * share);
        play_round(on, between, into);
      }
      between.settle();  // what a late act would still add
      between.dismiss();
    } catch (command_error const& e) {
      if (e.code() != exit_code::unavailable && e.code() != exit_code::usage) throw;
      into.trouble = e.what();
      on.left_out();
    }
    into.take(*board);
  }

  void play_round(stage& on, contest& between, takeover_figures& into) {
    between.settle();
    if (into.how != leader_stop::graceful) {
      // To any moment between two renewals.
      std::uniform_int_distribution<std::int64_t> any(0, ttl_.count() / 2);
      on.pass(milliseconds(any(random_)));
    }
    auto const change = between.stop(into.how);
    into.took_ms.push_back(change.took_ms);
    if (auto const ms = between.bring_back(change)) into.thawed_ms.push_back(*ms);
  }

  void tell(stage& on) const {
    using enum table::side;
    table rows({{"store", left},
                {"stop", left},
                {"rounds"},
                {"p50"},
                {"p99"},
                {"worst"},
                {"thawed, p99"},
                {"overlaps"}});
    json& data = on.out().data() = json::array();
    for (auto const& each : figures_) {
      auto const broken_before = on.judged().broken().size();
      judge_takeover(each, ttl_ + excess_, on.judged());
      bool const kept = on.judged().broken().size() == broken_before;
      rows.row(cells_of(each, kept));
      data.push_back(json_of(each, kept));
    }
    on.tell_nothing();
    on.out().line("ttl " + cli::say(ttl_) + "\n" + rows.text());
  }

  static std::vector<std::string> cells_of(takeover_figures const& of, bool kept) {
    auto const ms = [](std::vector<double> const& values, double share) {
      return values.empty() ? "-" : fmt::format("{:.1f} ms", percentile(values, share));
    };
    std::string remark = kept ? "" : "BROKEN";
    if (!of.trouble.empty()) remark += (kept ? "not measured: " : ", not measured: ") + of.trouble;
    return {of.store,
            name_of(of.how),
            std::to_string(of.took_ms.size()),
            ms(of.took_ms, 0.5),
            ms(of.took_ms, 0.99),
            ms(of.took_ms, 1),
            ms(of.thawed_ms, 0.99),
            std::to_string(of.at_once + of.late_acts),
            remark};
  }

  json json_of(takeover_figures const& of, bool kept) const {
    json one{{"store", of.store}, {"stop", name_of(of.how)}};
    if (!of.trouble.empty()) {
      one["error"] = of.trouble;
      if (kept) return one;
    }
    one["ttl_ms"] = ttl_.count();
    one["excess_ms"] = excess_.count();
    one["rounds"] = of.took_ms.size();
    one["p50_ms"] = to_micros(percentile(of.took_ms, 0.5));
    one["p99_ms"] = to_micros(percentile(of.took_ms, 0.99));
    one["worst_ms"] = to_micros(of.worst_ms());
    if (!of.thawed_ms.empty()) one["thawed_p99_ms"] = to_micros(percentile(of.thawed_ms, 0.99));
    one["acts"] = of.acts;
    one["overlaps"] = of.at_once + of.late_acts;
    one["kept"] = kept;
    return one;
  }

  std::vector<std::string> urls_;
  bool on_servers_ = false;
  std::string only_ = "all";
  int rounds_ = 10;
  milliseconds ttl_ = 2s;
  milliseconds excess_ = 1s;
  std::string stop_ = "all";

  std::optional<temp_folder> folder_;
  std::vector<takeover_figures> figures_;
  std::minstd_rand random_{std::random_device()()};
};

}  // namespace

listed_scene const takeover_scene{"takeover",
                                  "A leader is stopped: how soon does another lead, and do ever "
                                  "two?",
                                  takeover_help, false, made<takeover>};

}  // namespace herdlock::lab
