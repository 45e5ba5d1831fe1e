// What can go wrong with a statement, and what the caller is told of it.
#pragma once

#include <herdlock/error.hpp>
#include <string>

#include "stores/mysql/settings.hpp"

namespace herdlock::mysql {

/// Thrown by connections and pools, turned into a failure by `explain` and nowhere else.
struct sql_error {
  unsigned code = 0;  ///< the server's or the client library's
  std::string text;

  /// The server undid the statement and asks to try again.
  bool is_deadlock() const;
  bool is_missing_table() const;
  bool is_refused_right() const;  ///< on a table, or the database
  bool is_refused_database() const;
  bool is_lost_connection() const;
  /// Or may have ended before: the session was not there to tell of anything else.
  bool ends_session() const;
  /// Nobody listens at the address, or it cannot be reached.
  bool is_unreachable() const;
  /// The row is locked by another transaction, still after the wait that was allowed.
  bool is_locked() const;
};

/// Of our own making, beside the servers' codes.
inline constexpr unsigned pool_is_full = 1;
inline constexpr unsigned pool_is_closed = 2;
inline constexpr unsigned not_for_cluster = 3;
inline constexpr unsigned bad_reply = 4;
inline constexpr unsigned too_late = 5;
inline constexpr unsigned not_written = 6;  ///< by another connection; the session is as it was

/// `subject` is "acquire 'stock:1'".
failure to_failure(sql_error const& error, std::string const& subject, settings const& how);

}  // namespace herdlock::mysql
