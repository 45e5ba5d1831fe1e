// A cache over a scripted store, on an io_context that the test runs, with loaders that end when
// the test says.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <herdlock/cache.hpp>

#include "scripted_cache_store.hpp"
#include "scripted_rules.hpp"
#include "scripted_tracking.hpp"
#include "support/as_result.hpp"
#include "support/relayed_cache.hpp"

namespace herdlock::scripted {

using text = std::optional<std::string>;

/// A test can wait for its end, and a loaded machine reads, claims and begins to load before.
inline constexpr milliseconds time_to_begin{1000};

/// A loader whose runs wait until they are let go. Who asks them to stop is heeded when `heeds`
/// says so.
class held_loader {
 public:
  explicit held_loader(asio::any_io_executor const& executor) : gate_(executor) { hold(); }

  void hold() { gate_.expires_at(asio::steady_timer::time_point::max()); }
  void let_go() { gate_.expires_at(asio::steady_timer::time_point::min()); }

  asio::awaitable<text> operator()(load_context context) {
    ++runs;
    last = context;
    if (!heeds) {
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    }
    co_await gate_.async_wait(asio::as_tuple(asio::use_awaitable));
    if (context.stop().stop_requested() && heeds) throw std::runtime_error("stopped");
    if (!error.empty()) throw std::runtime_error(error);
    co_return value;
  }

  int runs = 0;
  std::optional<load_context> last;
  std::string error;
  text value = "loaded";
  bool heeds = false;

 private:
  asio::steady_timer gate_;
};

/// One call, what it came to, and how often. It may be answered when a test that failed has left
/// it.
class call {
  struct state {
    std::optional<result<text>> got;
    int answers = 0;
    asio::cancellation_signal cancel;
  };
  std::shared_ptr<state> const state_ = std::make_shared<state>();

 public:
  std::optional<result<text>>& got = state_->got;
  int& answers = state_->answers;
  asio::cancellation_signal& cancel = state_->cancel;

  auto token() {
    return asio::bind_cancellation_slot(cancel.slot(), [to = state_](result<text> r) {
      ++to->answers;
      to->got.emplace(std::move(r));
    });
  }
  std::string value() const {
    if (!got) return "(no answer)";
    if (got->has_error()) return "error: " + got->error().message;
    return got->value() ? *got->value() : "(nothing)";
  }
  bool failed_with(errc e) const { return got && got->has_error() && got->error() == e; }
};

class CacheTest : public ::testing::Test {
 protected:
  CacheTest() { open({}); }
  ~CacheTest() override {
    strings.reset();
    opened.reset();
    loader.let_go();
    settle();
    EXPECT_EQ(io.poll(), 0u);
    script->hanging.clear();
    script->watchers.clear();
  }

  void open(cache_options const& options, store_traits traits = {}) {
    strings.reset();
    opened.reset();
    settle();
    auto make = [&](asio::any_io_executor executor) -> result<backend> {
      script = std::make_shared<scripted_cache_store>(executor);
      tracking = tracks ? std::make_shared<scripted_tracking>(executor, script) : nullptr;
      rules = keeps_rules ? std::make_shared<scripted_rules>(executor) : nullptr;
      return backend{nullptr, script, traits, "scripted:", {}, tracking, {}, rules};
    };
    opened = store::over(make, {.executor = io.get_executor()}).value();
    strings.emplace(*opened, options);
  }

  /// The flights of a test share the one loader.
  auto loader_by_reference() {
    return [this](load_context context) { return loader(std::move(context)); };
  }

  void load(call& c, std::string_view name = "k") {
    strings->async_get_or_load(cache_key(name), loader_by_reference(),
                               herdlock_test::as_result(c.token()));
  }

  /// Runs what is ready.
  void settle() {
    io.restart();
    io.poll();
  }

  template <class Condition>
  bool run_until(Condition&& holds) {
    auto const deadline = clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (clock::now() > deadline) return false;
      io.restart();
      io.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  asio::io_context io;
  bool tracks = false;       // its server pushes changes
  bool keeps_rules = false;  // for hot keys
  std::shared_ptr<scripted_cache_store> script;
  std::shared_ptr<scripted_tracking> tracking;  // of a store that tracks
  std::shared_ptr<scripted_rules> rules;        // of one that keeps them
  std::optional<store> opened;
  std::optional<herdlock_test::relayed_coroutines> strings;
  held_loader loader{io.get_executor()};
};

}  // namespace herdlock::scripted
