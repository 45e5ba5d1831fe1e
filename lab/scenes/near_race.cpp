#include "scenes/near_race.hpp"

#include <fmt/format.h>

#include <utility>

#include "stage/place.hpp"

namespace herdlock::lab {

using namespace std::chrono_literals;

near_race::near_race(near_soak_terms const& terms, stage& on)
    : terms_(terms), on_(on), board_(static_cast<std::size_t>(terms.readers), terms.changes(), 0) {}

void near_race::run(happening const& where) {
  for (std::size_t n = 0; n < board_.readers(); ++n) {
    on_.processes().start(fmt::format("reader {}", n + 1),
                          [this, &where, n] { read(where.url_of_readers, n); });
  }
  on_.await("a reader was not answered", [this] { return board_.all(&near_record::ready); });
  write_all(where);
  where.settle();
  on_.let_end();
  board_.state().stage = near_stage::ending;
  on_.await_end();
  tell(count(board_, {}));
}

// In the scene's own process.
void near_race::write_all(happening const& where) {
  numbers const values(open_here(where.url_of_writer),
                       {.prefix = no_prefix, .ttl = 1h, .ttl_jitter = 0});
  for (std::int64_t i = 0; i <= terms_.events; ++i) {
    on_.tell(fmt::format("event {} of {}", i, terms_.events),
             static_cast<double>(i) / static_cast<double>(terms_.events + 1));
    for (std::int64_t n = 0; n < terms_.writes; ++n) write(values);
    if (i == terms_.events) break;
    where.prepare(board_.acknowledged() + 1);
    if (where.once_kept && terms_.keeps()) await_kept();
    board_.state().nothing_follows = where.by_event == replacement::nothing;
    where.event();
    if (where.by_event == replacement::next) ++board_.state().swaps;
    if (where.by_event != replacement::none) board_.acknowledge(steady_ns());
  }
}

void near_race::write(numbers const& values) {
  throw_if_interrupted();
  on_.await("the writer was not answered", [&] {
    try {
      values.put(near_soak_key, board_.acknowledged() + 1);
      return true;
    } catch (error const&) {
      return false;  // unknown, and the same again
    }
  });
  board_.acknowledge(steady_ns());
  // So that readers find it unchanged for a while.
  if (terms_.pause > 0ms) on_.pass(terms_.pause);
}

// Until each reader was answered with the last value by what it keeps.
void near_race::await_kept() {
  auto const last = board_.acknowledged();
  board_.state().watched = true;
  on_.await("a reader does not keep the last value", [&] {
    for (std::size_t n = 0; n < board_.readers(); ++n) {
      if (board_.reader(n).kept != last) return false;
    }
    return true;
  });
  board_.state().watched = false;
}

// In a process of its own.
void near_race::read(std::string const& url, std::size_t number) {
  numbers const values(open_here(url), {.prefix = no_prefix,
                                        .ttl = 1h,
                                        .near = terms_.keeps() ? near_cache::all : near_cache::off,
                                        .max_staleness = terms_.max_staleness});
  auto const near_hits = [&] { return static_cast<std::int64_t>(values.stats().near_hits); };
  near_record& own = board_.reader(number);
  for (std::int64_t round = 0; board_.state().stage < near_stage::ending; ++round) {
    try {
      bool const watched = board_.state().watched;
      auto const hits = watched ? near_hits() : 0;
      auto const seen = read_once(values, number, round);
      if (watched && seen && near_hits() > hits) own.kept = *seen;
      own.ready = true;
    } catch (error const&) {
      ++own.failures;
    }
  }
  own.near_hits = near_hits();
  own.ended = true;
}

std::optional<std::int64_t> near_race::read_once(numbers const& values, std::size_t number,
                                                 std::int64_t round) {
  bool const fences = number > 0 && terms_.fence_every > 0;
  near_board::answer got{.acknowledged = board_.acknowledged()};
  // The swap is counted before its change is acknowledged.
  std::int64_t const done = board_.state().swaps;
  if (std::exchange(swaps_, done) != done) values.drop_kept();
  if (fences && round % terms_.fence_every == 0) {
    got.fence_ns = steady_ns();
    values.fence();
  }
  got.asked_ns = steady_ns();
  if (auto const found = values.get(near_soak_key)) got.change = *found;
  got.answered_ns = steady_ns();
  board_.note(number, got);
  return got.change;
}

void near_race::tell(near_figures const& seen) const {
  bool const needs_hits = terms_.pause > 0ms && terms_.keeps();
  judge_near(seen,
             {.max_staleness = terms_.max_staleness,
              .excess = terms_.excess,
              .share_of_near_hits = needs_hits ? 0.8 : 0.0},
             on_.judged());
  auto const hits = 100 * seen.share_of_near_hits();
  on_.out().line(fmt::format(
      "{:<9} {} {}, {} reads, {} errors, near hits {:.1f} %; {} older than the last write that "
      "was acknowledged, by {:.1f} ms at most, {} by more than a second; behind a fence {}",
      terms_.what, terms_.events, terms_.what == "write" ? "pauses" : "events", seen.reads,
      seen.failures, hits, seen.stale, seen.oldest_ms, seen.stale_a_second, seen.stale_fenced));
  on_.out().data() = {{"case", terms_.what},
                      {"events", terms_.events},
                      {"reads", seen.reads},
                      {"errors", seen.failures},
                      {"hits", to_micros(hits)},
                      {"stale", seen.stale},
                      {"oldest_ms", to_micros(seen.oldest_ms)},
                      {"stale_a_second", seen.stale_a_second},
                      {"stale_behind_fence", seen.stale_fenced},
                      {"broken", on_.judged().broken()}};
}

}  // namespace herdlock::lab
