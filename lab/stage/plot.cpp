// The picture: one panel for each mode, all on the same time axis. Above, every load of the
// database as a bar from its start to its end; below, every request as a thin line from its coming
// to its answer, which is a dot, of another colour for a stale one. A herd is a wall; one load is
// one bar; who waits for nothing is at the left.
#include <fmt/format.h>

#include <algorithm>

#include "terminal/duration.hpp"
#include "stage/outcome.hpp"
#include "stage/picture.hpp"

namespace herdlock::cli {
namespace {

constexpr double panel_width = 340;
constexpr double panel_gap = 28;
constexpr double margin = 32;
constexpr double head_height = 68;
// From a panel's top.
constexpr double loads_at = 82;
constexpr double loads_height = 170;
constexpr double answers_at = 294;
constexpr double answers_height = 170;
constexpr double axis_at = answers_at + answers_height + 8;
constexpr double panel_height = axis_at + 58;
constexpr std::size_t panels_abreast = 4;
constexpr std::size_t max_rows = 250;  // lines of a panel's half, at most

constexpr char const* style = R"(<style>
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2933 }
  .title { font-size: 21px; font-weight: 600 }
  .sub, .tick, .label { font-size: 12.5px; fill: #61707f }
  .mode { font-size: 16px; font-weight: 600 }
  .count { font-size: 30px; font-weight: 700 }
  .panel { fill: #f6f8fa }
  .grid { stroke: #dde3e9; stroke-width: 1 }
  .load { fill: #e4572e }
  .killed { fill: #8a1c1c }
  .wait { stroke: #9dc6b5; stroke-width: 1; stroke-opacity: .55 }
  .answer { fill: #14865f }
  .stale { fill: #d99100 }
  .expiry { stroke: #61707f; stroke-width: 1; stroke-dasharray: 4 3 }
</style>
)";

// When the entry expires that the requests find; 0: it has.
double expiry_of(mode_outcome const& o) {
  return static_cast<double>(head_start(o.mode, o.load_time).count());
}

double last_moment(std::vector<mode_outcome> const& outcomes) {
  double last = 1;
  for (mode_outcome const& o : outcomes) {
    if (!o.last.drawn.empty()) last = std::max(last, o.last.drawn.back().at_ms);
    last = std::max(last, expiry_of(o));
    for (auto const& load : o.last.loads) last = std::max(last, load.to_ms);
  }
  return last * 1.03;
}

template <class T>
std::vector<T> rows_of(std::vector<T> const& all) {
  std::vector<T> some;
  std::size_t const count = std::min(all.size(), max_rows);
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

class panel {
 public:
  panel(mode_outcome const& o, double left, double top, double span_ms)
      : o_(o), left_(left), top_(top), scale_(panel_width / span_ms), span_ms_(span_ms) {}

  std::string draw() {
    head();
    back(loads_at, loads_height);
    back(answers_at, answers_height);
    axis();
    expiry();
    loads();
    answers();
    return std::move(svg_);
  }

 private:
  double x(double ms) const { return left_ + std::max(ms, 0.0) * scale_; }

  void text(double y, char const* css, std::string const& words) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", left_, top_ + y,
                        css, words);
  }

  void head() {
    text(24, "mode", name_of(o_.mode));
    std::size_t const killed = static_cast<std::size_t>(std::count_if(
        o_.last.loads.begin(), o_.last.loads.end(), [](drawn_load const& l) { return l.killed; }));
    std::size_t const count = o_.last.load_count + killed;
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" class=\"count\">{} {}</text>\n",
        left_ + panel_width, top_ + 24, count, count == 1 ? "load" : "loads");
    text(44, "label", facts_of(o_.mode).does);
    text(loads_at - 8, "label",
         killed ? "Loads of the database (dark: its process was killed)" : "Loads of the database");
    text(answers_at - 8, "label",
         fmt::format("{} requests, answered at{}", o_.last.answers,
                     facts_of(o_.mode).serves_old ? " (amber: stale)" : ""));
  }

  void back(double top, double tall) {
    svg_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" class=\"panel\"/>\n",
        left_, top_ + top, panel_width, tall);
  }

  void axis() {
    double const step = tick_step(span_ms_);
    for (double at = 0; at <= span_ms_; at += step) {
      svg_ += fmt::format(
          "<path d=\"M{0:.1f} {1}V{2}M{0:.1f} {3}V{4}\" class=\"grid\"/>"
          "<text x=\"{0:.1f}\" y=\"{5}\" text-anchor=\"middle\" class=\"tick\">{6:g}</text>\n",
          x(at), top_ + loads_at, top_ + loads_at + loads_height, top_ + answers_at,
          top_ + answers_at + answers_height, top_ + axis_at + 12, at);
    }
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" class=\"label\">{}</text>\n",
        left_ + panel_width / 2, top_ + axis_at + 34,
        expiry_of(o_) > 0 ? "ms after the requests came (dashed: expiry)"
                          : "ms after the entry expired");
  }

  void expiry() {
    if (expiry_of(o_) <= 0) return;
    svg_ += fmt::format("<path d=\"M{:.1f} {}V{}\" class=\"expiry\"/>\n", x(expiry_of(o_)),
                        top_ + loads_at, top_ + answers_at + answers_height);
  }

  void loads() {
    auto const rows = rows_of(o_.last.loads);
    double const pitch = std::min(16.0, loads_height / std::max<double>(rows.size(), 1));
    double const thick = std::max(pitch * 0.78, 0.6);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double const from = x(rows[i].from_ms);
      svg_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" class=\"{}\"/>\n",
          from, top_ + loads_at + static_cast<double>(i) * pitch + (pitch - thick) / 2,
          std::max(x(rows[i].to_ms) - from, 1.5), thick, rows[i].killed ? "killed" : "load");
    }
  }

  void answers() {
    auto const rows = rows_of(o_.last.drawn);
    double const pitch = answers_height / std::max<double>(rows.size(), 1);
    std::string lines;
    std::string dots;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double const y = top_ + answers_at + (static_cast<double>(i) + 0.5) * pitch;
      lines += fmt::format("M{:.1f} {:.2f}H{:.1f}", left_, y, x(rows[i].at_ms));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.2f}\" r=\"1.8\" class=\"{}\"/>\n",
                          x(rows[i].at_ms), y, rows[i].is_old ? "stale" : "answer");
    }
    if (!lines.empty()) svg_ += fmt::format("<path d=\"{}\" class=\"wait\"/>\n", lines);
    svg_ += dots;
  }

