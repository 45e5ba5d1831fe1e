#include "scenes/store_figures.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cmath>
#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "stage/bench_board.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::cli {

double store_figures::percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  auto const rank = std::ceil(part * static_cast<double>(values.size())) - 1;
  auto const at = static_cast<std::ptrdiff_t>(std::max(0.0, rank));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

namespace store_bench {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds ttl = 30s;
constexpr milliseconds longest_wait = 60s;
constexpr milliseconds round_time = 1s;
constexpr milliseconds hand_over_time = 3s;

std::string new_resource() { return "herdlock-bench:" + owner_token::generate().str(); }

[[noreturn]] void give_up(failure const& why) { throw std::runtime_error(why.message); }

// The whole bench in one thread: the store's own work and its users'.
class users_at_once {
 public:
  users_at_once(std::string const& url, int count) {
    auto opened = try_open_store(url, {.executor = io_.get_executor()});
    if (!opened) give_up(opened.error());
    store_.emplace(std::move(*opened));
    for (int i = 0; i < count; ++i) {
      users_.push_back(std::make_unique<user>(user{lock(*store_, new_resource()), *this}));
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
    until_ = begin + span.count() * 1'000'000;
    running_ = users_.size();
    for (auto& one : users_) one->next();
    io_.restart();
    while (running_ > 0 && !trouble_.code) io_.run_one();
    if (trouble_.code) give_up(trouble_);
    return static_cast<double>(pairs_) * 1e9 / static_cast<double>(steady_ns() - begin);
  }

 private:
  struct user {
    lock where;
    users_at_once& all;
    acquired held{};

    void next() {
      if (steady_ns() >= all.until_) return static_cast<void>(--all.running_);
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
  std::int64_t until_ = 0;
  std::int64_t pairs_ = 0;
  std::size_t running_ = 0;
  failure trouble_;
};

double rate_of(std::string const& url, int users) {
  bench_board board(1);
  bench_processes process;
  process.start(board, [&] {
    users_at_once all(url, users);
    all.run(round_time / 10);  // connections, scripts, tables
    board->rate = all.run(round_time);
  });
  process.await(board);
  return board->rate;
}

void contend(std::string const& url, std::string const& name, bench_board& board) {
  auto const opened = open_store(url);
  lock const where(opened, name);
  where.inspect();
  auto const begin = steady_ns();
  for (std::int64_t burst = 0;; ++burst) {
    board.meet();
    if (board->over) return;
    auto held = where.acquire({.ttl = ttl, .wait = longest_wait});
    if (!held) throw std::runtime_error("a wait of a minute was not enough for 8 contenders");
    auto const turn = board->turns++;
    board->log.at(turn) = {steady_ns(), 0, burst};
    std::this_thread::sleep_for(hold);
    board->log.at(turn).released = steady_ns();
    held->release();
    board.meet();
    bool const full = board->turns + contenders > bench_board::max_turns;
    if (full || steady_ns() - begin > hand_over_time.count() * 1'000'000) board->over = true;
  }
}

void hold_for_ever(std::string const& url, std::string const& name, bench_board& board) {
  auto const opened = open_store(url);
  auto const held = lock(opened, name).acquire({.ttl = crash_ttl, .wait = longest_wait});
  if (!held) throw std::runtime_error("a resource of nobody else is busy");
  board->holding = true;
  while (true) ::pause();
}

void take_over(std::string const& url, std::string const& name, bench_board& board) {
  auto const opened = open_store(url);
  lock const where(opened, name);
  while (!board->holding) std::this_thread::sleep_for(1ms);
  where.inspect();
  board->waiting = true;
  auto const held = where.acquire({.ttl = crash_ttl, .wait = longest_wait});
  if (!held) throw std::runtime_error("a dead holder's lease did not end within a minute");
  board->granted = steady_ns();
}

}  // namespace

void measure_pairs(std::string const& url, store_figures& into) {
  into.pairs.push_back(rate_of(url, 1));
}

void measure_pairs_of_64(std::string const& url, store_figures& into) {
  into.pairs_of_64.push_back(rate_of(url, at_once));
}

void measure_hand_over(std::string const& url, store_figures& into) {
  bench_board board(contenders);
  auto const name = new_resource();
  bench_processes processes;
  for (int i = 0; i < contenders; ++i) {
    processes.start(board, [&] { contend(url, name, board); });
  }
  processes.await(board);
  for (std::size_t i = 1; i < board->turns; ++i) {
    auto const& [before, now] = std::pair(board->log[i - 1], board->log[i]);
    if (before.burst != now.burst) continue;
    into.hand_over_ms.push_back(static_cast<double>(now.acquired - before.released) / 1e6);
  }
}

void measure_take_over(std::string const& url, store_figures& into) {
  bench_board board(1);
  auto const name = new_resource();
  bench_processes processes;
  processes.start(board, [&] { hold_for_ever(url, name, board); });
  processes.start(board, [&] { take_over(url, name, board); });
  auto const end = steady_ns() + longest_wait.count() * 1'000'000;
  while (!board->waiting && steady_ns() < end && board->complaint[0] == 0) {
    std::this_thread::sleep_for(1ms);
  }
  // The wait is asked for, but only the waiter's store knows when it stands in the queue.
  std::this_thread::sleep_for(100ms);
  auto const killed = steady_ns();
  processes.kill(0);
  processes.await(board);
  into.take_over_ms.push_back(static_cast<double>(board->granted - killed) / 1e6);
}

}  // namespace store_bench
}  // namespace herdlock::cli
