// keyed_mutex beside std::mutex, and a herd on one key beside a handful.
#include <fmt/format.h>

#include <boost/asio/bind_executor.hpp>
#include <mutex>
#include <semaphore>

#include "event_loop.hpp"

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

using namespace bench;
using herdlock::keyed_mutex;

constexpr std::size_t pairs_per_round = 20'000;
constexpr int handovers_per_round = 10'000;

double std_mutex_pairs() {
  static std::mutex mutex;
  return nanoseconds_each(pairs_per_round, [] {
    std::lock_guard hold(mutex);
    barrier();
  });
}

double keyed_pairs(keyed_mutex& mutex, std::vector<std::string> const& keys) {
  return nanoseconds_each(pairs_per_round, [&, next = std::size_t{0}]() mutable {
    auto held = mutex.lock(keys[next]);
    barrier();
    if (++next == keys.size()) next = 0;
  });
}

std::vector<std::string> make_keys(std::size_t count, std::size_t bytes) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(fmt::format("{:k>{}}", i, bytes));
  return keys;
}

void uncontended(report& to, std::string const& name, std::size_t count, std::size_t bytes) {
  keyed_mutex mutex;
  auto const keys = make_keys(count, bytes);
  to.compare(
      "keyed_mutex.uncontended." + name, "ns/pair", [&] { return keyed_pairs(mutex, keys); },
      std_mutex_pairs, at_most(3));
}

void allocation(report& to) {
  auto const keys = make_keys(1000, 40);
  keyed_mutex mutex;
  std::size_t const before = allocations;
  keyed_pairs(mutex, keys);
  to.add("keyed_mutex.uncontended.allocations", static_cast<double>(allocations - before),
         "per 20000", 0, at_most(0));
}

// Nanoseconds for each hand-over from handler to handler, with this many waiting at first.
double async_handover(int waiters) {
  keyed_mutex mutex;
  double total = 0;
  for (int done = 0; done < handovers_per_round; done += waiters) {
    asio::io_context io(1);
    auto first = mutex.lock("hot");
    for (int i = 0; i < waiters; ++i) {
      mutex.async_lock("hot", as_result(asio::bind_executor(io, [](auto const& held) {
                         if (!held) std::abort();
                       })));
    }
    total += nanoseconds_of([&] {
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
  return nanoseconds_of([&] {
           first.unlock();
           all_done.acquire();
         }) /
         waiters;
}

suite const in_process("keyed_mutex", [](report& to) {
  if (to.wants("keyed_mutex.uncontended")) {
    // glibc leaves out the atomic operations of a mutex while the process has one thread. Nobody
    // locks in such a process; so there is a second one, asleep, while we measure.
    std::binary_semaphore end{0};
    std::jthread const other([&end] { end.acquire(); });
    uncontended(to, "8_byte_key", 1, 8);
    uncontended(to, "40_byte_key", 1, 40);
    uncontended(to, "1000_keys_of_40_bytes", 1000, 40);
    end.release();
  }
  if (to.wants("keyed_mutex.uncontended.allocations")) allocation(to);
  to.compare_by(&async_handover, "keyed_mutex.handover.10000_waiters_beside_100", "ns", 10'000, 100,
                at_most(2), 100);
  to.compare_by(&thread_handover, "keyed_mutex.handover.100_threads_beside_10", "ns", 100, 10,
                no_limit, 50);
});

}  // namespace
