// keyed_mutex beside std::mutex, and a herd on one key beside a handful.
#include <array>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <herdlock/keyed_mutex.hpp>
#include <memory>
#include <mutex>
#include <new>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "support/as_result.hpp"

namespace {

// Of this thread, so that counting costs the other measurements nothing to speak of.
thread_local std::size_t allocations = 0;

void* counted(void* block) {
  ++allocations;
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

// Not inlined: the compiler would see malloc and free behind new and delete, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) { return counted(std::malloc(size)); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  auto const step = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace {

using herdlock::keyed_mutex;
using herdlock::result;
namespace asio = boost::asio;

constexpr int pairs_per_round = 20'000;
constexpr int handovers_per_round = 10'000;

// glibc leaves out the atomic operations of a mutex while the process has one thread. Nobody locks
// in such a process; so there is a second one, asleep, while we measure.
class sleeping_thread {
 public:
  ~sleeping_thread() { end_.release(); }

 private:
  std::binary_semaphore end_{0};
  std::jthread thread_{[this] { end_.acquire(); }};
};

double std_mutex_pairs() {
  static std::mutex mutex;
  return bench::nanoseconds_of([] {
           for (int i = 0; i < pairs_per_round; ++i) {
             std::lock_guard hold(mutex);
             bench::barrier();
           }
         }) /
         pairs_per_round;
}

double keyed_pairs(keyed_mutex& mutex, std::vector<std::string> const& keys) {
  return bench::nanoseconds_of([&] {
           std::size_t next = 0;
           for (int i = 0; i < pairs_per_round; ++i) {
             auto held = mutex.lock(keys[next]);
             bench::barrier();
             if (++next == keys.size()) next = 0;
           }
         }) /
         pairs_per_round;
}

std::vector<std::string> make_keys(std::size_t count, std::size_t bytes) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    std::string const number = std::to_string(i);
    keys.push_back(std::string(bytes - number.size(), 'k') + number);
  }
  return keys;
}

void uncontended(bench::report& report) {
  struct line {
    char const* name;
    std::size_t keys;
    std::size_t bytes;
  };
  sleeping_thread other;
  for (line const& each : {line{"keyed_mutex.uncontended.8_byte_key", 1, 8},
                           line{"keyed_mutex.uncontended.40_byte_key", 1, 40},
                           line{"keyed_mutex.uncontended.1000_keys_of_40_bytes", 1000, 40}}) {
    keyed_mutex mutex;
    auto const keys = make_keys(each.keys, each.bytes);
    report.compare({.name = each.name,
                    .unit = "ns/pair",
                    .subject = [&] { return keyed_pairs(mutex, keys); },
                    .baseline = std_mutex_pairs,
                    .limit = bench::at_most(3)});
  }
}

void allocation(bench::report& report) {
  auto const keys = make_keys(1000, 40);
  keyed_mutex mutex;
  std::size_t const before = allocations;
  keyed_pairs(mutex, keys);
  auto const count = static_cast<double>(allocations - before);
  report.add(
      {"keyed_mutex.uncontended.allocations", count, "per 20000", 0, count, bench::at_most(0)});
}

// Nanoseconds for each hand-over from handler to handler, with this many waiting at first.
double async_handover(int waiters) {
  keyed_mutex mutex;
  double total = 0;
  for (int done = 0; done < handovers_per_round; done += waiters) {
    asio::io_context io(1);
    auto first = mutex.lock("hot");
    for (int i = 0; i < waiters; ++i) {
      mutex.async_lock("hot", herdlock_test::as_result(
                                  asio::bind_executor(io, [](result<keyed_mutex::guard> held) {
                                    if (!held) std::abort();
                                  })));
    }
    total += bench::nanoseconds_of([&] {
      first.unlock();
      io.run();
    });
  }
  return total / handovers_per_round;
}

// The same from thread to thread; each hand-over is a wake-up by the kernel.
double thread_handover(int waiters) {
  keyed_mutex mutex;
  std::atomic<int> left{waiters};
  std::binary_semaphore all_done{0};
  auto first = mutex.lock("hot");
  std::vector<std::jthread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      { auto held = mutex.lock("hot"); }
      if (--left == 0) all_done.release();
    });
  }
  while (mutex.waiting("hot") < static_cast<std::size_t>(waiters)) std::this_thread::yield();
  return bench::nanoseconds_of([&] {
           first.unlock();
           all_done.acquire();
         }) /
         waiters;
}

void handover(bench::report& report) {
  report.compare({.name = "keyed_mutex.handover.10000_waiters_beside_100",
                  .unit = "ns",
                  .subject = [] { return async_handover(10'000); },
                  .baseline = [] { return async_handover(100); },
                  .limit = bench::at_most(2),
                  .rounds = 100});
  report.compare({.name = "keyed_mutex.handover.100_threads_beside_10",
                  .unit = "ns",
                  .subject = [] { return thread_handover(100); },
                  .baseline = [] { return thread_handover(10); },
                  .rounds = 50});
}

bench::suite const in_process("keyed_mutex", [](bench::report& report) {
  uncontended(report);
  if (report.wants("keyed_mutex.uncontended.allocations")) allocation(report);
  handover(report);
});

}  // namespace
