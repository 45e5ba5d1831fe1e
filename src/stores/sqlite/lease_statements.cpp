#include "stores/common/granted_before.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {
namespace {

struct lease_row {
  std::string owner;
  fencing_token fencing;
  std::int64_t left_us;
};

std::optional<lease_row> live_lease(connection& db, resource const& name) {
  statement query = db.prepare(
      "SELECT owner, fencing, expires_us - herdlock_now() FROM herdlock_leases_3 WHERE resource = "
      "?1");
  query.blob(1, name.str());
  if (!query.step() || query.number(2) <= 0) return std::nullopt;
  return lease_row{query.bytes(0), {static_cast<std::uint64_t>(query.number(1))}, query.number(2)};
}

acquire_reply answer(lease_row const& held, acquire_request const& asking,
                     clock::time_point asked) {
  if (held.owner == asking.owner.str()) {
    auto const left = std::chrono::floor<milliseconds>(std::chrono::microseconds(held.left_us));
    return stores::granted_before(held.fencing, asked, left, asking.ttl);
  }
  return busy{owner_label(held.owner), remaining(held.left_us)};
}

constexpr std::int64_t rows_per_sweep = 256;

// How long the row of a lease that was given back stays: its owner may ask again.
// Why: docs/stores/sqlite.md#one-row-that-stays
constexpr std::chrono::microseconds given_back_known_for = std::chrono::minutes(1);

// The ends of rows that may go are between these, both included: what has run out, and what was
// given back long ago.
struct ends_to_sweep {
  std::int64_t from;
  std::int64_t to;
};

ends_to_sweep ends_over_by(clock::time_point when) {
  auto const now = std::chrono::floor<std::chrono::microseconds>(when.time_since_epoch());
  return {(given_back_known_for - now).count(), now.count()};
}

struct part_to_sweep {
  std::string last;
  std::int64_t rows = 0;
  std::int64_t over = 0;
};

std::string sweep_begins_behind(connection& db) {
  statement query = db.prepare("SELECT swept FROM herdlock_store WHERE id = 1");
  return query.step() ? query.bytes(0) : std::string();
}

part_to_sweep rows_behind(connection& db, std::string const& from, ends_to_sweep over) {
  statement query = db.prepare(
      "SELECT max(resource), count(*), coalesce(sum(expires_us BETWEEN ?3 AND ?4), 0) FROM "
      "(SELECT resource, expires_us FROM herdlock_leases_3 WHERE resource > ?1 ORDER BY resource "
      "LIMIT ?2)");
  query.blob(1, from).bind(2, rows_per_sweep).bind(3, over.from).bind(4, over.to);
  if (!query.step()) return {};
  return {query.bytes(0), query.number(1), query.number(2)};
}

std::chrono::microseconds wall_time() {
  return std::chrono::floor<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

// A token is the time of its grant, unless the wall clock was set back in front of it.
std::optional<milliseconds> age_of(fencing_token token) {
  auto const age = wall_time() - std::chrono::microseconds(token.value);
  if (age.count() < 0) return std::nullopt;
  return std::chrono::floor<milliseconds>(age);
}

acquire_reply take_or_tell(connection& db, acquire_request const& request, write_lock when) {
  transaction change(db, when);
  auto const asked = clock::now();
  if (auto held = live_lease(db, request.name)) {
    change.commit();
    return answer(*held, request, asked);
  }
  statement take = db.prepare(
      "INSERT INTO herdlock_leases_3(resource, owner, fencing, expires_us) VALUES (?1, ?2, max(?3, "
      "(SELECT last_fencing + 1 FROM herdlock_store WHERE id = 1)), herdlock_now() + ?4) "
      "ON CONFLICT(resource) DO UPDATE SET owner = excluded.owner, "
      "fencing = max(herdlock_leases_3.fencing + 1, excluded.fencing), "
      "expires_us = excluded.expires_us RETURNING fencing");
  take.blob(1, request.name.str())
      .text(2, request.owner.str())
      .bind(3, wall_time().count())
      .bind(4, in_us(request.ttl));
  if (!take.step()) throw sql_error{1, 0, "the row of a lease was not written"};
  grant const mine{{static_cast<std::uint64_t>(take.number(0))}};
  take.step();
  change.commit();
  return mine;
}

}  // namespace

// Never less than the wall clock's microseconds: should the last commits be lost in a power cut, or
// the file be deleted, the tokens still go up. A wall clock that is set back only slows them down.
fencing_token next_fencing(connection& db) {
  statement next = db.prepare(
      "UPDATE herdlock_store SET last_fencing = max(last_fencing + 1, ?1) WHERE id = 1 "
      "RETURNING last_fencing");
  next.bind(1, wall_time().count());
  if (!next.step()) throw sql_error{1, 0, "the row of herdlock_store is missing"};
  fencing_token token{static_cast<std::uint64_t>(next.number(0))};
  next.step();
  return token;
}

// Whoever finds it held learns so from a plain read, without the write lock: those who wait and ask
// again don't slow the holder down.
acquire_reply acquire(connection& db, acquire_request const& request) {
  try {
    return take_or_tell(db, request, write_lock::by_first_write);
  } catch (sql_error const& error) {
    if (!error.busy()) throw;
  }
  return take_or_tell(db, request, write_lock::at_once);
}

renew_reply renew(connection& db, resource const& name, owner_token const& owner,
                  milliseconds ttl) {
  db.prepare(
        "UPDATE herdlock_leases_3 SET expires_us = herdlock_now() + ?3 "
        "WHERE resource = ?1 AND owner = ?2 AND expires_us > herdlock_now()")
      .blob(1, name.str())
      .text(2, owner.str())
      .bind(3, in_us(ttl))
      .step();
  return db.changes() > 0 ? renew_reply::renewed : renew_reply::lost;
}

// An end of 0 or less means that the owner in the row gave the lease back, at that time: who asks
// again after a lost answer is told so.
release_reply release(connection& db, resource const& name, owner_token const& owner) {
  db.prepare(
        "UPDATE herdlock_leases_3 SET expires_us = -herdlock_now() "
        "WHERE resource = ?1 AND owner = ?2 AND expires_us > herdlock_now()")
      .blob(1, name.str())
      .text(2, owner.str())
      .step();
  if (db.changes() > 0) return release_reply::released;
  statement before = db.prepare(
      "SELECT 1 FROM herdlock_leases_3 WHERE resource = ?1 AND owner = ?2 AND expires_us <= 0");
  before.blob(1, name.str()).text(2, owner.str());
  return before.step() ? release_reply::released : release_reply::lost;
}

// The owner may be the one that it is left to already, after a lost answer.
release_reply leave(connection& db, leave_request const& request) {
  db.prepare(
        "UPDATE herdlock_leases_3 SET expires_us = iif(owner = ?3, expires_us, herdlock_now() + "
        "?4), "
        "owner = ?3 WHERE resource = ?1 AND owner IN (?2, ?3) AND expires_us > herdlock_now()")
      .blob(1, request.name.str())
      .text(2, request.owner.str())
      .text(3, request.left_to.str())
      .bind(4, in_us(request.ttl))
      .step();
  return db.changes() > 0 ? release_reply::released : release_reply::lost;
}

// An end of 1: taken from the owner, not given back.
release_reply force_release(connection& db, resource const& name) {
  db.prepare(
        "UPDATE herdlock_leases_3 SET expires_us = 1 "
        "WHERE resource = ?1 AND expires_us > herdlock_now()")
      .blob(1, name.str())
      .step();
  return db.changes() > 0 ? release_reply::released : release_reply::lost;
}

std::optional<lease_info> inspect(connection& db, resource const& name) {
  auto held = live_lease(db, name);
  if (!held) return std::nullopt;
  lease_info told{owner_label(held->owner), held->fencing, remaining(held->left_us)};
  told.held_for = age_of(held->fencing);
  return told;
}

// Rows that have run out count as looked at, so that a page is a bounded piece of work.
lease_page list(connection& db, list_request const& request) {
  statement query = db.prepare(
      "SELECT resource, expires_us > herdlock_now() FROM herdlock_leases_3 WHERE resource > ?1 "
      "ORDER BY resource LIMIT ?2");
  auto const most = static_cast<std::int64_t>(page_size(request));
  query.blob(1, request.cursor).bind(2, most);
  lease_page page;
  std::int64_t seen = 0;
  std::string last;
  while (query.step()) {
    ++seen;
    last = query.bytes(0);
    if (query.number(1) != 0) page.names.emplace_back(last);
  }
  if (seen == most) page.cursor = std::move(last);
  return page;
}

// By what the clock says once, so that all rows that go are among those whose tokens are kept.
void sweep_leases(connection& db) {
  std::string const from = sweep_begins_behind(db);
  auto const over = ends_over_by(clock::now());
  auto const part = rows_behind(db, from, over);
  std::string const next = part.rows == rows_per_sweep ? part.last : std::string();
  if (part.over == 0 && next == from) return;
  transaction change(db);
  db.prepare(
        "UPDATE herdlock_store SET swept = ?5, last_fencing = max(last_fencing, (SELECT "
        "coalesce(max(fencing), 0) FROM herdlock_leases_3 WHERE resource > ?1 AND resource <= ?2 "
        "AND expires_us BETWEEN ?3 AND ?4))")
      .blob(1, from)
      .blob(2, part.last)
      .bind(3, over.from)
      .bind(4, over.to)
      .blob(5, next)
      .step();
  db.prepare(
        "DELETE FROM herdlock_leases_3 WHERE resource > ?1 AND resource <= ?2 "
        "AND expires_us BETWEEN ?3 AND ?4")
      .blob(1, from)
      .blob(2, part.last)
      .bind(3, over.from)
      .bind(4, over.to)
      .step();
  change.commit();
}

}  // namespace herdlock::sqlite
