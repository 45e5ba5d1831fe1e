#include "stores/mysql/store_state.hpp"

namespace herdlock::mysql {

void ordered_tasks::add(std::string const& name, std::function<void()> task) {
  {
    std::lock_guard alone(mutex_);
    auto const [found, first] = waiting_.try_emplace(name);
    if (!first) return found->second.push_back(std::move(task));
  }
  run(name, std::move(task));
}

bool ordered_tasks::claim(std::string const& name) {
  std::lock_guard alone(mutex_);
  return waiting_.try_emplace(name).second;
}

void ordered_tasks::run(std::string const& name, std::function<void()> task) {
  threads_.add([this, name, task = std::move(task)]() mutable {
    task();
    task = nullptr;
    end(name);
  });
}

void ordered_tasks::end(std::string const& name) {
  std::function<void()> following;
  {
    std::lock_guard alone(mutex_);
    auto const found = waiting_.find(name);
    if (found->second.empty()) {
      waiting_.erase(found);
      return;
    }
    following = std::move(found->second.front());
    found->second.pop_front();
  }
  run(name, std::move(following));
}

failure store_state::to_failure(sql_error const& error, std::string const& subject) const {
  sql_error const closed{pool_is_closed, "the store is being closed"};
  return mysql::to_failure(closing_ ? closed : error, subject, how);
}

void store_state::close() {
  closing_ = true;
  commands.close();
  sessions.close();
  tasks.close();
  asio::post(pending->executor(), [pending = pending] { pending->close(); });
}

void sweep(store_state& state, resource const& beside) {
  std::unique_lock const alone(state.sweeping, std::try_to_lock);
  if (!alone) return;
  if (state.swept_to.empty()) state.swept_to = beside.str();
  try {
    borrowed db(state.commands, clock::now());
    (*db).set_deadline(clock::now() + state.how.timeout);
    state.swept_to = sweep_rows(*db, state.how, state.swept_to);
    db.kept();
  } catch (sql_error const&) {
    // The next turn makes up for it.
  }
}

std::optional<sql_error> repair(store_state& state, sql_error const& error, first_use& first,
                                clock::time_point deadline) {
  if (clock::now() >= deadline) return error;
  if (error.is_deadlock()) return std::nullopt;
  if (!error.is_missing_table() || first == first_use::no) return error;
  first = first_use::no;
  try {
    borrowed db(state.commands, deadline);
    create_tables(*db, state.how);
    db.kept();
    return std::nullopt;
  } catch (sql_error const& why_not) {
    return why_not;
  }
}

}  // namespace herdlock::mysql
