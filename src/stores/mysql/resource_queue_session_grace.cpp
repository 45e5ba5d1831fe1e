// session_grace: a lock whose last holder's session ended before it was released is not used at
// once.
#include "stores/common/shared_timer.hpp"
#include "stores/mysql/resource_queue.hpp"

namespace herdlock::mysql {

// By another connection and committed, so that it outlives our session, and a crash.
void resource_queue::run_beside(std::string statement, milliseconds within, command_done then) {
  use_session();
  auto perform = [shared = shared_.keep(), self = shared_from_this(),
                  statement = std::move(statement),
                  limits = attempt_limits{clock::now() + within, name_.str()},
                  then = std::move(then)]() -> awaitable<void> {
    auto work = [&statement](connection& db) { return db.ask(statement); };
    auto const done = co_await mysql::attempt<outcomes>(*shared, limits, work);
    if (self->closed_) co_return;
    self->busy_ = false;
    then(*self, done ? result<std::uint64_t>(done->at(0).matched) : done.error());
    self->next();
  };
  asio::co_spawn(executor_, std::move(perform), asio::detached);
}

void resource_queue::look_for_predecessor(lock_request const& given, fencing_token fencing) {
  lock_request asked = given;
  asked.ttl -= shared_.how.session_grace;
  asked.wait = {};
  opened_ = fencing;
  run_beside(open_row_sql(shared_.how, {name_, fencing}), shared_.how.timeout,
             [asked, fencing](resource_queue& self, result<std::uint64_t> const& matched) {
               if (!matched) return self.give_up(matched.error());
               if (*matched == 1) return self.prove(asked, fencing);
               self.wait_for_predecessor(asked, fencing);
             });
}

void resource_queue::wait_for_predecessor(lock_request const& given, fencing_token fencing) {
  use_session();
  auto on_over = [given, fencing](resource_queue& self) {
    if (self.closed_) return;
    self.busy_ = false;
    self.prove(given, fencing);
  };
  stores::run_after(task_timer_, shared_.how.session_grace, weak_from_this(), std::move(on_over));
}

// Whoever let it run out may be at work: the row stays, and nobody follows in this session.
void resource_queue::expire() {
  if (shared_.how.session_grace == milliseconds{0}) return leave(nullptr);
  held_lock const ours{name_, holder_->fencing};
  holder_.reset();
  opened_.reset();
  give_back(ours, nullptr);
}

// The ttl begins now; if the session has gone meanwhile, so has the lock.
void resource_queue::prove(lock_request const& given, fencing_token fencing) {
  prolong({name_, fencing}, given.ttl, [given, fencing](resource_queue& self, answer got) {
    if (got.error || !got.yes) {
      return self.give_up(
          make_failure(errc::unavailable, "the session ended before its grant was told"));
    }
    got.taken = fencing;
    self.serve(given, got);
  });
}

void resource_queue::give_up(failure const& why) {
  for (auto const& each : std::vector(waiting_)) each->complete(failure(why));
  lose();
}

}  // namespace herdlock::mysql
