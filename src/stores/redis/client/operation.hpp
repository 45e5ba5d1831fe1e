// From a port's typed handler to a command and back.
#pragma once

#include <utility>

#include <herdlock/detail/async.hpp>
#include "stores/common/pending.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {

/// `Message` has value_type, verb, `name()`, `encode(command_writer&, script_form)` and
/// `result<value_type> parse(reply const&)`; parse sees no error replies. It may have
/// `carried_by(connection&)`, called in front of each encode, and `for_this_server`: of the
/// connection that it is started on, and never of another node of a cluster. It may have
/// `in_moving_slot`, as command::in_moving_slot(); `step_in_bundle`, what scripts/many.lua calls
/// its step, and `in_front(connection&)`, as command::in_front() and not called where ASKING goes
/// out in its place.
template <class Message>
class operation final : public command {
 public:
  using value_type = typename Message::value_type;

  operation(Message call, handler<value_type> done, router& home)
      : message_(std::move(call)), caller_(std::move(done)), home_(home) {}

  /// Hands it to the router; the handler's cancellation slot then leads to the router's cancel().
  static void start(router& home, Message call, handler<value_type> done) {
    auto one = std::make_unique<operation>(std::move(call), std::move(done), home);
    one->caller_.on_cancel([weak = home.weak_router(), what = one.get()] {
      if (auto const to = weak.lock()) to->cancel(*what);
    });
    home.submit(std::move(one));
  }

  void encode(command_writer& out, script_form how) const override {
    meet_carrier();
    message_.encode(out, how);
  }

  std::unique_ptr<command> in_front() const override {
    if constexpr (requires { message_.in_front(*carrier); }) return message_.in_front(*carrier);
    return nullptr;
  }

  std::string_view step_in_bundle() const override {
    if constexpr (requires { Message::step_in_bundle; }) return Message::step_in_bundle;
    return {};
  }

  errc in_moving_slot() const override {
    if constexpr (requires { Message::in_moving_slot; }) return Message::in_moving_slot;
    return errc::unavailable;
  }

  void complete(reply const& answer) override {
    std::string const& store = home_.how().display_name;
    if (answer.is_error()) {
      if (follow_up(answer)) return;
      return fail(server_failure(answer.text(), store), completion::now);
    }
    if (answer.too_large()) {
      return fail(
          make_failure(errc::invalid_value, store + ": the reply has more than " +
                                                std::to_string(limits::max_value_bytes) + " bytes"),
          completion::now);
    }
    if (answer.empty()) {
      return fail(make_failure(errc::protocol, store + ": an empty reply"), completion::now);
    }
    complete(message_.parse(answer), completion::now);
  }

  void fail(failure const& why, completion when) override {
    complete(cannot(message_.verb, message_.name(), why), when);
  }

  bool open() const override { return caller_.open(); }
  std::string_view key() const override {
    if constexpr (requires { Message::for_this_server; }) return {};
    return message_.name();
  }

 private:
  // What the server must have reached is that server's: the command may have waited for it.
  void meet_carrier() const {
    if constexpr (requires { message_.fence_floor; }) {
      if (carrier) message_.fence_floor = std::max(message_.fence_floor, carrier->fence_floor());
    }
    if constexpr (requires { message_.carried_by(*carrier); }) {
      if (carrier) message_.carried_by(*carrier);
    }
  }

  // Some calls have a second command for a certain error; it takes the handler over.
  bool follow_up(reply const& answer) {
    if constexpr (requires { message_.after_error(answer); }) {
      if (auto next = message_.after_error(answer)) {
        unlink();
        start(home_, std::move(*next), caller_.take());
        return true;
      }
    }
    return false;
  }

  void complete(result<value_type> outcome, completion when) {
    unlink();
    if (when == completion::later) return caller_.post(home_.executor(), std::move(outcome));
    caller_.dispatch(home_.executor(), std::move(outcome));
  }

  mutable Message message_;
  stores::pending<value_type> caller_;
  router& home_;  // used while open(), and it ends all commands before it goes
};

/// "The server answered with something else than this script returns."
inline failure unexpected_reply(std::string_view name) {
  return make_failure(errc::protocol, "an unexpected reply for " + in_quotes(name) +
                                          "; is this a Redis server, 6.2 or newer?");
}

static_assert(static_cast<renew_reply>(true) == renew_reply::renewed);
static_assert(static_cast<release_reply>(true) == release_reply::released);

/// Of an answer that is 1 or 0, which T says in the same way.
template <class T>
result<T> yes_or_no(reply const& answer, std::string_view name) {
  auto const done = answer.number();
  if (!done) return unexpected_reply(name);
  return static_cast<T>(*done == 1);
}

}  // namespace herdlock::redis
