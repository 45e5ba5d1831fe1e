#include "stores/redis/cluster/deferred_commands.hpp"

#include "stores/redis/client/connection.hpp"

namespace herdlock::redis {

bool deferred_commands::add(command_ptr& one, time_point until, failure why) {
  if (waiting_.size() >= max_outstanding_commands) {
    std::erase_if(waiting_, [](auto const& each) { return !each.second.one->open(); });
    if (waiting_.size() >= max_outstanding_commands) return false;
  }
  auto const end = std::min(until, one->deadline);
  auto const at = waiting_.emplace(end, entry{std::move(one), std::move(why)});
  if (at == waiting_.begin()) arm();
  return true;
}

std::vector<command_ptr> deferred_commands::take_all() {
  std::vector<command_ptr> taken;
  for (auto& [when, each] : waiting_) {
    if (each.one->open()) taken.push_back(std::move(each.one));
  }
  waiting_.clear();
  timer_.cancel();
  return taken;
}

void deferred_commands::close(failure const& why) {
  for (auto& one : take_all()) one->fail(why, completion::later);
  wake_ = {};
  why_ = {};
}

void deferred_commands::arm() {
  if (waiting_.empty()) return;
  run_at(timer_, waiting_.begin()->first, weak_from_this(),
         [](deferred_commands& self) { self.on_alarm(); });
}

void deferred_commands::on_alarm() {
  auto const now = std::chrono::steady_clock::now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    auto [one, why] = std::move(waiting_.extract(waiting_.begin()).mapped());
    if (!one->open()) continue;
    // `later`: no handler runs here, so nobody takes the store apart under our feet.
    if (one->deadline <= now) {
      one->fail(why.code ? why : why_(), completion::later);
    } else {
      wake_(std::move(one));
    }
  }
  arm();
}

}  // namespace herdlock::redis
