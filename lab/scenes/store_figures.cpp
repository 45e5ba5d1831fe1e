#include "scenes/store_figures.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <herdlock/lock.hpp>
#include <memory>
#include <optional>

#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds ttl = 30s;
constexpr milliseconds longest_wait = 60s;
constexpr milliseconds round_time = 1s;
constexpr milliseconds hand_over_time = 3s;
constexpr milliseconds hold = 1ms;
constexpr std::size_t max_turns = 4096;

[[noreturn]] void give_up(std::string const& why) {
  throw command_error(exit_code::unavailable, why);
}

// Whatever goes wrong in such a process, it is the store that could not be measured.
void start(stage& on, std::function<void()> const& work) {
  on.processes().start("a measuring process", [work] {
    try {
      work();
    } catch (std::exception const& e) {
      give_up(e.what());
    }
  });
}

lease held_or_give_up(acquired held, char const* why) {
  if (!held) give_up(why);
  return std::move(*held);
}

// The whole bench in one thread: the store's own work and its users'.
class users_at_once {
 public:
  users_at_once(std::string const& url, int count)
      : store_(open_here(url, {.executor = io_.get_executor()})) {
    for (int i = 0; i < count; ++i) {
      users_.push_back(std::make_unique<user>(user{lock(*store_, fresh_name()), *this}));
    }
  }
  ~users_at_once() {
    users_.clear();
    store_.reset();
    io_.restart();
    io_.run_for(5s);
  }
  users_at_once(users_at_once const&) = delete;
  users_at_once& operator=(users_at_once const&) = delete;

  /// Pairs per second.
  double run(milliseconds span) {
    pairs_ = 0;
    auto const begin = steady_ns();
    until_ns_ = begin + in_ns(span);
    running_ = users_.size();
    for (auto& one : users_) one->next();
    io_.restart();
    while (running_ > 0 && !trouble_) io_.run_one();
    if (trouble_) give_up(trouble_.message);
    return static_cast<double>(pairs_) / in_seconds(steady_ns() - begin);
  }

 private:
  struct user {
    lock where;
    users_at_once& all;
    acquired held{};

    void next() {
      if (steady_ns() >= all.until_ns_) return static_cast<void>(--all.running_);
      where.async_try_acquire({.ttl = ttl}, [this](failure const& why, acquired got) {
        if (why) return static_cast<void>(all.trouble_ = why);
        if (!got) return all.lost("a resource of nobody else is busy");
        held = std::move(got);
        held->async_release([this](failure const& trouble, release_reply gone) {
          if (trouble) return static_cast<void>(all.trouble_ = trouble);
          if (gone != release_reply::released) return all.lost("a lease was lost");
          ++all.pairs_;
          next();
        });
      });
    }
  };

  void lost(char const* what) { trouble_ = make_failure(errc::lost, what); }

  asio::io_context io_{1};
  std::optional<store> store_;
  std::vector<std::unique_ptr<user>> users_;
  std::int64_t until_ns_ = 0;
  std::int64_t pairs_ = 0;
  std::size_t running_ = 0;
  failure trouble_;
};

double rate_of(stage& on, std::string const& url, int users) {
  shared<std::atomic<double>> rate;
  start(on, [&] {
    users_at_once all(url, users);
    all.run(round_time / 10);  // connections, scripts, tables
    *rate = all.run(round_time);
  });
  on.await_end();
  on.clear();
  return *rate;
}

struct turn {
  std::int64_t acquired_ns;
  std::int64_t released_ns;
  std::int64_t burst;
};

struct burst_board {
  pthread_barrier_t gate{};
  std::atomic<std::size_t> turns{0};
  std::atomic<bool> over{false};
  std::array<turn, max_turns> log{};

  burst_board() {
    pthread_barrierattr_t across;
    ::pthread_barrierattr_init(&across);
    ::pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&gate, &across, contenders);
    ::pthread_barrierattr_destroy(&across);
  }
  void meet() { ::pthread_barrier_wait(&gate); }
};

void contend(std::string const& url, std::string const& name, burst_board& board) {
  store const opened = open_here(url);
  lock const where(opened, name);
  where.inspect();
  auto const begin = steady_ns();
  for (std::int64_t burst = 0;; ++burst) {
    board.meet();
    if (board.over) return;
    lease held = held_or_give_up(where.acquire({.ttl = ttl, .wait = longest_wait}),
                                 "a wait of a minute was not enough for 8 contenders");
    turn& mine = board.log.at(board.turns++);
    mine = {steady_ns(), 0, burst};
    std::this_thread::sleep_for(hold);
    mine.released_ns = steady_ns();
    held.release();
    board.meet();
    bool const full = board.turns + contenders > max_turns;
    if (full || steady_ns() - begin > in_ns(hand_over_time)) board.over = true;
  }
}

struct crash_board {
  std::atomic<bool> holding{false};
  std::atomic<bool> waiting{false};
  std::atomic<std::int64_t> granted_ns{0};
};

void hold_for_ever(std::string const& url, std::string const& name, crash_board& board) {
  store const opened = open_here(url);
  lease const held =
      held_or_give_up(lock(opened, name).acquire({.ttl = crash_ttl, .wait = longest_wait}),
                      "a resource of nobody else is busy");
  board.holding = true;
  while (true) ::pause();
}

void take_over(std::string const& url, std::string const& name, crash_board& board) {
  store const opened = open_here(url);
  lock const where(opened, name);
  while (!board.holding) std::this_thread::sleep_for(1ms);
  where.inspect();
  board.waiting = true;
  lease const held = held_or_give_up(where.acquire({.ttl = crash_ttl, .wait = longest_wait}),
                                     "a dead holder's lease did not end within a minute");
  board.granted_ns = steady_ns();
}

}  // namespace

void measure_pairs(stage& on, store_figures& of) { of.pairs.push_back(rate_of(on, of.url, 1)); }

void measure_pairs_of_64(stage& on, store_figures& of) {
  of.pairs_of_64.push_back(rate_of(on, of.url, 64));
}

void measure_hand_over(stage& on, store_figures& of) {
  shared<burst_board> board;
  auto const name = fresh_name();
  on.let_end();
  for (int i = 0; i < contenders; ++i) start(on, [&] { contend(of.url, name, *board); });
  on.await_end();
  on.clear();
  for (std::size_t i = 1; i < board->turns; ++i) {
    auto const& [before, now] = std::pair(board->log[i - 1], board->log[i]);
    if (before.burst != now.burst) continue;
    of.hand_over_ms.push_back(in_ms(now.acquired_ns - before.released_ns));
  }
}

void measure_take_over(stage& on, store_figures& of) {
  shared<crash_board> board;
  auto const name = fresh_name();
  start(on, [&] { hold_for_ever(of.url, name, *board); });
  start(on, [&] { take_over(of.url, name, *board); });
  on.await(
      "nobody waited for the holder", [&] { return board->waiting.load(); }, longest_wait);
  // The wait is asked for, but only the waiter's store knows when it stands in the queue.
  on.pass(100ms);
  auto const killed = steady_ns();
  on.processes().kill(0);
  on.await_end();
  on.clear();
  of.take_over_ms.push_back(in_ms(board->granted_ns - killed));
}

}  // namespace herdlock::lab
