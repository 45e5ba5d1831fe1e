#include "scenes/stampede.hpp"
#include "stage/drawing.hpp"
#include "stage/table_of.hpp"

namespace herdlock::lab {

void stampede_outcome::add_expiry(stampede_board& board, std::int64_t go_ns) {
  std::vector<right_answer> answered;
  std::vector<load_span> spans;
  for (std::size_t i = 0; i < board.each.size(); ++i) {
    herd_process const& one = board.each[i];
    for (auto const& answer : std::span(board.answers_of(i), one.counts.answers)) {
      answered.push_back(answer);
      answered_ms.push_back(in_ms(answer.at_ns - one.started_ns));
    }
    auto const* const its_loads = board.loads_of(i);
    spans.insert(spans.end(), its_loads, its_loads + std::min(one.loads.load(), board.max_loads));
    counts += one.counts;
  }
  first_error = board.first_error->text();
  std::ranges::sort(answered, {}, &right_answer::at_ns);
  std::ranges::sort(spans, {}, &load_span::from_ns);
  if (!answered.empty()) {
    last_answer_ms = std::max(last_answer_ms, in_ms(answered.back().at_ns - go_ns));
  }
  if (!note.empty()) return;  // the expiry with the killed process stays
  drawn_from_ns = go_ns;
  drawn_answers = std::move(answered);
  drawn_loads = std::move(spans);
  for (auto const& load : drawn_loads) {
    if (load.killed_id == 0) continue;
    note = fmt::format(
        "process {} was killed (SIGKILL) in the middle of its load, in the first expiry; the {} "
        "requests of the others had their answers {:.0f} ms later, from {} (claim ttl {})",
        load.killed_id, drawn_answers.size(), last_answer_ms - in_ms(load.to_ns - go_ns),
        counted(std::ssize(drawn_loads) - 1, "new load", "new loads"), cli::say(played.claim_ttl));
  }
}

// -------------------------------------------------------------------------------- for reading

void tell_stampede(std::vector<stampede_outcome> const& all, report& out) {
  auto const tenths = [](double value) { return std::round(10 * value) / 10; };
  json rows;
  std::string below;
  for (auto const& o : all) {
    json const row = {{"mode", o.name()},
                      {"processes", o.played.processes},
                      {"requests", o.played.requests},
                      {"expiries", o.played.expiries},
                      {"loads", o.loads},
                      {"answers", o.counts.answers},
                      {"waited", o.counts.waited},
                      {"stale", o.counts.stale},
                      {"errors", o.counts.errors},
                      {"near_hits", o.counts.near_hits},
                      {"p50_ms", to_micros(o.percentile_ms(0.5))},
                      {"p99_ms", to_micros(o.percentile_ms(0.99))},
                      {"last_answer_ms", to_micros(o.last_answer_ms)},
                      {"load_time_ms", o.played.origin.load_time.count()}};
    out.data().push_back(row);
    json& shown = rows.emplace_back(row);
    shown["loads/expiry"] = tenths(1.0 * o.loads / o.played.expiries);
    shown["waited for a load"] = o.counts.waited;
    shown["p50 ms"] = tenths(o.percentile_ms(0.5));
    shown["p99 ms"] = tenths(o.percentile_ms(0.99));
    shown["max ms"] = tenths(o.percentile_ms(1));
    shown["last answer ms"] = tenths(o.last_answer_ms);
    if (o.played.mode->keeps_near) {
      below += fmt::format(
          "\n{}: when the {} requests came once more, {} were answered from what their process "
          "keeps\n",
          o.name(), std::int64_t{o.played.processes} * o.played.requests * o.played.expiries,
          o.counts.near_hits);
    }
    if (!o.note.empty()) below += fmt::format("\n{}: {}\n", o.name(), o.note);
  }
  auto const text = table_of(rows, {"mode", "loads/expiry", "answers", "waited for a load", "stale",
                                    "errors", "p50 ms", "p99 ms", "max ms", "last answer ms"});
  out.line(("\n" + text + below).substr(0, text.size() + below.size()));
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

// In milliseconds from when the requests were let go, as all times of the picture.
double last_moment(std::vector<stampede_outcome> const& all) {
  double last = 1;
  for (auto const& o : all) {
    last = std::max(last, static_cast<double>(o.played.head_start().count()));
    auto const take = [&](std::int64_t ns) { last = std::max(last, in_ms(ns - o.drawn_from_ns)); };
    for (auto const& answer : o.drawn_answers) take(answer.at_ns);
    for (auto const& load : o.drawn_loads) take(load.to_ns);
  }
  return last * 1.03;
}

void draw(drawing& on, stampede_outcome const& o, double left, double top, double span_ms) {
  bool const killed = !o.note.empty();
  on.text(left, top + 24, "head", o.name());
  on.text(left + panel_width, top + 24, "count",
          counted(std::ssize(o.drawn_loads), "load", "loads"), drawing::anchor::end);
  on.text(left, top + 44, "label", o.played.mode->does);
  on.panel(
      left, top + loads_at, panel_width, tall,
      killed ? "Loads of the database (dark: its process was killed)" : "Loads of the database");
  on.panel(left, top + answers_at, panel_width, tall,
           fmt::format("{} requests, answered at{}", o.drawn_answers.size(),
                       o.played.mode->serves_old ? " (amber: stale)" : ""));
  scale const x{.to_value = span_ms, .from = left, .to = left + panel_width};
  auto const x_of = [&](std::int64_t ns) { return x(std::max(in_ms(ns - o.drawn_from_ns), 0.0)); };
  double const step = tick_step(span_ms);
  for (double at = 0; at <= span_ms; at += step) {
    on.line(x(at), top + loads_at, x(at), top + loads_at + tall, "grid");
  }
  auto const expires = static_cast<double>(o.played.head_start().count());
  on.x_axis(
      x, top + answers_at, top + answers_at + tall,
      expires > 0 ? "ms after the requests came (dashed: expiry)" : "ms after the entry expired");
  for (double const from : {top + loads_at, top + answers_at}) {
    if (expires > 0) on.line(x(expires), from, x(expires), from + tall, "mark");
  }
  auto const loads = thinned(o.drawn_loads);
  double pitch = std::min(16.0, tall / std::max<double>(loads.size(), 1));
  double const thick = std::max(pitch * 0.78, 0.6);
  double y = top + loads_at + (pitch - thick) / 2;
  for (auto const& load : loads) {
    double const from = x_of(load.from_ns);
    on.box(from, y, std::max(x_of(load.to_ns) - from, 1.5), thick,
           load.killed_id != 0 ? "worst" : "bad");
    y += pitch;
  }
  auto const answers = thinned(o.drawn_answers);
  pitch = tall / std::max<double>(answers.size(), 1);
  y = top + answers_at + pitch / 2;
  for (auto const& answer : answers) {
    on.line(left, y, x_of(answer.at_ns), y, "wait");
    on.dot(x_of(answer.at_ns), y, 1.8, answer.is_old ? "old" : "good");
    y += pitch;
  }
}

}  // namespace

std::string picture_of(std::vector<stampede_outcome> const& all, std::string const& where) {
  std::size_t const abreast = std::min(all.size(), panels_abreast);
  std::size_t const lines = (all.size() + abreast - 1) / abreast;
  double const step = panel_width + panel_gap;
  double const width = std::max(2 * margin + abreast * step - panel_gap, 640.0);
  auto const& played = all.front().played;
  drawing made(width, head_height + lines * panel_height, "A hot entry expires: how many load it?",
               fmt::format("{} × {} requests at once; a load takes {}; the cache is in {}",
                           counted(played.processes, "process", "processes"), played.requests,
                           cli::say(played.origin.load_time), where));
  double const span = last_moment(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    draw(made, all[i], margin + i % abreast * step, head_height + i / abreast * panel_height, span);
  }
  return std::move(made).document();
}

}  // namespace herdlock::lab
