#include <herdlock/detail/calling_thread.hpp>

#include <algorithm>

namespace herdlock {
inline namespace v0 {
namespace detail {

bool calling_thread::run(std::function<void()> work) {
  std::lock_guard const lock(mutex_);
  if (stage_ != stage::waiting) return false;
  work_ = std::move(work);
  changed_.notify_all();
  return true;
}

void calling_thread::answer(std::function<void()> const& store) {
  std::lock_guard const lock(mutex_);
  if (stage_ != stage::waiting) return;
  store();
  stage_ = stage::answered;
  changed_.notify_all();
}

bool calling_thread::serve(std::optional<milliseconds> limit) {
  struct leaving {
    calling_thread* from;
    ~leaving() {
      if (from) from->abandon();
    }
  } if_the_thread_ends{this};
  auto const until = clock::now() + limit.value_or(milliseconds{0});
  std::unique_lock lock(mutex_);
  auto const woken = [this] { return work_ || stage_ != stage::waiting; };
  bool in_time = true;
  while (in_time) {
    if (!limit) {
      changed_.wait(lock, woken);
    } else {
      auto const left = std::max<clock::duration>(until - clock::now(), clock::duration{0});
      in_time = changed_.wait_for(lock, left, woken);
    }
    if (!work_) break;
    auto const work = std::exchange(work_, nullptr);
    lock.unlock();
    work();
    lock.lock();
    in_time = true;
  }
  if_the_thread_ends.from = nullptr;
  return stage_ != stage::waiting;
}

void calling_thread::abandon() {
  std::function<void()> never_run;  // destroyed without the lock: its sink says so
  std::lock_guard const lock(mutex_);
  never_run.swap(work_);
  stage_ = stage::left;
}

bool calling_thread::leave() {
  std::lock_guard const lock(mutex_);
  if (stage_ == stage::answered || work_) return false;
  stage_ = stage::left;
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
