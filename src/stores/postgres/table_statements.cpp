#include "stores/postgres/table_statements.hpp"

#include "stores/postgres/rows.hpp"

namespace herdlock::postgres {
namespace {

constexpr char query[] =
    "SELECT to_regclass('@') IS NOT NULL AND to_regclass('@_waiters') IS NOT NULL"
    " AND to_regclass('@_fencing') IS NOT NULL"
    " AND to_regproc('@_acquire_v3') IS NOT NULL AND to_regproc('@_renew_v1') IS NOT NULL"
    " AND to_regproc('@_release_v3') IS NOT NULL AND to_regproc('@_hand_over_v3') IS NOT NULL";

// The fencing counter begins at the time of its making in microseconds: should the tables be
// dropped, the tokens still go up.
constexpr char tables[] = R"sql(
SELECT pg_advisory_xact_lock(7526676539574742016);
CREATE TABLE IF NOT EXISTS @ (
  name bytea PRIMARY KEY, owner bytea NOT NULL, fencing bigint NOT NULL,
  acquired_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
  awaited boolean NOT NULL DEFAULT false, released_by bytea) WITH (fillfactor = 70);
CREATE TABLE IF NOT EXISTS @_waiters (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL, owner bytea NOT NULL,
  ttl_ms bigint NOT NULL, channel text NOT NULL, waiter bigint NOT NULL, pid int NOT NULL,
  UNIQUE (name, owner));
CREATE INDEX IF NOT EXISTS #_waiters_line ON @_waiters (name, id);
DO $do$ BEGIN
  IF to_regclass('@_fencing') IS NULL THEN
    EXECUTE format('CREATE SEQUENCE @_fencing START %s',
                   (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  END IF;
END $do$;
)sql";

// The next waiter whose session lives becomes the owner, for three seconds at first: a process
// that was stopped does not confirm it, and the one behind it has its turn. Called under the lock
// of the lease's row. (A session lives as long as the lock on its number is taken: the list of all
// sessions takes PostgreSQL longer than the rest.) Behind a dead one there may be thousands of the
// same process: all in front of the first that lives go in one statement.
//
// A process that was stopped costs three seconds, however many of its waiters are queued: a mark
// among the waiters, with no owner and the number of the session below zero, says to whom the last
// token was handed. If that grant ran out unconfirmed, and another session asks, all waiters of the
// session go; unless nobody else waits. Should it live after all, it enters them again. Only the
// next 64 are looked at for others of the heir's, so that a hand-over costs the same in a long
// line. To the functions of older versions the mark is a waiter that is dead.
// Why: docs/stores/postgres.md#a-lock-shows-that-a-session-lives
constexpr char hand_over[] = R"sql(
CREATE OR REPLACE FUNCTION @_hand_over_v3(p_name bytea) RETURNS boolean LANGUAGE plpgsql AS $f$
DECLARE hung int; heir int; span bigint; line text; token bigint; told boolean; begun timestamptz;
BEGIN
  SELECT -m.pid INTO hung FROM @_waiters m JOIN @ l USING (name)
  WHERE m.name = p_name AND m.owner = '' AND m.waiter = l.fencing AND l.owner <> ''
    AND l.expires_at - l.acquired_at <= least(m.ttl_ms, 3000) * interval '1 ms'
    AND m.pid <> -pg_backend_pid();
  IF hung IS NOT NULL AND EXISTS (
      SELECT FROM @_waiters WHERE name = p_name AND owner <> '' AND pid <> hung) THEN
    DELETE FROM @_waiters WHERE name = p_name AND pid = hung;
  END IF;
  LOOP
    begun := clock_timestamp();
    WITH w AS (DELETE FROM @_waiters WHERE id = (SELECT id FROM @_waiters
      WHERE name = p_name AND owner <> '' ORDER BY id LIMIT 1) RETURNING *)
    UPDATE @ l SET owner = w.owner, released_by = nullif(l.released_by, w.owner),
      fencing = nextval('@_fencing'), acquired_at = begun,
      expires_at = begun + least(w.ttl_ms, 3000) * interval '1 ms'
    FROM w WHERE l.name = p_name AND (w.pid = pg_backend_pid()
      OR NOT pg_try_advisory_xact_lock_shared(1751477356, w.pid))
    RETURNING w.pid, w.ttl_ms, w.channel, l.fencing,
      pg_notify(w.channel, w.waiter || ' ' || l.fencing) IS NOT NULL
      INTO heir, span, line, token, told;
    IF FOUND THEN
      INSERT INTO @_waiters (name, owner, ttl_ms, channel, waiter, pid)
      SELECT p_name, '', span, line, token, -heir WHERE EXISTS (
        SELECT FROM (SELECT pid FROM @_waiters WHERE name = p_name AND owner <> ''
          ORDER BY id LIMIT 64) behind WHERE behind.pid = heir)
      ON CONFLICT (name, owner) DO UPDATE SET ttl_ms = excluded.ttl_ms,
        channel = excluded.channel, waiter = excluded.waiter, pid = excluded.pid;
      RETURN true;
    END IF;
    DELETE FROM @_waiters WHERE name = p_name AND id < coalesce((
      SELECT id FROM @_waiters w WHERE w.name = p_name AND owner <> ''
        AND (w.pid = pg_backend_pid()
          OR NOT pg_try_advisory_xact_lock_shared(1751477356, w.pid)) ORDER BY id LIMIT 1),
      9223372036854775807);
    IF NOT EXISTS (SELECT FROM @_waiters WHERE name = p_name AND owner <> '') THEN
      DELETE FROM @_waiters WHERE name = p_name;
      UPDATE @ SET awaited = false WHERE name = p_name;
      RETURN false;
    END IF;
  END LOOP;
END $f$;
)sql";

// What mostly happens, without a function around it: nobody has it and nobody waits. No row: the
// function of acquire tells why. (The first token is drawn in vain when the row is there; one that
// is drawn before the row's lock is got would be too old.)
// Why: docs/stores/postgres.md#a-row-says-whether-anybody-waits
constexpr char grab[] =
    "INSERT INTO @ AS h VALUES ($1::bytea, $2::bytea, nextval('@_fencing'),"
    " clock_timestamp(), clock_timestamp() + $3::bigint * interval '1 ms')"
    " ON CONFLICT (name) DO UPDATE SET owner = $2::bytea, fencing = nextval('@_fencing'),"
    " released_by = nullif(h.released_by, $2::bytea), acquired_at = clock_timestamp(),"
    " expires_at = clock_timestamp() + $3::bigint * interval '1 ms'"
    " WHERE h.expires_at <= clock_timestamp() AND NOT h.awaited RETURNING fencing";

// Likewise: it is ours. No row: the function of release looks whether we wait for it. The function
// of the hand-over sees, in a snapshot of its own, what the statement around it has done.
constexpr char give_back[] =
    "UPDATE @ SET owner = '', released_by = owner, expires_at = clock_timestamp()"
    " WHERE name = $1::bytea AND owner = $2::bytea AND expires_at > clock_timestamp()"
    " RETURNING CASE WHEN awaited THEN @_hand_over_v3(name) END";

// p_how: 0 asks once, 1 waits, 2 stops waiting. Who finds it held by another and does not wait
// learns so from a plain read; what is held by another, or waited for, is looked at once more under
// the lock of the row. `entered`: it was not queued before. (No comments within: people paste it,
// and what stands in one line may.)
constexpr char acquire[] = R"sql(
CREATE OR REPLACE FUNCTION @_acquire_v3(p_name bytea, p_owner bytea, p_ttl bigint, p_how int,
  p_channel text, p_waiter bigint,
  OUT holder bytea, OUT token bigint, OUT left_us bigint, OUT fresh boolean, OUT entered boolean)
LANGUAGE plpgsql AS $f$
DECLARE l @%ROWTYPE; held boolean := false;
BEGIN
  FOR attempt IN 1..1000 LOOP
    SELECT * INTO l FROM @ WHERE name = p_name;
    held := FOUND AND l.expires_at > clock_timestamp();
    EXIT WHEN held AND (p_how = 0 OR l.owner = p_owner);
    EXIT WHEN held AND p_how = 1 AND EXISTS (SELECT FROM @_waiters w WHERE w.name = p_name
      AND w.owner = p_owner AND w.waiter = p_waiter AND w.pid = pg_backend_pid());
    IF NOT held THEN
      INSERT INTO @ AS h VALUES (p_name, p_owner, nextval('@_fencing'), clock_timestamp(),
        clock_timestamp() + p_ttl * interval '1 ms')
      ON CONFLICT (name) DO UPDATE SET owner = p_owner, fencing = nextval('@_fencing'),
        released_by = nullif(h.released_by, p_owner), acquired_at = clock_timestamp(),
        expires_at = clock_timestamp() + p_ttl * interval '1 ms'
        WHERE h.expires_at <= clock_timestamp() AND NOT h.awaited
      RETURNING * INTO l;
      fresh := FOUND;
      EXIT WHEN fresh;
    END IF;
    SELECT * INTO l FROM @ WHERE name = p_name FOR UPDATE;
    CONTINUE WHEN NOT FOUND;
    held := l.expires_at > clock_timestamp();
    EXIT WHEN held AND l.owner = p_owner;
    IF p_how = 1 THEN
      INSERT INTO @_waiters (name, owner, ttl_ms, channel, waiter, pid)
      VALUES (p_name, p_owner, p_ttl, p_channel, p_waiter, pg_backend_pid())
      ON CONFLICT (name, owner) DO UPDATE SET ttl_ms = excluded.ttl_ms,
        channel = excluded.channel, waiter = excluded.waiter, pid = excluded.pid
      RETURNING coalesce(entered, xmax = 0) INTO entered;
      UPDATE @ SET awaited = true WHERE name = p_name AND NOT awaited;
    ELSIF p_how = 2 THEN
      DELETE FROM @_waiters WHERE name = p_name AND owner = p_owner;
    END IF;
    EXIT WHEN held;
    PERFORM @_hand_over_v3(p_name);
  END LOOP;
  holder := l.owner;
  token := l.fencing;
  left_us := ceil(extract(epoch FROM l.expires_at - clock_timestamp()) * 1000000)::bigint;
END $f$;
)sql";

// A lease that is cut shorter wakes those who wait for its end.
constexpr char renew[] = R"sql(
CREATE OR REPLACE FUNCTION @_renew_v1(p_name bytea, p_owner bytea, p_ttl bigint)
RETURNS boolean LANGUAGE plpgsql AS $f$
DECLARE shorter boolean;
BEGIN
  UPDATE @ h SET expires_at = clock_timestamp() + p_ttl * interval '1 ms'
  FROM (SELECT expires_at AS was FROM @ WHERE name = p_name) b
  WHERE h.name = p_name AND h.owner = p_owner AND h.expires_at > clock_timestamp()
  RETURNING h.expires_at < b.was INTO shorter;
  IF NOT FOUND THEN RETURN false; END IF;
  IF shorter THEN
    PERFORM pg_notify(channel, '') FROM (
      SELECT DISTINCT channel FROM @_waiters WHERE name = p_name) c;
  END IF;
  RETURN true;
END $f$;
)sql";

