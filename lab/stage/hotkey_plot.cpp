// The picture: one panel for each run, on the same axes. Above, the requests for the key (grey) and
// those of them that reached the store; below, how long calls took, on a logarithmic scale: what a
// process keeps is a thousand times nearer than the store. Lines stand where the key was found,
// kept and called cooled.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "terminal/duration.hpp"
#include "stage/xml_text.hpp"
#include "scenes/hotkey_teller.hpp"
#include "stage/picture.hpp"
#include "stage/words.hpp"

namespace herdlock::cli {
namespace {

constexpr double hotkey_panel_width = 480;
constexpr double hotkey_panel_gap = 64;
constexpr double hotkey_margin = 64;
// From the top of the picture.
constexpr double load_at = 128;
constexpr double load_height = 190;
constexpr double time_at = 372;
constexpr double time_height = 190;
constexpr double hotkey_axis_at = time_at + time_height + 20;
constexpr double hotkey_height = hotkey_axis_at + 46;
// What takes less is drawn as that.
constexpr double shortest_ms = 1e-4;

constexpr char const* hotkey_style = R"(<style>
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2933 }
  .title { font-size: 21px; font-weight: 600 }
  .sub, .tick, .label { font-size: 12.5px; fill: #61707f }
  .mode { font-size: 16px; font-weight: 600 }
  .panel { fill: #f6f8fa }
  .grid { stroke: #dde3e9; stroke-width: 1 }
  .requests { fill: #c9d3dc }
  .asked { fill: none; stroke: #e4572e; stroke-width: 2 }
  .key { fill: none; stroke: #14865f; stroke-width: 2 }
  .others { fill: none; stroke: #d99100; stroke-width: 1.5 }
  .mark { stroke: #3455a4; stroke-width: 1; stroke-dasharray: 4 3 }
  .event { font-size: 12px; fill: #3455a4 }
</style>
)";

struct drawn_slice {
  double requests = 0;  // a second
  double asked = 0;
  double key_ms = 0;  // p99; 0: nothing was answered
  double others_ms = 0;
};

std::vector<drawn_slice> slices_of(hotkey_board const& board, double slice_s) {
  std::vector<drawn_slice> all;
  for (std::size_t at = 0; at < board.slices(); ++at) {
    auto const key = sum(board, hotkey_kind::key, at, at + 1);
    auto const others = sum(board, hotkey_kind::others, at, at + 1);
    all.push_back({static_cast<double>(key.calls) / slice_s,
                   static_cast<double>(key.asked) / slice_s, key.p99_ms, others.p99_ms});
  }
  return all;
}

// Of all panels.
struct hotkey_scale {
  double span_s = 1;
  double most_requests = 1;
  double longest_ms = 1;

  void hold(std::vector<drawn_slice> const& all) {
    for (auto const& one : all) {
      most_requests = std::max(most_requests, one.requests);
      longest_ms = std::max({longest_ms, one.key_ms, one.others_ms});
    }
  }
};

class hotkey_drawing {
 public:
  hotkey_drawing(hotkey_panel const& of, std::vector<drawn_slice> slices, double left,
                 hotkey_scale const& scale)
      : of_(of), slices_(std::move(slices)), left_(left), scale_(scale) {}

  std::string draw(hotkey_options const& options) {
    text(left_, 88, "mode", of_.head);
    back("requests for the key a second (grey), and those that reached the store (red)", load_at,
         load_height);
    back("p99 of a call in ms: the key (green), the other keys (amber)", time_at, time_height);
    axes();
    requests();
    line("asked", [&](drawn_slice const& s) { return load_y(s.asked); });
    line("key", [&](drawn_slice const& s) { return s.key_ms > 0 ? time_y(s.key_ms) : 0; });
    line("others", [&](drawn_slice const& s) { return s.others_ms > 0 ? time_y(s.others_ms) : 0; });
    marks(options);
    return std::move(svg_);
  }

 private:
  double x(double seconds) const { return left_ + seconds / scale_.span_s * hotkey_panel_width; }
  double load_y(double a_second) const {
    return load_at + load_height * (1 - a_second / (scale_.most_requests * 1.05));
  }
  double time_y(double ms) const {
    double const all = std::log10(scale_.longest_ms * 1.3 / shortest_ms);
    return time_at + time_height * (1 - std::log10(std::max(ms, shortest_ms) / shortest_ms) / all);
  }
  double slice_s() const { return scale_.span_s / static_cast<double>(slices_.size()); }

  void text(double at_x, double y, char const* css, std::string const& words,
            char const* anchor = "start") {
    svg_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                    at_x, y, css, anchor, words);
  }

  void back(char const* head, double top, double tall) {
    text(left_, top - 8, "label", head);
    svg_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" class=\"panel\"/>\n",
        left_, top, hotkey_panel_width, tall);
  }

  void grid_line(double y, std::string const& words) {
    svg_ +=
        fmt::format("<path d=\"M{:.1f} {:.1f}h{}\" class=\"grid\"/>", left_, y, hotkey_panel_width);
    text(left_ - 6, y + 4, "tick", words, "end");
  }

  void axes() {
    double const step = tick_step(scale_.most_requests);
    for (double at = 0; at <= scale_.most_requests; at += step) {
      grid_line(load_y(at), with_commas(static_cast<std::int64_t>(at)));
    }
    for (double ms = shortest_ms; ms <= scale_.longest_ms * 1.3; ms *= 10) {
      grid_line(time_y(ms), fmt::format("{:g}", ms));
    }
    double const second = tick_step(scale_.span_s);
    for (double at = 0; at <= scale_.span_s; at += second) {
      text(x(at), hotkey_axis_at, "tick", fmt::format("{:g}", at), "middle");
    }
    text(left_ + hotkey_panel_width / 2, hotkey_axis_at + 22, "label", "seconds", "middle");
  }

  void requests() {
    std::string path = fmt::format("M{:.1f} {:.1f}", left_, load_y(0));
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      path += fmt::format("V{:.1f}H{:.1f}", load_y(slices_[i].requests),
                          x(static_cast<double>(i + 1) * slice_s()));
    }
    svg_ += fmt::format("<path d=\"{}V{:.1f}Z\" class=\"requests\"/>\n", path, load_y(0));
  }

  // Through the middles of the slices; `y` is 0 where there is nothing.
  template <class Height>
  void line(char const* css, Height y) {
    std::string path;
    bool goes_on = false;
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      double const at = y(slices_[i]);
      if (at > 0) {
        path += fmt::format("{}{:.1f} {:.1f}", goes_on ? "L" : "M",
                            x((static_cast<double>(i) + 0.5) * slice_s()), at);
      }
      goes_on = at > 0;
    }
    svg_ += fmt::format("<path d=\"{}\" class=\"{}\"/>\n", path, css);
  }

  // Those of one moment are a few ms apart: each has a line of text of its own.
  void mark(std::optional<double> at_ms, double since_ms, int row, char const* what) {
    if (!at_ms) return;
    double const at = x(std::min(*at_ms / 1e3, scale_.span_s));
    double const y = load_at + 14 + row * 15;
    svg_ += fmt::format("<path d=\"M{:.1f} {}V{}M{:.1f} {}V{}\" class=\"mark\"/>", at, load_at,
                        load_at + load_height, at, time_at, time_at + time_height);
    bool const on_the_right = at > left_ + hotkey_panel_width * 0.6;
    text(at + (on_the_right ? -5 : 5), y, "event",
         fmt::format("{} +{}", what, say(milliseconds(std::llround(*at_ms - since_ms)))),
         on_the_right ? "end" : "start");
  }

  void marks(hotkey_options const& options) {
    auto const from = static_cast<double>(options.load_from().count());
    auto const to = static_cast<double>(options.load_to().count());
    mark(of_.seen.found.first_ms, from, 0, "found");
    mark(of_.seen.kept.first_ms, from, 1, "kept in the first process");
    bool const in_all = of_.seen.kept.processes == options.processes;
    if (in_all) mark(of_.seen.kept.last_ms, from, 2, "kept in all");
    mark(of_.seen.cooled.first_ms, to, 4, "cooled");
    if (of_.seen.cooled.processes == options.processes) {
      mark(of_.seen.cooled.last_ms, to, 5, "cooled in all");
    }
  }

  hotkey_panel const& of_;
  std::vector<drawn_slice> const slices_;
  double const left_;
  hotkey_scale const& scale_;
  std::string svg_;
};

}  // namespace

std::string render_hotkey_plot(hotkey_options const& options, std::string const& store,
                               std::vector<hotkey_panel> const& panels) {
  hotkey_scale scale;
  scale.span_s = static_cast<double>((options.slice() * hotkey_options::slices).count()) / 1e3;
  std::vector<std::vector<drawn_slice>> drawn;
  for (auto const& one : panels) {
    drawn.push_back(slices_of(one.board, scale.span_s / hotkey_options::slices));
    scale.hold(drawn.back());
  }
  double const step = hotkey_panel_width + hotkey_panel_gap;
  double const width =
      2 * hotkey_margin + static_cast<double>(panels.size()) * step - hotkey_panel_gap;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>All ask for one key</title>\n{2}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<text x=\"{3}\" y=\"36\" class=\"title\">All ask for one key: what has the store of it?"
      "</text>\n<text x=\"{3}\" y=\"56\" class=\"sub\">{4}, {5} requests a second for the key; {6}"
      "</text>\n",
      width, hotkey_height, hotkey_style, hotkey_margin,
      counted(options.processes, "process", "processes"),
      with_commas(static_cast<std::int64_t>(options.rate)), xml_text(store));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    double const left = hotkey_margin + static_cast<double>(i) * step;
    svg += hotkey_drawing(panels[i], std::move(drawn[i]), left, scale).draw(options);
  }
  return svg + "</svg>\n";
}

}  // namespace herdlock::cli
