// What all modes share: the pools, and how an operation is run on them.
#pragma once

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <deque>
#include <functional>
#include <map>
#include <type_traits>

#include "stores/common/connection_news.hpp"
#include "stores/common/name_hint.hpp"
#include "stores/common/pending_operations.hpp"
#include "stores/mysql/connection_pool.hpp"
#include "stores/mysql/lease_statements.hpp"

namespace herdlock::mysql {

/// Work on one resource, one after the other in the order it came: the release that cleans up must
/// not overtake what it cleans up. On the executor.
class ordered_work {
 public:
  explicit ordered_work(asio::any_io_executor executor) : executor_(std::move(executor)) {}
  /// Begins it at once when nothing is under way on the resource; end() follows its end.
  void add(std::string const& name, std::function<void()> begin);
  void end(std::string const& name);
  /// When the store closes: what waits holds its state, and what it waits for may never end.
  void clear() { std::exchange(waiting_, {}); }

 private:
  asio::any_io_executor const executor_;
  std::map<std::string, std::deque<std::function<void()>>> waiting_;  // behind what is under way
};

/// What an opened store consists of, shared with what is under way for it. All of it is used on the
/// executor.
struct store_state : std::enable_shared_from_this<store_state> {
  store_state(settings const& given, std::shared_ptr<stores::pending_operations> shared_pending,
              std::size_t most_commands, std::size_t most_sessions)
      : how(given),
        pending(std::move(shared_pending)),
        openings("herdlock-mysql", most_commands + most_sessions),
        commands(shared(), most_commands),
        sessions(shared(), most_sessions),
        in_order(pending->executor()),
        news(pending->executor()) {}

  settings const how;
  std::shared_ptr<stores::pending_operations> const pending;
  stores::worker_threads openings;  ///< of connections, which block
  stores::present_server present;
  stores::to_and_fro moves;
  std::shared_ptr<store_warnings> const warnings = std::make_shared<store_warnings>();
  connection_pool commands;  ///< for what takes a round trip
  connection_pool sessions;  ///< for what holds or waits; unused in table mode
  ordered_work in_order;
  stores::connection_news news;  ///< table mode: a session's end tells of itself

  stores::name_hint<256> busy_lately;  ///< somebody else had it when it was asked for last
  unsigned grants = 0;                 ///< asked for since the start, for the sweeper's turn
  bool sweeping = false;
  std::string swept_to;

  /// From any thread: ends what is running.
  void close();
  /// What to tell the caller of an error; that the store is being closed, if that is its cause.
  failure to_failure(sql_error const& error, std::string const& subject) const;

 private:
  shared_by_pools shared();
  void on_moved(std::string const& from, std::string const& to);

  std::atomic<bool> closing_ = false;
};

/// Each store sweeps once in so many grants: more rows than these can have made.
inline constexpr unsigned grants_per_sweep = 64;
/// A grant was asked for: sweeps from time to time, the first time beside the name.
void sweep_sometimes(std::shared_ptr<store_state> const& state, resource const& beside);

/// Makes the missing table, if that is what the error is about and it has not been tried. Nothing:
/// the statement is worth being run again. Else what is to be reported.
enum class first_use { yes, no };
awaitable<std::optional<sql_error>> repair(store_state& state, sql_error error, first_use& first,
                                           clock::time_point deadline);

/// What attempt() is to know of an operation.
struct attempt_limits {
  clock::time_point deadline;
  std::string subject;
  std::function<bool()> unwanted = [] { return false; };  ///< what has not begun may stay undone
};

/// Runs `work(connection&)` on a command connection; again after a deadlock, which left nothing,
/// and after making a missing table. `limits` and `work` outlive it.
template <class T, class Work>
awaitable<result<T>> attempt(store_state& state, attempt_limits const& limits, Work& work) {
  first_use first = first_use::yes;
  // To stop a little before the deadline tells more. A statement ends at it: an earlier timer would
  // have to be set at the system.
  auto const until = limits.deadline - state.how.timeout / 20;
  while (true) {
    std::optional<sql_error> error;
    try {
      borrowed db(state.commands, co_await state.commands.borrow(until));
      if (limits.unwanted()) {  // while it waited for a connection
        db.kept();
        co_return state.to_failure({pool_is_closed, "nobody wants it any more"}, limits.subject);
      }
      (*db).set_deadline(limits.deadline);
      T made = co_await work(*db);
      db.kept();
      co_return std::move(made);
    } catch (sql_error const& why) {
      error = why;
    } catch (std::exception const& why) {  // else the resource's turn would never end
      error = sql_error{bad_reply, why.what()};
    }
    error = co_await repair(state, *error, first, until);
    if (error) co_return state.to_failure(*error, limits.subject);
  }
}

/// In the turn of the resource.
template <class T, class State, class Work>
awaitable<void> perform(std::shared_ptr<State> state, std::shared_ptr<stores::operation<T>> one,
                        std::string name, Work work) {
  // A release is for the others' good, whoever has gone.
  constexpr bool must = std::is_same_v<T, release_reply>;
  attempt_limits limits{one->deadline(), one->subject()};
  limits.unwanted = [&] { return !must && one->abandoned(); };
  if (one->abandoned()) limits.deadline = clock::now() + state->how.timeout;
  if (!limits.unwanted()) {
    auto on_one = [&](connection& db) { return work(db, *state); };
    auto made = co_await attempt<T>(*state, limits, on_one);
    one->complete(std::move(made));
  }
  state->in_order.end(name);
}

/// An operation of a port: `work(connection&, State&)` gives its reply.
template <class T, class State, class Work>
void begin(std::shared_ptr<State> const& state, stores::order<T> what, Work work) {
  // A page of names waits for nobody: no resource is named so.
  std::string const name = std::is_same_v<T, lease_page> ? std::string() : what.name;
  auto const one = std::make_shared<stores::operation<T>>(state->pending, std::move(what),
                                                          clock::now() + state->how.timeout);
  if (!one->admit()) return;
  state->in_order.add(name, [state, one, name, work = std::move(work)]() mutable {
    asio::co_spawn(one->executor(), perform<T>(state, one, name, std::move(work)), asio::detached);
  });
}

/// mode=table: a lease is a row with an expiry by the server's clock.
std::shared_ptr<lease_store> make_table_store(std::shared_ptr<store_state> state);

}  // namespace herdlock::mysql
