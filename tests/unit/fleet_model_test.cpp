// A fleet whose collector is elected, stopped, continued and killed, while reports and lists are
// delayed, lost, doubled and reordered; all from a seed.
//
// - Nobody believes a list that is older than one that it has believed.
// - When messages flow again, a key that is hot in a process that lives is hot in all of them.
// - While another collector takes over, what is hot stays hot.
// - When nobody reads a key any more it cools everywhere; also without a collector.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "algo/fleet_collector.hpp"
#include "algo/fleet_teller.hpp"
#include "algo/list_follower.hpp"
#include "near_model.hpp"

namespace herdlock::algo {
namespace {

using near_model::chance;
using std::chrono::seconds;

constexpr int process_count = 5;
constexpr int key_count = 5;
constexpr int most_hot = 3;
constexpr int tick = 50;
constexpr int ttl = 2000;

fleet_thresholds thresholds() {
  return {.threshold = 1000,
          .reads_per_write = 20,
          .cool_time = seconds(3),
          .silence = seconds(5),
          .most_hot = most_hot};
}

std::string name_of(int key) { return "k" + std::to_string(key); }

/// One process: what it reads, what it says, what it believes; sometimes it collects.
struct process {
  explicit process(std::uint64_t number) : teller(number), collector(thresholds()) {}

  fleet_teller teller;
  list_follower lists;
  fleet_collector collector;
  std::array<std::uint64_t, key_count> reads{};
  std::array<bool, key_count> hot{};
  list_number believed{};
  std::set<std::string> told_hot;  // by the changes
  bool stopped = false;
};

/// To one process: a report or a list, as it is sent.
struct message {
  int arrives;
  int to;
  std::string text;
};

struct model_figures {
  int lists = 0;
  int old_lists = 0;
  int terms = 0;
  int late_collectors = 0;  // who published after their term
};

class fleet_world {
 public:
  explicit fleet_world(std::uint64_t seed) : chance_(seed) {
    for (int i = 0; i < process_count; ++i) start(i);
  }

  bool run(int steps) {
    while (steps-- > 0 && broken_.empty()) {
      trouble();
      step();
    }
    settle();
    return broken_.empty();
  }
  std::string const& what() const { return broken_; }
  model_figures const& seen() const { return figures_; }

 private:
  clock::time_point now() const { return clock::time_point(milliseconds(now_)); }
  process& any() { return *all_[static_cast<std::size_t>(chance_.below(process_count))]; }

  void start(int i) {
    all_[static_cast<std::size_t>(i)] = std::make_unique<process>(++last_process_);
  }

  // One tick of everybody.
  void step() {
    now_ += tick;
    elect();
    deliver();
    for (int i = 0; i < process_count; ++i) {
      auto& one = *all_[static_cast<std::size_t>(i)];
      if (one.stopped) continue;
      note(one, one.lists.advance(now()));
      report(one);
      publish(i, one);
    }
  }

  void report(process& one) {
    std::vector<fleet_key> known;
    for (int key = 0; key < key_count; ++key) {
      auto const reads = one.reads[static_cast<std::size_t>(key)];
      bool const hot = one.hot[static_cast<std::size_t>(key)];
      if (reads > 0 || hot) known.push_back({name_of(key), reads, reads, 0, hot});
    }
    auto const processes = one.lists.list().processes;
    fleet_view const view{hot_fleet::least_to_name(thresholds(), processes), processes, &one.lists};
    auto const said = one.teller.report(std::move(known), 0, view, now());
    if (said && leader_) send(*leader_, encode(*said));
  }

  // A collector that was stopped publishes before it learns that its term is over.
  void publish(int which, process& one) {
    if (!one.collector.collects()) return;
    if (auto const list = one.collector.advance(now())) {
      ++figures_.lists;
      if (leader_ != which) ++figures_.late_collectors;
      if (!is_plausible(*list)) broken_ = "a list that is refused";
      for (int to = 0; to < process_count; ++to) send(to, encode(*list));
    }
    if (leader_ != which) one.collector.ended();
  }

  void send(int to, std::string text) {
    if (!calm_ && chance_.one_of(8)) return;  // lost
    int const copies = !calm_ && chance_.one_of(10) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      int const late = calm_ ? 10 : chance_.one_of(10) ? chance_.below(6000) : chance_.below(60);
      wire_.push_back({now_ + late, to, text});
    }
  }

  void deliver() {
    auto wire = std::exchange(wire_, {});
    for (auto& each : wire) {
      auto& to = *all_[static_cast<std::size_t>(each.to)];
      if (each.arrives > now_ || to.stopped) {
        wire_.push_back(std::move(each));
        continue;
      }
      if (auto report = decode_report(each.text)) {
        to.collector.heard(*std::move(report), now());
      } else if (auto list = decode_fleet_list(each.text)) {
        believe(to, *std::move(list));
      } else {
        broken_ = "a text that nobody understands";
      }
    }
  }

  void believe(process& one, fleet_list list) {
    auto const number = list.number;
    auto const taken = one.lists.take(std::move(list), now());
    if (taken.how == fleet_hearing::refused) broken_ = "a list was refused";
    if (taken.how == fleet_hearing::old) ++figures_.old_lists;
    if (taken.how == fleet_hearing::news) {
      if (number <= one.believed) broken_ = "an old list was believed";
      one.believed = number;
    }
    note(one, taken.changes);
  }

