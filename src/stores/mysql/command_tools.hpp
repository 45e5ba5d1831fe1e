// What all modes share: the pools, the threads, and how a command is run on them.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <type_traits>

#include "stores/common/pending_operations.hpp"
#include "stores/common/worker_threads.hpp"
#include "stores/mysql/connection_pool.hpp"
#include "stores/mysql/lease_rows.hpp"

namespace herdlock::mysql {

/// Where jobs go. Closed by the store that owns the threads; nothing is run after that.
class job_gate {
 public:
  explicit job_gate(std::size_t threads)
      : threads_(std::make_unique<stores::worker_threads>(threads)) {}
  /// False once it is closed.
  bool add(std::function<void()> job);
  /// Waits for the jobs that are running: make them give up before. Not from a job.
  void close();

 private:
  std::mutex mutex_;
  std::unique_ptr<stores::worker_threads> threads_;
};

/// Jobs on one resource, one after the other in the order they came: the release that cleans up
/// must not overtake what it cleans up.
class ordered_jobs {
 public:
  explicit ordered_jobs(job_gate& gate) : gate_(gate) {}
  void add(std::string const& name, std::function<void()> job);

  /// For one that needs no thread, as it seems: true when nothing is under way on the resource.
  /// Then end() follows, or the job after all.
  bool claim(std::string const& name);
  void run(std::string const& name, std::function<void()> job);
  void end(std::string const& name);

 private:
  job_gate& gate_;
  std::mutex mutex_;
  std::map<std::string, std::list<std::function<void()>>> waiting_;  // with one job under way
};

/// What an opened store consists of, shared with what is under way for it.
struct engine {
  engine(settings const& given, std::shared_ptr<stores::pending_operations> shared_pending,
         std::size_t most_commands, std::size_t most_sessions)
      : how(given),
        pending(std::move(shared_pending)),
        commands(given, most_commands),
        sessions(given, most_sessions),
        jobs(most_commands + most_sessions),
        in_order(jobs) {}

  settings const how;
  std::shared_ptr<stores::pending_operations> const pending;
  connection_pool commands;  ///< for what takes a round trip
  connection_pool sessions;  ///< for what holds or waits; unused in table mode
  job_gate jobs;
  ordered_jobs in_order;
  std::atomic<unsigned> grants = 0;  ///< asked for since the start, for the sweeper's turn

  /// Whether somebody else had it when it was asked for last; a guess, by the name's hash.
  std::atomic<bool>& busy_lately(resource const& name) {
    return busy_lately_.at(std::hash<std::string>{}(name.str()) % busy_lately_.size());
  }
  /// Where the sweeper is; the caller has the mutex.
  std::mutex sweeping;
  std::string swept_to;

  /// Ends what is running and waits for it.
  void close();
  /// What to tell the caller of an error; that the store is being closed, if that is its cause.
  failure told_of(sql_error const& error, std::string const& subject) const;

 private:
  std::atomic<bool> closing_ = false;
  std::array<std::atomic<bool>, 256> busy_lately_{};
};

/// Each store sweeps once in so many grants: more rows than these can have made.
inline constexpr unsigned grants_per_sweep = 64;
/// As a job, from time to time; the first one begins beside the name.
void sweep(engine& with, resource const& beside);

/// Makes the missing table, if that is what the error is about and it has not been tried. Nothing:
/// the statement is worth being run again. Else what is to be reported.
enum class first_use { yes, no };
std::optional<sql_error> repair(engine& with, sql_error const& error, first_use& first,
                                clock::time_point deadline);

/// Runs `work(connection&)` on a command connection; again after a deadlock, which left nothing,
/// and after making a missing table.
template <class T, class Work>
result<T> attempt(engine& with, clock::time_point deadline, std::string const& subject,
                  Work& work) {
  first_use first = first_use::yes;
  while (true) {
    try {
      borrowed db(with.commands, deadline);
      result<T> made = work(*db);
      db.kept();
      return made;
    } catch (sql_error const& error) {
      auto const why = repair(with, error, first, deadline);
      if (why) return with.told_of(*why, subject);
    }
  }
}

/// An operation of a port that is one job.
template <class T, class Work>
class command final : public stores::operation<T> {
 public:
  command(std::shared_ptr<engine> const& with, stores::order<T> what, Work work)
      : stores::operation<T>(with->pending, std::move(what), clock::now() + with->how.timeout),
        work_(std::move(work)) {}

