#include "runtime/store_context.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <herdlock/backend.hpp>
#include <herdlock/while_held.hpp>
#include <thread>

#include "runtime/io_runner.hpp"
#include "runtime/require.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

asio::any_io_executor one_at_a_time(open_options const& options) {
  if (options.guard == executor_guard::none) return *options.executor;
  return strand_around(*options.executor);
}

template <class Executor>
bool is_run_below(asio::any_io_executor const& executor) {
  auto const* around = executor.target<asio::strand<Executor>>();
  return around && around->get_inner_executor().running_in_this_thread();
}

template <class Executor>
bool is_run_here(asio::any_io_executor const& executor) {
  auto const* own = executor.target<Executor>();
  return own && own->running_in_this_thread();
}

void stop(runtime::io_runner& runner) {
  runner.work.reset();
  // The rest are the user's own handlers on this executor; they too get a bounded time.
  if (runner.ended.wait_for(runtime::thread_limit) != std::future_status::ready) {
    runner.io.stop();
  }
  runner.thread.join();
}

}  // namespace

// A strand around a concrete executor fits into any_io_executor without an allocation; one around
// an erased executor does not, and executors are copied with each operation.
asio::any_io_executor strand_around(asio::any_io_executor const& given) {
  if (auto const* io = given.target<asio::io_context::executor_type>()) {
    return asio::make_strand(*io);
  }
  if (auto const* pool = given.target<asio::thread_pool::executor_type>()) {
    return asio::make_strand(*pool);
  }
  return asio::make_strand(given);
}

result<std::shared_ptr<store_context>> store_context::open(store::backend_factory const& make,
                                                           open_options const& options) {
  std::shared_ptr<runtime::io_runner> runner;
  failure why;
  try {
    if (!options.executor) runner = runtime::io_runner::start();
    asio::any_io_executor const executor =
        runner ? asio::any_io_executor(runner->io.get_executor()) : one_at_a_time(options);
    auto ports = make(executor);
    if (ports.has_value()) {
      auto core =
          std::make_shared<runtime::store_core>(executor, std::move(*ports), options.on_event);
      return std::make_shared<store_context>(std::move(runner), std::move(core));
    }
    why = ports.error();
  } catch (std::exception const& e) {  // no descriptors, no threads, no memory
    why = make_failure(errc::unavailable, std::string("the store cannot be opened: ") + e.what());
  }
  if (runner) stop(*runner);
  return why;
}

store_context::store_context(std::shared_ptr<runtime::io_runner> runner,
                             std::shared_ptr<runtime::store_core> core)
    : runner_(std::move(runner)), core_(std::move(core)) {}

// Why: docs/decisions/library.md#handles-close-the-store
store_context::~store_context() {
  if (core_->inherited()) {
    leave_to_parent(std::move(core_));
    if (runner_) leave_to_parent(std::move(runner_));
    return;
  }
  auto const executor = core_->executor();
  if (!runner_ || on_own_thread()) {
    // Nothing may block here: the closing goes on behind us, and takes the thread with it.
    if (runner_) runtime::process_end::shared().take_over(runner_);
    asio::post(executor, [core = std::move(core_), runner = std::move(runner_)] {
      core->close([runner] {
        if (runner) runner->work.reset();
      });
    });
    return;
  }
  auto closed = std::make_shared<std::promise<void>>();
  asio::post(executor,
             [core = std::move(core_), closed] { core->close([closed] { closed->set_value(); }); });
  closed->get_future().wait();  // bounded by runtime::close_limit
  stop(*runner_);
}

bool store_context::on_own_thread() const { return runner_ && runner_->runs_here(); }

bool store_context::runs_here() const {
  using io = asio::io_context::executor_type;
  using pool = asio::thread_pool::executor_type;
  auto const executor = core_->executor();
  return on_own_thread() || is_run_here<asio::strand<io>>(executor) ||
         is_run_here<asio::strand<pool>>(executor) ||
         is_run_here<asio::strand<asio::any_io_executor>>(executor) || is_run_here<io>(executor) ||
         is_run_here<pool>(executor);
}

bool store_context::could_run_here() const {
  auto const executor = core_->executor();
  return runs_here() || is_run_below<asio::io_context::executor_type>(executor) ||
         is_run_below<asio::thread_pool::executor_type>(executor);
}

void store_context::require_other_thread() const {
  runtime::require(!runs_here(), "a blocking call on the store's own thread waits for itself");
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
