#include "stores/postgres/session_statements.hpp"

#include <algorithm>
#include <limits>

#include "stores/common/numbers.hpp"

namespace herdlock::postgres {
namespace {

constexpr milliseconds idle_margin{250};

// The first 64 bits of a digest, as a number.
#define HERDLOCK_NUMBER(bytes) \
  "('x' || substr(encode(sha256(" bytes "), 'hex'), 1, 16))::bit(64)::bigint"
#define HERDLOCK_KEY HERDLOCK_NUMBER("$1::bytea")
#define HERDLOCK_LINE HERDLOCK_NUMBER("'@_rows '::bytea || $1::bytea")

// $1 the lock's number, $2 ttl in hex, $3 idle limit, $4 label; then the name, if it is a row's; of
// a wait: for how many ms.
constexpr char mark[] =
    "SELECT pg_backend_pid(), token, set_config('application_name', 'herdlock ' || to_hex(token)"
    " || ' ' || $2::text || ' ' || $4::text, false), set_config('%', $3::text, false) FROM (";
constexpr char marked[] = " OFFSET 0) n WHERE token IS NOT NULL";

// The token is drawn behind the lock: CASE is what PostgreSQL promises an order for.
// Why: docs/stores/postgres.md#lock-token-and-name-are-one-statement
constexpr char advisory_try[] =
    "SELECT CASE WHEN pg_try_advisory_lock($1::bigint) THEN nextval('@_fencing') END AS token";
constexpr char advisory_wait[] =
    "SELECT CASE WHEN set_config('lock_timeout', $5::text, false) IS NOT NULL THEN"
    " CASE WHEN pg_advisory_lock($1::bigint) IS NOT NULL THEN nextval('@_fencing') END END"
    " AS token";

// Those who want the row stand in line for a number of their own first.
// Why: docs/stores/postgres.md#row-mode-stands-in-line
constexpr char row_try[] =
    "SELECT nextval('@_fencing') AS token FROM (SELECT FROM @_rows r,"
    " (SELECT pg_try_advisory_xact_lock($1::bigint) AS got OFFSET 0) l"
    " WHERE l.got AND r.name = $5::bytea FOR UPDATE OF r NOWAIT) held";
constexpr char row_wait[] =
    "SELECT nextval('@_fencing') AS token FROM (SELECT FROM @_rows r,"
    " (SELECT CASE WHEN set_config('lock_timeout', $6::text, false) IS NOT NULL THEN"
    "   CASE WHEN pg_advisory_xact_lock($1::bigint) IS NOT NULL THEN"
    "    set_config('lock_timeout', greatest($6::bigint - (extract(epoch FROM clock_timestamp()"
    "     - statement_timestamp()) * 1000)::bigint, 1)::text, false) IS NOT NULL END END AS got"
    "  OFFSET 0) l"
    " WHERE l.got AND r.name = $5::bytea FOR UPDATE OF r) held";

// `%` stands for the limit of a session that holds a lock and says nothing.
std::string filled(std::string_view text, settings const& what) {
  bool const row = what.mode == lock_mode::row;
  std::string out = with_table(text, what.table);
  auto const* const limit = row ? "idle_in_transaction_session_timeout" : "idle_session_timeout";
  for (auto at = out.find('%'); at != out.npos; at = out.find('%', at)) out.replace(at, 1, limit);
  return out;
}

// A process number is used again; with its beginning it is one session's.
constexpr char since[] = "(extract(epoch FROM backend_start) * 1000000)::bigint";

constexpr char set_up[] =
    "SET client_min_messages = error;"
    "SET default_transaction_read_only = off; SET statement_timeout = 0;"
    "SET idle_session_timeout = 0; SET application_name = 'herdlock';"
    // Else the first five runs of each statement plan it anew; see command_connection.cpp.
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off;";

constexpr char advisory_schema[] =
    "SELECT to_regclass('@_names') IS NOT NULL AND to_regclass('@_fencing') IS NOT NULL"
    " AND to_regclass('@_unbroken') IS NOT NULL";
constexpr char row_schema[] =
    "SELECT to_regclass('@_rows') IS NOT NULL AND to_regclass('@_fencing') IS NOT NULL"
    " AND to_regclass('@_unbroken') IS NOT NULL";

constexpr char lock_script[] = "SELECT pg_advisory_xact_lock(7526676539574742016);\n";
constexpr char advisory_table[] =
    "CREATE TABLE IF NOT EXISTS @_names (key bigint PRIMARY KEY, name bytea NOT NULL);\n";
constexpr char row_table[] = "CREATE TABLE IF NOT EXISTS @_rows (name bytea PRIMARY KEY);\n";
constexpr char fencing[] = R"sql(CREATE UNLOGGED TABLE IF NOT EXISTS @_unbroken (since timestamptz);
DO $do$ BEGIN
  IF to_regclass('@_fencing') IS NULL THEN
    EXECUTE format('CREATE SEQUENCE @_fencing START %s',
                   (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    DELETE FROM @_unbroken;
    INSERT INTO @_unbroken VALUES (clock_timestamp());
  END IF;
END $do$;
)sql";

// Tokens are drawn without waiting for the server's log, so a crash takes some of them back. It
// empties the unlogged table, too; who finds it so first leaps over more tokens than can have
// been drawn and not been logged. (The clock, from which the tokens began, is for what was restored
// from a copy of the files.)
constexpr char leap[] = R"sql(DO $do$ BEGIN
  IF NOT EXISTS (SELECT FROM @_unbroken) THEN
    PERFORM pg_advisory_xact_lock(7526676539574742016);
    IF NOT EXISTS (SELECT FROM @_unbroken) THEN
      PERFORM setval('@_fencing', greatest(
        nextval('@_fencing') + 16777216,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint));
      INSERT INTO @_unbroken VALUES (clock_timestamp());
    END IF;
  END IF;
END $do$;
)sql";

// A row for each name whose holder has not released it; no transaction keeps it locked.
constexpr char open_table[] =
    "CREATE TABLE IF NOT EXISTS @_open (name bytea PRIMARY KEY, fencing bigint NOT NULL);\n";
constexpr char open_schema[] = " AND to_regclass('@_open') IS NOT NULL";
// True: whoever held it before released it, or nobody did.
constexpr char open_row[] =
    "INSERT INTO @_open AS o VALUES ($1::bytea, $2::bigint)"
    " ON CONFLICT (name) DO UPDATE SET fencing = EXCLUDED.fencing RETURNING o.xmax = 0";
// By the token, since it may come late.
constexpr char close_row[] = "DELETE FROM @_open WHERE name = $1::bytea AND fencing = $2::bigint";

// The name that is stored under its key (its own, or that of another one with the same key), and
// the number of its lock. (A row must not be updated here: that would wait for its holder.)
constexpr char advisory_meet[] = "INSERT INTO @_names AS n VALUES (" HERDLOCK_KEY
                                 ", $1::bytea)"
                                 " ON CONFLICT (key) DO UPDATE SET key = n.key RETURNING name, key";
constexpr char row_meet[] =
    "WITH made AS (INSERT INTO @_rows VALUES ($1::bytea) ON CONFLICT DO NOTHING)"
    " SELECT $1::bytea, " HERDLOCK_LINE;

constexpr char advisory_held[] =
    " FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)"
    " WHERE l.locktype = 'advisory' AND l.objsubid = 1"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((l.classid::bigint << 32) | l.objid::bigint) = " HERDLOCK_KEY;
constexpr char row_held[] =
    " FROM @_rows r JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = r.xmax"
    " OR l.locktype = 'advisory' AND l.objsubid = 1 AND NOT l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND ((l.classid::bigint << 32) | l.objid::bigint) = " HERDLOCK_LINE
    " LEFT JOIN pg_stat_activity a USING (pid) WHERE r.name = $1::bytea";

// Those that are held by name; the server's table of locks is read once.
constexpr char advisory_list[] =
    "SELECT n.name, true FROM (SELECT DISTINCT (l.classid::bigint << 32) | l.objid::bigint AS key"
    " FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) h"
    " JOIN @_names n USING (key) WHERE n.name > $1::bytea ORDER BY n.name LIMIT $2::bigint";
// Rows that nobody has locked count as looked at, so that a page is a bounded piece of work.
constexpr char row_list[] =
    "WITH held AS MATERIALIZED (SELECT transactionid FROM pg_locks"
    " WHERE locktype = 'transactionid' AND granted)"
    " SELECT r.name, EXISTS (SELECT FROM held h WHERE h.transactionid = r.xmax) FROM"
    " (SELECT name, xmax FROM @_rows WHERE name > $1::bytea ORDER BY name LIMIT $2::bigint) r"
    " ORDER BY r.name";

constexpr char look_columns[] =
    "SELECT l.granted, coalesce(a.application_name, ''), CASE WHEN left(a.state, 4) = 'idle' THEN"
    " (extract(epoch FROM clock_timestamp() - a.state_change) * 1000)::bigint ELSE 0 END";

// PostgreSQL keeps plain ASCII there, and cuts it.
std::string printable(std::string_view bytes) {
  std::string out(bytes);
  for (auto& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

// `herdlock TOKEN TTL LABEL`, or a foreign session's name.
void read_mark(std::string_view text, std::int64_t idle_ms, lease_info& into) {
  into.holder = "another client";
  constexpr std::string_view ours = "herdlock ";
  if (!text.starts_with(ours)) return;
  text.remove_prefix(ours.size());
  auto const token = take_number<std::int64_t>(text, ' ', 16);
  auto const ttl = token ? take_number<std::int64_t>(text, ' ', 16) : std::nullopt;
  if (!ttl) return;
  into.fencing = {static_cast<std::uint64_t>(*token)};
  into.remaining = milliseconds{std::max<std::int64_t>(*ttl - idle_ms, 1)};
  into.holder = std::string(text);
}

}  // namespace

preparation session_preparation(settings const& what) {
  bool const row = what.mode == lock_mode::row;
  bool const has_session_grace = what.session_grace > milliseconds{0};
  auto const script = std::string(lock_script) + (row ? row_table : advisory_table) +
                      (has_session_grace ? open_table : "") + fencing;
  std::string const held = row ? row_held : advisory_held;
  auto const limit = std::to_string(what.timeout.count());
  preparation all{
      filled(row ? row_schema : advisory_schema, what),
      with_table(script, what.table),
      {{"meet", filled(row ? row_meet : advisory_meet, what)},
       {"look", filled(look_columns + held + " ORDER BY NOT l.granted", what)},
       {"list", filled(row ? row_list : advisory_list, what)},
       {"force",
        filled("SELECT pg_terminate_backend(l.pid, " + limit + ")" + held + " AND l.granted",
               what)},
       {"end", std::string("SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity($1::int)"
                           " WHERE ") +
                   since + " = $2::bigint"}},
      ""};
  if (!has_session_grace) return all;
  all.query += with_table(open_schema, what.table);
  all.statements.emplace_back("open", with_table(open_row, what.table));
  all.statements.emplace_back("close", with_table(close_row, what.table));
  return all;
}

std::string session_set_up(settings const& what) {
  return std::string(common_set_up) + set_up + with_table(leap, what.table) + "SELECT pid, " +
         since + ", " + std::string(started_sql) + " FROM pg_stat_get_activity(pg_backend_pid())";
}

std::vector<std::pair<std::string, std::string>> session_statements(settings const& what) {
  bool const row = what.mode == lock_mode::row;
  auto const granting = [&](std::string const& taken) {
    return filled(mark + taken + marked, what);
  };
  std::vector<std::pair<std::string, std::string>> all{
      {"try", granting(row ? row_try : advisory_try)},
      {"wait", granting(row ? row_wait : advisory_wait)},
      {"next",
       granting("SELECT CASE WHEN $1::bigint IS NOT NULL THEN nextval('@_fencing') END AS token")},
      {"renew", filled("SELECT pg_backend_pid(), set_config('%', $1::text, false)", what)}};
  if (row) {
    all.emplace_back("begin", "BEGIN");
    all.emplace_back("release", "ROLLBACK");
  } else {
    all.emplace_back("release",
                     "SELECT pg_advisory_unlock($1::bigint),"
                     " set_config('application_name', 'herdlock', false),"
                     " set_config('idle_session_timeout', '0', false)");
  }
  return all;
}

// ROLLBACK undoes what was set in the transaction, too.
statement session_release(settings const& what, std::int64_t lock) {
  if (what.mode == lock_mode::row) return {.name = "release"};
  return {"release", {as_number(lock)}};
}

parameter idle_limit(milliseconds ttl) {
  auto const limit = ttl + idle_margin;
  bool const fits = limit.count() <= std::numeric_limits<std::int32_t>::max();
  return as_number(fits ? limit.count() : 0);
}

std::vector<parameter> grant_parameters(std::int64_t lock, acquire_request const& request) {
  return {as_number(lock), as_text(in_hex(request.ttl.count())), idle_limit(request.ttl),
          as_text(printable(request.owner.label()))};
}

bool is_being_granted(rows const& found) {
  return found.count() > 0 && found.truth(0, 0) && found.text(0, 1) == "herdlock";
}

std::optional<lease_info> to_lease_info(rows const& found) {
  if (found.count() == 0 || !found.truth(0, 0)) return std::nullopt;
  lease_info told{};
  read_mark(found.text(0, 1), found.number(0, 2), told);
  told.waiting = static_cast<std::size_t>(found.count() - 1);
  return told;
}

}  // namespace herdlock::postgres
