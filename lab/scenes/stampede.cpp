#include "scenes/stampede.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <optional>
#include <random>

#include "terminal/exit_code.hpp"
#include "terminal/notice.hpp"
#include "terminal/temp_folder.hpp"
#include "stage/picture.hpp"
#include "stage/play.hpp"
#include "terminal/progress_line.hpp"
#include "scenes/scheme.hpp"
#include "scenes/server_warnings.hpp"

namespace herdlock::cli {
namespace {

std::string random_name() {
  std::random_device bits;
  return fmt::format("{:08x}{:08x}", bits(), bits());
}

class stampede_play {
 public:
  explicit stampede_play(stampede_options options);
  int run();

 private:
  void use_a_file(std::string& url, char const* name);
  asio::awaitable<void> play_all();
  worker_orders orders_for(guard_mode mode) const;
  int connections() const;
  void check_modes();
  bool can_play(guard_mode mode) const;
  void report_outcomes();

  stampede_options options_;
  std::optional<temp_folder> temporary_;
  std::string const run_ = random_name();
  std::unique_ptr<origin_session> origin_;
  std::vector<mode_outcome> outcomes_;
  progress_line progress_;
};

stampede_play::stampede_play(stampede_options options) : options_(std::move(options)) {
  check_picture(options_.plot);
  use_a_file(options_.store_url, "store.db");
  use_a_file(options_.origin.url, "origin.db");
  if (plays(options_.modes, guard_mode::double_lock)) use_a_file(options_.locks_url, "locks.db");
  // Before a database gets tables.
  check_modes();
  origin_ = open_origin(options_.origin);
  origin_->create();
}

// Where no URL is given.
void stampede_play::use_a_file(std::string& url, char const* name) {
  if (!url.empty()) return;
  if (!temporary_) temporary_.emplace();
  url = sqlite_url(temporary_->path() / name);
}

// Not every store can be opened, or keeps values.
void stampede_play::check_modes() {
  std::erase_if(options_.modes, [this](guard_mode mode) { return !can_play(mode); });
}

// Throws for a mode that was named.
bool stampede_play::can_play(guard_mode mode) const {
  worker_orders const orders = orders_for(mode);
  scheme_stores const stores = open_stores(orders);
  try {
    make_scheme(stores, orders, {});
    return true;
  } catch (error const& e) {
    bool const near = facts_of(mode).keeps_near && e.code() == errc::not_supported;
    auto const why = fmt::format("mode {}: {}{}", name_of(mode), e.what(),
                                 near ? "; --store redis://HOST:PORT can do it" : "");
    if (!near || !options_.all_modes) throw command_error(exit_code_of(e.code()), why);
    notice("left out: " + why);
    return false;
  }
}

// To the database, of each process.
int stampede_play::connections() const {
  int const shared =
      std::min(stampede_limits::max_connections, origin_->max_sessions() - 1) / options_.processes;
  return std::max(1, std::min({shared, stampede_limits::max_connections_each, options_.requests}));
}

worker_orders stampede_play::orders_for(guard_mode mode) const {
  worker_orders orders;
  orders.store_url = options_.store_url;
  orders.locks_url = options_.locks_url;
  orders.origin = options_.origin;
  orders.mode = mode;
  orders.run = run_;
  orders.key = fmt::format("herdlock-demo:{}:product:{}", run_, hot_product_id);
  orders.processes = options_.processes;
  orders.requests = options_.requests;
  orders.claim_ttl = options_.claim_ttl;
  return orders;
}

asio::awaitable<void> stampede_play::play_all() {
  for (guard_mode const mode : options_.modes) {
    worker_orders orders = orders_for(mode);
    orders.connections = connections();
    play one(options_, std::move(orders), *origin_);
    play::progress const tell = [this, mode](int expiry) {
      progress_.show(
          fmt::format("{}: expiry {} of {} …", name_of(mode), expiry, options_.expiries));
    };
    outcomes_.push_back(co_await one.run(tell));
  }
}

int stampede_play::run() {
  asio::io_context io;
  asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
  int interrupted_by = 0;
  signals.async_wait([&](boost::system::error_code code, int number) {
    if (code) return;
    interrupted_by = number;
    io.stop();
  });
  std::exception_ptr failed;
  asio::co_spawn(io, play_all(), [&](std::exception_ptr e) {
    failed = e;
    signals.cancel();
  });
  io.run();
  progress_.show({});
  // Destroying the loop destroys what it was waiting for: processes are killed and reaped.
  if (interrupted_by) return 128 + interrupted_by;
  if (failed) std::rethrow_exception(failed);
  report_outcomes();
  warnings_teller teller;
  for (mode_outcome const& each : outcomes_) teller.tell(each.warnings);
  tell_warnings(options_.store_url, std::move(teller));
  bool const fine = std::all_of(outcomes_.begin(), outcomes_.end(),
                                [](mode_outcome const& o) { return o.errors == 0; });
  return static_cast<int>(fine ? exit_code::success : exit_code::not_all_answered);
}

void stampede_play::report_outcomes() {
  if (!options_.plot.empty()) write_picture(options_.plot, render_plot(outcomes_));
  std::string const text =
      options_.json ? render_json(outcomes_) : render_table(options_, outcomes_);
  fmt::print("{}", text);
  if (!options_.plot.empty() && !options_.json) {
    fmt::print("\nThe timeline is in {}\n", options_.plot.string());
  }
}

}  // namespace

int stampede(stampede_options options) { return stampede_play(std::move(options)).run(); }

}  // namespace herdlock::cli
