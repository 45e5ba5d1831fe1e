#include "scenes/near_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <herdlock/cache.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "stage/bench_board.hpp"
#include "terminal/duration.hpp"
#include "terminal/exit_code.hpp"
#include "scenes/near_warnings.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr milliseconds between_stages = 5ms;
constexpr milliseconds between_bursts = 1ms;
constexpr milliseconds between_fences = 20ms;
constexpr milliseconds between_tries = 50ms;
// What a process reads in a row. All but the first are answered by itself.
constexpr int reads_in_a_burst = 100;

// 1, 2, 3, …: the number of the change.
using numbers = cache<std::int64_t>;

// The user does not know the relay.
std::string as_shown(std::string text, near_terms const& terms) {
  if (terms.address.empty()) return text;
  for (auto at = text.find(terms.address); at != std::string::npos;
       at = text.find(terms.address, at)) {
    text.replace(at, terms.address.size(), terms.server);
    at += terms.server.size();
  }
  return text;
}

// Another try may do better: the store has not answered, or not yet.
bool passes(error const& e) {
  return e.code() == errc::unavailable || e.code() == errc::timed_out ||
         e.code() == errc::overloaded || e.code() == errc::moving;
}

// The demo has opened the same one before. What this process lacks is no matter of the store.
store open_here(near_terms const& terms) {
  try {
    return open_store(terms.url);
  } catch (error const& e) {
    throw std::runtime_error(as_shown(e.what(), terms));
  }
}

// Who says so has counted it.
class value_gone : public error {
 public:
  using error::error;
};

class near_reader {
 public:
  near_reader(near_terms const& terms, std::size_t number, near_board& board)
      : terms_(terms),
        number_(number),
        board_(board),
        store_(open_here(terms)),
        values_(store_, {.prefix = no_prefix,
                         .ttl = terms.ttl,
                         .near = near_cache::hot,
                         .max_staleness = terms.max_staleness}) {
    values_.pin(terms.key);
  }

  void run() {
    read_until_kept();
    record().ready = true;
    std::thread fencing([this] { read_behind_fences(); });
    while (goes_on()) {
      read_a_burst();
      std::this_thread::sleep_for(between_bursts);
    }
    fencing.join();
    record().near_hits = near_hits();
  }

 private:
  std::int64_t near_hits() const { return static_cast<std::int64_t>(values_.stats().near_hits); }

  // From a server that pushes no changes nothing is kept, and there is nothing to be seen.
  void read_until_kept() {
    auto const end = steady::now() + terms_.patience;
    while (near_hits() == 0) {
      try_to_read(end);
      if (is_told_of_no_changes(store_)) throw nothing_is_kept(told_of_no_changes);
      if (near_hits() == 0 && steady::now() >= end) {
        throw nothing_is_kept(what_may_keep_it_from_that());
      }
      std::this_thread::sleep_for(between_bursts);
    }
  }

  // What may pass is thrown behind the end alone.
  void try_to_read(steady::time_point end) {
    try {
      auto const asked = steady::now();
      read_once();
      fastest_ = std::min(fastest_, steady::now() - asked);
    } catch (error const& e) {
      if (steady::now() >= end || !passes(e)) throw;
      std::this_thread::sleep_for(between_tries);
    }
  }

  std::string what_may_keep_it_from_that() const {
    return fmt::format(
        "is --max-staleness {} too short (the fastest read took {:.1f} ms), does the server lack "
        "memory, or do others change the key {}?",
        say(terms_.max_staleness), std::chrono::duration<double, std::milli>(fastest_).count(),
        terms_.key);
  }

  error nothing_is_kept(std::string const& why) const {
    return error(make_failure(
        errc::not_supported,
        "store " + store_.display_name() + ": the processes cannot keep its value: " + why));
  }

  bool goes_on() const { return board_.stage() < near_stage::ending; }
  reader_record& record() { return board_.reader(number_); }

  std::int64_t get() const {
    auto const found = values_.get_shared(terms_.key);
    if (!found) throw_gone();
    return **found;
  }

