#include "stores/sqlite/worker.hpp"

#include <system_error>

#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {

worker::worker(std::unique_ptr<connection> db, kind what)
    : db_(std::move(db)),
      kind_(what),
      until_sweep_(clock::now().time_since_epoch().count() % commands_per_sweep),
      thread_(what == kind::reads ? "herdlock-read" : "herdlock-write", 1) {
  if (thread_.add([] {})) return;
  throw std::system_error(make_error_code(std::errc::resource_unavailable_try_again));
}

worker::~worker() {
  db_->give_up();
  thread_.close();
  if (unswept_) sweep();
}

void worker::add(std::shared_ptr<task> next) {
  thread_.add([this, next = std::move(next)]() mutable { run(std::move(next)); });
}

// Sweeping comes after a task's answer is on its way, and at the end, for those who never stay
// long. Those who never come to an end either sweep at their first command, one in so many.
void worker::run(std::shared_ptr<task> one) {
  if (db_->given_up() || !one->wanted()) return;
  task& task_now = *one;
  task_now.run(*db_, std::move(one));
  if (kind_ == kind::reads) return;
  unswept_ = until_sweep_-- > 0;
  if (unswept_) return;
  until_sweep_ = commands_per_sweep - 1;
  sweep();
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
