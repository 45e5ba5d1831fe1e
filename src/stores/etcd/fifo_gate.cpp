#include "stores/etcd/fifo_gate.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace herdlock::etcd {

std::shared_ptr<fifo_gate::ticket> fifo_gate::take() {
  open_.insert(++last_);
  return std::make_shared<ticket>(shared_from_this(), last_);
}

asio::awaitable<void> fifo_gate::wait_for(std::uint64_t number) {
  if (free_for(number)) co_return;
  auto const self = shared_from_this();
  auto const turn = std::make_shared<timer>(executor_, clock::time_point::max());
  waiting_.emplace(number, turn);
  co_await turn->async_wait(asio::as_tuple(asio::use_awaitable));
}

void fifo_gate::pass(std::uint64_t number) {
  open_.erase(number);
  while (!waiting_.empty() && free_for(waiting_.begin()->first)) {
    waiting_.begin()->second->cancel();
    waiting_.erase(waiting_.begin());
  }
}

}  // namespace herdlock::etcd
