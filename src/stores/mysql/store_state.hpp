// What all modes share: the pools, the threads, and how a command is run on them.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <type_traits>

#include "stores/common/name_hint.hpp"
#include "stores/common/pending_operations.hpp"
#include "stores/common/worker_threads.hpp"
#include "stores/mysql/connection_pool.hpp"
#include "stores/mysql/lease_statements.hpp"

namespace herdlock::mysql {

/// Tasks on one resource, one after the other in the order they came: the release that cleans up
/// must not overtake what it cleans up.
class ordered_tasks {
 public:
  explicit ordered_tasks(stores::worker_threads& threads) : threads_(threads) {}
  void add(std::string const& name, std::function<void()> task);

  /// For one that needs no thread, as it seems: true when nothing is under way on the resource.
  /// Then end() follows, or the task after all.
  bool claim(std::string const& name);
  void run(std::string const& name, std::function<void()> task);
  void end(std::string const& name);

 private:
  stores::worker_threads& threads_;
  std::mutex mutex_;
  std::map<std::string, std::list<std::function<void()>>> waiting_;  // with one task under way
};

/// What an opened store consists of, shared with what is under way for it.
struct store_state {
  store_state(settings const& given, std::shared_ptr<stores::pending_operations> shared_pending,
              std::size_t most_commands, std::size_t most_sessions)
      : how(given),
        pending(std::move(shared_pending)),
        commands(given, most_commands),
        sessions(given, most_sessions),
        tasks("herdlock-mysql", most_commands + most_sessions),
        in_order(tasks) {}

  settings const how;
  std::shared_ptr<stores::pending_operations> const pending;
  connection_pool commands;      ///< for what takes a round trip
  connection_pool sessions;      ///< for what holds or waits; unused in table mode
  stores::worker_threads tasks;  ///< what blocks
  ordered_tasks in_order;
  std::atomic<unsigned> grants = 0;  ///< asked for since the start, for the sweeper's turn

  stores::name_hint<256> busy_lately;  ///< somebody else had it when it was asked for last
  /// Where the sweeper is; the caller has the mutex.
  std::mutex sweeping;
  std::string swept_to;

  /// Ends what is running and waits for it.
  void close();
  /// What to tell the caller of an error; that the store is being closed, if that is its cause.
  failure to_failure(sql_error const& error, std::string const& subject) const;

 private:
  std::atomic<bool> closing_ = false;
};

/// Each store sweeps once in so many grants: more rows than these can have made.
inline constexpr unsigned grants_per_sweep = 64;
/// As a task, from time to time; the first one begins beside the name.
void sweep(store_state& state, resource const& beside);

/// Makes the missing table, if that is what the error is about and it has not been tried. Nothing:
/// the statement is worth being run again. Else what is to be reported.
enum class first_use { yes, no };
std::optional<sql_error> repair(store_state& state, sql_error const& error, first_use& first,
                                clock::time_point deadline);

/// Runs `work(connection&)` on a command connection; again after a deadlock, which left nothing,
/// and after making a missing table.
template <class T, class Work>
result<T> attempt(store_state& state, clock::time_point deadline, std::string const& subject,
                  Work& work) {
  first_use first = first_use::yes;
  while (true) {
    try {
      borrowed db(state.commands, deadline);
      result<T> made = work(*db);
      db.kept();
      return made;
    } catch (sql_error const& error) {
      auto const why = repair(state, error, first, deadline);
      if (why) return state.to_failure(*why, subject);
    }
  }
}

/// An operation of a port that is one task.
template <class T, class Work>
class task_operation final : public stores::operation<T> {
 public:
  task_operation(std::shared_ptr<store_state> const& state, stores::order<T> what, Work work)
      : stores::operation<T>(state->pending, std::move(what), clock::now() + state->how.timeout),
        work_(std::move(work)) {}

  // On a worker thread.
  void run(store_state& state) {
    // A release is for the others' good, whoever has gone.
    bool const must = std::is_same_v<T, release_reply>;
    if (this->abandoned() && !must) return;
    // It stops a little before the deadline: its answer tells more.
    auto until = this->deadline() - state.how.timeout / 20;
    if (this->abandoned()) until = clock::now() + state.how.timeout;
    this->complete_later(attempt<T>(state, until, this->subject(), work_));
  }

 private:
  Work work_;
};

/// The handler belongs to the executor, so the last reference goes there.
template <class One>
std::function<void()> as_task(store_state& state, std::shared_ptr<One> one) {
  return [one = std::move(one), &state]() mutable {
    one->run(state);
    auto const executor = one->executor();
    asio::post(executor, [one = std::move(one)] {});
  };
}

template <class T, class Work>
void begin(std::shared_ptr<store_state> const& state, stores::order<T> what, Work work) {
  std::string const name = what.name;
  auto one = std::make_shared<task_operation<T, Work>>(state, std::move(what), std::move(work));
  if (one->admit()) state->in_order.add(name, as_task(*state, std::move(one)));
}

/// What may be enough: statements, and `read(outcomes)`, the reply as they tell it; nothing: do the
/// work.
template <class Read>
struct shortcut {
  std::string statements;
  Read read;
};
template <class Read>
shortcut(std::string, Read) -> shortcut<Read>;

/// By the shortcut, on a session that was borrowed for it, in the turn of the resource.
template <class T, class Work, class Read>
void run_quick(std::shared_ptr<store_state> const& state, std::string const& name,
               std::shared_ptr<connection> const& session,
               std::shared_ptr<task_operation<T, Work>> const& one, shortcut<Read> quick) {
  run_handler done = [state, session, name, one, read = std::move(quick.read)](
                         outcomes const& all, std::optional<sql_error> error) {
    bool const healed_by_work = error && (error->is_deadlock() || error->is_missing_table());
    if (error) {
      state->commands.drop(session);
    } else {
      state->commands.give_back(session);
    }
    std::optional<T> reply;
    try {
      if (!error) reply = read(all);
    } catch (sql_error const& unreadable) {
      error = unreadable;
    }
    if (healed_by_work || (!error && !reply)) {
      return state->in_order.run(name, as_task(*state, one));
    }
    state->in_order.end(name);
    if (error) return one->complete(state->to_failure(*error, one->subject()));
    one->complete(*reply);
  };
  connection::async_run(session, state->pending->executor(), std::move(quick.statements),
                        one->deadline(), std::move(done));
}

/// The same without a thread, where an idle connection and a shortcut allow it.
template <class T, class Work, class Read>
void begin(std::shared_ptr<store_state> const& state, stores::order<T> what, shortcut<Read> quick,
           Work work) {
  std::string const name = what.name;
  auto one = std::make_shared<task_operation<T, Work>>(state, std::move(what), std::move(work));
  if (!one->admit()) return;
  bool const alone = state->in_order.claim(name);
  auto const session = alone ? state->commands.borrow_idle() : nullptr;
  if (session) return run_quick(state, name, session, one, std::move(quick));
  auto task = as_task(*state, std::move(one));
  if (alone) return state->in_order.run(name, std::move(task));
  state->in_order.add(name, std::move(task));
}

}  // namespace herdlock::mysql
