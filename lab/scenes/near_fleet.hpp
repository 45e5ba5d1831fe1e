// What `near` and `near-soak` are played with: a value that the scene's own process writes, and the
// processes that read it.
#pragma once

#include <boost/algorithm/string/replace.hpp>
#include <herdlock/cache.hpp>
#include <limits>

#include "scenes/near_judge.hpp"
#include "stage/near_warnings.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {

/// Nothing of these scenes takes longer.
inline constexpr milliseconds near_patience{30'000};
/// Between two tries of what the store has not answered.
inline constexpr milliseconds between_near_tries{50};

/// 1, 2, 3, …: the number of the change.
using near_numbers = cache<std::int64_t>;

/// Another try may do better: the store has not answered, or not yet.
inline bool passes(error const& e) {
  return e.code() == errc::unavailable || e.code() == errc::timed_out ||
         e.code() == errc::overloaded || e.code() == errc::moving;
}

/// How the readers keep the value. Should nobody take it away, it goes by itself.
inline cache_options near_terms(milliseconds ttl, near_cache keeps, milliseconds max_staleness) {
  cache_options all{.prefix = no_prefix, .ttl = ttl, .ttl_jitter = 0, .near = {.mode = keeps}};
  all.near.max_staleness = max_staleness;
  return all;
}

/// In a process that reads.
struct near_reader {
  enum class fence { none, in_front };

  store const from;
  std::string const& key;
  cache_options const& how;
  near_board& board;
  std::size_t const number;
  near_numbers const values{from, how};
  near_record& own = board.readers[number];
  std::int64_t swaps = 0;  // that it knows of

  /// Pins the key. Throws when its value cannot be kept, for then there is nothing to be seen.
  void read_until_kept() {
    values.pin(key);
    // It says why before the scene gives it up.
    auto const end = steady_ns() + in_ns(near_patience - milliseconds(5'000));
    auto fastest_ns = std::numeric_limits<std::int64_t>::max();
    while (near_hits() == 0) {
      bool const is_last = steady_ns() >= end;
      milliseconds pause{1};
      try {
        auto const asked_ns = steady_ns();
        if (!read(fence::none)) refuse(errc::unavailable, "gone");
        fastest_ns = std::min(fastest_ns, steady_ns() - asked_ns);
      } catch (error const& e) {
        if (is_last || !passes(e)) throw;
        pause = between_near_tries;
      }
      require_told_of_changes(from);
      if (is_last && near_hits() == 0) {
        refuse(errc::not_supported,
               fmt::format("not kept (the fastest read took {:.1f} ms, --max-staleness is {})",
                           in_ms(fastest_ns), cli::say(how.near.max_staleness)));
      }
      std::this_thread::sleep_for(pause);
    }
  }

  /// Until the board says that the readers end. What the store does not answer is counted.
  template <class Reads>
  void read_on(milliseconds pause, Reads reads) {
    while (!board.state->ending) {
      try {
        reads();
        own.ready = true;
      } catch (error const&) {
        ++own.failures;
        own.failed_ns = steady_ns();
      }
      std::this_thread::sleep_for(pause);
    }
  }

  /// False when there is no value: an answer, and none that is old. The cache keeps it, too.
  bool read(fence where) {
    near_board::answer got{.acknowledged = board.acknowledged()};
    // The swap is counted before its change is acknowledged.
    std::int64_t const swapped = board.state->swaps;
    if (std::exchange(swaps, swapped) != swapped) values.drop_kept();
    if (where == fence::in_front) {
      got.fence_ns = steady_ns();
      values.fence();
    }
    bool const watched = board.state->watched;
    auto const hits = watched ? near_hits() : 0;
    got.asked_ns = steady_ns();
    if (auto const found = values.get_shared(key)) got.change = **found;
    got.answered_ns = steady_ns();
    board.note(number, got);
    if (watched && got.change && near_hits() > hits) own.kept = *got.change;
    return got.change.has_value();
  }

  std::int64_t near_hits() const { return static_cast<std::int64_t>(values.stats().near_hits); }

  [[noreturn]] void refuse(errc code, std::string const& is) const {
    throw error(make_failure(
        code, fmt::format("store {}: the key {} is {}: does the server lack memory, or do others "
                          "change the key? Use one that nobody else uses",
                          from.display_name(), key, is)));
  }
};

struct near_fleet {
  stage& on;
  std::string const key;
  cache_options const how;  ///< of the readers' caches
  near_board board;
  std::optional<near_numbers> values{};
  std::optional<error> failed{};  ///< what was not answered last

  bool has_readers() const { return !board.all(&near_record::ended); }
  /// Before begin(): behind it the scene's process has threads. `read` calls read_on() at its end.
  /// Messages have `server` in the place of `address`: that of a relay, which the user does not
  /// know.
  void start_reader(std::size_t number, std::string const& url,
                    std::function<void(near_reader&)> const& read, std::string const& address = {},
                    std::string const& server = {}) {
    on.processes().start(fmt::format("process {}", number + 1), [=, this] {
      auto const as_shown = [&](char const* text) {
        return boost::replace_all_copy(std::string(text), address, server);
      };
      wait_until(near_patience, [&] { return board.state->begun.load(); });
      try {
        near_reader one{open_here(url), key, how, board, number};
        read(one);
        one.own.near_hits = one.near_hits();
        one.own.ended = true;
      } catch (command_error const& e) {
        throw command_error(e.code(), as_shown(e.what()));
      } catch (error const& e) {
        throw command_error(cli::exit_code_of(e.code()), as_shown(e.what()));
      }
    });
  }

  /// Writes what stands in front of the first change. Returns when each reader was answered.
  void begin(std::string const& url) {
    auto writes = how;
    writes.near.mode = near_cache::off;
    values.emplace(open_here(url), writes);
    values->put(key, 0);
    board.state->begun = true;
    auto const all_ready = [&] { return board.all(&near_record::ready); };
    on.await("a process did not read", all_ready, near_patience);
  }
  /// The next change. The same number again where it was not answered before: whether or not the
  /// store took it then, nobody is served another one.
  bool try_next() {
    bool const written = tried([this] { values->put(key, board.acknowledged() + 1); });
    if (written) board.acknowledge(steady_ns());
    if (!written) ++board.state->failed_writes;
    return written;
  }
  void end_readers() {
    if (board.acknowledged() == 0 && failed) throw error(*failed);
    board.state->ending = true;
    on.await_end(near_patience);
  }
  void remove() {
    auto const try_to = [this] { return tried([this] { values->invalidate(key); }); };
    on.await("the value could not be removed", try_to, near_patience);
  }

  template <class Action>
  bool tried(Action action) {
    try {
      action();
      return true;
    } catch (error const& e) {
      if (!passes(e)) throw;
      failed = e;
    }
    std::this_thread::sleep_for(between_near_tries);
    return false;
  }
};

}  // namespace herdlock::lab
