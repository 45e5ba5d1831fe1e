#include "stores/mysql/connection_pool.hpp"

#include <algorithm>

namespace herdlock::mysql {

// Of a pool that is locked.
std::shared_ptr<connection> connection_pool::take_idle() {
  while (!idle_.empty()) {
    auto one = std::move(idle_.back());
    idle_.pop_back();
    if (!one->is_alive()) continue;
    in_use_.push_back(one);
    return one;
  }
  return nullptr;
}

std::shared_ptr<connection> connection_pool::borrow_idle() {
  std::lock_guard alone(mutex_);
  return closed_ ? nullptr : take_idle();
}

std::shared_ptr<connection> connection_pool::borrow(clock::time_point deadline) {
  std::unique_lock alone(mutex_);
  while (true) {
    if (closed_) throw sql_error{pool_is_closed, "the store is being closed"};
    if (auto one = take_idle()) return one;
    if (in_use_.size() < most_) break;
    auto const left = deadline - clock::now();
    if (left <= clock::duration::zero()) {
      throw sql_error{pool_is_full, "all " + std::to_string(most_) +
                                        " connections are in use; raise `pool` in the store's URL, "
                                        "or hold fewer leases at once in the modes row and named"};
    }
    changed_.wait_for(alone, left);
  }
  // In use from here on, so that close() ends what it waits for.
  auto made = std::make_shared<connection>();
  in_use_.push_back(made);
  alone.unlock();
  try {
    made->open(how_);
    return made;
  } catch (...) {
    alone.lock();
    forget(*made);
    if (closed_) throw sql_error{pool_is_closed, "the store is being closed"};
    throw;
  }
}

void connection_pool::forget(connection const& one) {
  std::erase_if(in_use_, [&](auto const& each) { return each.get() == &one; });
  changed_.notify_one();
}

void connection_pool::give_back(std::shared_ptr<connection> one) {
  std::lock_guard alone(mutex_);
  forget(*one);
  if (!closed_) idle_.push_back(std::move(one));
}

void connection_pool::drop(std::shared_ptr<connection> one) {
  one->abort();
  std::lock_guard alone(mutex_);
  forget(*one);
}

void connection_pool::close() {
  std::vector<std::shared_ptr<connection>> idle;
  std::lock_guard alone(mutex_);
  closed_ = true;
  idle.swap(idle_);
  for (auto const& each : in_use_) each->abort();
  changed_.notify_all();
}

}  // namespace herdlock::mysql
