#include "open/checked_ports.hpp"

#include <herdlock/url.hpp>
#include <utility>

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

/// Of a length of time that may be 0: `what` is "a back-off".
failure check_span(std::string const& what, milliseconds span) {
  if (span >= milliseconds{0} && span <= limits::max_ttl) return {};
  return make_failure(errc::invalid_ttl,
                      what + " of " + duration_text(span) + " is not allowed; use 0 to 365d");
}

failure check_claim(claim_request const& request) {
  failure why = check_ttl(request.ttl);
  return why.code ? why : check_span("a refresh_below", request.refresh_below);
}

template <class Request>
failure check_entry(Request const& request) {
  failure why = check_ttl(request.ttl);
  return why.code ? why : check_value(request.key, request.value);
}

/// Says no for a store.
class refusals {
 public:
  refusals(std::string store, asio::any_io_executor executor)
      : store_(std::move(store)), executor_(std::move(executor)) {}

  /// True, and `done` is on its way, if something is wrong.
  template <class Name, class T>
  bool refuse(char const* verb, Name const& name, failure why, handler<T>& done) const {
    if (!why.code) return false;
    why.message = store_ + ": " + verb + " " + in_quotes(name.str()) + ": " + why.message;
    post_result<T>(executor_, std::move(done), std::move(why));
    return true;
  }

 private:
  std::string store_;
  asio::any_io_executor executor_;
};

class checked_leases final : public lease_store {
 public:
  checked_leases(std::shared_ptr<lease_store> to, refusals says)
      : to_(std::move(to)), says_(std::move(says)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    if (says_.refuse("acquire", request.name, check_ttl(request.ttl), done)) return;
    to_->acquire(std::move(request), std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    if (says_.refuse("renew", name, check_ttl(ttl), done)) return;
    to_->renew(std::move(name), std::move(owner), ttl, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    to_->release(std::move(name), std::move(owner), std::move(done));
  }
  void leave(leave_request request, handler<release_reply> done) override {
    if (says_.refuse("leave", request.name, check_ttl(request.ttl), done)) return;
    to_->leave(std::move(request), std::move(done));
  }
  void on_lease_end(std::function<void(lease_end const&)> told) override {
    to_->on_lease_end(std::move(told));
  }
  void on_new_connection(std::function<void()> told) override {
    to_->on_new_connection(std::move(told));
  }
  bool may_have_sent() const override { return to_->may_have_sent(); }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    to_->inspect(std::move(name), std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    to_->force_release(std::move(name), std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    request.limit = page_size(request);
    to_->list(std::move(request), std::move(done));
  }

 private:
  std::shared_ptr<lease_store> to_;
  refusals says_;
};

class checked_values final : public cache_store {
 public:
  checked_values(std::shared_ptr<cache_store> to, refusals says)
      : to_(std::move(to)), says_(std::move(says)) {}

  void get(cache_key key, layout form, handler<cache_lookup> done) override {
    to_->get(std::move(key), form, std::move(done));
  }
  void claim(claim_request request, handler<claim_reply> done) override {
    if (says_.refuse("claim", request.key, check_claim(request), done)) return;
    to_->claim(std::move(request), std::move(done));
  }
  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override {
    if (says_.refuse("extend", key, check_ttl(ttl), done)) return;
    to_->extend(std::move(key), std::move(owner), ttl, std::move(done));
  }
  void fill(fill_request request, handler<fill_reply> done) override {
    if (says_.refuse("fill", request.key, check_entry(request), done)) return;
    to_->fill(std::move(request), std::move(done));
  }
  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    if (says_.refuse("fail", key, check_span("a back-off", back_off), done)) return;
    to_->fail(std::move(key), std::move(owner), std::move(error), back_off, std::move(done));
  }
  void put(put_request request, handler<void> done) override {
    if (says_.refuse("put", request.key, check_entry(request), done)) return;
    to_->put(std::move(request), std::move(done));
  }
  void invalidate(cache_key key, handler<bool> done) override {
    to_->invalidate(std::move(key), std::move(done));
  }
  void expire(cache_key key, milliseconds keep, handler<bool> done) override {
    if (says_.refuse("expire", key, check_span("a keep", keep), done)) return;
    to_->expire(std::move(key), keep, std::move(done));
  }
  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override {
    to_->time_left(std::move(key), std::move(done));
  }
  void now(handler<std::chrono::microseconds> done) override { to_->now(std::move(done)); }
  void watch(watch_request request, handler<watch_reply> done) override {
    to_->watch(std::move(request), std::move(done));
  }

 private:
  std::shared_ptr<cache_store> to_;
  refusals says_;
};

}  // namespace

backend checked_ports(backend ports, asio::any_io_executor const& executor) {
  refusals const says(ports.display_name, executor);
  if (ports.leases) ports.leases = std::make_shared<checked_leases>(std::move(ports.leases), says);
  if (ports.values) ports.values = std::make_shared<checked_values>(std::move(ports.values), says);
  return ports;
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
