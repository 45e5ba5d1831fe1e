// A Redis store's ports, called one at a time from the test's own thread.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>
#include <herdlock/report_store.hpp>
#include <herdlock/url.hpp>
#include "stores/redis/redis_store.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/relay.hpp"

namespace herdlock_test {

using namespace herdlock;
using namespace std::chrono_literals;

/// Runs the store's executor on the calling thread, inside get(). Any handler that is called twice
/// or inside the initiating call fails the test.
class redis_ports {
 public:
  using opener = result<backend> (*)(store_url, asio::any_io_executor);
  explicit redis_ports(std::string const& url, opener open = &open_redis)
      : ports_(open(store_url::parse(url).value(), io_.get_executor()).value()) {}
  ~redis_ports() {
    ports_ = {};
    io_.restart();
    io_.run_for(patience);  // closing completes everything; run ends when nothing is left
    EXPECT_TRUE(io_.stopped()) << "the store does not close";
  }

  /// Starts `operation(handler<T>)` and waits for its result.
  template <class T, class Operation>
  result<T> get(Operation operation) {
    // An answer that comes too late finds it, too.
    auto const outcome = std::make_shared<std::optional<result<T>>>();
    start<T>(*outcome, [&](auto done) {
      operation(handler<T>([outcome, done = std::move(done)](result<T> r) mutable {
        std::move(done)(std::move(r));
      }));
    });
    wait_for([&] { return outcome->has_value(); });
    return *outcome ? **outcome
                    : result<T>(make_failure(errc::protocol, "the test ran out of time"));
  }

  template <class T, class Operation>
  void start(std::optional<result<T>>& outcome, Operation operation) {
    operation(handler<T>([&outcome](result<T> r) {
      EXPECT_FALSE(outcome.has_value()) << "the handler was called twice";
      outcome.emplace(std::move(r));
    }));
    EXPECT_FALSE(outcome.has_value()) << "the handler was called inside the initiating call";
  }

  /// Runs the store until the condition holds; false when it does not in time.
  template <class Condition>
  bool wait_for(Condition condition, milliseconds limit = patience) {
    auto const end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
      auto const left = end - std::chrono::steady_clock::now();
      if (left <= 0s) return condition();
      io_.restart();
      io_.run_one_for(std::min<std::chrono::steady_clock::duration>(left, 20ms));
    }
    return true;
  }

  /// The same for a look that takes long, as it asks a server: in between the store has as much
  /// time, and does not do a single step.
  template <class Look>
  bool sees(Look look) {
    std::chrono::steady_clock::duration share = 20ms;
    return eventually([&] {
      io_.restart();
      io_.run_for(share);
      auto const began = std::chrono::steady_clock::now();
      bool const holds = look();
      share = std::max<std::chrono::steady_clock::duration>(
          20ms, std::chrono::steady_clock::now() - began);
      return holds;
    });
  }

  result<acquire_reply> acquire(std::string_view name, owner_token const& owner,
                                milliseconds ttl = 30s) {
    return get<acquire_reply>([&](auto h) {
      leases().acquire({resource(name), owner, ttl}, std::move(h));
    });
  }
  result<release_reply> release(std::string_view name, owner_token const& owner) {
    return get<release_reply>(
        [&](auto h) { leases().release(resource(name), owner, std::move(h)); });
  }
  result<renew_reply> renew(std::string_view name, owner_token const& owner, milliseconds ttl) {
    return get<renew_reply>(
        [&](auto h) { leases().renew(resource(name), owner, ttl, std::move(h)); });
  }
  result<cache_lookup> look_up(std::string_view key, layout form = layout::string) {
    return get<cache_lookup>([&](auto h) { values().get(cache_key(key), form, std::move(h)); });
  }
  result<void> put(std::string_view key, cache_value value, milliseconds ttl = 30s) {
    return get<void>([&](auto h) {
      values().put({cache_key(key), std::move(value), ttl}, std::move(h));
    });
  }
  result<claim_reply> claim(std::string_view key, owner_token const& owner, milliseconds ttl = 30s,
                            layout form = layout::string) {
    return get<claim_reply>([&](auto h) {
      values().claim({cache_key(key), owner, ttl, form}, std::move(h));
    });
  }
  result<fill_reply> fill(std::string_view key, owner_token const& owner, cache_value value,
                          milliseconds ttl = 30s) {
    return get<fill_reply>([&](auto h) {
      values().fill({cache_key(key), owner, std::move(value), ttl}, std::move(h));
    });
  }

  lease_store& leases() { return *ports_.leases; }
  cache_store& values() { return *ports_.values; }
  report_store& reports() { return *ports_.reports; }
  backend const& ports() const { return ports_; }
  asio::io_context& io() { return io_; }

 private:
  asio::io_context io_{1};
  backend ports_;
};

inline busy busy_of(result<acquire_reply> const& reply) {
  if (reply.has_error()) throw error(reply.error());
  return std::get<busy>(*reply);
}

inline std::uint64_t fence_of(result<acquire_reply> const& reply) {
  if (reply.has_error()) {
    ADD_FAILURE() << reply.error().message;
    return 0;
  }
  auto const* granted = std::get_if<grant>(&*reply);
  if (!granted) ADD_FAILURE() << "busy";
  return granted ? granted->fencing.value : 0;
}

/// Nothing is granted, for a reason that says so and never shows a password with "sesame" in it.
inline std::string expect_refused(std::string const& url, errc code, std::string const& said,
                                  redis_ports::opener open = &open_redis) {
  redis_ports ports(url, open);
  auto const reply = ports.acquire("r", owner_token::generate());
  EXPECT_TRUE(reply.has_error()) << "connected to " << url;
  if (!reply.has_error()) return {};
  EXPECT_EQ(reply.error(), code) << reply.error().message;
  EXPECT_NE(reply.error().message.find(said), std::string::npos) << reply.error().message;
  EXPECT_EQ(reply.error().message.find("sesame"), std::string::npos) << reply.error().message;
  return reply.error().message;
}

inline std::string relay_url(relay const& through, std::string const& options = "") {
  return "redis://127.0.0.1:" + std::to_string(through.port()) + options;
}

}  // namespace herdlock_test
