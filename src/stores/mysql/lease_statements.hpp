// The table of leases: a row for each resource, which outlives its holders so that its fencing
// tokens rise. In table mode the row is the lease; in the session-held modes it says who holds it.
#pragma once

#include <herdlock/backend.hpp>

#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

/// Expressions of the server's clock, in UTC; one value for a whole statement.
inline constexpr char now_sql[] = "UTC_TIMESTAMP(6)";
inline constexpr char now_us_sql[] = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
/// When a row's lease ends that nobody has. The last owner stays in it.
/// Why: docs/stores/mysql.md#a-row-that-stays
inline constexpr char never_sql[] = "'1970-01-01'";

/// `UTC_TIMESTAMP(6) + INTERVAL … MICROSECOND`
std::string after_sql(milliseconds ttl);

/// A row as `read_sql` returns it.
struct lease_row {
  std::string owner;
  fencing_token fencing;
  std::int64_t left_us;  ///< over 0: somebody has it
  std::uint64_t session;
  std::int64_t age_us;  ///< since it was acquired

  bool held() const { return left_us > 0; }
  milliseconds remaining() const;
};
/// What an operator is told of a row that is held.
lease_info as_lease_info(lease_row const& found);
/// The statement for one resource, without a ';'.
std::string read_sql(std::string const& table, resource const& name);
std::optional<lease_row> as_lease_row(outcome const& reply);

/// SQL of the next token of a row, for an UPDATE whose outcome is to tell it (`given`).
std::string next_token_sql();

/// The operations of table mode. Each is one statement that changes anything. Whoever knows the
/// resource as `busy_lately` looks who has it in the same exchange; kept up to date.
awaitable<acquire_reply> acquire_row(connection& db, settings const& how,
                                     acquire_request const& request,
                                     std::atomic<bool>& busy_lately);
awaitable<renew_reply> renew_row(connection& db, settings const& how,
                                 acquire_request const& request);
awaitable<release_reply> leave_row(connection& db, settings const& how,
                                   leave_request const& request);
awaitable<release_reply> free_row(connection& db, settings const& how, resource const& name,
                                  std::optional<owner_token> const& owner);
awaitable<std::optional<lease_info>> inspect_row(connection& db, settings const& how,
                                                 resource const& name);

/// Names whose rows say that they are held: of the next `most` rows, by name; the cursor is the
/// last of them.
awaitable<lease_page> list_rows(connection& db, settings const& how, std::string const& cursor,
                                std::size_t most);

/// Looks at so many rows, those behind a name and then from the first on, and deletes what nobody
/// has had for `keep`. Returns the name behind which to go on.
/// Why: docs/stores/mysql.md#the-sweeper-reads-in-pages
inline constexpr std::size_t rows_per_sweep = 256;
awaitable<std::string> sweep_rows(connection& db, settings const& how, std::string const& behind);

}  // namespace herdlock::mysql
