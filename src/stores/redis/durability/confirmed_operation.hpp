// Leases that count only when a failover does not lose them: `wait_replicas` and `quarantine`.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <optional>

#include "stores/common/pending.hpp"
#include "stores/redis/durability/confirmation.hpp"

namespace herdlock::redis {

/// Until when its holder will believe in it; nothing when there is none to be confirmed. `asked`:
/// until when by what was asked.
inline std::optional<clock::time_point> believed_until(acquire_reply const& told,
                                                       clock::time_point asked) {
  auto const* const granted = std::get_if<grant>(&told);
  if (!granted) return std::nullopt;
  return granted->validity ? granted->validity->since + granted->validity->ttl : asked;
}
inline std::optional<clock::time_point> believed_until(renew_reply told, clock::time_point asked) {
  return told == renew_reply::renewed ? std::optional(asked) : std::nullopt;
}

// From the server's answer to ours; its caller may cancel in between.
template <class Reply>
class confirmed_operation : public std::enable_shared_from_this<confirmed_operation<Reply>> {
 public:
  confirmed_operation(std::shared_ptr<confirmation> with, lease_in_question lease,
                      handler<Reply> done)
      : with_(std::move(with)), lease_(std::move(lease)), caller_(std::move(done)) {}

  /// What the command is to call.
  handler<Reply> for_command() {
    caller_.on_cancel([weak = this->weak_from_this()] {
      if (auto const self = weak.lock()) self->cancel();
    });
    auto on_reply = [self = this->shared_from_this()](result<Reply> told) {
      self->on_reply(std::move(told));
    };
    return asio::bind_cancellation_slot(cancel_command_.slot(), std::move(on_reply));
  }

 private:
  // From here on a cancellation ends the call by itself.
  void on_reply(result<Reply> told) {
    confirming_ = true;
    auto const until = told ? believed_until(*told, lease_.until) : std::nullopt;
    if (!until) return complete(std::move(told));
    lease_.until = *until;
    with_->confirm(lease_, [self = this->shared_from_this(), told](failure const& why) {
      if (why.code) return self->complete(self->lease_.about(why));
      self->complete(told);
    });
  }

  void cancel() {
    if (!confirming_) return cancel_command_.emit(asio::cancellation_type::all);
    complete(make_failure(errc::canceled, "cancelled by the caller"));
  }

  void complete(result<Reply> outcome) { caller_.post(with_->executor(), std::move(outcome)); }

  std::shared_ptr<confirmation> with_;
  lease_in_question lease_;
  stores::pending<Reply> caller_;
  asio::cancellation_signal cancel_command_;
  bool confirming_ = false;
};

/// Between a command and its caller: what the command is to call. Nothing when it must not be sent:
/// the caller is told why. `lease.until` is from before the command is sent, plus `ttl`.
///
/// A grant that is not confirmed (confirmation.hpp) is a failure with errc::unavailable after
/// which, as after each such failure, the caller takes back what may have been granted. It is not
/// released here: a release whose answer is lost could arrive after the same owner's next attempt
/// and take that one away. A renewal that is not confirmed is a failure, too, so that the lease is
/// not thought to be valid for longer than the replicas know.
template <class Reply>
handler<Reply> confirmed(std::shared_ptr<confirmation> const& with, lease_in_question lease,
                         milliseconds ttl, handler<Reply> done) {
  if (auto const why = with->refusal(lease.what, ttl); why.code) {
    detail::post_result<Reply>(with->executor(), std::move(done), lease.about(why));
    return nullptr;
  }
  return std::make_shared<confirmed_operation<Reply>>(with, std::move(lease), std::move(done))
      ->for_command();
}

}  // namespace herdlock::redis
