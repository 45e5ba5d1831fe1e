// A leader is stopped: how soon does another lead, and do ever two?
#include <random>
#include <support/postgres_server.hpp>
#include <support/redis_server.hpp>
#include <support/zookeeper_server.hpp>

#include "scenes/scenes.hpp"
#include "scenes/takeover_judge.hpp"
#include "stage/place.hpp"
#include "stage/table_of.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

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
    json& data = on.out().data() = json::array();
    for (auto const& url : urls_) {
      for (auto const how : stops) {
        auto const share = 1.0 / (urls_.size() * stops.size());
        auto const found = measured(on, url, how, data.size() * share, share);
        auto const broken_before = on.judged().broken().size();
        judge_takeover(found, ttl_ + excess_, on.judged());
        data.push_back(json_of(found, on.judged().broken().size() == broken_before));
      }
    }
    on.tell_nothing();
    on.out().line("ttl " + cli::say(ttl_) + "\n" +
                  table_of(data, {"store", "stop", "rounds", "p50_ms", "p99_ms", "worst_ms",
                                  "thawed_p99_ms", "overlaps", "kept", "error"}));
  }

 private:
  // They end with this process.
  void start_servers() try {
    using namespace herdlock_test;
    auto const wanted = [this](char const* name) { return only_ == "all" || only_ == name; };
    if (wanted("redis")) urls_.push_back(redis_server::shared().url());
    if (wanted("sqlite"))
      urls_.push_back(file_.emplace(std::string(), place::without_url::file).url());
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

  // Its share of all behind what is done.
  takeover_figures measured(stage& on, std::string const& url, leader_stop how, double done,
                            double share) {
    takeover_figures found{redacted(url), how};
    shared<contest_board> board;
    try {
      place const where(url, place::without_url::file);
      contest between(on, *board, {url, resource(fresh_name()), ttl_, candidates});
      between.start();
      for (int round = 0; round < rounds_; ++round) {
        on.tell(
            fmt::format("{}: {}: round {} of {}", found.store, name_of(how), round + 1, rounds_),
            done + share * round / rounds_);
        between.settle();
        // To any moment between two renewals.
        std::uniform_int_distribution<std::int64_t> any(0, ttl_.count() / 2);
        if (how != leader_stop::graceful) on.pass(milliseconds(any(random_)));
        auto const change = between.stop(how);
        found.took_ms.push_back(change.took_ms);
        if (auto const ms = between.bring_back(change)) found.thawed_ms.push_back(*ms);
      }
      between.settle();  // what a late act would still add
      between.dismiss();
    } catch (command_error const& e) {
      if (e.code() != exit_code::unavailable && e.code() != exit_code::usage) throw;
      found.trouble = e.what();
      on.left_out();
    }
    found.acts = board->thing.seen();
    return found;
  }

  json json_of(takeover_figures const& of, bool kept) const {
    json one{{"store", of.store}, {"stop", name_of(of.how)}};
    if (!of.trouble.empty()) one["error"] = of.trouble;
    if (!of.trouble.empty() && kept) return one;
    one["ttl_ms"] = ttl_.count();
    one["excess_ms"] = excess_.count();
    one["rounds"] = of.took_ms.size();
    one["p50_ms"] = to_micros(percentile(of.took_ms, 0.5));
    one["p99_ms"] = to_micros(percentile(of.took_ms, 0.99));
    one["worst_ms"] = to_micros(of.worst_ms());
    if (!of.thawed_ms.empty()) one["thawed_p99_ms"] = to_micros(percentile(of.thawed_ms, 0.99));
    one["acts"] = of.acts.writes + of.acts.refused;
    one["overlaps"] = of.acts.overlaps + of.acts.refused;
    one["kept"] = kept;
    return one;
  }

  std::vector<std::string> urls_;
  bool on_servers_ = false;
  std::string only_ = "all", stop_ = "all";
  int rounds_ = 10;
  milliseconds ttl_ = 2s, excess_ = 1s;

  std::optional<place> file_;
  std::minstd_rand random_{std::random_device()()};
};

}  // namespace

listed_scene const takeover_scene{"takeover",
                                  "A leader is stopped: how soon does another lead, and do ever "
                                  "two?",
#include "scenes/takeover_help.txt"
                                  , false, made<takeover>};

}  // namespace herdlock::lab
