// The picture: a column for each run, on the same axes. Above, the requests for the key and those
// of them that reached the store; below, how long calls took, on a logarithmic scale: what a
// process keeps is a thousand times nearer than the store. Dashed lines stand where the key was
// found, kept and called cooled. What there is to say stands below.
#include <cmath>
#include <limits>
#include <vector>

#include "scenes/hotkey_story.hpp"
#include "stage/drawing.hpp"
#include "terminal/duration.hpp"

namespace herdlock::lab {
namespace {

using points = std::vector<std::pair<double, double>>;

constexpr double margin = 64;
constexpr double wide = 500;
constexpr double gap = 72;
constexpr double tall = 190;  // of a field
constexpr double load_at = 128;
constexpr double time_at = 372;
constexpr double words_at = time_at + tall + 70;
constexpr double line_height = 18;
constexpr double height = words_at + 9 * line_height;
// What takes less is drawn as that.
constexpr double shortest_ms = 1e-4;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

double p99_of(call_figures const& of) {
  return of.took.count() > 0 ? of.took.percentile_ms(0.99) : nothing;
}

// Both columns have the same.
struct scales {
  scale load{0, 1, load_at + tall, load_at};
  scale time{shortest_ms, 1, time_at + tall, time_at, true};

  void hold(hotkey_seen const& run) {
    double const slice_s = in_seconds(run.board.slice_ns);
    for (auto const& [key, others] : run.slices) {
      double const requests = static_cast<double>(key.took.count()) / slice_s;
      load.to_value = std::max(load.to_value, requests * 1.05);
      // In this order what is not a number is none of them.
      time.to_value = std::max({time.to_value, p99_of(key) * 1.3, p99_of(others) * 1.3});
    }
  }
};

class column {
 public:
  column(drawing& into, double left, double span_s, scales const& by)
      : into_(into), left_(left), x_{0, span_s, left, left + wide}, by_(by) {}

  void draw(hotkey_seen const& run) {
    into_.panel(left_, load_at, wide, tall,
                "requests for the key a second (grey), and those that reached the store (red)");
    into_.panel(left_, time_at, wide, tall,
                "p99 of a call in ms: the key (green), the other keys (amber)");
    into_.y_axis(by_.load, left_, left_ + wide);
    into_.y_axis(by_.time, left_, left_ + wide);
    into_.x_axis(x_, time_at, time_at + tall, "seconds");
    points requests, asked, key, others;
    double const slice_s = in_seconds(run.board.slice_ns);
    for (double from_s = 0; auto const& [of_key, of_others] : run.slices) {
      double const made = by_.load(static_cast<double>(of_key.took.count()) / slice_s);
      double const middle = x_(from_s + slice_s / 2);
      requests.emplace_back(x_(from_s), made);
      requests.emplace_back(x_(from_s + slice_s), made);
      asked.emplace_back(middle, by_.load(static_cast<double>(of_key.asked) / slice_s));
      key.emplace_back(middle, height_of(p99_of(of_key)));
      others.emplace_back(middle, height_of(p99_of(of_others)));
      from_s += slice_s;
    }
    into_.area(requests, load_at + tall, "much");
    into_.path(asked, "bad-line");
    into_.path(key, "good-line");
    into_.path(others, "old-line");
  }

  struct event {
    char const* name;
    std::optional<double> at_ms;
  };
  // What came of one moment is a few ms apart, so the words stand below each other.
  void mark(double words_x, char const* since, milliseconds since_when,
            std::vector<event> const& all) {
    double y = words_at;
    for (auto const& [name, at_ms] : all) {
      if (!at_ms) continue;
      if (y == words_at) into_.text(words_x, y, "label", since);
      double const x = x_(std::min(*at_ms / 1e3, x_.to_value));
      into_.line(x, load_at, x, load_at + tall, "mark");
      into_.line(x, time_at, x, time_at + tall, "mark");
      auto const later = milliseconds(std::llround(*at_ms)) - since_when;
      into_.text(words_x, y += line_height, "event", fmt::format("{} +{}", name, cli::say(later)));
    }
  }

  // What a viewer will ask.
  void answer(hotkey_figures const& seen) {
    double y = words_at + 5 * line_height;
    auto const say = [&](std::string const& words) {
      into_.text(left_, y, "label", words);
      y += line_height;
    };
    say(fmt::format("the other keys' p99: {} ms before anybody asked for the key, {} ms meanwhile",
                    short_ms(seen.others_before.took.percentile_ms(0.99)),
                    short_ms(seen.others.took.percentile_ms(0.99))));
    if (seen.kept_by_all) {
      say(fmt::format("(of that, once all processes kept the key: {} ms)",
                      short_ms(seen.kept_by_all->others.took.percentile_ms(0.99))));
    }
    if (seen.key.left_out == 0) return;
    say(fmt::format(
        "{} requests for the key were left out: they would have begun over 100 ms late,",
        with_commas(static_cast<std::int64_t>(seen.key.left_out))));
    say("so its p99 stays near 100 ms while the machine is too slow for them");
  }

 private:
  double height_of(double ms) const { return std::isfinite(ms) ? by_.time(ms) : nothing; }

  drawing& into_;
  double const left_;
  scale const x_;
  scales const& by_;
};

}  // namespace

std::string drawn_hotkey(hotkey_story const& story) {
  auto const& of = story.options;
  drawing picture(2 * margin + 2 * wide + gap, height,
                  "All ask for one key: what has the store of it?",
                  fmt::format("{}, {} requests a second for the key; {}",
                              counted(of.processes, "process", "processes"), with_commas(of.rate),
                              story.store));
  scales common;
  for (auto const* run : {&story.without, &story.with}) common.hold(*run);
  double left = margin;
  for (auto const* run : {&story.without, &story.with}) {
    column one(picture, left, in_seconds(in_ns(of.time)), common);
    picture.text(left, 88, "head", std::string(run->name) + " hot keys");
    one.draw(*run);
    auto const& seen = run->seen;
    auto const in_all = [&](hotkey_moment const& when) {
      bool const all = when.processes == static_cast<std::size_t>(of.processes);
      return all ? when.last_ms : std::nullopt;
    };
    one.mark(left, "dashed, since the requests for the key began:", of.load_from(),
             {{"found", seen.found.first_ms},
              {"kept in the first process", seen.kept.first_ms},
              {"kept in all", in_all(seen.kept)}});
    one.mark(left + wide * 0.6, "and since they ended:", of.load_to(),
             {{"cooled", seen.cooled.first_ms}, {"cooled in all", in_all(seen.cooled)}});
    one.answer(seen);
    left += wide + gap;
  }
  return std::move(picture).document();
}

}  // namespace herdlock::lab
