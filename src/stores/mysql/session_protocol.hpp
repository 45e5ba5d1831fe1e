// A lock that the server keeps for a session: how it is taken, proved and given back.
//
// The rows of the leases table say, beside it, who has it, under which token and until when. They
// are written by autocommit, so that the tokens outlive a holder that dies.
#pragma once

#include "stores/common/lease_ends.hpp"
#include "stores/mysql/store_state.hpp"

namespace herdlock::mysql {

/// What one attempt asks for.
struct lock_request {
  resource name;
  owner_token owner;
  milliseconds ttl;
  std::chrono::seconds wait{0};  ///< how long the server may queue it; 0: not at all
};

/// Who else has it, as far as the table tells.
struct holder_info {
  std::string label;
  milliseconds remaining{0};
};

/// The session has it, or nobody of ours had it within the wait.
using lock_result = std::variant<fencing_token, holder_info>;

/// One's own lease.
struct held_lock {
  resource name;
  fencing_token fencing;
};

/// On the executor; what fails throws sql_error. After an error nothing is known of the session:
/// close it, and the server frees what it held.
class session_protocol {
 public:
  virtual ~session_protocol() = default;

  virtual awaitable<lock_result> take(connection& session, lock_request const& wanted) = 0;
  /// Writes another owner and a new token for a lock that the session has.
  virtual awaitable<fencing_token> hand_over(connection& session, lock_request const& next) = 0;
  /// False: the session has it no more, or the lease had run out.
  virtual awaitable<bool> renew(connection& session, held_lock const& what, milliseconds ttl) = 0;
  /// Gives it back in any case, and tells whether it was still ours.
  virtual awaitable<bool> release(connection& session, held_lock const& what) = 0;

  // These on any connection.
  virtual awaitable<std::optional<lease_info>> inspect(connection& db, resource const& name) = 0;
  /// By whomever. As few steps as it can.
  virtual awaitable<bool> is_held(connection& db, resource const& name) {
    auto const found = co_await inspect(db, name);
    co_return found.has_value();
  }
  /// Ends the session that has it; false when none has.
  virtual awaitable<bool> force_release(connection& db, resource const& name,
                                        clock::time_point deadline) = 0;
  /// Fails where such a lock would not exclude everybody.
  virtual awaitable<void> check_server(connection& db) = 0;
};

class resource_queue;

/// What the session modes share beside the state of all modes. Queues and tasks refer to it; who
/// keeps a queue keeps it, too.
struct session_state : store_state {
  using store_state::store_state;

  std::unique_ptr<session_protocol> protocol;
  stores::lease_ends ends{pending->executor()};
  std::map<std::string, std::shared_ptr<resource_queue>, std::less<>> queues;
  bool server_checked = false;

  std::shared_ptr<session_state> keep() {
    return std::static_pointer_cast<session_state>(shared_from_this());
  }
};

/// mode=named: GET_LOCK.
std::unique_ptr<session_protocol> make_named_protocol(store_state& state);
/// mode=row: a transaction with SELECT … FOR UPDATE.
std::unique_ptr<session_protocol> make_row_protocol(store_state& state);

// What both are made of.

/// The server ends a session that is silent for longer, and with it what it holds: so a holder that
/// was stopped, or whose machine vanished, does not keep the lock.
std::string idle_timeout_sql(milliseconds ttl);
/// The same with a ';' behind it, or nothing when it has been set so before.
std::string new_idle_timeout_sql(connection const& session, milliseconds ttl);
/// After it was set.
void keep_idle_timeout(connection& session, milliseconds ttl);
/// `INSERT … ON DUPLICATE KEY UPDATE` of the row, with a new token; `session` and `condition` are
/// SQL.
std::string record_sql(settings const& how, lock_request const& taken, std::string const& session,
                       std::string const& condition);
/// The same for a row that is there, as an UPDATE whose outcome tells the token.
std::string record_again_sql(settings const& how, lock_request const& taken,
                             std::string const& session, std::string const& condition);
/// `SET … WHERE` parts of the row that a held lock is about, as long as it has not run out.
std::string renew_sql(settings const& how, held_lock const& what, milliseconds ttl);
std::string clear_sql(settings const& how, held_lock const& what);
/// With session_grace: a row for each resource whose holder has not released it. Matches one row if
/// it was not there, else two.
std::string open_row_sql(settings const& how, held_lock const& what);
/// By the token, since it may come late.
std::string close_row_sql(settings const& how, held_lock const& what);
/// KILL, and no error when the session has gone before.
awaitable<void> end_session(connection& db, std::uint64_t session);
/// A node of a cluster keeps such locks for itself.
awaitable<void> refuse_cluster(connection& db, char const* what);

/// mode=row and mode=named: a lease is a lock that the server keeps for a session.
std::shared_ptr<lease_store> make_session_store(std::shared_ptr<session_state> state);

}  // namespace herdlock::mysql
