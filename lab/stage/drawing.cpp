#include "stage/drawing.hpp"

#include <algorithm>
#include <cmath>

namespace herdlock::lab {
namespace {

constexpr char opening[] =
    R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" )"
    R"(height="{1:.0f}" role="img">)"
    "\n<title>{2}</title>\n{3}"
    R"(<rect width="100%" height="100%" fill="#ffffff"/>)"
    "\n";
constexpr char const* style =
#include "stage/drawing_style.txt"
    ;

std::string figure(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:g}", value);
}

std::vector<double> ticks_of(scale const& of) {
  double const step = tick_step(of.to_value - of.from_value);
  double at = of.from_value;
  if (of.logarithmic) at = std::pow(10, std::ceil(std::log10(at)));
  std::vector<double> all;
  for (; at <= of.to_value; at = of.logarithmic ? at * 10 : at + step) all.push_back(at);
  return all;
}

}  // namespace

std::string as_text(std::string_view text) {
  constexpr std::pair<char, char const*> marks[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string made;
  for (char const c : text) {
    auto const mark = std::ranges::find(marks, c, &std::pair<char, char const*>::first);
    made += mark == std::end(marks) ? std::string(1, c) : mark->second;
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
  svg_ = fmt::format(opening, width, height, as_text(title), style);
  text(32, 36, "title", title);
  text(32, 56, "sub", below_title);
}

void drawing::text(double x, double y, char const* css, std::string_view words, anchor at) {
  constexpr char const* names[] = {"start", "middle", "end"};
  add(R"(<text x="{:.1f}" y="{:.1f}" class="{}" text-anchor="{}">{}</text>)", x, y, css,
      names[static_cast<std::size_t>(at)], as_text(words));
}

void drawing::box(double x, double y, double width, double height, char const* css, double round) {
  add(R"(<rect x="{:.1f}" y="{:.2f}" width="{:.1f}" height="{:.2f}" rx="{:g}" class="{}"/>)", x, y,
      width, height, round, css);
}

void drawing::dot(double x, double y, double radius, char const* css) {
  add(R"(<circle cx="{:.1f}" cy="{:.2f}" r="{:g}" class="{}"/>)", x, y, radius, css);
}

void drawing::line(double x1, double y1, double x2, double y2, char const* css) {
  add(R"(<path d="M{:.1f} {:.2f}L{:.1f} {:.2f}" class="{}"/>)", x1, y1, x2, y2, css);
}

void drawing::path(std::vector<std::pair<double, double>> const& points, char const* css) {
  std::string way;
  bool goes_on = false;
  for (auto const& [x, y] : points) {
    if (std::isfinite(y)) way += fmt::format("{}{:.1f} {:.1f}", goes_on ? "L" : "M", x, y);
    goes_on = std::isfinite(y);
  }
  add(R"(<path d="{}" class="{}"/>)", way, css);
}

void drawing::area(std::vector<std::pair<double, double>> const& points, double bottom,
                   char const* css) {
  if (points.empty()) return;
  std::string way = fmt::format("M{:.1f} {:.1f}", points.front().first, bottom);
  for (auto const& [x, y] : points) way += fmt::format("L{:.1f} {:.1f}", x, y);
  add(R"(<path d="{}L{:.1f} {:.1f}Z" class="{}"/>)", way, points.back().first, bottom, css);
}

void drawing::panel(double x, double y, double width, double height, std::string_view head) {
  text(x, y - 8, "label", head);
  box(x, y, width, height, "panel", 4);
}

void drawing::x_axis(scale const& x, double top, double bottom, std::string_view unit) {
  for (double const at : ticks_of(x)) {
    line(x(at), top, x(at), bottom, "grid");
    text(x(at), bottom + 20, "tick", figure(at), anchor::middle);
  }
  text((x.from + x.to) / 2, bottom + 42, "label", unit, anchor::middle);
}

void drawing::y_axis(scale const& y, double left, double right) {
  for (double const at : ticks_of(y)) {
    line(left, y(at), right, y(at), "grid");
    text(left - 6, y(at) + 4, "tick", figure(at), anchor::end);
  }
}

std::string drawing::document() && { return std::move(svg_) + "</svg>\n"; }

}  // namespace herdlock::lab
