#include "stores/zookeeper/expiry_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace herdlock::zookeeper {
namespace {

// About what the C client needs for a new connection.
constexpr milliseconds before_next_try{200};

}  // namespace

expiry_guard::expiry_guard(std::function<void(node const&)> remove) : remove_(std::move(remove)) {
  if (thread_.add([this] { run(); })) return;
  throw std::system_error(EAGAIN, std::system_category(), "a thread");
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
  // The names begin anew when the resource's own node has gone and come back.
  std::erase_if(again_, [&](entry const& each) { return each.what.path == what.path; });
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
  auto const filed = by_end_.emplace(end, who);
  if (filed == by_end_.begin()) changed_.notify_all();
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

void expiry_guard::remove_again(node what) {
  std::lock_guard const alone(mutex_);
  again_.push_back({std::move(what), clock::now() + before_next_try});
  changed_.notify_all();
}

void expiry_guard::run() {
  std::unique_lock alone(mutex_);
  while (!closing_) {
    auto const when = next();
    if (!when) {
      changed_.wait(alone);
    } else if (*when > clock::now()) {
      changed_.wait_until(alone, *when);
    } else {
      auto const over = take_next();
      alone.unlock();
      remove_(over);
      alone.lock();
    }
  }
}

std::optional<clock::time_point> expiry_guard::next() const {
  std::optional<clock::time_point> first;
  if (!by_end_.empty()) first = by_end_.begin()->first;
  if (!again_.empty()) first = std::min(first.value_or(again_.front().end), again_.front().end);
  return first;
}

expiry_guard::node expiry_guard::take_next() {
  if (!again_.empty() && again_.front().end == next()) {
    auto over = std::move(again_.front().what);
    again_.pop_front();
    return over;
  }
  auto const first = by_end_.begin();
  auto over = entries_.extract(first->second);
  by_end_.erase(first);
  return std::move(over.mapped().what);
}

}  // namespace herdlock::zookeeper
