#include "contenders.hpp"
#include "support/as_result.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <variant>

#include <herdlock/url.hpp>

namespace bench {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

constexpr int stop = -1;

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

[[noreturn]] void give_up(char const* doing, std::string const& why) {
  std::fprintf(stderr, "herdlock_bench: %s: %s\n", doing, why.c_str());
  std::abort();
}

}  // namespace

// In memory that all processes share.
struct contest::board {
  pthread_barrier_t gate;
  std::atomic<int> way{stop};
  std::atomic<std::size_t> turns_taken{0};
  struct turn {
    std::chrono::steady_clock::time_point acquired, released;
  };
  std::array<turn, contenders> turns;

  static board* make() {
    void* const place =
        ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::runtime_error("no shared memory");
    auto* const made = new (place) board;
    pthread_barrierattr_t shared;
    ::pthread_barrierattr_init(&shared);
    ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    ::pthread_barrier_init(&made->gate, &shared, contenders + 1);
    return made;
  }
  void meet() { ::pthread_barrier_wait(&gate); }
};

double pairs_of(turn_taker& by, std::size_t pairs) {
  return nanoseconds_of([&] {
           for (std::size_t i = 0; i < pairs; ++i) {
             by.take();
             by.give_back();
           }
         }) /
         1000 / static_cast<double>(pairs);
}

void turn_taker::hold(std::chrono::nanoseconds how_long) { std::this_thread::sleep_for(how_long); }

contest::contest(std::function<turn_takers(std::size_t number)> const& make)
    : shared_(board::make()) {
  for (std::size_t i = 0; i < contenders; ++i) {
    processes_.at(i) = ::fork();
    if (processes_.at(i) != 0) continue;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      take_part(*shared_, make(i));
    } catch (std::exception const& why) {
      give_up("a contender", why.what());
    }
    ::_exit(0);
  }
}

contest::~contest() {
  shared_->way = stop;
  shared_->meet();
  for (auto const each : processes_) ::waitpid(each, nullptr, 0);
  ::munmap(shared_, sizeof(board));
}

void contest::take_part(board& shared, turn_takers const& ways) {
  for (;;) {
    shared.meet();
    int const way = shared.way;
    if (way == stop) return;
    auto const& by = ways.at(static_cast<std::size_t>(way));
    by->take();
    auto& mine = shared.turns.at(shared.turns_taken.fetch_add(1));
    mine.acquired = std::chrono::steady_clock::now();
    by->hold(1ms);
    mine.released = std::chrono::steady_clock::now();
    by->give_back();
    shared.meet();
  }
}

std::vector<double> contest::play(std::size_t way) {
  shared_->turns_taken = 0;
  shared_->way = static_cast<int>(way);
  shared_->meet();
  shared_->meet();
  std::vector<double> gaps;
  for (std::size_t i = 0; i + 1 < contenders; ++i) {
    std::chrono::duration<double, std::micro> const gap =
        shared_->turns.at(i + 1).acquired - shared_->turns.at(i).released;
    gaps.push_back(gap.count());
  }
  return gaps;
}

void compare_hand_overs(report& to, contest& among, pairing const& what) {
  if (!to.wants(what.name)) return;
  among.play(what.subject);  // both warm
  among.play(what.baseline);
  std::vector<double> subject;
  std::vector<double> baseline;
  std::size_t const bursts = to.how() == effort::quick ? what.bursts / 10 : what.bursts;
  for (std::size_t i = 0; i < bursts; ++i) {
    auto const ours = among.play(what.subject);
    subject.insert(subject.end(), ours.begin(), ours.end());
    auto const theirs = among.play(what.baseline);
    baseline.insert(baseline.end(), theirs.begin(), theirs.end());
  }
  double const value = median(subject);
  double const beside = median(baseline);
  to.add({what.name, value, "us", beside, value / beside, what.limit});
}

lease_taker::lease_taker(std::string const& url, std::string const& name)
    : store_(open_store(url, {.executor = io_.get_executor(), .guard = executor_guard::none})),
      where_(store_, name) {}

void lease_taker::take() {
  bool done = false;
  where_.async_acquire({.ttl = 30s, .wait = 1min},
                       herdlock_test::as_result([&](result<acquired> r) {
                         if (!r.has_value()) give_up("acquire", r.error().message);
                         held_ = std::move(*r);
                         done = true;
                       }));
  io_.restart();
  while (!done) io_.run_one();
  if (!held_.has_value()) give_up("acquire", "busy for a minute");
}

void lease_taker::hold(std::chrono::nanoseconds how_long) {
  bool over = false;
  asio::steady_timer until(io_, how_long);
  until.async_wait([&over](boost::system::error_code) { over = true; });
  io_.restart();
  while (!over) io_.run_one();
}

void lease_taker::give_back() {
  bool done = false;
  held_->async_release(herdlock_test::as_result([&](result<release_reply> r) {
    if (!r.has_value() || *r != release_reply::released) give_up("release", "lost");
    done = true;
  }));
  io_.restart();
  while (!done) io_.run_one();
}

pair_maker::pair_maker(opener* open, std::string const& url)
    : store_(open(store_url::parse(url).value(), io_.get_executor()).value()) {}

pair_maker::~pair_maker() {
  store_ = {};
  io_.restart();
  io_.run();
}

double pair_maker::round(std::size_t pairs) {
  auto const all = nanoseconds_of([&] {
    for (std::size_t i = 0; i < pairs; ++i) {
      auto const owner = owner_token::generate();
      bool done = false;
      store_.leases->acquire({name_, owner, 30s, 0ms}, [&done](result<acquire_reply> r) {
        if (!r.has_value()) give_up("acquire", r.error().message);
        if (!std::holds_alternative<grant>(*r)) give_up("acquire", "busy");
        done = true;
      });
      io_.restart();
      while (!done) io_.run_one();
      done = false;
      store_.leases->release(name_, owner, [&done](result<release_reply> r) {
        if (!r.has_value()) give_up("release", r.error().message);
        done = true;
      });
      while (!done) io_.run_one();
    }
  });
  return all / 1000 / static_cast<double>(pairs);
}

}  // namespace bench
