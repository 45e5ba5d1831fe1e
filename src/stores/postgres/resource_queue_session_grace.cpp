// session_grace: a lock whose last holder's session ended before it was released is not used at
// once.
#include <memory>
#include <utility>

#include "stores/postgres/resource_queue.hpp"

namespace herdlock::postgres {
namespace {

failure session_gone() {
  return make_failure(errc::unavailable, "the session ended before its grant was told");
}

}  // namespace

// The row is committed by another connection, so it outlives our session, and a crash.
void resource_queue::look_for_predecessor(waiter_ptr const& one, fencing_token fencing) {
  proving_ = one;
  auto on_opened = [self = shared_from_this(), one, fencing, was = session_](reply const& a) {
    if (self->asking_ != one) return;
    if (self->session_ != was) return self->refused(one, session_gone());
    if (!a) return self->refused(one, a.error());
    self->opened_ = fencing;
    if (a->truth(0, 0)) return self->confirm(one, fencing);
    self->wait_for_predecessor(one, fencing);
  };
  auto const token = as_number(static_cast<std::int64_t>(fencing.value));
  state_->commands->run({"open", {as_bytes(name_.str()), token}}, std::move(on_opened));
}

// The server must not end our own session meanwhile.
void resource_queue::wait_for_predecessor(waiter_ptr const& one, fencing_token fencing) {
  auto const session_grace = state_->what.session_grace;
  session_->wire().run({"renew", {idle_limit(session_grace + state_->what.timeout)}},
                       state_->what.timeout, [](answer const&) {});
  end_timer_.expires_after(session_grace);
  end_timer_.async_wait(
      [self = shared_from_this(), one, fencing, was = session_](boost::system::error_code ec) {
        if (self->asking_ != one) return;  // the store was closed
        bool const lives = !ec && self->session_ == was;
        if (!lives) return self->refused(one, session_gone());
        self->confirm(one, fencing);
      });
}

// Whoever let it run out may be at work: the row stays, and nobody follows in this session.
void resource_queue::expire() {
  if (state_->what.session_grace == milliseconds{0}) return hand_over();
  leave(reason::taken_away, [](release_reply) {});
}

// Behind a failure the row stays: the next waits, though it need not. So it does when the row is
// not gone in a third of the time: the release has to be told of in the rest.
void resource_queue::close_row(std::function<void()> then) {
  auto const fencing = std::exchange(opened_, std::nullopt);
  if (!fencing) return then();
  auto const timer = std::make_shared<asio::basic_waitable_timer<clock>>(state_->executor);
  timer->expires_after(state_->what.timeout / 3);
  // Called once, by the end of the time or by the answer.
  timer->async_wait([then = std::move(then), timer](boost::system::error_code) { then(); });
  auto const token = as_number(static_cast<std::int64_t>(fencing->value));
  state_->commands->run({"close", {as_bytes(name_.str()), token}},
                        [timer](reply const&) { timer->cancel(); });
}

}  // namespace herdlock::postgres
