#include "stores/zookeeper/expiry_guard.hpp"

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
  std::lock_guard const alone(mutex_);
  entries_.erase(who);
  // The names begin anew when the resource's own node has gone and come back.
  std::erase_if(again_, [&](entry const& each) { return each.what.path == what.path; });
  auto& fresh = entries_.try_emplace(who, std::move(what)).first->second;
  fresh.who = who;
  schedule(fresh, end);
}

bool expiry_guard::prolong(void const* who, clock::time_point end) {
  std::lock_guard const alone(mutex_);
  auto const found = entries_.find(who);
  if (found == entries_.end()) return false;
  schedule(found->second, end);
  return true;
}

void expiry_guard::schedule(entry& one, clock::time_point when) {
  due_.add(one, when);
  if (due_.first() == &one) changed_.notify_all();
}

void expiry_guard::forget(void const* who) {
  std::lock_guard const alone(mutex_);
  entries_.erase(who);
}

void expiry_guard::remove_again(node what) {
  std::lock_guard const alone(mutex_);
  schedule(again_.emplace_back(std::move(what)), clock::now() + before_next_try);
}

void expiry_guard::run() {
  std::unique_lock alone(mutex_);
  while (!closing_) {
    if (due_.empty()) {
      changed_.wait(alone);
    } else if (due_.next() > clock::now()) {
      auto const next = due_.next();
      changed_.wait_until(alone, next);
    } else {
      auto const over = take_next();
      alone.unlock();
      remove_(over);
      alone.lock();
    }
  }
}

expiry_guard::node expiry_guard::take_next() {
  auto const& first = static_cast<entry const&>(*due_.first());
  node over = first.what;
  if (auto const* const who = first.who) {
    entries_.erase(who);
  } else {
    std::erase_if(again_, [&](entry const& each) { return &each == &first; });
  }
  return over;
}

}  // namespace herdlock::zookeeper
