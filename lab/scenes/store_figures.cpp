#include "scenes/store_figures.hpp"

#include <pthread.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <herdlock/lock.hpp>

#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr acquire_options usual{.ttl = 30s, .wait = 60s};
constexpr acquire_options of_crash{.ttl = crash_ttl, .wait = 60s};
constexpr milliseconds round_time = 1s;
constexpr std::size_t most_hand_overs = 4096;

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

// Of one user.
asio::awaitable<void> make_pairs(lock const& where, std::int64_t until_ns, std::int64_t& pairs) {
  while (steady_ns() < until_ns) {
    lease held = held_or_give_up(co_await where.async_try_acquire(usual),
                                 "a resource of nobody else is busy");
    auto const gone = co_await held.async_release();
    if (gone != release_reply::released) give_up("a lease was lost");
    ++pairs;
  }
}

// All in one thread: the store's own work and its users'.
double rate_of(std::string const& url, int users) {
  asio::io_context io{1};
  std::optional<store> opened(open_here(url, {.executor = io.get_executor()}));
  std::vector<lock> resources;
  for (int i = 0; i < users; ++i) resources.emplace_back(*opened, fresh_name());

  auto const run = [&](milliseconds span) {
    std::int64_t pairs = 0;
    std::size_t running = resources.size();
    std::exception_ptr trouble;
    auto const begin = steady_ns();
    for (auto const& where : resources) {
      asio::co_spawn(io, make_pairs(where, begin + in_ns(span), pairs),
                     [&](std::exception_ptr why) {
                       --running;
                       if (why) trouble = why;
                     });
    }
    io.restart();
    while (running > 0) io.run_one();
    if (trouble) std::rethrow_exception(trouble);
    return static_cast<double>(pairs) / in_seconds(steady_ns() - begin);
  };
  run(round_time / 10);  // connections, scripts, tables
  double const rate = run(round_time);
  resources.clear();
  opened.reset();
  io.restart();
  io.run_for(5s);
  return rate;
}

std::vector<double> rate_in_a_process(stage& on, std::string const& url, int users) {
  shared<std::atomic<double>> rate;
  start(on, [&] { *rate = rate_of(url, users); });
  on.await_end();
  return {*rate};
}

struct burst_board {
  pthread_barrier_t gate{};
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> released_ns{0};  // by the last holder of this burst; 0: there was none
  std::atomic<std::size_t> count{0};
  std::array<double, most_hand_overs> took_ms{};

  burst_board() {
    pthread_barrierattr_t across;
    ::pthread_barrierattr_init(&across);
    ::pthread_barrierattr_setpshared(&across, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&gate, &across, contenders);
    ::pthread_barrierattr_destroy(&across);
  }
};

void contend(lock const& where, burst_board& board) {
  where.inspect();
  auto const begin = steady_ns();
  while (true) {
    board.released_ns = 0;
    ::pthread_barrier_wait(&board.gate);
    if (board.over) return;
    lease held =
        held_or_give_up(where.acquire(usual), "a wait of a minute was not enough for 8 contenders");
    auto const acquired_ns = steady_ns();
    if (board.released_ns != 0) {
      board.took_ms.at(board.count++) = in_ms(acquired_ns - board.released_ns);
    }
    nap();
    board.released_ns = steady_ns();
    held.release();
    ::pthread_barrier_wait(&board.gate);
    bool const full = board.count + contenders > most_hand_overs;
    if (full || steady_ns() - begin > in_ns(3s)) board.over = true;
  }
}

}  // namespace

std::vector<double> pairs_per_second(stage& on, std::string const& url) {
  return rate_in_a_process(on, url, 1);
}

std::vector<double> pairs_of_64(stage& on, std::string const& url) {
  return rate_in_a_process(on, url, 64);
}

std::vector<double> hand_overs(stage& on, std::string const& url) {
  shared<burst_board> board;
  auto const name = fresh_name();
  on.let_end();
  for (int i = 0; i < contenders; ++i) {
    start(on, [&] { contend(lock(open_here(url), name), *board); });
  }
  on.await_end();
  return {board->took_ms.begin(), board->took_ms.begin() + board->count.load()};
}

std::vector<double> take_over(stage& on, std::string const& url) {
  shared<std::atomic<bool>> holding, waiting;
  shared<std::atomic<std::int64_t>> granted_ns;
  auto const name = fresh_name();
  start(on, [&] {
    lock const where(open_here(url), name);
    lease const held =
        held_or_give_up(where.acquire(of_crash), "a resource of nobody else is busy");
    *holding = true;
    while (true) ::pause();
  });
  start(on, [&] {
    lock const where(open_here(url), name);
    while (!*holding) nap();
    where.inspect();
    *waiting = true;
    lease const held = held_or_give_up(where.acquire(of_crash),
                                       "a dead holder's lease did not end within a minute");
    *granted_ns = steady_ns();
  });
  on.await(
      "nobody waited for the holder", [&] { return waiting->load(); }, 60s);
  // The wait is asked for, but only the waiter's store knows when it stands in the queue.
  on.pass(100ms);
  auto const killed = steady_ns();
  on.processes().kill(0);
  on.await_end();
  return {in_ms(*granted_ns - killed)};
}

}  // namespace herdlock::lab
