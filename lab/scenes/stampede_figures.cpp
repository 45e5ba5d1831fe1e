#include "scenes/stampede_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stage/clock.hpp"
#include "stage/drawing.hpp"
#include "stage/latencies.hpp"
#include "terminal/duration.hpp"

namespace herdlock::lab {
namespace {

constexpr std::size_t max_drawn = 250;

// Every n-th, so that the shape stays; the first and the last are always there.
template <class T>
std::vector<T> thinned(std::vector<T> const& all) {
  if (all.size() <= max_drawn) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < max_drawn; ++i) {
    some.push_back(all[i * (all.size() - 1) / (max_drawn - 1)]);
  }
  return some;
}

}  // namespace

void stampede_outcome::add_expiry(stampede_board& board, std::int64_t go_ns,
                                  std::optional<killed_loader> const& killed) {
  std::vector<drawn_answer> answered;
  std::vector<drawn_load> spans;
  if (killed)
    spans.push_back({in_ms(killed->began_ns - go_ns), in_ms(killed->killed_ns - go_ns), true});
  for (std::size_t i = 0; i < board.each.size(); ++i) {
    if (killed && killed->number == i) continue;
    herd_process const& one = board.each[i];
    double const offset_ms = in_ms(one.started_ns - go_ns);
    for (std::size_t n = 0; n < one.answers; ++n) {
      right_answer const& answer = board.answer(i, n);
      answered_ms.push_back(answer.at_us / 1e3);
      answered.push_back({offset_ms + answered_ms.back(), answer.is_old});
      stale += answer.is_old;
    }
    auto const kept = std::min<std::size_t>(one.loads, stampede_board::max_loads);
    for (std::size_t n = 0; n < kept; ++n) {
      load_span const& load = board.load(i, n);
      spans.push_back({offset_ms + load.from_us / 1e3, offset_ms + load.to_us / 1e3, false});
    }
    answers += one.answers;
    errors += one.errors;
    waited += static_cast<std::int64_t>(one.waited);
    near_hits += static_cast<std::int64_t>(one.near_hits);
  }
  first_error = board.all->first_error.text();
  std::sort(answered.begin(), answered.end(),
            [](auto const& a, auto const& b) { return a.at_ms < b.at_ms; });
  std::sort(spans.begin(), spans.end(),
            [](auto const& a, auto const& b) { return a.from_ms < b.from_ms; });
  if (!answered.empty()) last_answer_ms = std::max(last_answer_ms, answered.back().at_ms);
  if (!note.empty()) return;  // the expiry with the killed process stays
  drawn_answers = thinned(answered);
  drawn_loads = thinned(spans);
  answer_count = answered.size();
  load_count = spans.size();
  if (!killed) return;
  note = fmt::format(
      "process {} was killed (SIGKILL) in the middle of its load, in the first expiry; the {} "
      "requests of the others had their answers {:.0f} ms later, from {} (claim ttl {})",
      killed->id, answer_count, last_answer_ms - in_ms(killed->killed_ns - go_ns),
      counted(static_cast<std::int64_t>(load_count) - 1, "new load", "new loads"),
      cli::say(played.claim_ttl));
}

// -------------------------------------------------------------------------------- for reading

std::string table_of(std::vector<stampede_outcome> const& all) {
  table made({{"mode", table::side::left},
              {"loads/expiry"},
              {"answers"},
              {"waited for a load"},
              {"stale"},
              {"errors"},
              {"p50 ms"},
              {"p99 ms"},
              {"max ms"},
              {"last answer ms"}});
  auto const ms = [](double value) { return fmt::format("{:.1f}", value); };
  for (auto const& o : all) {
    double const loads = static_cast<double>(o.loads) / o.played.expiries;
    made.row({o.name(), std::floor(loads) == loads ? fmt::format("{:.0f}", loads) : ms(loads),
              std::to_string(o.answers), std::to_string(o.waited), std::to_string(o.stale),
              std::to_string(o.errors), ms(o.percentile_ms(0.5)), ms(o.percentile_ms(0.99)),
              ms(o.percentile_ms(1.0)), ms(o.last_answer_ms)});
  }
  std::string text = made.text();
  for (auto const& o : all) {
    if (o.played.mode->keeps_near) {
      text += fmt::format(
          "\n{}: when the {} requests came once more, {} were answered from what their process "
          "keeps\n",
          o.name(), std::int64_t{o.played.processes} * o.played.requests * o.played.expiries,
          o.near_hits);
    }
    if (!o.note.empty()) text += fmt::format("\n{}: {}\n", o.name(), o.note);
  }
  text.pop_back();
  return text;
}

json json_of(std::vector<stampede_outcome> const& all) {
  json list = json::array();
  for (auto const& o : all) {
    list.push_back({{"mode", o.name()},
                    {"processes", o.played.processes},
                    {"requests", o.played.requests},
                    {"expiries", o.played.expiries},
                    {"loads", o.loads},
                    {"answers", o.answers},
                    {"waited", o.waited},
                    {"stale", o.stale},
                    {"errors", o.errors},
                    {"near_hits", o.near_hits},
                    {"p50_ms", to_micros(o.percentile_ms(0.5))},
                    {"p99_ms", to_micros(o.percentile_ms(0.99))},
                    {"last_answer_ms", to_micros(o.last_answer_ms)},
                    {"load_time_ms", o.played.origin.load_time.count()}});
  }
  return list;
}