  mode_outcome const& o_;
  double left_;
  double top_;
  double scale_;
  double span_ms_;
  std::string svg_;
};

}  // namespace

std::string render_plot(std::vector<mode_outcome>& outcomes) {
  std::size_t const abreast = std::min(outcomes.size(), panels_abreast);
  std::size_t const lines = (outcomes.size() + abreast - 1) / abreast;
  double const step = panel_width + panel_gap;
  double const width =
      std::max(2 * margin + static_cast<double>(abreast) * step - panel_gap, 640.0);
  double const height = head_height + static_cast<double>(lines) * panel_height;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>One expiry of a hot cache entry</title>\n{2}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, style);
  mode_outcome const& any = outcomes.front();
  svg += fmt::format(
      "<text x=\"{0}\" y=\"36\" class=\"title\">A hot entry expires: how many load it?</text>\n"
      "<text x=\"{0}\" y=\"56\" class=\"sub\">{1} × {2} requests at once; a load takes {3}"
      "</text>\n",
      margin, any.processes == 1 ? "1 process" : fmt::format("{} processes", any.processes),
      any.requests, say(any.load_time));
  double const span = last_moment(outcomes);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    std::size_t const row = i / abreast;
    std::size_t const column = i % abreast;
    double const left = margin + static_cast<double>(column) * step;
    double const top = head_height + static_cast<double>(row) * panel_height;
    svg += panel(outcomes[i], left, top, span).draw();
  }
  return svg + "</svg>\n";
}

}  // namespace herdlock::cli
