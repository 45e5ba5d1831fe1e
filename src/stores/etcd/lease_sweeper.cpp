#include "stores/etcd/lease_sweeper.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace herdlock::etcd {
namespace {

constexpr milliseconds sweep_every{100};
constexpr milliseconds patience_at_the_end{1000};
constexpr std::size_t most_waiting = 4096;
constexpr std::size_t most_at_once = 8;
constexpr auto quietly = asio::as_tuple(asio::use_awaitable);

}  // namespace

void lease_sweeper::add(std::int64_t lease) {
  if (waiting_.size() >= most_waiting) return;
  waiting_.push_back(lease);
  if (running_) return;
  running_ = true;
  asio::co_spawn(gate_->executor(), run(), asio::detached);
}

void lease_sweeper::close() {
  closed_ = true;
  if (pause_) pause_->cancel();
}

asio::awaitable<void> lease_sweeper::run() {
  auto const self = shared_from_this();
  while (!waiting_.empty()) {
    if (!closed_) {
      pause_ = std::make_shared<timer>(gate_->executor(), clock::now() + sweep_every);
      co_await pause_->async_wait(quietly);
    }
    // Never more than half of the connections: the others are for those who wait for an answer.
    auto const connections = std::max<std::size_t>(gate_->how().connections / 2, 1);
    auto const wanted = std::min({waiting_.size(), connections, most_at_once});
    while (workers_ < wanted) {
      ++workers_;
      asio::co_spawn(gate_->executor(), work(), asio::detached);
    }
    while (workers_ > 0) {
      if (!changed_)
        changed_ = std::make_shared<timer>(gate_->executor(), clock::time_point::max());
      auto const change = changed_;
      co_await change->async_wait(quietly);
    }
  }
  running_ = false;
}

asio::awaitable<void> lease_sweeper::work() {
  auto const self = shared_from_this();
  while (!waiting_.empty()) {
    auto const lease = waiting_.front();
    waiting_.pop_front();
    bool const answered = co_await end(lease);
    if (!answered && closed_) waiting_.clear();
  }
  --workers_;
  if (auto const change = std::exchange(changed_, nullptr)) change->cancel();
}

asio::awaitable<bool> lease_sweeper::end(std::int64_t lease) {
  under_way_.insert(lease);
  std::string const body = lease_request(lease);
  auto const time =
      closed_ ? std::min(patience_at_the_end, gate_->how().timeout) : gate_->how().timeout;
  auto const outcome = co_await gate_->call(path::revoke, body, clock::now() + time);
  under_way_.erase(lease);
  if (auto const change = std::exchange(changed_, nullptr)) change->cancel();
  co_return !outcome.why.code;
}

asio::awaitable<void> lease_sweeper::done_with(std::int64_t lease) {
  auto const self = shared_from_this();
  if (std::erase(waiting_, lease) > 0) co_await end(lease);
  while (under_way_.contains(lease)) {
    if (!changed_) changed_ = std::make_shared<timer>(gate_->executor(), clock::time_point::max());
    auto const change = changed_;
    co_await change->async_wait(quietly);
  }
}

}  // namespace herdlock::etcd