  // An answer, and none that is old. The cache keeps it, too.
  [[noreturn]] void throw_gone() const {
    reader_record& who = board_.reader(number_);
    ++who.reads;
    ++who.gone;
    who.failed_ns = steady_ns();
    throw value_gone(make_failure(
        errc::unavailable,
        fmt::format("store {}: the key {} is gone: somebody has removed it, or the server lacks "
                    "memory; use a server that nobody else uses",
                    store_.display_name(), terms_.key)));
  }

  void read_once() {
    near_board::answer got;
    got.acknowledged = board_.acknowledged();
    got.asked_ns = steady_ns();
    got.change = get();
    got.answered_ns = steady_ns();
    board_.note(number_, got);
  }

  void read_a_burst() {
    try {
      for (int i = 0; i < reads_in_a_burst; ++i) read_once();
    } catch (value_gone const&) {
    } catch (error const&) {
      note_failure();
    }
  }

  void read_behind_fences() {
    while (goes_on()) {
      try {
        near_board::answer got;
        got.acknowledged = board_.acknowledged();
        got.asked_ns = steady_ns();
        values_.fence();
        got.change = get();
        got.answered_ns = steady_ns();
        board_.note_fenced(number_, got);
      } catch (value_gone const&) {
      } catch (error const&) {
        note_failure();
      }
      std::this_thread::sleep_for(between_fences);
    }
  }

  void note_failure() {
    ++record().failures;
    record().failed_ns = steady_ns();
  }

  near_terms const& terms_;
  std::size_t const number_;
  near_board& board_;
  store const store_;
  numbers const values_;
  steady::duration fastest_ = steady::duration::max();
};

// False when there is nothing to be written any more.
bool wait_for_turn(near_board const& board, steady::time_point turn) {
  while (board.stage() <= near_stage::changing) {
    auto const now = steady::now();
    if (board.stage() == near_stage::changing && now >= turn) return true;
    std::this_thread::sleep_for(between_stages);
  }
  return false;
}

class near_writer {
 public:
  near_writer(near_terms const& terms, near_board& board)
      : terms_(terms),
        board_(board),
        values_(open_here(terms), {.prefix = no_prefix, .ttl = terms.ttl, .ttl_jitter = 0}) {}

  void run() {
    values_.put(terms_.key, 0);
    board_.begin();
    steady::time_point turn{};
    while (board_.acknowledged() < board_.most_changes() && wait_for_turn(board_, turn)) {
      turn = steady::now() + terms_.every;
      put_next();
    }
    if (board_.acknowledged() == 0 && failed_) throw error(*failed_);
    board_.settle();
    while (board_.stage() != near_stage::clearing) std::this_thread::sleep_for(between_stages);
    remove();
  }

 private:
  // The same number again: whether or not the store took it before, nobody is served another one.
  void put_next() {
    auto const next = board_.acknowledged() + 1;
    while (board_.stage() <= near_stage::changing) {
      try {
        values_.put(terms_.key, next);
        return board_.acknowledge(steady_ns());
      } catch (error const& e) {
        if (!passes(e)) throw;
        failed_ = e;
      }
      board_.note_failed_write();
      std::this_thread::sleep_for(between_tries);
    }
  }

  void remove() {
    auto const end = steady::now() + terms_.patience;
    while (true) {
      try {
        values_.invalidate(terms_.key);
        return;
      } catch (error const& e) {
        if (steady::now() >= end || !passes(e)) throw;
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

void write_changes(near_terms const& terms, near_board& board) {
  complaining(
      board.why(), "the process that writes", [&] { near_writer(terms, board).run(); },
      [&](std::string text) { return as_shown(std::move(text), terms); });
}

void read_changes(near_terms const& terms, std::size_t number, near_board& board) {
  complaining(
      board.why(), fmt::format("process {}", number + 1),
      [&] { near_reader(terms, number, board).run(); },
      [&](std::string text) { return as_shown(std::move(text), terms); });
}

}  // namespace herdlock::cli
