#include "stage/drawing.hpp"

#include <fmt/format.h>

#include <cmath>

namespace herdlock::lab {
namespace {

constexpr char const* style = R"(<style>
  text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2933 }
  .title { font-size: 21px; font-weight: 600 }
  .sub, .tick, .label { font-size: 12.5px; fill: #61707f }
  .head { font-size: 16px; font-weight: 600 }
  .count { font-size: 30px; font-weight: 700 }
  .trouble { font-size: 12.5px; fill: #8a1c1c }
  .panel { fill: #f6f8fa }
  .grid { fill: none; stroke: #dde3e9; stroke-width: 1 }
  .much { fill: #c9d3dc }
  .bad { fill: #e4572e }
  .worst { fill: #8a1c1c }
  .good { fill: #14865f }
  .old { fill: #d99100 }
  .bad-line { fill: none; stroke: #e4572e; stroke-width: 2 }
  .good-line { fill: none; stroke: #14865f; stroke-width: 2 }
  .old-line { fill: none; stroke: #d99100; stroke-width: 1.5 }
  .wait { fill: none; stroke: #9dc6b5; stroke-width: 1; stroke-opacity: .55 }
  .mark { fill: none; stroke: #3455a4; stroke-width: 1; stroke-dasharray: 4 3 }
  .event { font-size: 12px; fill: #3455a4 }
</style>
)";

std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

}  // namespace

std::string as_text(std::string_view text) {
  std::string made;
  for (char const c : text) {
    switch (c) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      case '\'': made += "&#39;"; break;
      default: made += c;
    }
  }
  return made;
}

double tick_step(double span) {
  double const rough = span / 5;
  double const power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double const factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= rough) return power * factor;
  }
  return power * 10;
}

double scale::operator()(double value) const {
  double share = (value - from_value) / (to_value - from_value);
  if (logarithmic) {
    share = std::log(std::max(value, from_value) / from_value) / std::log(to_value / from_value);
  }
  return from + share * (to - from);
}

drawing::drawing(double width, double height, std::string_view title,
                 std::string_view below_title) {
  svg_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n{3}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, as_text(title), style);
  text(32, 36, "title", title);
  text(32, 56, "sub", below_title);
}

void drawing::text(double x, double y, char const* css, std::string_view words, anchor at) {
  constexpr char const* names[] = {"start", "middle", "end"};
  svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                      x, y, css, names[static_cast<std::size_t>(at)], as_text(words));
}

void drawing::box(double x, double y, double width, double height, char const* css, double round) {
  svg_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" rx=\"{:g}\" "
      "class=\"{}\"/>\n",
      x, y, width, height, round, css);
}

void drawing::dot(double x, double y, double radius, char const* css) {
  svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.2f}\" r=\"{:g}\" class=\"{}\"/>\n", x, y,
                      radius, css);
}

void drawing::line(double x1, double y1, double x2, double y2, char const* css) {
  svg_ += fmt::format("<path d=\"M{:.1f} {:.2f}L{:.1f} {:.2f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                      css);
}

void drawing::path(std::vector<std::pair<double, double>> const& points, char const* css) {
  std::string way;
  bool goes_on = false;
  for (auto const& [x, y] : points) {
    if (std::isfinite(y)) way += fmt::format("{}{:.1f} {:.1f}", goes_on ? "L" : "M", x, y);
    goes_on = std::isfinite(y);
  }
  svg_ += fmt::format("<path d=\"{}\" class=\"{}\"/>\n", way, css);
}

void drawing::area(std::vector<std::pair<double, double>> const& points, double bottom,
                   char const* css) {
  if (points.empty()) return;
  std::string way = fmt::format("M{:.1f} {:.1f}", points.front().first, bottom);
  for (auto const& [x, y] : points) way += fmt::format("L{:.1f} {:.1f}", x, y);
  svg_ += fmt::format("<path d=\"{}L{:.1f} {:.1f}Z\" class=\"{}\"/>\n", way, points.back().first,
                      bottom, css);
}

void drawing::panel(double x, double y, double width, double height, std::string_view head) {
  text(x, y - 8, "label", head);
  box(x, y, width, height, "panel", 4);
}

void drawing::x_axis(scale const& x, double top, double bottom, std::string_view unit) {
  double const step = tick_step(x.to_value - x.from_value);
  for (double at = x.from_value; at <= x.to_value; at += step) {
    line(x(at), top, x(at), bottom, "grid");
    text(x(at), bottom + 20, "tick", figure(at), anchor::middle);
  }
  text((x.from + x.to) / 2, bottom + 42, "label", unit, anchor::middle);
}

void drawing::y_axis(scale const& y, double left, double right) {
  auto const tick = [&](double at) {
    line(left, y(at), right, y(at), "grid");
    text(left - 6, y(at) + 4, "tick", figure(at), anchor::end);
  };
  if (y.logarithmic) {
    double const first = std::pow(10, std::ceil(std::log10(y.from_value)));
    for (double at = first; at <= y.to_value; at *= 10) tick(at);
    return;
  }
  double const step = tick_step(y.to_value - y.from_value);
  for (double at = y.from_value; at <= y.to_value; at += step) tick(at);
}

std::string drawing::document() && { return std::move(svg_) + "</svg>\n"; }

}  // namespace herdlock::lab
