#include "stores/sqlite/worker.hpp"

#include "stores/common/quiet_thread.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {

worker::worker(std::unique_ptr<connection> db, kind what)
    : db_(std::move(db)),
      kind_(what),
      thread_(stores::start_quiet_thread(what == kind::reads ? "herdlock-read" : "herdlock-write",
                                         [this] { run(); })) {}

worker::~worker() {
  {
    std::lock_guard alone(mutex_);
    closing_ = true;
    tasks_.clear();
  }
  db_->give_up();
  changed_.notify_one();
  thread_.join();
}

void worker::add(std::shared_ptr<task> next) {
  {
    std::lock_guard alone(mutex_);
    tasks_.push_back(std::move(next));
  }
  changed_.notify_one();
}

std::shared_ptr<task> worker::next() {
  std::unique_lock alone(mutex_);
  changed_.wait(alone, [&] { return closing_ || !tasks_.empty(); });
  if (closing_) return nullptr;
  auto first = std::move(tasks_.front());
  tasks_.pop_front();
  return first;
}

// Sweeping comes after a task's answer is on its way, and at the end, for those who never stay
// long. Those who never come to an end either sweep at their first command, one in so many.
void worker::run() {
  auto until_sweep = clock::now().time_since_epoch().count() % commands_per_sweep;
  bool unswept = false;
  while (auto one = next()) {
    if (!one->wanted()) continue;
    task& task_now = *one;
    task_now.run(*db_, std::move(one));
    if (kind_ == kind::reads) continue;
    unswept = until_sweep-- > 0;
    if (unswept) continue;
    until_sweep = commands_per_sweep - 1;
    sweep();
  }
  if (unswept) sweep();
}

// It waits for nobody, and when it fails the next one makes up.
void worker::sweep() {
  for (auto const part : {&sweep_leases, &sweep_entries}) {
    db_->set_deadline(clock::now());
    try {
      part(*db_);
    } catch (sql_error const&) {
      db_->roll_back();
    }
  }
}

}  // namespace herdlock::sqlite
