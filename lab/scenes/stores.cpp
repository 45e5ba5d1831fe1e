// What a lock costs on each of some stores, measured side by side.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "scenes/scenes.hpp"
#include "scenes/store_figures.hpp"
#include "stage/drawing.hpp"
#include "stage/latencies.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

struct measurement {
  char const* name;
  void (*make)(stage& on, store_figures& of);
};
constexpr measurement measurements[] = {{"pairs", measure_pairs},
                                        {"64 at once", measure_pairs_of_64},
                                        {"hand-over", measure_hand_over},
                                        {"take-over", measure_take_over}};

// A figure of a store: as it is in the table, the JSON and the picture.
struct column {
  char const* head;
  char const* key;
  char const* in_picture;
  char const* below;
  bool is_time;  ///< in milliseconds: less is better
  double (*value)(store_figures const&);
};
constexpr column columns[] = {
    {"pairs/s", "pairs_per_second", "pairs", "per second, one user; more is better", false,
     [](store_figures const& of) { return percentile(of.pairs, 0.5); }},
    {"64 at once", "pairs_per_second_64_at_once", "64 at once", "pairs per second; more is better",
     false, [](store_figures const& of) { return percentile(of.pairs_of_64, 0.5); }},
    {"hand-over p50", "hand_over_p50_ms", "hand-over, p50", "8 contenders; less is better", true,
     [](store_figures const& of) { return percentile(of.hand_over_ms, 0.5); }},
    {"hand-over p99", "hand_over_p99_ms", "hand-over, p99", "8 contenders; less is better", true,
     [](store_figures const& of) { return percentile(of.hand_over_ms, 0.99); }},
    {"take-over", "take_over_ms", "take-over", "holder killed, ttl 3 s; less is better", true,
     [](store_figures const& of) { return percentile(of.take_over_ms, 0.5); }},
};

double rounded(double value) {
  double const factor = value < 100 ? 1000 : 1;
  return std::round(value * factor) / factor;
}

std::string text_of(std::vector<store_figures> const& all) {
  std::vector<table::column> heads{{"store", table::side::left}};
  for (auto const& each : columns) heads.push_back({each.head});
  table text(std::move(heads));
  for (auto const& of : all) {
    std::vector<std::string> cells{of.store};
    for (auto const& each : columns) {
      double const value = each.value(of);
      bool const is_exact = each.is_time && value < 1000;
      cells.push_back(!of.trouble.empty() ? "-"
                                          : fmt::format("{:.{}f}{}", value, is_exact ? 2 : 0,
                                                        each.is_time ? " ms" : ""));
    }
    if (!of.trouble.empty()) cells.push_back("not measured: " + of.trouble);
    text.row(std::move(cells));
  }
  return text.text();
}

json data_of(std::vector<store_figures> const& all) {
  auto list = json::array();
  for (auto const& of : all) {
    json one{{"store", of.store}};
    if (!of.trouble.empty()) {
      one["error"] = of.trouble;
    } else {
      for (auto const& each : columns) {
        if (each.is_time && !one.contains("hand_overs")) {
          one["hand_overs"] = of.hand_over_ms.size();
        }
        one[each.key] = rounded(each.value(of));
      }
      one["take_over_ttl_ms"] = crash_ttl.count();
    }
    list.push_back(std::move(one));
  }
  return list;
}

constexpr double margin = 28;
constexpr double label_width = 330;
constexpr double column_width = 210;
constexpr double column_gap = 26;
constexpr double top = 112;
constexpr double row_height = 34;

double top_of_row(std::size_t row) { return top + static_cast<double>(row) * row_height; }

// The share of the column's width: at least a sliver for the smallest, all of it for the largest.
double length(double value, double least, double most) {
  if (value <= 0) return 0;
  double const span = std::log(most / least);
  return span > 0 ? 0.12 + 0.88 * std::log(value / least) / span : 1;
}

