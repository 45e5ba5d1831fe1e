#include "stores/etcd/lease_pool.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace herdlock::etcd {
namespace {

constexpr milliseconds end_every{100};
constexpr milliseconds patience_at_the_end{1000};
constexpr std::size_t most_idle = 64;
constexpr std::size_t most_over = 4096;
constexpr std::size_t most_at_once = 8;

}  // namespace

std::int64_t new_lease_id() { return lease_id(resource("lease"), owner_token::generate(), 0); }

// The one that was used last: it has the best chance to be alive.
std::optional<lease_pool::idle_lease> lease_pool::take(std::int64_t seconds) {
  auto const now = clock::now();
  std::erase_if(idle_, [&](auto const& one) { return one.alive_until <= now; });
  for (auto one = idle_.rbegin(); one != idle_.rend(); ++one) {
    if (one->seconds != seconds) continue;
    auto const found = *one;
    idle_.erase(std::next(one).base());
    return found;
  }
  return std::nullopt;
}

void lease_pool::distrust() {
  for (auto const& one : std::exchange(idle_, {})) end(one.lease);
}

void lease_pool::keep(std::int64_t lease, std::int64_t seconds, clock::time_point alive_until) {
  bool const alive = clock::now() < alive_until;
  if (closed_ || !alive || idle_.size() >= most_idle) return end(lease);
  idle_.push_back({lease, seconds, alive_until});
}

void lease_pool::end(std::int64_t lease) {
  if (lease == 0 || over_.size() >= most_over) return;
  over_.push_back(lease);
  if (running_) return;
  running_ = true;
  asio::co_spawn(connections_->executor(), run(), asio::detached);
}

void lease_pool::close() {
  closed_ = true;
  distrust();
  if (pause_) pause_->cancel();
}

asio::awaitable<void> lease_pool::run() {
  auto const self = shared_from_this();
  while (!over_.empty()) {
    if (!closed_) {
      pause_ = std::make_shared<timer>(connections_->executor(), clock::now() + end_every);
      co_await pause_->async_wait(no_throw);
    }
    // Never more than half of the connections: the others are for those who wait for an answer.
    auto const connections = std::max<std::size_t>(connections_->how().connections / 2, 1);
    auto const wanted = std::min({over_.size(), connections, most_at_once});
    auto const all_done =
        std::make_shared<timer>(connections_->executor(), clock::time_point::max());
    while (workers_ < wanted) {
      ++workers_;
      asio::co_spawn(connections_->executor(), work(all_done), asio::detached);
    }
    if (workers_ > 0) co_await all_done->async_wait(no_throw);
  }
  running_ = false;
}

asio::awaitable<void> lease_pool::work(std::shared_ptr<timer> all_done) {
  auto const self = shared_from_this();
  while (!over_.empty()) {
    std::string const body = lease_request(over_.front());
    over_.pop_front();
    auto const timeout = connections_->how().timeout;
    auto const time = closed_ ? std::min(patience_at_the_end, timeout) : timeout;
    auto const outcome = co_await connections_->call(path::revoke, body, clock::now() + time);
    if (outcome.why.code && closed_) over_.clear();
  }
  if (--workers_ == 0) all_done->cancel();
}

}  // namespace herdlock::etcd
