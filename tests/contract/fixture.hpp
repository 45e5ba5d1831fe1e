// One suite for all stores: what a store is here, a client on it, and the fixture.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <herdlock/backend.hpp>
#include <herdlock/url.hpp>
#include <ostream>
#include <string>
#include <support/eventually.hpp>
#include <support/temp_dir.hpp>
#include <utility>
#include <vector>

#include "open/checked_ports.hpp"

namespace herdlock_test {

using namespace herdlock;
using namespace std::chrono_literals;

/// A kind of store, by name. `url` makes the URL of a store of one test (`scratch` is its own
/// folder): all handles opened on it see the same data, and nobody else's.
struct store_case {
  std::string name;
  std::function<std::string(std::filesystem::path const& scratch)> url;
  std::function<result<backend>(store_url, asio::any_io_executor)> open;
  /// What it says of itself, so that a suite is made for those that promise what it tests.
  bool queues = false;
  bool pushes = false;
  bool fences = true;
  bool keeps_values = true;  ///< has a cache port
  /// One step for each operation, expiry to the millisecond. Without it (`getset`: whole seconds,
  /// several steps) the lease suite does not fit; the public lock's does.
  bool exact = true;
  milliseconds brief{30};     ///< a ttl that is over soon, but in which an operation surely ends
  milliseconds counts_in{1};  ///< what it tells of the time left is rounded down to that
  bool knows_age = false;     ///< inspect tells for how long the holder has had it
  bool exchanges = false;  ///< caches tell each other of hot keys over it, and it keeps their rules
};

inline void PrintTo(store_case const& kind, std::ostream* out) { *out << kind.name; }

/// Every store of this build.
std::vector<store_case> all_stores();

// Those with a file of their own; each is there when its store is built.
void add_mysql_stores(std::vector<store_case>& stores);
void add_postgres_stores(std::vector<store_case>& stores);
void add_zookeeper_stores(std::vector<store_case>& stores);
void add_etcd_stores(std::vector<store_case>& stores);

/// Those of them for which `promises` holds.
template <class Predicate>
std::vector<store_case> stores_that(Predicate promises) {
  std::vector<store_case> chosen;
  for (auto& kind : all_stores()) {
    if (promises(kind)) chosen.push_back(kind);
  }
  return chosen;
}

inline bool keeps_values(store_case const& kind) { return kind.keeps_values; }
inline bool is_exact(store_case const& kind) { return kind.exact; }

inline std::string case_name(testing::TestParamInfo<store_case> const& info) {
  return info.param.name;
}

/// An operation under way. Checks what holds for all of them: the handler is called once, and not
/// from inside the call.
template <class T>
class pending {
 public:
  bool done() const { return state_->outcome.has_value(); }
  result<T> const& outcome() const { return *state_->outcome; }
  /// Emits its cancellation; on the store's executor, as the ports ask.
  void cancel() { state_->signal.emit(asio::cancellation_type::all); }

 private:
  friend class client;
  struct state {
    std::optional<result<T>> outcome;
    asio::cancellation_signal signal;
    bool inside_the_call = true;
  };
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// One handle on a store with an executor of its own: as a process of its own would see it, but
/// for stores that live inside a process. Used by one thread.
class client {
 public:
  client(store_case const& kind, std::string const& url) {
    auto opened = kind.open(store_url::parse(url).value(), io_.get_executor());
    if (!opened) throw error(opened.error());
    store_ = detail::checked_ports(std::move(*opened), io_.get_executor());
  }
  ~client() { close(); }
  client(client const&) = delete;
  client& operator=(client const&) = delete;

  backend& store() { return store_; }
  asio::any_io_executor executor() { return io_.get_executor(); }

  /// Lets go of the store and runs what that leaves to be done.
  void close() {
    store_ = {};
    work_.reset();
    io_.restart();
    io_.run_for(patience);
  }

  template <class T, class Start>
  pending<T> start(Start begin) {
    pending<T> one;
    auto state = one.state_;
    begin(handler<T>(asio::bind_cancellation_slot(state->signal.slot(), [state](result<T> outcome) {
      EXPECT_FALSE(state->inside_the_call) << "completed inside the initiating call";
      EXPECT_FALSE(state->outcome.has_value()) << "completed twice";
      state->outcome = std::move(outcome);
    })));
    state->inside_the_call = false;
    return one;
  }

  /// Runs the executor until it is true or patience has passed.
  bool run_until(std::function<bool()> const& condition) {
    auto const end = std::chrono::steady_clock::now() + patience;
    io_.restart();
    while (!condition()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      io_.run_one_for(5ms);
    }
    return true;
  }

  /// Runs at most so many of the executor's handlers.
  void run_steps(int most) {
    io_.restart();
    for (int i = 0; i < most && io_.run_one_for(patience) > 0; ++i) {
    }
  }

  template <class T>
  result<T> get(pending<T> const& one) {
    if (!run_until([&] { return one.done(); })) {
      return make_failure(errc::timed_out, "the handler was not called");
    }
    return one.outcome();
  }

