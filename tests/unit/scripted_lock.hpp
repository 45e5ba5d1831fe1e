// A lock over the scripted store, and what an acquisition of it came to.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <herdlock/lock.hpp>
#include <optional>

#include "scripted_lease_store.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {

// What an asynchronous acquisition came to.
struct outcome {
  // Shared with the handler: closing the store at the end of a test answers what is pending.
  std::shared_ptr<std::optional<result<acquired>>> kept =
      std::make_shared<std::optional<result<acquired>>>();
  std::optional<result<acquired>>& got = *kept;
  asio::cancellation_signal cancel;

  void start(lock const& where, acquire_options const& options = {.wait = milliseconds{0}}) {
    auto note = [to = kept](result<acquired> r) {
      EXPECT_FALSE(to->has_value()) << "answered twice";
      to->emplace(std::move(r));
    };
    where.async_acquire(options, herdlock_test::as_result(
                                     asio::bind_cancellation_slot(cancel.slot(), std::move(note))));
  }
  bool held() const { return got && got->has_value() && (*got)->has_value(); }
  lease& the_lease() { return **(*got); }
};

class LockTest : public ::testing::Test {
 protected:
  lease take(acquire_options const& options = {}) {
    outcome o;
    o.start(where, options);
    f.settle();
    f.script->grant_next(7);
    f.settle();
    // On a slow machine the grant comes late for its ttl, and is proved.
    if (!o.held() && !f.script->renews.empty()) f.script->renew_next(renew_reply::renewed);
    f.settle();
    EXPECT_TRUE(o.held());
    return std::move(o.the_lease());
  }

  scripted_fixture f;
  lock where{*f.opened, "orders/42"};
};

}  // namespace herdlock::scripted
