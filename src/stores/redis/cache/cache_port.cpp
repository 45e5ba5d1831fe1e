#include "stores/redis/cache/cache_port.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "stores/common/pending.hpp"
#include "stores/redis/cache/cache_messages.hpp"

namespace herdlock::redis {
namespace {

// The value of a late event may have been replaced or removed since the caller asked: so the event
// brings none, and what is there now is read. (One that is not there any more: look again.) The
// caller's cancellation is for both steps, and counts between them, too.
class confirmed_watch final : public std::enable_shared_from_this<confirmed_watch> {
 public:
  confirmed_watch(std::shared_ptr<router> home, get_message get, handler<watch_reply> done)
      : home_(std::move(home)), get_(std::move(get)), caller_(std::move(done)) {}

  void start(cache_watches& watches, watch_request asked) {
    caller_.on_cancel([weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->cancel();
    });
    auto on_event = [self = shared_from_this()](result<watch_reply> outcome) {
      self->on_event(std::move(outcome));
    };
    watches.watch(std::move(asked), asio::bind_cancellation_slot(step_.slot(), on_event));
  }

 private:
  void cancel() {
    cancelled_ = true;
    step_.emit(asio::cancellation_type::all);
  }

  void on_event(result<watch_reply> outcome) {
    if (!outcome || !std::holds_alternative<cache_hit>(*outcome)) return complete(outcome);
    if (cancelled_) {
      return complete(make_failure(
          errc::canceled, home_->how().display_name + ": the watch was cancelled by the caller"));
    }
    auto on_value = [self = shared_from_this()](result<cache_lookup> found) {
      self->on_value(std::move(found));
    };
    operation<get_message>::start(*home_, get_,
                                  asio::bind_cancellation_slot(step_.slot(), on_value));
  }

  void on_value(result<cache_lookup> found) {
    if (found.has_error()) return complete(found.error());
    if (!*found) return complete(watch_reply(look_again{}));
    complete(watch_reply(cache_hit{std::move(**found)}));
  }

  void complete(result<watch_reply> outcome) {
    caller_.dispatch(home_->executor(), std::move(outcome));
  }

  std::shared_ptr<router> home_;
  get_message get_;
  stores::pending<watch_reply> caller_;
  asio::cancellation_signal step_;  // of the step that is under way
  bool cancelled_ = false;
};

class cache_port final : public cache_store {
 public:
  cache_port(std::shared_ptr<router> commands, std::shared_ptr<cache_watches> watches)
      : router_(std::move(commands)),
        watches_(std::move(watches)),
        events_(events_role(router_->how().database)) {}

  void get(cache_key key, layout form, handler<cache_lookup> done) override {
    start(get_message{std::move(key), form, form}, std::move(done));
  }

  void claim(claim_request request, handler<claim_reply> done) override {
    start(claim_message{std::move(request)}, std::move(done));
  }

  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override {
    start(extend_message{std::move(key), std::move(owner), ttl}, std::move(done));
  }

  void fill(fill_request request, handler<fill_reply> done) override {
    if (auto const bad = check_entry(request.key, request.value); bad.code)
      return detail::post_result<fill_reply>(router_->executor(), std::move(done), bad);
    auto event = event_of(request.value);
    start(fill_message{{std::move(request), events_, std::move(event)}}, std::move(done));
  }

  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    if (error.size() > max_error_bytes) error.resize(max_error_bytes);
    start(fail_message{std::move(key), std::move(owner), std::move(error), back_off, events_},
          std::move(done));
  }

  void put(put_request request, handler<void> done) override {
    if (auto const bad = check_entry(request.key, request.value); bad.code)
      return detail::post_result<void>(router_->executor(), std::move(done), bad);
    auto event = event_of(request.value);
    start(put_message{{std::move(request), events_, std::move(event)}}, std::move(done));
  }

  void invalidate(cache_key key, handler<bool> done) override {
    start(invalidate_message{std::move(key), events_}, std::move(done));
  }

  void expire(cache_key key, milliseconds keep, handler<bool> done) override {
    start(expire_message{std::move(key), keep, events_}, std::move(done));
  }

  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override {
    start(time_left_message{std::move(key)}, std::move(done));
  }

  void now(handler<std::chrono::microseconds> done) override {
    start(time_message{}, std::move(done));
  }

  void watch(watch_request request, handler<watch_reply> done) override {
    if (auto const bad = router_->check_key(request.key.str()); bad.code) {
      return detail::post_result<watch_reply>(
          router_->executor(), std::move(done),
          make_failure(errc::invalid_name,
                       "cannot watch " + in_quotes(request.key.str()) + " at " + bad.message));
    }
    if (!router_->events_may_be_late()) return watches_->watch(std::move(request), std::move(done));
    auto get = get_message{request.key, request.form, request.form};
    auto const one = std::make_shared<confirmed_watch>(router_, std::move(get), std::move(done));
    one->start(*watches_, std::move(request));
  }

 private:
  std::string event_of(cache_value const& value) const {
    return router_->events_may_be_late() ? stored_event() : value_event(value);
  }

  template <class Message>
  void start(Message call, handler<typename Message::value_type> done) {
    operation<Message>::start(*router_, std::move(call), std::move(done));
  }

  std::shared_ptr<router> router_;
  std::shared_ptr<cache_watches> watches_;
  std::string events_;
};

}  // namespace

std::shared_ptr<cache_store> make_cache_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<cache_watches> watches) {
  return std::make_shared<cache_port>(std::move(commands), std::move(watches));
}

}  // namespace herdlock::redis