// p_owner NULL: from whoever holds it. Who asks again after a lost answer is told its first one, as
// long as nobody else has released it. One who waits is taken out of the line; should the lease be
// handed to it in that moment, it is the owner when the row's lock is got, and gives it back.
constexpr char release[] = R"sql(
CREATE OR REPLACE FUNCTION @_release_v3(p_name bytea, p_owner bytea)
RETURNS boolean LANGUAGE plpgsql AS $f$
DECLARE done boolean;
BEGIN
  UPDATE @ SET owner = '', released_by = coalesce(p_owner, released_by),
    expires_at = clock_timestamp()
  WHERE name = p_name AND owner = coalesce(p_owner, owner) AND expires_at > clock_timestamp();
  done := FOUND;
  IF NOT done AND EXISTS (SELECT FROM @_waiters WHERE name = p_name AND owner = p_owner) THEN
    PERFORM FROM @ WHERE name = p_name FOR UPDATE;
    DELETE FROM @_waiters WHERE name = p_name AND owner = p_owner;
    UPDATE @ SET owner = '', released_by = owner, expires_at = clock_timestamp()
    WHERE name = p_name AND owner = p_owner AND expires_at > clock_timestamp();
    done := FOUND;
  END IF;
  IF done THEN PERFORM @_hand_over_v3(p_name); END IF;
  RETURN done OR EXISTS (SELECT FROM @ WHERE name = p_name AND released_by = p_owner);
