// session_grace: a lock whose last holder's session ended before it was released is not used at
// once.
#include "stores/mysql/seat.hpp"

namespace herdlock::mysql {

// By another connection and committed, so that it outlives our session, and a crash.
void seat::run_beside(std::string const& statement, milliseconds within, command_done then) {
  auto const where = hall_.lock();
  if (!where) return;
  use_session();
  auto const until = clock::now() + within;  // a wait for a thread counts, too
  where->with->jobs.add([where = where, self = shared_from_this(), statement, until,
                         then = std::move(then)]() mutable {
    auto work = [&statement](connection& db) {
      return result<std::uint64_t>(db.run(statement).at(0).matched);
    };
    auto matched = mysql::attempt<std::uint64_t>(*where->with, until, self->name_.str(), work);
    auto const executor = self->executor_;
    asio::post(executor, [where = std::move(where), self = std::move(self), then = std::move(then),
                          matched = std::move(matched)] {
      if (self->closed_) return;
      self->busy_ = false;
      then(*self, matched);
      self->next();
    });
  });
}

void seat::look_for_predecessor(bid const& given, fencing_token fencing) {
  auto const where = hall_.lock();
  if (!where) return;
  bid asked = given;
  asked.ttl -= where->with->how.session_grace;
  asked.wait = {};
  opened_ = fencing;
  run_beside(open_row_sql(where->with->how, {name_, fencing}), where->with->how.timeout,
             [asked, fencing](seat& self, result<std::uint64_t> const& matched) {
               if (!matched) return self.give_up(matched.error());
               if (*matched == 1) return self.prove(asked, fencing);
               self.wait_for_predecessor(asked, fencing);
             });
}

void seat::wait_for_predecessor(bid const& given, fencing_token fencing) {
  auto const where = hall_.lock();
  if (!where) return;
  use_session();
  job_timer_.expires_after(where->with->how.session_grace);
  job_timer_.async_wait([weak = weak_from_this(), given, fencing](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (ec || !self || self->closed_) return;
    self->busy_ = false;
    self->prove(given, fencing);
  });
}

// Whoever let it run out may be at work: the row stays, and nobody follows in this session.
void seat::expire() {
  auto const where = hall_.lock();
  if (!where || where->with->how.session_grace == milliseconds{0}) return leave(nullptr);
  possession const ours{name_, holder_->fencing};
  holder_.reset();
  opened_.reset();
  give_back(ours, nullptr);
}

// The ttl begins now; if the session has gone meanwhile, so has the lock.
void seat::prove(bid const& given, fencing_token fencing) {
  run([mine = possession{name_, fencing}, ttl = given.ttl](
          session_protocol& how, connection& session,
          answer& got) { got.yes = how.renew(session, mine, ttl); },
      [given, fencing](seat& self, answer got) {
        if (got.error || !got.yes) {
          return self.give_up(
              make_failure(errc::unavailable, "the session ended before its grant was told"));
        }
        got.taken = fencing;
        self.serve(given, got);
      });
}

void seat::give_up(failure const& why) {
  for (auto const& each : std::vector(waiting_)) each->complete(failure(why));
  lose();
}

}  // namespace herdlock::mysql
