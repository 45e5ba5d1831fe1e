#include "scenes/near_roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <herdlock/cache.hpp>
#include <limits>
#include <optional>
#include <thread>

#include "stage/clock.hpp"
#include "stage/near_warnings.hpp"
#include "stage/place.hpp"
#include "terminal/duration.hpp"

namespace herdlock::lab {
namespace {

constexpr milliseconds between_stages{5};
constexpr milliseconds between_bursts{1};
constexpr milliseconds between_fences{20};
constexpr milliseconds between_tries{50};
// What a process reads in a row. All but the first are answered by itself.
constexpr int reads_in_a_burst = 100;

// 1, 2, 3, …: the number of the change.
using numbers = cache<std::int64_t>;

// The user does not know the relay.
std::string as_shown(std::string text, near_terms const& terms) {
  if (terms.address.empty()) return text;
  for (auto at = text.find(terms.address); at != std::string::npos;
       at = text.find(terms.address, at + terms.server.size())) {
    text.replace(at, terms.address.size(), terms.server);
  }
  return text;
}

// Another try may do better: the store has not answered, or not yet.
bool passes(error const& e) {
  return e.code() == errc::unavailable || e.code() == errc::timed_out ||
         e.code() == errc::overloaded || e.code() == errc::moving;
}

enum class fence { none, in_front };

class near_reader {
 public:
  near_reader(near_terms const& terms, std::size_t number, near_board& board)
      : terms_(terms),
        number_(number),
        board_(board),
        own_(board.reader(number)),
        store_(open_here(terms.url)),
        values_(store_, {.prefix = no_prefix,
                         .ttl = terms.ttl,
                         .near = near_cache::hot,
                         .max_staleness = terms.max_staleness}) {
    values_.pin(terms.key);
  }

  void run() {
    read_until_kept();
    own_.ready = true;
    std::thread fencing([this] { read_on(between_fences, [this] { read(fence::in_front); }); });
    read_on(between_bursts, [this] {
      for (int i = 0; i < reads_in_a_burst && read(fence::none); ++i) {
      }
    });
    fencing.join();
    own_.near_hits = near_hits();
    own_.ended = true;
  }

 private:
  std::int64_t near_hits() const { return static_cast<std::int64_t>(values_.stats().near_hits); }

  // From a server that pushes no changes nothing is kept, and there is nothing to be seen.
  void read_until_kept() {
    auto const end = steady_ns() + in_ns(terms_.patience);
    while (near_hits() == 0) {
      bool const is_last = steady_ns() >= end;
      try_to_read(is_last);
      if (is_told_of_no_changes(store_)) throw nothing_is_kept(told_of_no_changes);
      if (is_last && near_hits() == 0) throw nothing_is_kept(what_may_keep_it_from_that());
      std::this_thread::sleep_for(between_bursts);
    }
  }

  // What may pass is thrown at the last try alone.
  void try_to_read(bool is_last) {
    try {
      auto const asked_ns = steady_ns();
      if (!read(fence::none)) throw value_gone();
      fastest_ns_ = std::min(fastest_ns_, steady_ns() - asked_ns);
    } catch (error const& e) {
      if (is_last || !passes(e)) throw;
      std::this_thread::sleep_for(between_tries);
    }
  }

  std::string what_may_keep_it_from_that() const {
    return fmt::format(
        "is --max-staleness {} too short (the fastest read took {:.1f} ms), does the server lack "
        "memory, or do others change the key {}?",
        cli::say(terms_.max_staleness), in_ms(fastest_ns_), terms_.key);
  }

  error nothing_is_kept(std::string const& why) const {
    return error(make_failure(
        errc::not_supported,
        "store " + store_.display_name() + ": the processes cannot keep its value: " + why));
  }
  error value_gone() const {
    return error(make_failure(
        errc::unavailable,
        fmt::format("store {}: the key {} is gone: somebody has removed it, or the server lacks "
                    "memory; use a server that nobody else uses",
                    store_.display_name(), terms_.key)));
  }

  template <class Reads>
  void read_on(milliseconds pause, Reads reads) {
    while (board_.state().stage < near_stage::ending) {
      try {
        reads();
      } catch (error const&) {
        ++own_.failures;
        own_.failed_ns = steady_ns();
      }
      std::this_thread::sleep_for(pause);
    }
  }

  // False when there is no value: an answer, and none that is old. The cache keeps it, too.
  bool read(fence how) {
    near_board::answer got{.acknowledged = board_.acknowledged()};
    if (how == fence::in_front) {
      got.fence_ns = steady_ns();
      values_.fence();
    }
    got.asked_ns = steady_ns();
    if (auto const found = values_.get_shared(terms_.key)) got.change = **found;
    got.answered_ns = steady_ns();
    board_.note(number_, got);
    return got.change.has_value();
  }

  near_terms const& terms_;
  std::size_t const number_;
  near_board& board_;
  near_record& own_;
  store const store_;
  numbers const values_;
  std::int64_t fastest_ns_ = std::numeric_limits<std::int64_t>::max();
};

class near_writer {
 public:
  near_writer(near_terms const& terms, near_board& board)
      : terms_(terms),
        board_(board),
        values_(open_here(terms.url), {.prefix = no_prefix, .ttl = terms.ttl, .ttl_jitter = 0}) {}

  void run() {
    near_state& state = board_.state();
    values_.put(terms_.key, 0);
    state.begun = true;
    std::int64_t turn_ns = 0;
    while (board_.acknowledged() < board_.most_changes() && comes_to(turn_ns)) {
      turn_ns = steady_ns() + in_ns(terms_.every);
      put_next();
    }
    if (board_.acknowledged() == 0 && failed_) throw error(*failed_);
    state.settled = true;
    while (state.stage < near_stage::clearing) std::this_thread::sleep_for(between_stages);
    remove();
  }

 private:
  bool may_write() const { return board_.state().stage <= near_stage::changing; }

  // False when there is nothing to be written any more.
  bool comes_to(std::int64_t turn_ns) const {
    while (may_write()) {
      bool const begun = board_.state().stage == near_stage::changing;
      if (begun && steady_ns() >= turn_ns) return true;
      std::this_thread::sleep_for(between_stages);
    }
    return false;
  }

  // The same number again: whether or not the store took it before, nobody is served another one.
  void put_next() {
    auto const next = board_.acknowledged() + 1;
    while (may_write()) {
      try {
        values_.put(terms_.key, next);
        return board_.acknowledge(steady_ns());
      } catch (error const& e) {
        if (!passes(e)) throw;
        failed_ = e;
      }
      ++board_.state().failed_writes;
      std::this_thread::sleep_for(between_tries);
    }
  }

  void remove() const {
    auto const end = steady_ns() + in_ns(terms_.patience);
    while (true) {
      try {
        values_.invalidate(terms_.key);
        return;
      } catch (error const& e) {
        if (steady_ns() >= end || !passes(e)) throw;
      }
      std::this_thread::sleep_for(between_tries);
    }
  }

  near_terms const& terms_;
  near_board& board_;
  numbers const values_;
  std::optional<error> failed_;  // the latest write that was not answered
};

}  // namespace

void write_changes(near_terms const& terms, near_board& board) { near_writer(terms, board).run(); }

void read_changes(near_terms const& terms, std::size_t number, near_board& board) {
  try {
    near_reader(terms, number, board).run();
  } catch (command_error const& e) {
    throw command_error(e.code(), as_shown(e.what(), terms));
  } catch (error const& e) {
    throw command_error(cli::exit_code_of(e.code()), as_shown(e.what(), terms));
  }
}

}  // namespace herdlock::lab
