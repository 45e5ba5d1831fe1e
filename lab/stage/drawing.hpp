// Pictures: SVG documents of one look.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace herdlock::lab {

/// What text is in SVG: markup in it is shown, not meant.
std::string as_text(std::string_view text);

/// A round step that gives four to eight ticks.
double tick_step(double span);

/// From values to places on the paper, linear or logarithmic.
struct scale {
  double from_value = 0, to_value = 1;
  double from = 0, to = 1;
  bool logarithmic = false;

  double operator()(double value) const;
};

/// A document. Places are in pixels from its left upper corner. `css` names a class of the one
/// style that all pictures share: see style() in drawing.cpp, which has the colours by meaning.
class drawing {
 public:
  drawing(double width, double height, std::string_view title, std::string_view below_title);

  enum class anchor { start, middle, end };

  void text(double x, double y, char const* css, std::string_view words, anchor at = anchor::start);
  void box(double x, double y, double width, double height, char const* css, double round = 0);
  void dot(double x, double y, double radius, char const* css);
  void line(double x1, double y1, double x2, double y2, char const* css);
  /// From point to point; where `y` is not finite the line is interrupted.
  void path(std::vector<std::pair<double, double>> const& points, char const* css);
  /// The area below the points, down to `bottom`.
  void area(std::vector<std::pair<double, double>> const& points, double bottom, char const* css);

  /// The grey field that figures stand on, with a head above it.
  void panel(double x, double y, double width, double height, std::string_view head);
  /// Ticks along x below `bottom`, with lines up to `top`, and what they count.
  void x_axis(scale const& x, double top, double bottom, std::string_view unit);
  /// Ticks along y, with lines to the right and their figures to the left; powers of ten where the
  /// scale is logarithmic.
  void y_axis(scale const& y, double left, double right);

  std::string document() &&;

 private:
  template <class... Values>
  void add(fmt::format_string<Values const&...> form, Values const&... values) {
    svg_ += fmt::format(form, values...) + "\n";
  }

  std::string svg_;
};

}  // namespace herdlock::lab
