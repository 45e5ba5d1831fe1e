// The database as one process loads from it, with what the plot is to show of it.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

#include "stage/frame.hpp"
#include "scenes/origin.hpp"
#include "scenes/stampede_options.hpp"

namespace herdlock::cli {

/// As a report keeps times.
std::uint32_t in_micros(std::chrono::steady_clock::duration time);

/// From any thread.
class recorded_origin {
 public:
  using steady = std::chrono::steady_clock;

  /// `on_first_load` is called when the first load of an expiry is in the database's log, from any
  /// thread.
  recorded_origin(worker_orders const& orders, std::function<void()> on_first_load);

  /// Before the requests of an expiry.
  void begin(int expiry, steady::time_point started);

  /// Throws command_error when the database fails.
  boost::asio::awaitable<product> load();

  /// The loads of this expiry, the first `most` of them.
  std::vector<load_span> take_loads(std::size_t most);

 private:
  void logged();

  std::function<void()> on_first_load_;

  std::mutex mutex_;
  load_label label_;
  steady::time_point started_;
  std::vector<load_span> loads_;
  bool loading_ = false;

  origin_pool pool_;  // goes first: its threads call logged()
};

}  // namespace herdlock::cli
