// Leases that count only when a failover does not lose them: `wait_replicas` and `quarantine`.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <memory>

#include "stores/common/pending.hpp"
#include "stores/redis/durability/confirmation.hpp"

namespace herdlock::redis {

struct lease_in_question {
  what_happened what;
  resource name;
  owner_token owner;

  failure about(failure const& why) const {
    return cannot(what == what_happened::granted ? "acquire" : "renew", name.str(), why);
  }
};

inline bool is_to_be_confirmed(acquire_reply const& told) {
  return std::holds_alternative<grant>(told);
}
inline bool is_to_be_confirmed(renew_reply told) { return told == renew_reply::renewed; }

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
    if (!told || !is_to_be_confirmed(*told)) return complete(std::move(told));
    with_->confirm(lease_.what, lease_.name, lease_.owner,
                   [self = this->shared_from_this(), told](failure const& why) {
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
/// the caller is told why.
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
