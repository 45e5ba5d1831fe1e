#include "scenes/recorded_origin.hpp"

#include <utility>

namespace herdlock::cli {

std::uint32_t in_micros(std::chrono::steady_clock::duration time) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

recorded_origin::recorded_origin(worker_orders const& orders, std::function<void()> on_first_load)
    : on_first_load_(std::move(on_first_load)), pool_(orders.origin, orders.connections) {
  label_ = {orders.run, name_of(orders.mode), 0};
}

void recorded_origin::begin(int expiry, steady::time_point started) {
  std::lock_guard const held(mutex_);
  label_.expiry = expiry;
  started_ = started;
  loads_.clear();
  loading_ = false;
}

std::vector<load_span> recorded_origin::take_loads(std::size_t most) {
  std::lock_guard const held(mutex_);
  if (loads_.size() > most) loads_.resize(most);
  return std::move(loads_);
}

void recorded_origin::logged() {
  {
    std::lock_guard const held(mutex_);
    if (std::exchange(loading_, true)) return;
  }
  on_first_load_();
}

boost::asio::awaitable<product> recorded_origin::load() {
  load_label label;
  {
    std::lock_guard const held(mutex_);
    label = label_;
  }
  auto const from = steady::now();
  product loaded = co_await pool_.load(label, [this] { logged(); });
  std::lock_guard const held(mutex_);
  loads_.push_back({in_micros(from - started_), in_micros(steady::now() - started_)});
  co_return loaded;
}

}  // namespace herdlock::cli
