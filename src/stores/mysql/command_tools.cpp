#include "stores/mysql/command_tools.hpp"

namespace herdlock::mysql {

bool job_gate::add(std::function<void()> job) {
  std::lock_guard alone(mutex_);
  if (!threads_) return false;
  threads_->add(std::move(job));
  return true;
}

void job_gate::close() {
  std::unique_ptr<stores::worker_threads> last;
  {
    std::lock_guard alone(mutex_);
    last.swap(threads_);
  }
}

void ordered_jobs::add(std::string const& name, std::function<void()> job) {
  {
    std::lock_guard alone(mutex_);
    auto const [place, first] = waiting_.try_emplace(name);
    if (!first) return place->second.push_back(std::move(job));
  }
  run(name, std::move(job));
}

bool ordered_jobs::claim(std::string const& name) {
  std::lock_guard alone(mutex_);
  return waiting_.try_emplace(name).second;
}

void ordered_jobs::run(std::string const& name, std::function<void()> job) {
  gate_.add([this, name, job = std::move(job)]() mutable {
    job();
    job = nullptr;
    end(name);
  });
}

void ordered_jobs::end(std::string const& name) {
  std::function<void()> following;
  {
    std::lock_guard alone(mutex_);
    auto const place = waiting_.find(name);
    if (place->second.empty()) {
      waiting_.erase(place);
      return;
    }
    following = std::move(place->second.front());
    place->second.pop_front();
  }
  run(name, std::move(following));
}

failure engine::told_of(sql_error const& error, std::string const& subject) const {
  sql_error const closed{pool_is_closed, "the store is being closed"};
  return explain(closing_ ? closed : error, subject, how);
}

void engine::close() {
  closing_ = true;
  commands.close();
  sessions.close();
  jobs.close();
  asio::post(pending->executor(), [pending = pending] { pending->close(); });
}

void sweep(engine& with, resource const& beside) {
  std::unique_lock const alone(with.sweeping, std::try_to_lock);
  if (!alone) return;
  if (with.swept_to.empty()) with.swept_to = beside.str();
  try {
    borrowed db(with.commands, clock::now());
    (*db).set_deadline(clock::now() + with.how.timeout);
    with.swept_to = sweep_rows(*db, with.how, with.swept_to);
    db.kept();
  } catch (sql_error const&) {
    // The next turn makes up for it.
  }
}

std::optional<sql_error> repair(engine& with, sql_error const& error, first_use& first,
                                clock::time_point deadline) {
  if (clock::now() >= deadline) return error;
  if (error.is_deadlock()) return std::nullopt;
  if (!error.is_missing_table() || first == first_use::no) return error;
  first = first_use::no;
  try {
    borrowed db(with.commands, deadline);
    create_tables(*db, with.how);
    db.kept();
    return std::nullopt;
  } catch (sql_error const& why_not) {
    return why_not;
  }
}

}  // namespace herdlock::mysql
