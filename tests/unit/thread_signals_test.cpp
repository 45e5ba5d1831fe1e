// Whose thread takes a signal that is sent to the process.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <herdlock/herdlock.hpp>
#include <set>

#include "cache/engine/loader_pool.hpp"
#include "types/quiet_thread.hpp"

namespace {

using namespace herdlock;

std::set<int> blocked_here() {
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  std::set<int> found;
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (::sigismember(&now, number) == 1) found.insert(number);
  }
  return found;
}

std::set<int> all_but_faults() {
  std::set<int> all;
  sigset_t full;
  ::sigfillset(&full);
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (number != SIGKILL && number != SIGSTOP && ::sigismember(&full, number) == 1) {
      all.insert(number);
    }
  }
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) all.erase(fault);
  return all;
}

// The test's thread blocks one signal, which tells its mask from an empty one.
class ThreadSignals : public testing::Test {
 protected:
  ThreadSignals() {
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, SIGUSR2);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
    mine = blocked_here();
  }
  ~ThreadSignals() override { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  static std::set<int> seen_on(asio::any_io_executor const& where) {
    std::promise<std::set<int>> seen;
    asio::post(where, [&seen] { seen.set_value(blocked_here()); });
    return seen.get_future().get();
  }

  std::set<int> mine;

 private:
  sigset_t before_{};
};

TEST_F(ThreadSignals, AStoresOwnThreadTakesNone) {
  auto const opened = open_store("memory:");
  EXPECT_EQ(seen_on(opened.get_executor()), all_but_faults());
  EXPECT_EQ(blocked_here(), mine) << "whoever opens it has his mask back";
}

TEST_F(ThreadSignals, AnElectionsWorkHasThoseOfWhoMadeTheService) {
  std::set<int> at_work;
  election job(open_store("memory:"), "job", {.start_work = in_thread([&](election_term&) {
                                                at_work = blocked_here();
                                                job.resign();
                                              })});
  job.campaign();
  EXPECT_EQ(at_work, mine);
}

// A loader's thread is made by the store's, which blocks all.
TEST_F(ThreadSignals, ALoaderHasThoseOfWhoMadeItsCache) {
  std::promise<std::set<int>> at_work;
  {
    runtime::loader_pool pool(1);
    detail::signals_blocked const as_on_the_stores_thread;
    pool.run([&] { at_work.set_value(blocked_here()); });
    EXPECT_EQ(at_work.get_future().get(), mine);
  }
}

}  // namespace
