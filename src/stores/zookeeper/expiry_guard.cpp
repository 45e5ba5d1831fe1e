#include "stores/zookeeper/expiry_guard.hpp"

#include <utility>

namespace herdlock::zookeeper {

expiry_guard::expiry_guard(std::function<void(node const&)> remove) : remove_(std::move(remove)) {
  thread_.add([this] { run(); });
}

expiry_guard::~expiry_guard() {
  {
    std::lock_guard const alone(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
}

void expiry_guard::watch_over(void const* who, node what, clock::time_point end) {
  forget(who);
  std::lock_guard const alone(mutex_);
  entries_[who] = {std::move(what), end};
  file(who, end);
}

bool expiry_guard::prolong(void const* who, clock::time_point end) {
  std::lock_guard const alone(mutex_);
  auto const found = entries_.find(who);
  if (found == entries_.end()) return false;
  unfile(who, found->second.end);
  found->second.end = end;
  file(who, end);
  return true;
}

void expiry_guard::file(void const* who, clock::time_point end) {
  auto const place = by_end_.emplace(end, who);
  if (place == by_end_.begin()) changed_.notify_all();
}

void expiry_guard::forget(void const* who) {
  std::lock_guard const alone(mutex_);
  auto const found = entries_.find(who);
  if (found == entries_.end()) return;
  unfile(who, found->second.end);
  entries_.erase(found);
}

void expiry_guard::unfile(void const* who, clock::time_point end) {
  auto const [first, last] = by_end_.equal_range(end);
  for (auto each = first; each != last; ++each) {
    if (each->second == who) return static_cast<void>(by_end_.erase(each));
  }
}

void expiry_guard::run() {
  std::unique_lock alone(mutex_);
  while (!closing_) {
    if (by_end_.empty()) {
      changed_.wait(alone);
      continue;
    }
    auto const first = by_end_.begin();
    if (auto const end = first->first; end > clock::now()) {
      changed_.wait_until(alone, end);
      continue;
    }
    auto const over = entries_.extract(first->second);
    by_end_.erase(first);
    alone.unlock();
    remove_(over.mapped().what);
    alone.lock();
  }
}

}  // namespace herdlock::zookeeper
