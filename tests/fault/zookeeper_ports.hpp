// The lease port of a ZooKeeper store, called from a test that waits.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <support/eventually.hpp>
#include <thread>

#include "stores/zookeeper/zookeeper_store.hpp"

namespace herdlock_test {

using namespace herdlock;
using namespace std::chrono_literals;

/// A store on a thread of its own.
class zookeeper_ports {
 public:
  explicit zookeeper_ports(std::string const& url) {
    store_ = open_zookeeper(store_url::parse(url).value(), io_.get_executor()).value();
  }
  ~zookeeper_ports() {
    asio::post(io_, [this] { store_ = {}; });
    work_.reset();
    thread_.join();
  }

  std::future<result<acquire_reply>> start_acquire(acquire_request request) {
    return start<acquire_reply>(
        [=, this](auto done) { store_.leases->acquire(request, std::move(done)); });
  }
  result<acquire_reply> acquire(std::string const& name, owner_token const& owner,
                                milliseconds ttl = 1min, milliseconds wait = 0ms) {
    return start_acquire({resource(name), owner, ttl, wait}).get();
  }
  result<renew_reply> renew(std::string const& name, owner_token const& owner,
                            milliseconds ttl = 1min) {
    return start<renew_reply>([=, this](auto done) {
             store_.leases->renew(resource(name), owner, ttl, std::move(done));
           })
        .get();
  }
  result<release_reply> release(std::string const& name, owner_token const& owner) {
    return start<release_reply>([=, this](auto done) {
             store_.leases->release(resource(name), owner, std::move(done));
           })
        .get();
  }
  result<std::optional<lease_info>> inspect(std::string const& name) {
    return start<std::optional<lease_info>>(
               [=, this](auto done) { store_.leases->inspect(resource(name), std::move(done)); })
        .get();
  }
  std::size_t waiting(std::string const& name) {
    auto const info = inspect(name);
    return info && *info ? (*info)->waiting : 0;
  }

 private:
  template <class T, class Start>
  std::future<result<T>> start(Start begin) {
    auto promise = std::make_shared<std::promise<result<T>>>();
    auto future = promise->get_future();
    asio::post(io_, [begin, promise] {
      begin(handler<T>([promise](result<T> reply) { promise->set_value(std::move(reply)); }));
    });
    return future;
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  backend store_;
  std::thread thread_{[this] { io_.run(); }};
};

inline bool granted(result<acquire_reply> const& reply) {
  return reply.has_value() && std::holds_alternative<grant>(*reply);
}

inline fencing_token fencing_of(result<acquire_reply> const& reply) {
  if (!reply) throw error(reply.error());
  return std::get<grant>(*reply).fencing;
}

}  // namespace herdlock_test