END $f$;
)sql";

// The owner may be the one that it is left to already, after a lost answer. The end may be nearer
// now: those who wait for it are woken. Who leaves it lives: the mark of its hand-over goes.
constexpr char pass_on[] =
    "WITH passed AS (UPDATE @ SET owner = $3::bytea, expires_at = CASE WHEN owner = $3::bytea"
    " THEN expires_at ELSE clock_timestamp() + $4::bigint * interval '1 ms' END"
    " WHERE name = $1::bytea AND owner IN ($2::bytea, $3::bytea)"
    " AND expires_at > clock_timestamp() RETURNING 1),"
    " unmarked AS (DELETE FROM @_waiters WHERE name = $1::bytea AND owner = ''"
    " AND EXISTS (SELECT FROM passed)),"
    " woken AS MATERIALIZED (SELECT pg_notify(channel, '') FROM"
    " (SELECT DISTINCT channel FROM @_waiters WHERE name = $1::bytea) c)"
    " SELECT (SELECT count(*) FROM passed) > 0, (SELECT count(*) FROM woken)";

constexpr char inspect[] =
    "SELECT owner, fencing,"
    " ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint,"
    " false, (SELECT count(*) FROM @_waiters w WHERE w.name = l.name AND w.owner <> ''),"
    " (SELECT string_agg(encode(o, 'hex'), ',' ORDER BY id) FROM"
    "  (SELECT owner AS o, id FROM @_waiters w WHERE w.name = l.name AND w.owner <> ''"
    "   ORDER BY id LIMIT 100) f),"
    " floor(extract(epoch FROM clock_timestamp() - acquired_at) * 1000)::bigint"
    " FROM @ l WHERE name = $1::bytea AND expires_at > clock_timestamp()";

