// One mode of the demo: starts its processes, lets the entry expire again and again, collects.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stage/outcome.hpp"
#include "stage/worker_process.hpp"

namespace herdlock::cli {

class play {
 public:
  /// Told before each expiry, counted from 1.
  using progress = std::function<void(int expiry)>;

  play(stampede_options const& options, worker_orders orders, origin_session& origin);

  /// Plays all expiries. Throws command_error when a process dies or hangs.
  asio::awaitable<mode_outcome> run(progress tell);

 private:
  using workers = std::vector<std::unique_ptr<worker_process>>;
  using task = std::function<asio::awaitable<void>(std::size_t)>;

  asio::awaitable<void> start(std::size_t index);
  asio::awaitable<void> expiry(int number, mode_outcome& outcome);
  asio::awaitable<void> let_expire(std::int64_t revision);
  asio::awaitable<void> serve(std::size_t index, std::vector<report>& reports);
  asio::awaitable<void> replace_killed(std::int64_t go_ns, mode_outcome& outcome);
  asio::awaitable<void> for_all(task each);
  asio::awaitable<void> together(task each);
  milliseconds deadline() const;

  stampede_options const& options_;
  worker_orders const orders_;
  origin_session& origin_;
  workers workers_;

  bool kill_next_loader_ = false;
  struct killed_loader {
    std::size_t index;
    pid_t pid;
    std::int64_t began_ns;
    std::int64_t killed_ns;
  };
  std::optional<killed_loader> killed_;
};

}  // namespace herdlock::cli