  void note(process& one, std::vector<fleet_change> const& changes) {
    for (auto const& each : changes) {
      bool const is_new = each.what == fleet_change::kind::hot
                              ? one.told_hot.insert(each.key).second
                              : one.told_hot.erase(each.key) != 0;
      if (!is_new) broken_ = "a change that is none";
    }
    for (int key = 0; key < key_count; ++key) {
      if (one.lists.is_hot(name_of(key)) != one.told_hot.contains(name_of(key))) {
        broken_ = "a change that nobody was told of";
      }
    }
  }

  // The store: a term lasts as long as its holder renews it.
  void elect() {
    if (leader_ && !all_[static_cast<std::size_t>(*leader_)]->stopped) renewed_ = now_;
    if (leader_ && now_ - renewed_ < ttl) return;
    if (nobody_may_lead_) {
      leader_.reset();
      return;
    }
    int const next = chance_.below(process_count);
    auto& one = *all_[static_cast<std::size_t>(next)];
    leader_.reset();
    if (one.stopped) return;
    leader_ = next;
    renewed_ = now_;
    one.collector.ended();
    one.collector.began(++term_, one.lists.list(), now());
    ++figures_.terms;
  }

  void trouble() {
    if (chance_.one_of(15)) read_otherwise(any());
    if (chance_.one_of(60)) any().stopped = true;
    if (chance_.one_of(20)) any().stopped = false;
    if (leader_ && chance_.one_of(150)) all_[static_cast<std::size_t>(*leader_)]->stopped = true;
    if (chance_.one_of(300)) {
      int const killed = chance_.below(process_count);
      start(killed);
      if (leader_ == killed) leader_.reset();
    }
  }

  void read_otherwise(process& one) {
    auto const key = static_cast<std::size_t>(chance_.below(key_count));
    one.reads[key] = chance_.one_of(2) ? 0 : static_cast<std::uint64_t>(chance_.below(1500));
    one.hot[key] = one.reads[key] > 0 && chance_.one_of(3);
  }

  void go_on(int ms) {
    for (int end = now_ + ms; now_ < end && broken_.empty();) step();
  }

  // Messages flow again: first one key is read, then none, then nobody collects.
  void settle() {
    calm_ = true;
    for (auto& one : all_) {
      one->stopped = false;
      one->reads = {};
      one->hot = {};
    }
    auto& reader = any();
    reader.hot[0] = true;
    reader.reads[0] = 50;
    any().reads[1] = 800;  // by the sums
    go_on(20'000);
    expect_everywhere(0, true);
    expect_everywhere(1, true);
    expect_everywhere(2, false);
    change_collector();
    if (chance_.one_of(2)) lose_collector();
    for (auto& one : all_) {
      one->reads = {};
      one->hot = {};
    }
    go_on(20'000);
    expect_everywhere(0, false);
    expect_everywhere(1, false);
  }

  // What is hot stays hot meanwhile: a new collector does not publish what it has half heard.
  void change_collector() {
    end_term();
    for (int end = now_ + 10'000; now_ < end && broken_.empty();) {
      step();
      expect_everywhere(0, true);
      expect_everywhere(1, true);
    }
  }

  void lose_collector() {
    nobody_may_lead_ = true;
    end_term();
  }

  void end_term() {
    if (leader_) all_[static_cast<std::size_t>(*leader_)]->collector.ended();
    leader_.reset();
  }

  void expect_everywhere(int key, bool hot) {
    for (auto const& one : all_) {
      if (!broken_.empty() || one->lists.is_hot(name_of(key)) == hot) continue;
      broken_ = name_of(key) + (hot ? " is not hot everywhere" : " is hot for ever");
    }
  }

  chance chance_;
  std::array<std::unique_ptr<process>, process_count> all_;
  std::uint64_t last_process_ = 0;
  std::deque<message> wire_;
  std::optional<int> leader_;
  std::uint64_t term_ = 0;
  int renewed_ = 0;
  int now_ = 0;
  bool calm_ = false;
  bool nobody_may_lead_ = false;
  model_figures figures_;
  std::string broken_;
};

RC_GTEST_PROP(FleetModel, NoOldListIsBelievedAndTheFleetAgreesInTheEnd, (std::uint64_t seed)) {
  fleet_world one(seed);
  if (!one.run(1000)) RC_FAIL(one.what());
}

TEST(FleetModelItself, HasEnoughTroubleToShowSomething) {
  model_figures all;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    fleet_world one(seed);
    EXPECT_TRUE(one.run(1000)) << one.what() << ", seed " << seed;
    all.lists += one.seen().lists;
    all.old_lists += one.seen().old_lists;
    all.terms += one.seen().terms;
    all.late_collectors += one.seen().late_collectors;
  }
  EXPECT_GT(all.lists, 2'000);
  EXPECT_GT(all.old_lists, 500);
  EXPECT_GT(all.terms, 200);
  EXPECT_GT(all.late_collectors, 20);
}

}  // namespace
}  // namespace herdlock::algo
