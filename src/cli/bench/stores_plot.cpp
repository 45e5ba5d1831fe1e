// The picture: a row for each store, a column for each figure, bars on a scale that is shared by a
// column and logarithmic: stores differ by orders of magnitude.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/stores.hpp"
#include "common/xml_text.hpp"

namespace herdlock::cli {
namespace {

constexpr double label_width = 330;
constexpr double column_width = 210;
constexpr double column_gap = 26;
constexpr double row_height = 34;
constexpr double top = 92;
constexpr double margin = 28;
constexpr std::size_t columns = 5;

constexpr char const* style = R"(<style>
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2933 }
  .title { font-size: 21px; font-weight: 600 }
  .head { font-size: 13px; font-weight: 600 }
  .sub, .value { font-size: 12.5px; fill: #61707f }
  .store { font-size: 13px }
  .trouble { font-size: 12.5px; fill: #8a1c1c }
  .bar { fill: #14865f }
  .slow { fill: #e4572e }
</style>
)";

struct column {
  char const* head;
  char const* sub;
  char const* look;
  char const* unit;
  double (*value)(store_figures const&);
};

constexpr column table[columns] = {
    {"pairs", "per second, one user; more is better", "bar", "/s",
     [](store_figures const& f) { return store_figures::percentile(f.pairs, 0.5); }},
    {"64 at once", "pairs per second; more is better", "bar", "/s",
     [](store_figures const& f) { return store_figures::percentile(f.pairs_of_64, 0.5); }},
    {"hand-over, p50", "8 contenders; less is better", "slow", " ms",
     [](store_figures const& f) { return store_figures::percentile(f.hand_over_ms, 0.5); }},
    {"hand-over, p99", "8 contenders; less is better", "slow", " ms",
     [](store_figures const& f) { return store_figures::percentile(f.hand_over_ms, 0.99); }},
    {"take-over", "holder killed, ttl 3 s; less is better", "slow", " ms",
     [](store_figures const& f) { return store_figures::percentile(f.take_over_ms, 0.5); }},
};

std::string shown(double value) {
  return value < 10 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

// The share of the column's width: at least a sliver for the smallest, all of it for the largest.
double length(double value, double least, double most) {
  if (value <= 0) return 0;
  double const span = std::log(most / least);
  return span > 0 ? 0.12 + 0.88 * std::log(value / least) / span : 1;
}

std::string bars(column const& what, double x, std::vector<store_figures> const& all) {
  double least = std::numeric_limits<double>::max();
  double most = 0;
  for (auto const& each : all) {
    double const value = what.value(each);
    if (value > 0) least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string text = fmt::format(
      "<text class='head' x='{}' y='{}'>{}</text><text class='sub' x='{}' y='{}'>{}"
      "</text>\n",
      x, top - 30, what.head, x, top - 13, what.sub);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].trouble.empty()) continue;
    double const value = what.value(all[i]);
    double const y = top + static_cast<double>(i) * row_height;
    double const wide = length(value, least, most) * (column_width - 70);
    text += fmt::format(
        "<rect class='{}' x='{}' y='{}' width='{:.1f}' height='14' rx='2'/>"
        "<text class='value' x='{:.1f}' y='{}'>{}{}</text>\n",
        what.look, x, y, wide, x + wide + 6, y + 12, shown(value), what.unit);
  }
  return text;
}

}  // namespace

std::string render_stores_plot(std::vector<store_figures> const& all) {
  double const width = 2 * margin + label_width + columns * (column_width + column_gap);
  double const height = top + static_cast<double>(all.size()) * row_height + margin;
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' width='{}' height='{}'>\n{}"
      "<rect width='100%' height='100%' fill='white'/>\n"
      "<text class='title' x='{}' y='36'>A lock on each store (logarithmic scales)</text>\n",
      width, height, width, height, style, margin);
  for (std::size_t i = 0; i < all.size(); ++i) {
    double const y = top + static_cast<double>(i) * row_height + 12;
    text += fmt::format("<text class='store' x='{}' y='{}'>{}</text>\n", margin, y,
                        xml_text(all[i].store));
    if (all[i].trouble.empty()) continue;
    text += fmt::format("<text class='trouble' x='{}' y='{}'>not measured: {}</text>\n",
                        margin + label_width, y, xml_text(all[i].trouble));
  }
  for (std::size_t i = 0; i < columns; ++i) {
    text += bars(table[i],
                 margin + label_width + static_cast<double>(i) * (column_width + column_gap), all);
  }
  return text + "</svg>\n";
}

}  // namespace herdlock::cli
