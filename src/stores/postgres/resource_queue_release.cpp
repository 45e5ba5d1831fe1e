// How a lock that is held by a session is given back, or handed on within it.
#include <utility>

#include "stores/postgres/resource_queue.hpp"
#include "stores/postgres/session_statements.hpp"

namespace herdlock::postgres {
namespace {

// After so many in a row by one session the others have their turn.
// Why: docs/stores/postgres.md#sessions-are-handed-on-in-a-process
constexpr int max_in_a_row = 16;

}  // namespace

void resource_queue::release(owner_token const& owner, std::function<void(release_reply)> done) {
  if (!holder_ || !(holder_->request.owner == owner)) {
    not_held_.push_back(std::move(done));
    return tell_not_held();
  }
  end_timer_.cancel();
  std::erase_if(waiting_, [](waiter_ptr const& one) { return one->completed(); });
  if (!waiting_.empty() && in_a_row_ < max_in_a_row) {
    released_ = std::move(done);
    return hand_over();
  }
  leave(reason::released, std::move(done));
}

// What was taken away is not closed: whoever had it may be at work.
void resource_queue::leave(reason how, std::function<void(release_reply)> done) {
  holder_.reset();
  in_a_row_ = 0;
  if (how == reason::taken_away) opened_.reset();
  // From here on a new holder may be asked for; the server has the release before it.
  give_back([self = shared_from_this(), done = std::move(done)](answer const& a) {
    done(a ? release_reply::released : release_reply::lost);
    self->ask();
  });
}

// The lock to the server, and the session to the pool.
void resource_queue::give_back(postgres::on_answer then) {
  auto const was = std::exchange(session_, nullptr);
  was->on_loss(nullptr);
  close_row([self = shared_from_this(), was, then = std::move(then)] {
    auto const& what = self->state_->what;
    was->wire().run(session_release(what, self->lock_), what.timeout,
                    [self, was, then](answer const& a) {
                      if (a) {
                        self->state_->sessions->give_back(was);
                      } else {
                        self->state_->sessions->end(was);
                      }
                      then(a);
                    });
  });
}

void resource_queue::take_away(std::function<void(release_reply)> done) {
  if (!holder_) return done(release_reply::lost);
  tell_lost("it was taken away by force");
  end_timer_.cancel();
  leave(reason::taken_away, std::move(done));
}

void resource_queue::hand_over() {
  holder_.reset();
  end_timer_.cancel();
  std::erase_if(waiting_, [](waiter_ptr const& one) { return one->completed(); });
  if (waiting_.empty() || ++in_a_row_ > max_in_a_row) {
    in_a_row_ = 0;
    give_up_session();
  }
  ask();
}

void resource_queue::give_up_session() {
  if (!session_) return;
  ++giving_up_;
  give_back([self = shared_from_this()](answer const&) {
    --self->giving_up_;
    self->tell_not_held();
    self->rest();
  });
}

// Whoever releases what it does not hold may have cancelled its acquisition: what that was granted
// all the same is with the server first.
void resource_queue::tell_not_held() {
  bool const may_be_granted = asking_ && asking_->completed() && asking_ != proving_;
  if (giving_up_ > 0 || may_be_granted) return;
  for (auto const& done : std::exchange(not_held_, {})) done(release_reply::lost);
}

}  // namespace herdlock::postgres