// Free rows count as looked at, so that a page is a bounded piece of work. The bound stands there
// as a number, too (the most of a page): a plan for any $2 would be one for a tenth of the table.
static_assert(limits::max_page <= 1000);
constexpr char list[] =
    "SELECT name, expires_at > clock_timestamp() FROM"
    " (SELECT name, expires_at FROM @ WHERE name > $1::bytea ORDER BY name LIMIT 1000) l"
    " ORDER BY name LIMIT $2::bigint";

// A token is drawn before its row is found to be new, so a row must outlive every statement that
// could have drawn one before it went: ten minutes are more than twice the longest timeout. Who
// begins to wait for a lease that is over hands it over in the same transaction, which changes its
// row: such a row is not swept with a waiter that this statement does not see yet. A mark of the
// hand-over stays as long as the session that it names lives.
constexpr char sweep[] =
    "WITH gone AS (DELETE FROM @ WHERE name = ANY (ARRAY(SELECT name FROM @ l"
    " WHERE expires_at < clock_timestamp() - interval '10 min' AND (NOT awaited OR NOT EXISTS ("
    " SELECT FROM @_waiters w WHERE w.name = l.name AND w.owner <> '')) LIMIT 256"
    " FOR UPDATE SKIP LOCKED)) RETURNING 1), left_behind AS (DELETE FROM @_waiters"
    " WHERE id = ANY (ARRAY(SELECT id FROM @_waiters WHERE NOT EXISTS ("
    " SELECT FROM pg_stat_get_activity(abs(pid))) LIMIT 256 FOR UPDATE SKIP LOCKED)) RETURNING 1)"
    " SELECT (SELECT count(*) FROM gone) + (SELECT count(*) FROM left_behind)";

}  // namespace

std::string schema_query(settings const& what) { return with_table(query, what.table); }

std::string schema_script(settings const& what) {
  std::string all;
  for (auto const* part : {tables, hand_over, acquire, renew, release}) all += part;
  return with_table(all, what.table);
}

std::vector<std::pair<std::string, std::string>> table_statements(settings const& what) {
  std::vector<std::pair<std::string, std::string>> all{
      {"acquire", "SELECT * FROM @_acquire_v3($1, $2, $3, $4, $5, $6)"},
      {"grab", grab},
      {"renew", "SELECT @_renew_v1($1, $2, $3)"},
      {"release", give_back},
      {"leave", "SELECT @_release_v3($1, $2)"},
      {"force", "SELECT @_release_v3($1, NULL)"},
      {"pass_on", pass_on},
      {"inspect", inspect},
      {"list", list},
      {"sweep", sweep}};
  for (auto& [name, sql] : all) sql = with_table(sql, what.table);
  return all;
}

}  // namespace herdlock::postgres
