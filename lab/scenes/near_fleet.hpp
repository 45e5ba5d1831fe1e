// What `near` and `near-soak` are played with: a value that the scene's own process writes, and the
// processes that read it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <functional>
#include <herdlock/cache.hpp>
#include <limits>
#include <optional>
#include <string>
#include <thread>

#include "scenes/near_board.hpp"
#include "stage/clock.hpp"
#include "stage/near_warnings.hpp"
#include "stage/place.hpp"
#include "stage/stage.hpp"
#include "terminal/duration.hpp"

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

class near_reader {
 public:
  enum class fence { none, in_front };

  near_reader(store const& from, std::string const& key, cache_options const& how,
              near_board& board, std::size_t number)
      : store_(from), values_(from, how), key_(key), board_(board), number_(number) {
    max_staleness_ = how.max_staleness;
    if (how.near == near_cache::hot) values_.pin(key);
  }

  /// Throws when the value cannot be kept, for then there is nothing to be seen.
  void read_until_kept();

  /// Until the board says that the readers end. What the store does not answer is counted.
  template <class Reads>
  void read_on(milliseconds pause, Reads reads) {
    while (!board_.state->ending) {
      try {
        reads();
        own_.ready = true;
      } catch (error const&) {
        ++own_.failures;
        own_.failed_ns = steady_ns();
      }
      std::this_thread::sleep_for(pause);
    }
  }

  /// False when there is no value: an answer, and none that is old. The cache keeps it, too.
  bool read(fence how) {
    near_board::answer got{.acknowledged = board_.acknowledged()};
    drop_what_was_swapped();
    if (how == fence::in_front) {
      got.fence_ns = steady_ns();
      values_.fence();
    }
    bool const watched = board_.state->watched;
    auto const hits = watched ? near_hits() : 0;
    got.asked_ns = steady_ns();
    if (auto const found = values_.get_shared(key_)) got.change = **found;
    got.answered_ns = steady_ns();
    board_.note(number_, got);
    if (watched && got.change && near_hits() > hits) own_.kept = *got.change;
    return got.change.has_value();
  }

  std::int64_t near_hits() const { return static_cast<std::int64_t>(values_.stats().near_hits); }

 private:
  // The swap is counted before its change is acknowledged.
  void drop_what_was_swapped() {
    std::int64_t const swaps = board_.state->swaps;
    if (swaps_ == swaps) return;
    swaps_ = swaps;
    values_.drop_kept();
  }

  [[noreturn]] void refuse(errc code, std::string const& why) const {
    throw error(make_failure(code, fmt::format("store {}: {}", store_.display_name(), why)));
  }

  store const store_;
  near_numbers const values_;
  std::string const key_;
  near_board& board_;
  std::size_t const number_;
  near_record& own_ = board_.readers[number_];
  milliseconds max_staleness_;
  std::int64_t swaps_ = 0;  // that it knows of
};

inline void near_reader::read_until_kept() {
  // It says why before the scene gives it up.
  auto const end = steady_ns() + in_ns(near_patience - milliseconds(5'000));
  auto fastest_ns = std::numeric_limits<std::int64_t>::max();
  while (near_hits() == 0) {
    bool const is_last = steady_ns() >= end;
    milliseconds pause{1};
    try {
      auto const asked_ns = steady_ns();
      if (!read(fence::none)) {
        refuse(errc::unavailable,
               fmt::format("the key {} is gone: somebody has removed it, or the server lacks "
                           "memory; use a server that nobody else uses",
                           key_));
      }
      fastest_ns = std::min(fastest_ns, steady_ns() - asked_ns);
    } catch (error const& e) {
      if (is_last || !passes(e)) throw;
      pause = between_near_tries;
    }
    std::string const cannot = "the processes cannot keep its value: ";
    if (is_told_of_no_changes(store_)) refuse(errc::not_supported, cannot + told_of_no_changes);
    if (is_last && near_hits() == 0) {
      refuse(errc::not_supported,
             fmt::format("{}is --max-staleness {} too short (the fastest read took {:.1f} ms), "
                         "does the server lack memory, or do others change the key {}?",
                         cannot, cli::say(max_staleness_), in_ms(fastest_ns), key_));
    }
    std::this_thread::sleep_for(pause);
  }
}

class near_fleet {
 public:
  /// Where a reader finds the server.
  struct way {
    std::string url;
    std::string address{};  ///< of a relay, as the URL has it, which the user does not know
    std::string server{};   ///< what messages have in the place of that address
  };

  /// `how` is for the readers' caches. For the rest see near_board.
  near_fleet(stage& on_stage, std::string key, cache_options how, int readers, std::size_t changes,
             std::size_t followed)
      : on(on_stage),
        board(static_cast<std::size_t>(readers), changes, followed),
        key_(std::move(key)),
        how_(std::move(how)) {
    how_.prefix = no_prefix;
    how_.ttl_jitter = 0;
  }

  bool has_readers() const {
    return !board.all([](near_record const& one) { return one.ended.load(); });
  }
  /// Before begin(): behind it the scene's process has threads. `read` calls read_on() at its end.
  void start_reader(std::size_t number, way const& there,
                    std::function<void(near_reader&)> const& read) {
    on.processes().start(fmt::format("process {}", number + 1), [=, this] {
      auto const as_shown = [&](char const* text) {
        return boost::replace_all_copy(std::string(text), there.address, there.server);
      };
      wait_until(near_patience, [&] { return board.state->begun.load(); });
      try {
        near_reader one(open_here(there.url), key_, how_, board, number);
        read(one);
        board.readers[number].near_hits = one.near_hits();
        board.readers[number].ended = true;
      } catch (command_error const& e) {
        throw command_error(e.code(), as_shown(e.what()));
      } catch (error const& e) {
        throw command_error(cli::exit_code_of(e.code()), as_shown(e.what()));
      }
    });
  }

  /// Writes what stands in front of the first change. Returns when each reader was answered.
  void begin(std::string const& url) {
    auto writes = how_;
    writes.near = near_cache::off;
    values_.emplace(open_here(url), writes);
    values_->put(key_, 0);
    board.state->begun = true;
    auto const all_read = [](near_record const& one) { return one.ready.load(); };
    on.await(
        "a process did not read", [&] { return board.all(all_read); }, near_patience);
  }
  /// The next change. The same number again where it was not answered before: whether or not the
  /// store took it then, nobody is served another one.
  bool try_next() {
    bool const written = tried([this] { values_->put(key_, board.acknowledged() + 1); });
    if (written) board.acknowledge(steady_ns());
    if (!written) ++board.state->failed_writes;
    return written;
  }
  void end_readers() {
    if (board.acknowledged() == 0 && failed_) throw error(*failed_);
    board.state->ending = true;
    on.await_end(near_patience);
  }
  void remove() {
    auto const try_to = [this] { return tried([this] { values_->invalidate(key_); }); };
    on.await("the value could not be removed", try_to, near_patience);
  }

  stage& on;
  near_board board;

 private:
  template <class Action>
  bool tried(Action action) {
    try {
      action();
      return true;
    } catch (error const& e) {
      if (!passes(e)) throw;
      failed_ = e;
    }
    std::this_thread::sleep_for(between_near_tries);
    return false;
  }

  std::string const key_;
  cache_options how_;
  std::optional<near_numbers> values_;
  std::optional<error> failed_;  // what was not answered last
};

}  // namespace herdlock::lab
