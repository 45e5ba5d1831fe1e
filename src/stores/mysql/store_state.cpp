#include "stores/mysql/store_state.hpp"

namespace herdlock::mysql {

void ordered_work::add(std::string const& name, std::function<void()> begin) {
  auto const [found, first] = waiting_.try_emplace(name);
  if (!first) return found->second.push_back(std::move(begin));
  begin();
}

void ordered_work::end(std::string const& name) {
  auto const found = waiting_.find(name);
  if (found == waiting_.end()) return;
  if (found->second.empty()) {
    waiting_.erase(found);
    return;
  }
  auto following = std::move(found->second.front());
  found->second.pop_front();
  // In an event of its own: it may end at once, and so may many behind it.
  asio::post(executor_, std::move(following));
}

// What is held is held at one server, so all connections have to lead to it.
shared_by_pools store_state::shared() {
  return {pending->executor(),
          how,
          openings,
          present,
          [this](std::string const& from, std::string const& to) { on_moved(from, to); },
          [this] { news.tell(); }};
}

// A table may well be shared by servers that none of our names for a cluster fits; the locks of
// sessions are never.
void store_state::on_moved(std::string const& from, std::string const& to) {
  bool const stays = how.mode == lock_mode::table;
  bool const often = moves.moved(from, to, clock::now());
  // Its text is the same each time: it is kept once.
  if (often) {
    auto const [one, other] = std::minmax(from, to);
    warnings->add(how.display_name + ": new connections go to and fro between servers (" + one +
                  " and " + other + "); " +
                  (stays ? "where they do not share the table, two may hold one lease"
                         : "each time all leases are lost") +
                  ": give the URL the name of one server");
  }
  if (often && stays) return;
  commands.leave_all_but(to);
  sessions.leave_all_but(to);
}

failure store_state::to_failure(sql_error const& error, std::string const& subject) const {
  sql_error const closed{pool_is_closed, "the store is being closed"};
  return mysql::to_failure(closing_ ? closed : error, subject, how);
}

void store_state::close() {
  closing_ = true;
  commands.close();
  sessions.close();
  openings.close();
  asio::post(pending->executor(), [self = shared_from_this()] {
    self->pending->close();
    self->in_order.clear();
    self->commands.dismiss();
    self->sessions.dismiss();
  });
}

namespace {

awaitable<void> sweep(std::shared_ptr<store_state> state) {
  try {
    borrowed db(state->commands, co_await state->commands.borrow(clock::now()));
    (*db).set_deadline(clock::now() + state->how.timeout);
    state->swept_to = co_await sweep_rows(*db, state->how, state->swept_to);
    db.kept();
  } catch (sql_error const&) {
    // The next turn makes up for it.
  }
  state->sweeping = false;
}

}  // namespace

void sweep_sometimes(std::shared_ptr<store_state> const& state, resource const& beside) {
  if (++state->grants % grants_per_sweep != 0 || std::exchange(state->sweeping, true)) return;
  if (state->swept_to.empty()) state->swept_to = beside.str();
  asio::co_spawn(state->pending->executor(), sweep(state), asio::detached);
}

awaitable<std::optional<sql_error>> repair(store_state& state, sql_error error, first_use& first,
                                           clock::time_point deadline) {
  if (clock::now() >= deadline) co_return error;
  if (error.is_deadlock()) co_return std::nullopt;
  if (!error.is_missing_table() || first == first_use::no) co_return error;
  first = first_use::no;
  try {
    borrowed db(state.commands, co_await state.commands.borrow(deadline));
    co_await (*db).ask(state.how.ddl());
    db.kept();
  } catch (sql_error const& why_not) {
    co_return why_not;
  }
  co_return std::nullopt;
}

}  // namespace herdlock::mysql
