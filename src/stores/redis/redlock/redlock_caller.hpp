// The caller's end of an operation over many nodes: its handler, and what went wrong on the way.
#pragma once

#include <utility>

#include <herdlock/detail/async.hpp>
#include "stores/common/pending.hpp"
#include "stores/redis/redlock/redlock_core.hpp"

namespace herdlock::redis {

template <class T>
class redlock_caller : public redlock_op {
 public:
  redlock_caller(std::shared_ptr<redlock_core> core, lease_request what, node_verb verb,
                 handler<T> done)
      : redlock_op(std::move(core), std::move(what)), verb_(verb), caller_(std::move(done)) {}

  /// Makes it and starts it; the handler's cancellation slot then leads to cancel().
  template <class Op, class... Arguments>
  static void launch(std::shared_ptr<redlock_core> const& core, Arguments&&... arguments) {
    auto const op = std::make_shared<Op>(core, std::forward<Arguments>(arguments)...);
    op->listen();
    core->start(op);
  }

 protected:
  bool waiting() const override { return caller_.open(); }

  void complete(result<T> outcome) {
    late.unlink();
    caller_.post(core_->executor(), std::move(outcome));
  }

  /// Kept for the message: the first, but one that time does not heal before others.
  void note_failure(failure const& why) {
    auto const passes = [](failure const& one) {
      return one == errc::unavailable || one == errc::timed_out;
    };
    if (!failure_.code || (passes(failure_) && !passes(why))) failure_ = why;
  }

  /// Too few nodes answered.
  failure no_majority(std::size_t answered) const {
    auto why = core_->store_failure(
        errc::unavailable, what_, verb_,
        std::to_string(answered) + " of " + std::to_string(core_->size()) + " nodes answered, " +
            std::to_string(algo::majority_of(core_->size())) + " are needed; " +
            (failure_.code ? failure_.message : "the others did not within " + in_ms(limit)));
    if (failure_.code && failure_ != errc::canceled) why.code = failure_.code;
    return why;
  }

  /// Every node that was asked and has not answered counts as silent from now on, if it had its
  /// full time.
  void blame(std::size_t node) {
    if (limit >= core_->how().node_timeout) core_->node(node).note_silence();
  }

  node_verb verb_;

 private:
  void listen() {
    caller_.on_cancel([weak = this->weak_from_this()] {
      auto const self = std::static_pointer_cast<redlock_caller>(weak.lock());
      if (!self) return;
      self->cancel(make_failure(errc::canceled,
                                self->core_->how().display_name + ": cancelled by the caller"));
    });
  }

  stores::pending<T> caller_;
  failure failure_;
};

}  // namespace herdlock::redis
