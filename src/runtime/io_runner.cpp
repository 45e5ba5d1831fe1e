#include "runtime/io_runner.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "runtime/store_core.hpp"
#include "types/quiet_thread.hpp"

struct ossl_init_settings_st;
extern "C" [[gnu::weak]] int OPENSSL_init_crypto(std::uint64_t options,
                                                 ossl_init_settings_st const* settings);

namespace herdlock::runtime {
namespace {

// An exception of a user's handler must not end the process, nor the store with everybody's leases.
void run_through(asio::io_context& io) {
  while (!io.stopped()) {
    try {
      io.run();
    } catch (...) {  // the next run() goes on behind it
    }
  }
}

bool is_over(std::future<void> const& ended) {
  return ended.wait_for(milliseconds{0}) == std::future_status::ready;
}

// OpenSSL is not to clean up at exit, before the destructors of static objects: stores still speak
// TLS there. Why: docs/decisions/library.md#static-objects-end-as-others-do
// Client libraries (of MySQL, PostgreSQL) use it as well, so it is asked for by its name: null
// where it is not part of the program. Before the program's own objects are made.
[[gnu::constructor(101)]] void keep_openssl_to_the_end() {
  constexpr std::uint64_t no_atexit = 0x00080000;  // OPENSSL_INIT_NO_ATEXIT
  if (OPENSSL_init_crypto) OPENSSL_init_crypto(no_atexit, nullptr);
}

std::atomic<bool> has_stores{false};

// Behind all that was registered with atexit(), so behind the destructors of the program's static
// objects: the dynamic linker calls it.
[[gnu::destructor]] void end_of_process() {
  if (has_stores) process_end::shared().run();
}

}  // namespace

std::shared_ptr<io_runner> io_runner::start() {
  auto runner = std::make_shared<io_runner>();
  runner->thread = detail::start_quiet_thread("herdlock", [mine = runner]() mutable {
    run_through(mine->io);
    // Behind it comes nothing that could take time: no handler of the user's is destroyed.
    auto told = std::move(mine->at_end);
    mine.reset();
    told.set_value();
  });
  runner->id = runner->thread.get_id();
  process_end::shared().opened(runner);
  return runner;
}

void process_end::opened(std::shared_ptr<io_runner> const& one) {
  std::lock_guard const alone(mutex_);
  std::erase_if(runners_, [](auto const& each) { return each.expired(); });
  runners_.push_back(one);
  has_stores = true;
}

void process_end::take_over(std::shared_ptr<io_runner> const& one) {
  std::lock_guard const alone(mutex_);
  for (auto& each : closing_) {
    if (is_over(each.ended)) each.thread.join();
  }
  std::erase_if(closing_, [](closing const& each) { return !each.thread.joinable(); });
  closing_.push_back({std::move(one->thread), std::move(one->ended)});
}

std::shared_ptr<void> process_end::duty() {
  std::lock_guard const alone(mutex_);
  ++duties_;
  return {nullptr, [this](void*) {
            std::lock_guard const dropped(mutex_);
            if (--duties_ == 0) done_.notify_all();
          }};
}

std::vector<std::shared_ptr<io_runner>> process_end::running() {
  // They go behind the mutex: what the last of them destroys may want it.
  std::vector<std::shared_ptr<io_runner>> all;
  std::vector<std::shared_ptr<io_runner>> here;
  std::lock_guard const alone(mutex_);
  for (auto const& each : runners_) {
    auto one = each.lock();
    if (one) (one->runs_here() ? here : all).push_back(std::move(one));
  }
  return all;
}

bool process_end::take(closing& into) {
  std::lock_guard const alone(mutex_);
  if (closing_.empty()) return false;
  into = std::move(closing_.back());
  closing_.pop_back();
  return true;
}

void process_end::wait_for_duties(clock::time_point until) {
  std::unique_lock alone(mutex_);
  done_.wait_until(alone, until, [this] { return duties_ == 0; });
}

void process_end::reach_all(clock::time_point until, then what) {
  std::vector<std::future<void>> reached;
  for (auto const& each : running()) {
    auto mark = std::make_shared<std::promise<void>>();
    // Dropped unrun where the thread has ended: that is as good.
    reached.push_back(mark->get_future());
    asio::post(each->io, [mark = std::move(mark), what] {
      mark->set_value();
      if (what == then::go_on) return;
      for (;;) ::pause();
    });
  }
  for (auto& each : reached) each.wait_until(until);
}

void process_end::wait_for(closing& one, clock::time_point until) {
  bool const is_here = one.thread.get_id() == std::this_thread::get_id();
  if (!is_here && one.ended.wait_until(until) == std::future_status::ready) {
    one.thread.join();
  } else {
    one.thread.detach();
  }
}

// A store whose own thread has called exit() does nothing any more.
bool process_end::is_on_a_stores_thread() {
  // They go behind the mutex: what the last of them destroys may want it.
  std::vector<std::shared_ptr<io_runner>> all;
  std::lock_guard const alone(mutex_);
  for (auto const& each : runners_) all.push_back(each.lock());
  return std::any_of(all.begin(), all.end(),
                     [](auto const& one) { return one && one->runs_here(); });
}

void process_end::run() {
  if (!is_on_a_stores_thread()) wait_for_duties(clock::now() + close_limit + thread_limit);
  reach_all(clock::now() + thread_limit, then::go_on);
  auto const until = clock::now() + close_limit + thread_limit;
  for (closing next; take(next);) wait_for(next, until);
  // libpq, in the middle of a connect, met a mutex that the library for Kerberos had destroyed.
  reach_all(clock::now() + thread_limit, then::stand_still);
}

}  // namespace herdlock::runtime
