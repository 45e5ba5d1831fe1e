// What came of a scene: printed for people or for programs, judged, and drawn.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "stage/latencies.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::lab {

using json = nlohmann::ordered_json;

/// `1,234,567`
std::string with_commas(std::int64_t number);
/// For programs: milliseconds without the digits that mean nothing.
double to_micros(double ms);
/// `1 process`, `2 processes`
std::string counted(std::int64_t count, char const* one, char const* many);

/// Rows under a head. Each column is as wide as what is in it.
class table {
 public:
  enum class side { left, right };
  struct column {
    std::string head;
    side where = side::right;
  };

  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  /// As many cells as there are columns, or one more: a remark behind them.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// What a scene promises, and whether it came about. It trusts none of those whom it judges: what
/// it goes by are figures of the board.
class judge {
 public:
  /// `sentence` says what is wrong when it does not hold: "two worked at once, 3 times".
  void demand(bool holds, std::string sentence) {
    if (!holds) broken_.push_back(std::move(sentence));
  }
  std::vector<std::string> const& broken() const { return broken_; }
  bool kept() const { return broken_.empty(); }

 private:
  std::vector<std::string> broken_;
};

/// Where the scene's words go: lines for people on standard output at once; the JSON and the
/// picture at the end. With --json no line is printed.
class report {
 public:
  report(bool as_json, std::filesystem::path picture);

  bool as_json() const { return as_json_; }
  bool wants_picture() const { return !picture_file_.empty(); }

  /// A whole line, or several; a newline comes behind. Throws command_error when standard output
  /// does not take it.
  void line(std::string_view text) const;
  /// With --json: an object on a line of its own, at once.
  void event(json const& what) const;
  /// A figure for both: the line `stale answers  1,200`, and `"stale_answers": 1200` in the data. A
  /// unit stands behind the number, and at the end of the name.
  void figure(std::string_view words, json value, std::string_view unit = {});
  /// In one line `get p50 0.1 ms, …`; in the data `"get": {"count": …, "p50_ms": …, …}`.
  void times(std::string_view words, latency_sum const& took);
  /// What a program is to read at the end. An array or an object; none where events say it all.
  json& data() { return data_; }
  /// An SVG document.
  void picture(std::string svg) { svg_ = std::move(svg); }

  /// Prints what is left, writes the picture and tells where it is; `BROKEN` for each promise that
  /// was. The exit status: 1 when one was.
  int end(judge const& judged);

 private:
  bool const as_json_;
  std::filesystem::path const picture_file_;
  json data_;
  std::string svg_;
};

}  // namespace herdlock::lab
