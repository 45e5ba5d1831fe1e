#include "demo/near_worker.hpp"

#include <algorithm>
#include <chrono>
#include <herdlock/cache.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/bench_board.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr milliseconds between_looks = 5ms;
constexpr milliseconds between_bursts = 1ms;
constexpr milliseconds between_fences = 20ms;
constexpr milliseconds kept_limit = 5s;
// What a process reads in a row. All but the first are answered by itself.
constexpr int reads_in_a_burst = 100;

constexpr auto told_nothing =
    "the server tells them of no changes; it has to be Redis 7.0 or newer, the user needs the "
    "rights +client|tracking and +client|caching, and a proxy in front of it has to know "
    "CLIENT TRACKING";

// 1, 2, 3, …: the number of the change.
using numbers = cache<std::int64_t>;

// The reader knows its store by the address of a relay.
std::string as_shown(std::string text, std::string const& name, std::string const& shown) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    text.replace(at, name.size(), shown);
    at += shown.size();
  }
  return text;
}

class near_reader {
 public:
  near_reader(near_terms const& terms, std::size_t number, near_board& board)
      : terms_(terms),
        number_(number),
        board_(board),
        store_(open_store(terms.url)),
        values_(store_,
                {.ttl = terms.ttl, .near = near_cache::hot, .max_staleness = terms.max_staleness}) {
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

  std::string shown(std::string const& text) const {
    return as_shown(text, store_.display_name(), terms_.shown);
  }

 private:
  std::int64_t near_hits() const { return static_cast<std::int64_t>(values_.stats().near_hits); }

  // From a server that pushes no changes nothing is kept, and there is nothing to be seen.
  void read_until_kept() {
    auto const end = steady::now() + kept_limit;
    while (near_hits() == 0) {
      read_once();
      if (is_told_nothing()) throw nothing_is_kept(told_nothing);
      if (steady::now() > end)
        throw nothing_is_kept("does it lack memory, or do others change it?");
      std::this_thread::sleep_for(between_bursts);
    }
  }

  bool is_told_nothing() const {
    auto const all = store_.warnings();
    return std::any_of(all.begin(), all.end(), [](std::string const& text) {
      return text.find("near cache") != std::string::npos;
    });
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
    // Somebody else has removed it, or the server had no room: no answer, and none that is old.
    if (!found) throw error(make_failure(errc::unavailable, "the value is gone"));
    return **found;
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
    } catch (error const&) {
      note_failure();
    }
  }

  void read_behind_fences() {
    while (goes_on()) {
      try {
        auto const acknowledged = board_.acknowledged();
        values_.fence();
        board_.note_fenced(number_, get(), acknowledged);
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
};

// False when there is nothing to be written any more.
bool wait_for_turn(near_board const& board, steady::time_point turn) {
  while (board.stage() <= near_stage::changing) {
    auto const now = steady::now();
    if (board.stage() == near_stage::changing && now >= turn) return true;
    std::this_thread::sleep_for(between_looks);
  }
  return false;
}

}  // namespace

void write_changes(near_terms const& terms, near_board& board) {
  numbers const values(open_store(terms.url), {.ttl = terms.ttl, .ttl_jitter = 0});
  values.put(terms.key, 0);
  board.begin();
  steady::time_point turn{};
  while (board.acknowledged() < board.most_changes() && wait_for_turn(board, turn)) {
    turn = steady::now() + terms.every;
    values.put(terms.key, board.acknowledged() + 1);
    board.acknowledge(steady_ns());
  }
  board.settle();
  while (board.stage() != near_stage::clearing) std::this_thread::sleep_for(between_looks);
  values.invalidate(terms.key);
}

void read_changes(near_terms const& terms, std::size_t number, near_board& board) {
  near_reader one(terms, number, board);
  try {
    one.run();
  } catch (error const& e) {
    throw std::runtime_error(one.shown(e.what()));
  }
}

}  // namespace herdlock::cli
