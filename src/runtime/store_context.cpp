#include "runtime/store_context.hpp"

#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdlib>
#include <future>
#include <herdlock/backend.hpp>
#include <herdlock/while_held.hpp>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/require.hpp"
#include "types/quiet_thread.hpp"

namespace herdlock::runtime {

/// A thread of its own for one store.
struct io_runner {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::promise<void> at_end;  // the thread's
  std::future<void> ended = at_end.get_future();
  std::thread thread;

  // What a user's handler throws must not end the process, nor the store with everybody's leases.
  static void run(asio::io_context& io) {
    while (!io.stopped()) {
      try {
        io.run();
      } catch (...) {  // the next run() goes on behind it
      }
    }
  }

  static std::shared_ptr<io_runner> start() {
    auto runner = std::make_shared<io_runner>();
    runner->thread = detail::start_quiet_thread("herdlock", [mine = runner]() mutable {
      run(mine->io);
      // Behind it comes nothing that could take time: no handler of the user's is destroyed.
      auto told = std::move(mine->at_end);
      mine.reset();
      told.set_value();
    });
    return runner;
  }
};

}  // namespace herdlock::runtime

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

constexpr milliseconds thread_grace{1000};

/// The threads of stores that close behind their last handle. The end of the process waits for
/// them: what they give back arrives, and what they use is still there, if it is older than the
/// first of them.
class closing_threads {
 public:
  static void take_over(runtime::io_runner& runner) {
    static auto& all = *new closing_threads;  // it may be called while the process ends
    all.add(runner, [] { all.wait(); });
  }

 private:
  struct one {
    std::thread thread;
    std::future<void> ended;
    bool is_over() const { return ended.wait_for(milliseconds{0}) == std::future_status::ready; }
  };

  void add(runtime::io_runner& runner, void (*at_exit)()) {
    std::lock_guard const alone(mutex_);
    for (auto& each : threads_) {
      if (each.is_over()) each.thread.join();
    }
    std::erase_if(threads_, [](one const& each) { return !each.thread.joinable(); });
    threads_.push_back({std::move(runner.thread), std::move(runner.ended)});
    if (!std::exchange(waits_at_exit_, true)) std::atexit(at_exit);
  }

  std::optional<one> take() {
    std::lock_guard const alone(mutex_);
    if (threads_.empty()) {
      waits_at_exit_ = false;  // those that come later while the process ends are waited for anew
      return std::nullopt;
    }
    auto last = std::move(threads_.back());
    threads_.pop_back();
    return last;
  }

  void wait() {
    if (process_ != ::getpid()) return;  // a child of fork() has none of the threads
    auto const until = clock::now() + runtime::close_grace + thread_grace;
    while (auto next = take()) {
      bool const is_here = next->thread.get_id() == std::this_thread::get_id();
      bool const is_over = !is_here && next->ended.wait_until(until) == std::future_status::ready;
      if (is_over) {
        next->thread.join();
      } else {
        next->thread.detach();
      }
    }
  }

  pid_t const process_ = ::getpid();
  std::mutex mutex_;
  std::vector<one> threads_;
  bool waits_at_exit_ = false;
};

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
  // What is left now are the user's own handlers on this executor; they too get a bounded time.
  if (runner.ended.wait_for(thread_grace) != std::future_status::ready) {
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

store_context::~store_context() {
  auto const executor = core_->executor();
  if (!runner_ || on_own_thread()) {
    // Nothing may block here: the closing goes on behind us, and takes the thread with it.
    if (runner_) closing_threads::take_over(*runner_);
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
  closed->get_future().wait();  // bounded by runtime::close_grace
  stop(*runner_);
}

bool store_context::on_own_thread() const {
  return runner_ && runner_->thread.get_id() == std::this_thread::get_id();
}

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
