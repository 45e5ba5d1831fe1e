// The event loop of the measuring thread, and callers that work on it at once.
#pragma once

#include <boost/asio/io_context.hpp>

#include <herdlock/herdlock.hpp>

#include "harness.hpp"
#include "support/as_result.hpp"

namespace bench {

namespace asio = boost::asio;
using herdlock_test::as_result;

/// Declare it before what is opened on it: in the end it goes on until all of that is closed.
class event_loop {
 public:
  ~event_loop() { run_for(std::chrono::seconds(10)); }

  herdlock::store open(std::string const& url,
                       herdlock::executor_guard guard = herdlock::executor_guard::none) {
    return herdlock::open_store(url, {.executor = context.get_executor(), .guard = guard});
  }

  template <class Done>
  void until(Done done) {
    context.restart();
    while (!done()) context.run_one();
  }
  void run_for(std::chrono::nanoseconds how_long) {
    context.restart();
    context.run_for(how_long);
  }

  /// What an operation comes to, which `start` is given the handler of.
  template <class T, class Start>
  T get(Start start) {
    std::optional<herdlock::result<T>> got;
    start([&got](herdlock::result<T> r) { got.emplace(std::move(r)); });
    until([&got] { return got.has_value(); });
    if (!got->has_value()) must(false, got->error().message);
    return std::move(**got);
  }

  asio::io_context context{1};
};

/// Callers at once, each of which begins again when it is done, until all have done so much.
class crowd {
 public:
  static constexpr std::size_t usual = 64;
  /// Starts what this caller does, and calls done() at its end.
  using operation = std::function<void(std::size_t caller)>;

  explicit crowd(event_loop& on) : on_(on) {}

  /// Nanoseconds for `count` operations by so many callers.
  double play(std::size_t callers, std::size_t count, operation const& begin) {
    left_ = count;
    running_ = callers;
    begin_ = &begin;
    return nanoseconds_of([&] {
      for (std::size_t i = 0; i < callers; ++i) done(i);
      on_.until([&] { return running_ == 0; });
    });
  }
  double per_second(std::size_t count, operation const& begin) {
    return static_cast<double>(count) * 1e9 / play(usual, count, begin);
  }
  void done(std::size_t caller) {
    if (left_ == 0) return static_cast<void>(--running_);
    --left_;
    (*begin_)(caller);
  }

 private:
  event_loop& on_;
  std::size_t left_ = 0;
  std::size_t running_ = 0;
  operation const* begin_ = nullptr;
};

/// An operation of a crowd: each takes a lock of its own and gives it back.
class lock_pairs {
 public:
  lock_pairs(crowd& of, herdlock::store const& in) : of_(of) {
    for (std::size_t i = 0; i < crowd::usual; ++i) {
      where_.emplace_back(in, "r" + std::to_string(i));
    }
  }

  void take(std::size_t i) {
    using namespace herdlock;
    where_[i].async_try_acquire(
        {.ttl = std::chrono::seconds(30)}, as_result([this, i](result<acquired> r) {
          must(r.has_value() && r->has_value(), "a lock cannot be taken");
          held_[i] = std::move(*r);
          held_[i]->async_release(as_result([this, i](result<release_reply> released) {
            must(released.has_value() && *released == release_reply::released, "a lock was lost");
            of_.done(i);
          }));
        }));
  }

 private:
  crowd& of_;
  std::vector<herdlock::lock> where_;
  std::vector<herdlock::acquired> held_{crowd::usual};
};

}  // namespace bench
