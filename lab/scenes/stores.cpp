// What a lock costs on each of some stores, measured side by side.
#include <limits>
#include <map>

#include "scenes/scenes.hpp"
#include "scenes/store_figures.hpp"
#include "stage/drawing.hpp"
#include "stage/place.hpp"
#include "stage/table_of.hpp"

namespace herdlock::lab {
namespace {

constexpr std::pair<char const*, measure*> measurements[] = {{"pairs", pairs_per_second},
                                                             {"64 at once", pairs_of_64},
                                                             {"hand-over", hand_overs},
                                                             {"take-over", take_over}};

struct measured_store {
  std::string url, name;                           ///< to be opened; to be shown
  std::string trouble{};                           ///< why it could not be measured; empty: it was
  std::map<measure*, std::vector<double>> seen{};  ///< in all rounds
};

// A figure of a store: its key in the data, and how it is drawn.
struct column {
  char const *key, *head, *below;
  bool is_time;  ///< in milliseconds: less is better
  measure* of;
  double share;  ///< the median: 0.5
};
constexpr column columns[] = {
    {"pairs_per_second", "pairs/s", "one user; more is better", false, pairs_per_second, 0.5},
    {"pairs_per_second_64_at_once", "64 at once", "pairs/s; more is better", false, pairs_of_64,
     0.5},
    {"hand_over_p50_ms", "hand-over p50", "8 contenders; less is better", true, hand_overs, 0.5},
    {"hand_over_p99_ms", "hand-over p99", "8 contenders; less is better", true, hand_overs, 0.99},
    {"take_over_ms", "take-over", "holder killed, ttl 3 s; less is better", true, take_over, 0.5},
};

json rounded(double value) {
  return value < 100 ? json(to_micros(value)) : json(std::llround(value));
}

json data_of(measured_store const& one) {
  if (!one.trouble.empty()) return {{"store", one.name}, {"error", one.trouble}};
  json data{{"store", one.name}, {"hand_overs", one.seen.at(hand_overs).size()}};
  for (auto const& each : columns) {
    data[each.key] = rounded(percentile(one.seen.at(each.of), each.share));
  }
  data["take_over_ttl_ms"] = crash_ttl.count();
  return data;
}

// A row for each store, a column for each figure, bars on a scale that is shared by a column and
// logarithmic: stores differ by orders of magnitude.
std::string drawn(json const& all) {
  constexpr double margin = 28, first_column = 358, column_width = 236, top = 112;
  auto const y_of = [](std::size_t row) { return top + 34 * static_cast<double>(row); };
  drawing picture(first_column + column_width * std::size(columns), y_of(all.size()) + margin,
                  "A lock on each store", "logarithmic scales");
  for (std::size_t row = 0; row < all.size(); ++row) {
    picture.text(margin, y_of(row) + 12, "label", all[row]["store"].get<std::string>());
    if (!all[row].contains("error")) continue;
    picture.text(first_column, y_of(row) + 12, "trouble",
                 "not measured: " + all[row]["error"].get<std::string>());
  }
  double x = first_column;
  for (auto const& each : columns) {
    picture.text(x, top - 30, "head", each.head);
    picture.text(x, top - 13, "label", each.below);
    double least = std::numeric_limits<double>::max(), most = 0;
    for (auto const& one : all) {
      double const value = one.value(each.key, 0.0);
      if (value > 0) least = std::min(least, value);
      most = std::max(most, value);
    }
    scale const wide{least / 2, most, 0, 140, true};
    for (std::size_t row = 0; row < all.size(); ++row) {
      auto const found = all[row].find(each.key);
      if (found == all[row].end()) continue;
      double const bar = wide(found->get<double>());
      picture.box(x, y_of(row), bar, 14, each.is_time ? "bad" : "good", 2);
      picture.text(x + bar + 6, y_of(row) + 12, "label",
                   found->dump() + (each.is_time ? " ms" : ""));
    }
    x += column_width;
  }
  return std::move(picture).document();
}

class stores_side_by_side : public scene {
 public:
  void declare(options& all) override {
    all.stores(urls_, "A store to measure; again for each further one");
    all.number("--rounds", rounds_, {1, 1000}, "More of them, steadier figures");
  }

  void check() override {
    if (urls_.empty()) {
      throw command_error(exit_code::usage,
                          "--store URL: say which store to measure, e.g. --store sqlite:a.db");
    }
    for (auto const& url : urls_) {
      require_shareable(url, contenders);
      all_.push_back({url, redacted(url)});
    }
  }

  void play(stage& on) override {
    auto const steps = static_cast<double>(rounds_ * std::size(measurements) * all_.size());
    int step = 0;
    for (int round = 1; round <= rounds_; ++round) {
      for (auto const& [name, made] : measurements) {
        for (auto& one : all_) {
          on.tell(fmt::format("round {} of {}: {}: {}", round, rounds_, name, one.name),
                  step++ / steps);
          if (one.trouble.empty()) add_round(on, made, one);
        }
      }
    }
    on.tell_nothing();
    report& out = on.out();
    for (auto const& one : all_) out.data().push_back(data_of(one));
    auto const missing = std::count_if(all_.begin(), all_.end(),
                                       [](auto const& one) { return !one.trouble.empty(); });
    std::vector<std::string> keys{"store"};
    for (auto const& each : columns) keys.emplace_back(each.key);
    if (missing > 0) keys.emplace_back("error");
    out.line(table_of(out.data(), keys));
    if (out.wants_picture()) out.picture(drawn(out.data()));
    if (missing == 0) return;
    on.end();
    auto const of_all = counted(static_cast<std::int64_t>(all_.size()), "store", "stores");
    throw command_error(exit_code::unavailable,
                        fmt::format("{} of {} could not be measured", missing, of_all));
  }

 private:
  static void add_round(stage& on, measure* made, measured_store& to) {
    try {
      auto const more = made(on, to.url);
      to.seen[made].insert(to.seen[made].end(), more.begin(), more.end());
    } catch (command_error const& e) {
      if (e.code() != exit_code::unavailable) throw;
      to.trouble = e.what();
    }
    on.clear();
  }

  std::vector<std::string> urls_;
  int rounds_ = 3;
  std::vector<measured_store> all_;
};

}  // namespace

listed_scene const stores_scene{"stores", "What a lock costs on each store, side by side",
#include "scenes/stores_help.txt"
                                , true, made<stores_side_by_side>};

}  // namespace herdlock::lab
