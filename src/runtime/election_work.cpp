#include "runtime/election_work.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "types/quiet_thread.hpp"
#include "types/thread_name.hpp"

namespace herdlock {
inline namespace v0 {

asio::awaitable<void> election_term::until_stop() const {
  asio::steady_timer never(co_await asio::this_coro::executor,
                           asio::steady_timer::time_point::max());
  auto waiting = never.async_wait(asio::as_tuple(asio::use_awaitable));
  co_await std::move(waiting);
}

namespace {

using thread_end = asio::any_completion_handler<void(std::exception_ptr)>;

// The work of an election's thread, with the signals of the thread that made the service.
struct thread_work {
  detail::signal_mask signals;
  std::function<void()> work;
};

// The thread ends by handing itself to the executor, which joins it. Where none can be had the work
// ends with that: the handler is no part of what goes with a thread that does not begin.
void run_in_thread(asio::any_io_executor const& executor, thread_work what, thread_end end) {
  auto done = std::make_shared<thread_end>(std::move(end));
  auto self = std::make_shared<std::promise<std::thread>>();
  auto run = [executor, self, what = std::move(what), done]() mutable {
    detail::name_this_thread("herdlock-term");
    what.signals.take_on();
    std::exception_ptr thrown;
    try {
      what.work();
    } catch (...) {
      thrown = std::current_exception();
    }
    what.work = nullptr;
    asio::post(executor, [self = std::move(self), done = std::move(done), thrown]() mutable {
      self->get_future().get().join();
      std::move (*done)(thrown);
    });
  };
  try {
    self->set_value(std::thread(std::move(run)));
  } catch (...) {
    asio::post(executor, [done, thrown = std::current_exception()] { std::move (*done)(thrown); });
  }
}

}  // namespace

election_service in_thread(std::function<void(election_term& term)> work) {
  auto shared = std::make_shared<std::function<void(election_term&)>>(std::move(work));
  auto const signals = detail::signal_mask::of_this_thread();
  return [shared, signals](election_term& term) -> asio::awaitable<void> {
    auto const executor = co_await asio::this_coro::executor;
    std::function<void()> call = [shared, &term] { (*shared)(term); };
    auto start = [&](thread_end done) {
      run_in_thread(executor, {signals, call}, std::move(done));
    };
    auto running = asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr)>(
        start, asio::use_awaitable);
    co_await std::move(running);
  };
}

}  // namespace v0
}  // namespace herdlock

namespace herdlock {
inline namespace v0 {
namespace detail {

election_work::election_work(executors at, std::shared_ptr<election_services const> services,
                             lease held, std::string candidate)
    : at_(std::move(at)),
      services_(std::move(services)),
      held_(std::move(held)),
      term_(held_, std::move(candidate)) {}

void election_work::spawn(election_service const& service, asio::cancellation_slot slot,
                          std::function<void(std::exception_ptr)> returned) {
  ++under_way_;
  auto run = [](std::shared_ptr<election_work> self,
                election_service const& call) -> asio::awaitable<void> {
    // A machine that slept since the grant finds out here.
    if (&call == &self->services_->start_work && !self->term_.valid()) co_return;
    auto working = call(self->term_);
    co_await std::move(working);
  };
  auto ended = [self = shared_from_this(), owner = to_.to.lock(),
                returned = std::move(returned)](std::exception_ptr e) {
    asio::post(self->at_.home, [self, owner, returned, e] { returned(e); });
  };
  // Both are members of services_, which this object keeps.
  asio::co_spawn(at_.where, run(shared_from_this(), service),
                 asio::bind_cancellation_slot(slot, std::move(ended)));
}

void election_work::start(reports to) {
  to_ = std::move(to);
  spawn(services_->start_work, cancel_.slot(), [this](std::exception_ptr thrown) {
    --under_way_;
    if (!told_to_stop_) return to_.finished(thrown);
    returned();
  });
}

void election_work::stop() {
  if (std::exchange(told_to_stop_, true)) return;
  term_.stop_.request_stop();
  asio::post(at_.where,
             [self = shared_from_this()] { self->cancel_.emit(asio::cancellation_type::all); });
  if (services_->stop_work) {
    spawn(services_->stop_work, {}, [this](std::exception_ptr) {
      --under_way_;
      returned();
    });
  }
  // Not from inside the call.
  if (over()) asio::post(at_.home, [self = shared_from_this()] { self->returned(); });
}

void election_work::returned() {
  if (over()) to_.stopped();
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
