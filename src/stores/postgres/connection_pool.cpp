#include "stores/postgres/connection_pool.hpp"

#include <utility>

#include "stores/postgres/session_statements.hpp"
#include "stores/postgres/sql_error.hpp"

namespace herdlock::postgres {
namespace {

sql_error left_behind() {
  return {"", "the host's name leads to another server meanwhile, so this connection was given up"};
}

}  // namespace

void session::open(on_opened done) {
  opened_ = std::move(done);
  begun_ = clock::now();
  connection_ = std::make_shared<connection>(executor_, what_, weak_from_this());
  connection_->open();
}

void session::on_open(std::optional<sql_error> failed) {
  if (failed) return opened(to_failure(*failed));
  connection_->run_script(session_set_up(what_), [self = shared_from_this()](answer const& a) {
    if (!a) return self->opened(to_failure(a.error()));
    self->pid_ = static_cast<int>(a->number(0, 0));
    self->since_ = a->number(0, 1);
    self->server_ = a->text(0, 2);
    self->set_up();
  });
}

void session::set_up() {
  connection_->start_pipeline();
  // What a session writes is of no use after a crash: its locks have gone with it.
  connection_->run({.name = "", .sql = "SET synchronous_commit = off"}, what_.timeout,
                   [](answer const&) {});
  auto const self = shared_from_this();
  auto const all = session_statements(what_);
  for (auto const& [name, sql] : all) {
    bool const last = name == all.back().first;
    connection_->prepare(name, sql, [self, last](answer const& a) {
      if (!a) return self->opened(to_failure(a.error()));
      if (last) self->opened(std::nullopt);
    });
  }
}

void session::opened(std::optional<failure> why) {
  alive_ = !why;
  auto const done = std::exchange(opened_, nullptr);
  if (why) close();
  if (done) done(std::move(why));
}

void session::on_end(sql_error const& why) {
  bool const was_alive = std::exchange(alive_, false);
  if (!was_alive) return opened(to_failure(why));
  if (auto const lost = std::exchange(lost_, nullptr)) lost();
}

void session::leave() { connection_->end_later(left_behind()); }

void session::close() {
  alive_ = false;
  lost_ = nullptr;
  if (connection_) connection_->close();
  // Closed before it was open: a connection tells nothing of that.
  if (auto done = std::exchange(opened_, nullptr)) {
    asio::post(executor_, [done = std::move(done)] {
      done(make_failure(errc::canceled, "the session was closed before it was open"));
    });
  }
}

void connection_pool::take(on_session done) {
  if (closed_) {
    return asio::post(executor_, [done = std::move(done)] {
      done(make_failure(errc::canceled, "the store is closed"));
    });
  }
  waiting_.push_back(std::move(done));
  asio::post(executor_, [self = shared_from_this()] { self->serve(); });
}

void connection_pool::serve() {
  while (!waiting_.empty() && !closed_) {
    while (!idle_.empty() && !idle_.front()->alive()) {
      all_.erase(idle_.front());
      idle_.pop_front();
    }
    if (idle_.empty() && all_.size() >= what_.sessions) return;
    auto done = std::move(waiting_.front());
    waiting_.pop_front();
    if (idle_.empty()) {
      open_one(std::move(done));
    } else {
      auto const taken = idle_.front();
      idle_.pop_front();
      done(taken);
    }
  }
}

void connection_pool::open_one(on_session done) {
  auto const fresh = std::make_shared<session>(executor_, what_);
  all_.insert(fresh);
  fresh->open([self = shared_from_this(), fresh, done = std::move(done)](auto why) {
    if (!why) why = self->admit(*fresh);
    if (why) {
      self->end(fresh);
      return done(*why);
    }
    done(fresh);
  });
}

// Nobody else may have the server's process that is behind the connection for commands.
std::optional<failure> connection_pool::admit(session const& fresh) {
  bool const elsewhere =
      !commands_->server().empty() && stores::leads_elsewhere(fresh.server(), commands_->server());
  if (!elsewhere && fresh.pid() == commands_->server_pid()) {
    return make_failure(
        errc::not_supported,
        "a proxy gives two connections one session (PgBouncer with pool_mode=transaction does); "
        "locks that belong to a session exclude nobody then: connect to the server itself, or "
        "use pool_mode=session");
  }
  using verdict = stores::present_server::verdict;
  auto const found = present_.met(fresh.begun(), fresh.server());
  if (found == verdict::outdated) return to_failure(left_behind());
  if (found == verdict::moved) leave_all_but(fresh.server());
  return std::nullopt;
}

void connection_pool::on_up() {
  using verdict = stores::present_server::verdict;
  auto const found = present_.met(commands_->begun(), commands_->server());
  if (found == verdict::outdated) commands_->leave(to_failure(left_behind()));
  if (found == verdict::moved) leave_all_but(commands_->server());
}

void connection_pool::leave_all_but(std::string const& server) {
  using stores::leads_elsewhere;
  for (auto const& one : idle_) {
    if (leads_elsewhere(one->server(), server)) one->close();
  }
  for (auto const& one : all_) {
    if (one->alive() && leads_elsewhere(one->server(), server)) one->leave();
  }
  if (leads_elsewhere(commands_->server(), server)) commands_->leave(to_failure(left_behind()));
}

void connection_pool::give_back(std::shared_ptr<session> const& one) {
  one->on_loss(nullptr);
  if (!one->alive() || closed_) return end(one);
  idle_.push_front(one);
  serve();
}

void connection_pool::end(std::shared_ptr<session> const& one) {
  one->close();
  all_.erase(one);
  asio::post(executor_, [self = shared_from_this()] { self->serve(); });
}

void connection_pool::close() {
  closed_ = true;
  for (auto const& one : all_) one->close();
  all_.clear();
  idle_.clear();
  auto const left = std::exchange(waiting_, {});
  for (auto const& done : left) done(make_failure(errc::canceled, "the store is closed"));
}

}  // namespace herdlock::postgres
