#include "stores/postgres/command_connection.hpp"

#include <algorithm>
#include <utility>

#include "stores/postgres/schema_choice.hpp"
#include "stores/postgres/sql_error.hpp"

namespace herdlock::postgres {
namespace {

// A row that somebody else keeps locked holds up what is sent behind it on this connection: for so
// much of the time that each of them has.
constexpr int lock_wait_parts = 10;

// A plan stays until the table is analyzed, and that it was empty once must not make it a scan.
// (A scan that has to be would pass for one that is worth to be compiled: jit.)
// Why: docs/stores/postgres.md#statements-are-planned-once
std::string session_script(settings const& what) {
  std::string const plans = what.mode == lock_mode::table
                                ? "SET plan_cache_mode = force_generic_plan;"
                                  "SET enable_seqscan = off; SET jit = off;"
                                : "";
  return plans + std::string(common_set_up) +
         "SET client_min_messages = warning; SET bytea_output = hex;"
         "SET idle_session_timeout = 0;"
         "SET statement_timeout = " +
         std::to_string(what.timeout.count()) + "; SET lock_timeout = " +
         std::to_string(std::max<std::int64_t>(what.timeout.count() / lock_wait_parts, 1)) + ";";
}

bool schema_is_gone(sql_error const& why) {
  return why.state == "42P01" || why.state == "42883" || why.state == "26000";
}

failure tables_dropped() {
  return make_failure(errc::unavailable, "herdlock's tables were dropped meanwhile");
}

}  // namespace

void command_connection::run(statement what, on_reply done) {
  if (closing_) {
    return asio::post(executor_, [done = std::move(done)] {
      done(make_failure(errc::canceled, "the store is closed"));
    });
  }
  command one{std::move(what), std::move(done)};
  if (state_ == state::ready && !read_only_) return send(std::move(one));
  waiting_.push_back(std::move(one));
  if (state_ == state::down) connect();
}

void command_connection::send(command one) {
  ++under_way_;
  auto const weak = weak_from_this();
  connection_->run(one.what, what_.timeout, [weak, done = std::move(one.done)](answer const& a) {
    done(a ? reply(*a) : reply(to_failure(a.error())));
    if (auto const self = weak.lock()) self->on_answered(a);
  });
}

// The primary may be found behind the same name. Those who read on this connection get their
// answers first, and what comes meanwhile waits for the next one.
void command_connection::on_answered(answer const& what) {
  --under_way_;
  if (!what && schema_is_gone(what.error())) leave(tables_dropped());
  if (!what && is_read_only(what.error())) read_only_ = state_ == state::ready;
  if (!read_only_ || under_way_ > 0) return;
  leave(make_failure(errc::unavailable, "the server was read-only"));
  if (!waiting_.empty() && state_ == state::down) connect();
}

// The next command connects again, and looks for the tables.
void command_connection::leave(failure const& why) {
  if (state_ != state::ready) return;
  state_ = state::down;
  connection_->close();
  if (auto const listener = listener_.lock()) listener->on_down(why);
}

void command_connection::connect() {
  state_ = state::connecting;
  read_only_ = false;
  begun_ = clock::now();
  connection_ = std::make_shared<connection>(executor_, what_, weak_from_this());
  connection_->open();
}

// A connection that was given up answers, too, perhaps when the next one is being set up.
on_answer command_connection::of_this_connection(
    std::function<void(command_connection&, answer const&)> then) {
  return [self = shared_from_this(), mine = connection_.get(),
          then = std::move(then)](answer const& a) {
    if (self->connection_.get() == mine) then(*self, a);
  };
}

void command_connection::on_open(std::optional<sql_error> failed) {
  if (failed) return set_up_failed(*failed);
  auto then = [](command_connection& self, answer const& a) {
    if (a) return self.look_for_schema();
    self.set_up_failed(a.error());
  };
  connection_->run_script(session_script(what_), of_this_connection(then));
}

void command_connection::look_for_schema() {
  auto then = [](command_connection& self, answer const& a) {
    if (!a) return self.set_up_failed(a.error());
    if (a->truth(0, 0)) return self.prepare();
    self.make_schema();
  };
  connection_->run_script(needed_.query, of_this_connection(then));
}

void command_connection::make_schema() {
  auto then = [](command_connection& self, answer const& a) {
    if (a) return self.prepare();
    self.set_up_failed(a.error());
  };
  connection_->run_script(needed_.script, of_this_connection(then));
}

void command_connection::prepare() {
  connection_->start_pipeline();
  for (auto const& [name, sql] : needed_.statements) {
    connection_->prepare(name, sql, [](answer const&) {});
  }
  tell_schema();
  statement last{.name = "", .sql = "SELECT pg_backend_pid(), " + std::string(started_sql)};
  if (!needed_.channel.empty()) {
    // By this lock others see that the session lives.
    statement alive{.name = "", .sql = "SELECT pg_advisory_lock(1751477356, pg_backend_pid())"};
    auto then = [](command_connection& self, answer const& a) {
      if (!a) self.set_up_failed(a.error());
    };
    connection_->run(alive, what_.timeout, of_this_connection(then));
    last.sql = "LISTEN " + needed_.channel;
  }
  auto then = [](command_connection& self, answer const& a) {
    if (!a) return self.set_up_failed(a.error());
    bool const told = a->count() > 0;
    self.server_pid_ = told ? static_cast<int>(a->number(0, 0)) : 0;
    self.server_ = told ? a->text(0, 1) : std::string();
    self.is_ready();
  };
  connection_->run(last, what_.timeout, of_this_connection(then));
}

// On its way with the rest: nobody waits for it alone.
void command_connection::tell_schema() {
  auto then = [](command_connection& self, answer const& a) {
    if (!a || a->count() == 0) return;
    auto const& what = self.what_;
    chosen_schema const where{std::string(a->text(0, 0)), std::string(a->text(0, 1)),
                              a->truth(0, 2)};
    self.needed_.found->note(what.display_name + ": " + where.in_words(what));
    if (!where.by_user) return;
    self.needed_.found->add(what.display_name + ": " + where.in_words(what) + ": " +
                            consequence_of(what) + "; write " + qualified_option(what, where) +
                            " in the URL of all of them");
  };
  if (!needed_.found) return;
  connection_->run({.name = "", .sql = schema_choice_query(what_)}, what_.timeout,
                   of_this_connection(then));
}

void command_connection::is_ready() {
  if (state_ != state::connecting) return;
  state_ = state::ready;
  for (auto& one : std::exchange(waiting_, {})) send(std::move(one));
  if (auto const listener = listener_.lock()) listener->on_up();
}

void command_connection::set_up_failed(sql_error const& why) {
  if (state_ != state::connecting) return;
  state_ = state::down;
  if (connection_) connection_->close();
  fail_all(to_failure(why));
}

void command_connection::fail_all(failure const& why) {
  for (auto const& one : std::exchange(waiting_, {})) one.done(why);
}

void command_connection::on_notification(std::string const& payload) {
  if (auto const listener = listener_.lock()) listener->on_notification(payload);
}

void command_connection::on_end(sql_error const& why) {
  if (connection_ && !connection_->over()) return;  // the next one has been begun meanwhile
  state_ = state::down;
  auto const reason = to_failure(why);
  fail_all(reason);
  if (auto const listener = listener_.lock()) listener->on_down(reason);
}

void command_connection::close() {
  if (std::exchange(closing_, true)) return;
  if (read_only_) fail_all(make_failure(errc::canceled, "the store is closed"));
  if (state_ == state::ready) return close_when_idle();
  if (connection_) connection_->close();
  state_ = state::down;
  fail_all(make_failure(errc::canceled, "the store is closed"));
}

// Behind everything that was sent before. The answer, or the timeout, ends the connection.
void command_connection::close_when_idle() {
  auto const self = shared_from_this();
  connection_->run({.name = "", .sql = "SELECT 1"}, what_.timeout, [self](answer const&) {
    self->state_ = state::down;
    self->connection_->close();
  });
}

}  // namespace herdlock::postgres