  pending<acquire_reply> start_acquire(acquire_request request) {
    return start<acquire_reply>(
        [&](auto done) { store_.leases->acquire(std::move(request), std::move(done)); });
  }
  pending<watch_reply> start_watch(watch_request request) {
    return start<watch_reply>(
        [&](auto done) { store_.values->watch(std::move(request), std::move(done)); });
  }
  pending<claim_reply> start_claim(claim_request request) {
    return start<claim_reply>(
        [&](auto done) { store_.values->claim(std::move(request), std::move(done)); });
  }

  result<acquire_reply> acquire(resource const& name, owner_token const& owner,
                                milliseconds ttl = 1min) {
    return get(start_acquire({name, owner, ttl}));
  }
  result<renew_reply> renew(resource const& name, owner_token const& owner,
                            milliseconds ttl = 1min) {
    return get(start<renew_reply>(
        [&](auto done) { store_.leases->renew(name, owner, ttl, std::move(done)); }));
  }
  result<release_reply> release(resource const& name, owner_token const& owner) {
    return get(start<release_reply>(
        [&](auto done) { store_.leases->release(name, owner, std::move(done)); }));
  }
  result<std::optional<lease_info>> inspect(resource const& name) {
    return get(start<std::optional<lease_info>>(
        [&](auto done) { store_.leases->inspect(name, std::move(done)); }));
  }
  result<release_reply> force_release(resource const& name) {
    return get(start<release_reply>(
        [&](auto done) { store_.leases->force_release(name, std::move(done)); }));
  }
  pending<lease_page> start_list(list_request request) {
    return start<lease_page>(
        [&](auto done) { store_.leases->list(std::move(request), std::move(done)); });
  }
  result<lease_page> list(list_request request) { return get(start_list(std::move(request))); }
  result<cache_lookup> look(cache_key const& key, layout form = layout::string) {
    return get(
        start<cache_lookup>([&](auto done) { store_.values->get(key, form, std::move(done)); }));
  }
  result<claim_reply> claim(cache_key const& key, owner_token const& owner,
                            milliseconds ttl = 1min) {
    return get(start_claim({key, owner, ttl}));
  }
  result<renew_reply> extend(cache_key const& key, owner_token const& owner, milliseconds ttl) {
    return get(start<renew_reply>(
        [&](auto done) { store_.values->extend(key, owner, ttl, std::move(done)); }));
  }
  result<fill_reply> fill(cache_key const& key, owner_token const& owner, cache_value value,
                          milliseconds ttl = 1min) {
    fill_request request{key, owner, std::move(value), ttl};
    return get(start<fill_reply>(
        [&](auto done) { store_.values->fill(std::move(request), std::move(done)); }));
  }
  result<fill_reply> fail(cache_key const& key, owner_token const& owner, std::string text,
                          milliseconds back_off) {
    return get(start<fill_reply>([&](auto done) {
      store_.values->fail(key, owner, std::move(text), back_off, std::move(done));
    }));
  }
  result<void> put(cache_key const& key, cache_value value, milliseconds ttl = 1min) {
    put_request request{key, std::move(value), ttl};
    return get(
        start<void>([&](auto done) { store_.values->put(std::move(request), std::move(done)); }));
  }
  result<bool> invalidate(cache_key const& key) {
    return get(start<bool>([&](auto done) { store_.values->invalidate(key, std::move(done)); }));
  }
  result<watch_reply> watch(cache_key const& key, milliseconds wait) {
    return get(start_watch({key, wait}));
  }

 private:
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  backend store_;
};

/// Base of the suites: a fresh store for each test, and a client on it.
class store_contract : public testing::TestWithParam<store_case> {
 protected:
  /// A further handle on the same store.
  std::unique_ptr<client> another() const { return std::make_unique<client>(GetParam(), url_); }
  milliseconds brief() const { return GetParam().brief; }
  /// For suites above the ports.
  std::string const& url() const { return url_; }

  /// Waits until the store's own clock says that at least `span` has passed from now on.
  void let_pass(milliseconds span) {
    owner_token owner = owner_token::generate();
    resource marker("marker:" + owner.str());
    ASSERT_TRUE(c.acquire(marker, owner, span).has_value());
    ASSERT_TRUE(eventually([&] { return !c.inspect(marker).value().has_value(); }));
  }

 private:
  temp_dir scratch_;
  std::string url_ = GetParam().url(scratch_.path());

 protected:
  client c{GetParam(), url_};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
  owner_token const carol = owner_token::generate();
};

// Shorter ways to look into replies; each fails the test when it is another one.

template <class As, class Variant>
As const& as(result<Variant> const& reply) {
  if (!reply) throw error(reply.error());
  return std::get<As>(*reply);
}

/// A later grant's token: greater where the store fences, else 0 like all of them.
inline void expect_fencing_after(store_case const& kind, fencing_token before,
                                 fencing_token after) {
  if (kind.fences) {
    EXPECT_GT(after, before);
  } else {
    EXPECT_EQ(after.value, 0u);
  }
}

template <class As, class Variant>
bool is(result<Variant> const& reply) {
  return reply.has_value() && std::holds_alternative<As>(*reply);
}

inline std::string text_of(result<cache_lookup> const& found) {
  if (!found) return "(failure: " + found.error().message + ")";
  if (!found->has_value()) return "(miss)";
  if (std::holds_alternative<absent>(**found)) return "(absent)";
  if (std::holds_alternative<hash_fields>(**found)) return "(hash)";
  return std::get<std::string>(**found);
}

}  // namespace herdlock_test