// ------------------------------------------------------------------------------- for looking at

// One panel for each mode, all on the same time axis. Above, every load of the database as a bar
// from its start to its end; below, every request as a thin line from its coming to its answer,
// which is a dot, of another colour for a stale one. A herd is a wall; one load is one bar; who
// waits for nothing is at the left.
namespace {

constexpr double panel_width = 340;
constexpr double panel_gap = 28;
constexpr double margin = 32;
constexpr double head_height = 68;
// From a panel's top.
constexpr double loads_at = 82;
constexpr double answers_at = 294;
constexpr double tall = 170;  // each of the two
constexpr double panel_height = answers_at + tall + 66;
constexpr std::size_t panels_abreast = 4;

// When the entry expires that the requests find; 0: it has.
double expiry_of(stampede_outcome const& o) {
  return static_cast<double>(head_start(*o.played.mode, o.played.origin.load_time).count());
}

double last_moment(std::vector<stampede_outcome> const& all) {
  double last = 1;
  for (auto const& o : all) {
    last = std::max(last, expiry_of(o));
    for (auto const& answer : o.drawn_answers) last = std::max(last, answer.at_ms);
    for (auto const& load : o.drawn_loads) last = std::max(last, load.to_ms);
  }
  return last * 1.03;
}

void draw_head(drawing& on, stampede_outcome const& o, double left, double top) {
  bool const killed = std::any_of(o.drawn_loads.begin(), o.drawn_loads.end(),
                                  [](drawn_load const& each) { return each.killed; });
  on.text(left, top + 24, "head", o.name());
  on.text(left + panel_width, top + 24, "count",
          counted(static_cast<std::int64_t>(o.load_count), "load", "loads"), drawing::anchor::end);
  on.text(left, top + 44, "label", o.played.mode->does);
  on.panel(
      left, top + loads_at, panel_width, tall,
      killed ? "Loads of the database (dark: its process was killed)" : "Loads of the database");
  on.panel(left, top + answers_at, panel_width, tall,
           fmt::format("{} requests, answered at{}", o.answer_count,
                       o.played.mode->serves_old ? " (amber: stale)" : ""));
}

void draw(drawing& on, stampede_outcome const& o, double left, double top, double span_ms) {
  draw_head(on, o, left, top);
  scale const x{.to_value = span_ms, .from = left, .to = left + panel_width};
  double const end = top + answers_at + tall;
  double const step = tick_step(span_ms);
  for (double at = 0; at <= span_ms; at += step) {
    on.line(x(at), top + loads_at, x(at), top + loads_at + tall, "grid");
  }
  double const expires = expiry_of(o);
  on.x_axis(
      x, top + answers_at, end,
      expires > 0 ? "ms after the requests came (dashed: expiry)" : "ms after the entry expired");
  for (double const from : {top + loads_at, top + answers_at}) {
    if (expires > 0) on.line(x(expires), from, x(expires), from + tall, "mark");
  }
  double y = top + loads_at;
  double pitch = std::min(16.0, tall / std::max<double>(o.drawn_loads.size(), 1));
  double const thick = std::max(pitch * 0.78, 0.6);
  for (auto const& load : o.drawn_loads) {
    double const from = x(std::max(load.from_ms, 0.0));
    on.box(from, y + (pitch - thick) / 2, std::max(x(load.to_ms) - from, 1.5), thick,
           load.killed ? "worst" : "bad");
    y += pitch;
  }
  pitch = tall / std::max<double>(o.drawn_answers.size(), 1);
  y = top + answers_at + pitch / 2;
  for (auto const& answer : o.drawn_answers) {
    double const at = x(std::max(answer.at_ms, 0.0));
    on.line(left, y, at, y, "wait");
    on.dot(at, y, 1.8, answer.is_old ? "old" : "good");
    y += pitch;
  }
}

}  // namespace

std::string picture_of(std::vector<stampede_outcome> const& all, std::string const& where) {
  std::size_t const abreast = std::min(all.size(), panels_abreast);
  std::size_t const lines = (all.size() + abreast - 1) / abreast;
  double const step = panel_width + panel_gap;
  double const width =
      std::max(2 * margin + static_cast<double>(abreast) * step - panel_gap, 640.0);
  auto const& played = all.front().played;
  drawing made(width, head_height + static_cast<double>(lines) * panel_height,
               "A hot entry expires: how many load it?",
               fmt::format("{} × {} requests at once; a load takes {}; the cache is in {}",
                           counted(played.processes, "process", "processes"), played.requests,
                           cli::say(played.origin.load_time), where));
  double const span = last_moment(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    draw(made, all[i], margin + static_cast<double>(i % abreast) * step,
         head_height + static_cast<double>(i / abreast) * panel_height, span);
  }
  return std::move(made).document();
}

}  // namespace herdlock::lab