  // On a worker thread.
  void run(engine& with) {
    // A release is for the others' good, whoever has gone.
    bool const must = std::is_same_v<T, release_reply>;
    if (this->abandoned() && !must) return;
    // It stops a little before the deadline: its answer tells more.
    auto until = this->deadline() - with.how.timeout / 20;
    if (this->abandoned()) until = clock::now() + with.how.timeout;
    this->complete_later(attempt<T>(with, until, this->subject(), work_));
  }

 private:
  Work work_;
};

/// What is wrong with the order, if there is something, is its answer.
template <class T>
bool refused(std::shared_ptr<engine> const& with, stores::order<T>& what, failure bad) {
  if (!bad.code) return false;
  bad.message = with->how.display_name + ": " + what.subject() + ": " + bad.message;
  detail::post_result<T>(with->pending->executor(), std::move(what.done), std::move(bad));
  return true;
}

/// The handler belongs to the executor, so the last reference goes there.
template <class One>
std::function<void()> as_job(engine& with, std::shared_ptr<One> one) {
  return [one = std::move(one), &with]() mutable {
    one->run(with);
    auto const executor = one->executor();
    asio::post(executor, [one = std::move(one)] {});
  };
}

template <class T, class Work>
void begin(std::shared_ptr<engine> const& with, stores::order<T> what, Work work) {
  std::string const name = what.name;
  auto one = std::make_shared<command<T, Work>>(with, std::move(what), std::move(work));
  if (one->admit()) with->in_order.add(name, as_job(*with, std::move(one)));
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
void run_quick(std::shared_ptr<engine> const& with, std::string const& name,
               std::shared_ptr<connection> const& session,
               std::shared_ptr<command<T, Work>> const& one, shortcut<Read> quick) {
  run_handler done = [with, session, name, one, read = std::move(quick.read)](
                         outcomes const& all, std::optional<sql_error> error) {
    bool const healed_by_work = error && (error->is_deadlock() || error->is_missing_table());
    if (error) {
      with->commands.drop(session);
    } else {
      with->commands.give_back(session);
    }
    std::optional<T> reply;
    try {
      if (!error) reply = read(all);
    } catch (sql_error const& unreadable) {
      error = unreadable;
    }
    if (healed_by_work || (!error && !reply)) {
      return with->in_order.run(name, as_job(*with, one));
    }
    with->in_order.end(name);
    if (error) return one->complete(with->told_of(*error, one->subject()));
    one->complete(*reply);
  };
  connection::async_run(session, with->pending->executor(), std::move(quick.statements),
                        one->deadline(), std::move(done));
}

/// The same without a thread, where an idle connection and a shortcut allow it.
template <class T, class Work, class Read>
void begin(std::shared_ptr<engine> const& with, stores::order<T> what, shortcut<Read> quick,
           Work work) {
  std::string const name = what.name;
  auto one = std::make_shared<command<T, Work>>(with, std::move(what), std::move(work));
  if (!one->admit()) return;
  bool const alone = with->in_order.claim(name);
  auto const session = alone ? with->commands.borrow_idle() : nullptr;
  if (session) return run_quick(with, name, session, one, std::move(quick));
  auto job = as_job(*with, std::move(one));
  if (alone) return with->in_order.run(name, std::move(job));
  with->in_order.add(name, std::move(job));
}

}  // namespace herdlock::mysql