void draw_column(drawing& into, column const& what, double x,
                 std::vector<store_figures> const& all) {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  for (auto const& of : all) {
    double const value = what.value(of);
    if (value > 0) least = std::min(least, value);
    most = std::max(most, value);
  }
  into.text(x, top - 30, "head", what.in_picture);
  into.text(x, top - 13, "label", what.below);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].trouble.empty()) continue;
    double const value = what.value(all[i]);
    double const wide = length(value, least, most) * (column_width - 70);
    into.box(x, top_of_row(i), wide, 14, what.is_time ? "bad" : "good", 2);
    into.text(x + wide + 6, top_of_row(i) + 12, "label",
              fmt::format("{:.{}f}{}", value, value < 10 ? 2 : 0, what.is_time ? " ms" : "/s"));
  }
}

// A row for each store, a column for each figure, bars on a scale that is shared by a column and
// logarithmic: stores differ by orders of magnitude.
std::string drawn(std::vector<store_figures> const& all) {
  double const width = 2 * margin + label_width + std::size(columns) * (column_width + column_gap);
  drawing picture(width, top_of_row(all.size()) + margin, "A lock on each store",
                  "logarithmic scales");
  for (std::size_t i = 0; i < all.size(); ++i) {
    picture.text(margin, top_of_row(i) + 12, "label", all[i].store);
    if (all[i].trouble.empty()) continue;
    picture.text(margin + label_width, top_of_row(i) + 12, "trouble",
                 "not measured: " + all[i].trouble);
  }
  double x = margin + label_width;
  for (auto const& each : columns) {
    draw_column(picture, each, x, all);
    x += column_width + column_gap;
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
      all_.push_back({.url = url, .store = redacted(url)});
    }
  }

  void play(stage& on) override {
    int const steps = rounds_ * static_cast<int>(std::size(measurements) * all_.size());
    int step = 0;
    for (int round = 1; round <= rounds_; ++round) {
      for (auto const& [name, make] : measurements) {
        for (auto& of : all_) {
          on.tell(fmt::format("round {} of {}: {}: {}", round, rounds_, name, of.store),
                  static_cast<double>(step++) / steps);
          if (of.trouble.empty()) measure(on, make, of);
        }
      }
    }
    on.tell_nothing();
    on.out().line(text_of(all_));
    on.out().data() = data_of(all_);
    if (on.out().wants_picture()) on.out().picture(drawn(all_));
    auto const missing =
        std::count_if(all_.begin(), all_.end(), [](auto const& of) { return !of.trouble.empty(); });
    if (missing == 0) return;
    on.end();
    throw command_error(
        exit_code::unavailable,
        fmt::format("{} of {} could not be measured", missing,
                    counted(static_cast<std::int64_t>(all_.size()), "store", "stores")));
  }

 private:
  static void measure(stage& on, void (*make)(stage&, store_figures&), store_figures& of) {
    try {
      make(on, of);
    } catch (command_error const& e) {
      if (e.code() != exit_code::unavailable) throw;
      of.trouble = e.what();
      on.clear();
    }
  }

  std::vector<std::string> urls_;
  int rounds_ = 3;
  std::vector<store_figures> all_;
};

}  // namespace

listed_scene const stores_scene{.name = "stores",
                                .does = "What a lock costs on each store, side by side",
                                .help = R"(Of each store, in turn, round after round:
  pairs/s      acquire and release, one after the other, nobody else there
  64 at once   the same by 64 users in one process, each with its own resource
  hand-over    8 processes arrive together on one resource and hold it for 1 ms:
               from the call of release to the next one's return from acquire
  take-over    a holder is killed with SIGKILL while another waits: until that
               one has it; the ttl is 3 s, renewed

The rates are the median of the rounds. Stores measured in one run can be
compared with each other; two runs, on a machine with other work, hardly.

Exit status: 0; 64 for usage; 69 if a store could not be measured (the others
are).

Examples:
  herdlock-lab stores --store sqlite:a.db --store redis://127.0.0.1
  herdlock-lab stores --store redis://127.0.0.1 --plot stores.svg --json)",
                                .draws = true,
                                .make = made<stores_side_by_side>};

}  // namespace herdlock::lab
