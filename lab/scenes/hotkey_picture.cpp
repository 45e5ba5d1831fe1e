// The picture: a column for each run, on the same axes. Above, the requests for the key and those
// of them that reached the store; below, how long calls took, on a logarithmic scale: what a
// process keeps is a thousand times nearer than the store. Dashed lines stand where the key was
// found, kept and called cooled. What there is to say stands below.
#include <limits>

#include "scenes/hotkey.hpp"
#include "stage/drawing.hpp"

namespace herdlock::lab {
namespace {

constexpr double margin = 64;
constexpr double column_width = 500;
constexpr double gap = 72;
constexpr double tall = 190;  // of a field
constexpr double load_at = 128;
constexpr double time_at = 372;
constexpr double words_at = time_at + tall + 70;
constexpr double answers_at = words_at + 90;
constexpr double line_height = 18;
constexpr double height = answers_at + 6 * line_height;
// What takes less is drawn as that.
constexpr double shortest_ms = 1e-4;

double p99_of(call_figures const& of) {
  if (of.took.count() == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::max(of.took.percentile_ms(0.99), shortest_ms);
}

// Both columns have the same.
struct scales {
  scale load{0, 1, load_at + tall, load_at};
  scale time{shortest_ms, 1, time_at + tall, time_at, true};

  explicit scales(hotkey_runs const& runs) {
    for (auto const& run : runs) {
      for (std::size_t at = 0; at < hotkey_terms::slices; ++at) {
        auto const [key, others] = sum(run.board, at, at + 1);
        double const requests = key.took.count() / in_seconds(run.board.slice_ns);
        load.to_value = std::max(load.to_value, requests * 1.05);
        // In this order what is not a number is none of them.
        time.to_value = std::max({time.to_value, p99_of(key) * 1.3, p99_of(others) * 1.3});
      }
    }
  }
};

struct column {
  drawing& into;
  double left;
  hotkey_figures const& run;
  scales const& by;
  hotkey_terms const& how = run.board.how;
  scale x{0, in_seconds(in_ns(how.time)), left, left + column_width};

  void draw() {
    into.text(left, 88, "head", run.board.hot_keys ? "with hot keys" : "without hot keys");
    into.panel(left, load_at, column_width, tall,
               "requests for the key a second (grey), and those that reached the store (red)");
    into.panel(left, time_at, column_width, tall,
               "p99 of a call in ms: the key (green), the other keys (amber)");
    into.y_axis(by.load, left, left + column_width);
    into.y_axis(by.time, left, left + column_width);
    into.x_axis(x, time_at, time_at + tall, "seconds");
    draw_slices();
    mark(left, "dashed, since the requests for the key began:", how.load_from(),
         {{"found", run.found.first_ms},
          {"kept in the first process", run.kept.first_ms},
          {"kept in all", in_all(run.kept)}});
    mark(left + column_width * 0.6, "and since they ended:", how.load_to(),
         {{"cooled", run.cooled.first_ms}, {"cooled in all", in_all(run.cooled)}});
    double y = answers_at;
    into.text(left, y, "label",
              fmt::format("the other keys' p99: {} ms before anybody asked for the key, {} ms "
                          "meanwhile:",
                          short_p99(run.others_before), short_p99(run.others)));
    for (auto const& line : why_others_wait(run)) {
      into.text(left, y += line_height, "label", line);
    }
  }

  void draw_slices() {
    std::vector<std::pair<double, double>> requests, asked, key, others;
    double const slice_s = in_seconds(run.board.slice_ns);
    for (std::size_t at = 0; at < hotkey_terms::slices; ++at) {
      auto const seen = sum(run.board, at, at + 1);
      double const from_s = at * slice_s;
      double const made = by.load(seen.key.took.count() / slice_s);
      double const middle = x(from_s + slice_s / 2);
      requests.emplace_back(x(from_s), made);
      requests.emplace_back(x(from_s + slice_s), made);
      asked.emplace_back(middle, by.load(seen.key.asked / slice_s));
      key.emplace_back(middle, by.time(p99_of(seen.key)));
      others.emplace_back(middle, by.time(p99_of(seen.others)));
    }
    into.area(requests, load_at + tall, "much");
    into.path(asked, "bad-line");
    into.path(key, "good-line");
    into.path(others, "old-line");
  }

  // What came of one moment is a few ms apart, so the words stand below each other.
  void mark(double words_x, char const* since, milliseconds since_when,
            std::vector<std::pair<char const*, std::optional<double>>> const& all) {
    double y = words_at;
    for (auto const& [name, at_ms] : all) {
      if (!at_ms) continue;
      if (y == words_at) into.text(words_x, y, "label", since);
      double const at = x(std::min(*at_ms / 1e3, x.to_value));
      into.line(at, load_at, at, load_at + tall, "mark");
      into.line(at, time_at, at, time_at + tall, "mark");
      auto const later = milliseconds(std::llround(*at_ms)) - since_when;
      into.text(words_x, y += line_height, "event", fmt::format("{} +{}", name, cli::say(later)));
    }
  }

  std::optional<double> in_all(hotkey_moment const& when) const {
    return when.processes == run.board.processes.size() ? when.last_ms : std::nullopt;
  }
};

}  // namespace

std::string drawn_hotkey(hotkey_runs const& runs) {
  auto const& how = runs[0].board.how;
  drawing picture(2 * margin + 2 * column_width + gap, height,
                  "All ask for one key: what has the store of it?",
                  fmt::format("{}, {} requests a second for the key; {}",
                              counted(how.processes, "process", "processes"), with_commas(how.rate),
                              how.shown));
  scales const common(runs);
  column{picture, margin, runs[0], common}.draw();
  column{picture, margin + column_width + gap, runs[1], common}.draw();
  return std::move(picture).document();
}

}  // namespace herdlock::lab
