#include <algorithm>

#include "stores/common/stale_entry.hpp"
#include "stores/sqlite/field_encoding.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {
namespace {

// The state of a key, as it is kept in the column `kind`. A claim of kind 0 is only made where
// nothing else is live. Kinds from 2 on are values, and may have a claim or an error beside them,
// in the columns that begin with `refresh`, which can outlive the value.
enum class entry_kind : std::int64_t { claim = 0, error = 1, absent = 2, string = 3, hash = 4 };

// The text of a failed load is for people: one that is longer is cut.
constexpr std::size_t max_error_bytes = 64 * 1024;

entry_kind kind_of(cache_value const& value) {
  if (std::holds_alternative<absent>(value)) return entry_kind::absent;
  return std::holds_alternative<hash_fields>(value) ? entry_kind::hash : entry_kind::string;
}

// The body of a value; `space` keeps the encoded form of a hash.
std::string_view body_of(cache_value const& value, std::string& space) {
  if (auto const* text = std::get_if<std::string>(&value)) return *text;
  if (auto const* fields = std::get_if<hash_fields>(&value)) space = encode_fields(*fields);
  return space;
}

// Nothing when it cannot be decoded.
std::optional<cache_value> decode(entry_kind kind, std::string body) {
  if (kind == entry_kind::string) return cache_value(std::move(body));
  if (kind != entry_kind::hash) return cache_value(absent{});
  auto fields = decode_fields(body);
  if (!fields) return std::nullopt;
  return cache_value(std::move(*fields));
}

result<cache_value> make_value(entry_kind kind, std::string body, cache_key const& key,
                               layout form) {
  auto value = decode(kind, std::move(body));
  if (!value) {
    return make_failure(errc::protocol, "sqlite: the entry " + in_quotes(key.str()) +
                                            " cannot be decoded; invalidate it");
  }
  failure other = check_layout(key, *value, form);
  if (other.code) return make_failure(errc::wrong_type, "sqlite: " + other.message);
  return std::move(*value);
}

// A claim that a claim finds: its owner's own, or in his way.
claim_reply running_claim(owner_token const& asks, std::string const& owner, std::int64_t fencing,
                          milliseconds left) {
  if (owner != asks.str()) return claim_busy{left};
  return claimed{{static_cast<std::uint64_t>(fencing)}};
}

// What a claim finds: nothing when the key is free to be claimed.
std::optional<result<claim_reply>> look(connection& db, claim_request const& request) {
  statement query = db.prepare(
      "SELECT kind, owner, fencing, expires_us - herdlock_now(), body, refresh_owner, "
      "CASE WHEN refresh_fencing = fencing THEN refresh_us - herdlock_now() ELSE 0 END, "
      "refresh_error IS NULL, refresh_error FROM herdlock_entries WHERE key = ?1");
  query.blob(1, request.key.str());
  if (!query.step()) return std::nullopt;
  auto const kind = static_cast<entry_kind>(query.number(0));
  auto const left_us = query.number(3);
  auto const left = remaining(left_us);
  if (kind == entry_kind::error && left_us > 0) {
    return claim_reply(load_backing_off{query.bytes(4), left});
  }
  if (kind == entry_kind::claim && left_us > 0) {
    return running_claim(request.owner, query.bytes(1), query.number(2), left);
  }
  if (kind < entry_kind::absent) return std::nullopt;
  if (left_us > 0 && left_us >= in_us(request.refresh_below)) {
    auto value = make_value(kind, query.bytes(4), request.key, request.form);
    if (!value) return result<claim_reply>(value.error());
    return claim_reply(cache_hit{std::move(*value)});
  }
  if (query.number(6) <= 0) return std::nullopt;
  auto const refresh_left = remaining(query.number(6));
  if (query.number(7) == 0) return claim_reply(load_backing_off{query.bytes(8), refresh_left});
  return running_claim(request.owner, query.bytes(5), query.number(2), refresh_left);
}

// Beside the value; false when there is none (any more).
bool claim_refresh(connection& db, claim_request const& request, fencing_token fencing) {
  db.prepare(
        "UPDATE herdlock_entries SET fencing = ?3, refresh_fencing = ?3, refresh_owner = ?2, "
        "refresh_us = herdlock_now() + ?4, refresh_error = NULL "
        "WHERE key = ?1 AND kind >= 2 AND expires_us > herdlock_now()")
      .blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, static_cast<std::int64_t>(fencing.value))
      .bind(4, in_us(request.ttl))
      .step();
  return db.changes() > 0;
}

}  // namespace

result<cache_lookup> get(connection& db, cache_key const& key, layout form) {
  statement query = db.prepare(
      "SELECT kind, body FROM herdlock_entries "
      "WHERE key = ?1 AND kind >= 2 AND expires_us > herdlock_now()");
  query.blob(1, key.str());
  if (!query.step()) return cache_lookup();
  auto value = make_value(static_cast<entry_kind>(query.number(0)), query.bytes(1), key, form);
  if (!value) return value.error();
  return cache_lookup(std::move(*value));
}

result<claim_reply> claim(connection& db, claim_request const& request) {
  if (auto there = look(db, request)) return *there;
  transaction change(db);
  if (auto there = look(db, request)) return *there;
  claimed mine{next_fencing(db)};
  if (request.refresh_below > milliseconds{0} && claim_refresh(db, request, mine.fencing)) {
    change.commit();
    return claim_reply(mine);
  }
  db.prepare(
        "INSERT INTO herdlock_entries(key, kind, owner, fencing, expires_us, body) "
        "VALUES (?1, 0, ?2, ?3, herdlock_now() + ?4, x'') ON CONFLICT(key) DO UPDATE SET "
        "kind = 0, owner = excluded.owner, fencing = excluded.fencing, "
        "expires_us = excluded.expires_us, body = x'', refresh_error = NULL")
      .blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, static_cast<std::int64_t>(mine.fencing.value))
      .bind(4, in_us(request.ttl))
      .step();
  change.commit();
  return claim_reply(mine);
}

// An owner's claim is in one of two places, and stays there: what changes it tries the one, then
// the other. Each is one statement: a claim that expired, was voided or went to another in the
// meantime is not there any more, and nothing is changed.

renew_reply extend(connection& db, cache_key const& key, owner_token const& owner,
                   milliseconds ttl) {
  for (auto const* sql :
       {"UPDATE herdlock_entries SET expires_us = herdlock_now() + ?3 "
        "WHERE key = ?1 AND kind = 0 AND owner = ?2 AND expires_us > herdlock_now()",
        "UPDATE herdlock_entries SET refresh_us = herdlock_now() + ?3 "
        "WHERE key = ?1 AND kind >= 2 AND refresh_owner = ?2 AND refresh_fencing = fencing "
        "AND refresh_us > herdlock_now()"}) {
    db.prepare(sql).blob(1, key.str()).text(2, owner.str()).bind(3, in_us(ttl)).step();
    if (db.changes() > 0) return renew_reply::renewed;
  }
  return renew_reply::lost;
}

namespace {

fill_reply end_of(statement& update, connection& db) {
  update.step();
  return db.changes() > 0 ? fill_reply::stored : fill_reply::superseded;
}

constexpr char end_claim_sql[] =
    "UPDATE herdlock_entries SET kind = ?3, owner = '', expires_us = herdlock_now() + ?4, "
    "body = ?5 WHERE key = ?1 AND kind = 0 AND owner = ?2 AND expires_us > herdlock_now()";

constexpr char fill_refreshed_sql[] =
    "UPDATE herdlock_entries SET kind = ?3, owner = '', expires_us = herdlock_now() + ?4, "
    "body = ?5, refresh_us = 0 WHERE key = ?1 AND kind >= 2 AND refresh_owner = ?2 "
    "AND refresh_fencing = fencing AND refresh_us > herdlock_now()";

// With a back-off of 0 the error is over at once, and the claim is given up.
constexpr char fail_refresh_sql[] =
    "UPDATE herdlock_entries SET refresh_owner = '', refresh_us = herdlock_now() + ?3, "
    "refresh_error = ?4 WHERE key = ?1 AND kind >= 2 AND refresh_owner = ?2 "
    "AND refresh_fencing = fencing AND refresh_us > herdlock_now()";

fill_reply fail_first_load(connection& db, fail_request const& request, std::string_view text) {
  if (request.back_off == milliseconds{0}) {
    statement remove = db.prepare(
        "DELETE FROM herdlock_entries "
        "WHERE key = ?1 AND kind = 0 AND owner = ?2 AND expires_us > herdlock_now()");
    remove.blob(1, request.key.str()).text(2, request.owner.str());
    return end_of(remove, db);
  }
  statement update = db.prepare(end_claim_sql);
  update.blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, static_cast<std::int64_t>(entry_kind::error))
      .bind(4, in_us(request.back_off))
      .blob(5, text);
  return end_of(update, db);
}

}  // namespace

fill_reply fill(connection& db, fill_request const& request) {
  std::string space;
  std::string_view body = body_of(request.value, space);
  for (auto const* sql : {end_claim_sql, fill_refreshed_sql}) {
    statement update = db.prepare(sql);
    update.blob(1, request.key.str())
        .text(2, request.owner.str())
        .bind(3, static_cast<std::int64_t>(kind_of(request.value)))
        .bind(4, in_us(request.ttl))
        .blob(5, body);
    if (end_of(update, db) == fill_reply::stored) return fill_reply::stored;
  }
  return fill_reply::superseded;
}

fill_reply fail(connection& db, fail_request const& request) {
  std::string_view text(request.error.data(), std::min(request.error.size(), max_error_bytes));
  if (fail_first_load(db, request, text) == fill_reply::stored) return fill_reply::stored;
  statement update = db.prepare(fail_refresh_sql);
  update.blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, in_us(request.back_off))
      .blob(4, text);
  return end_of(update, db);
}

void put(connection& db, put_request const& request) {
  std::string space;
  std::string_view body = body_of(request.value, space);
  db.prepare(
        "INSERT INTO herdlock_entries(key, kind, owner, fencing, expires_us, body) "
        "VALUES (?1, ?2, '', 0, herdlock_now() + ?3, ?4) ON CONFLICT(key) DO UPDATE SET "
        "kind = excluded.kind, owner = '', fencing = 0, expires_us = excluded.expires_us, "
        "body = excluded.body, refresh_error = NULL")
      .blob(1, request.key.str())
      .bind(2, static_cast<std::int64_t>(kind_of(request.value)))
      .bind(3, in_us(request.ttl))
      .blob(4, body)
      .step();
}

bool invalidate(connection& db, cache_key const& key) {
  statement remove = db.prepare(
      "DELETE FROM herdlock_entries WHERE key = ?1 "
      "RETURNING kind >= 2 AND expires_us > herdlock_now()");
  remove.blob(1, key.str());
  bool had_value = remove.step() && remove.number(0) != 0;
  remove.step();
  return had_value;
}

namespace {

// The entry with the mark in its header; nothing where there is none that can be kept.
std::optional<cache_value> made_stale(connection& db, cache_key const& key) {
  statement query = db.prepare(
      "SELECT kind, body FROM herdlock_entries "
      "WHERE key = ?1 AND kind >= 2 AND expires_us > herdlock_now()");
  query.blob(1, key.str());
  if (!query.step()) return std::nullopt;
  auto value = decode(static_cast<entry_kind>(query.number(0)), query.bytes(1));
  if (!value || !stores::make_stale(*value)) return std::nullopt;
  return value;
}

}  // namespace

bool expire(connection& db, cache_key const& key, milliseconds keep) {
  transaction change(db);
  auto const stale = keep > milliseconds{0} ? made_stale(db, key) : std::nullopt;
  bool had_value = true;
  if (stale) {
    std::string space;
    std::string_view body = body_of(*stale, space);
    db.prepare(
          "UPDATE herdlock_entries SET body = ?2, refresh_us = 0, refresh_error = NULL, "
          "expires_us = min(expires_us, herdlock_now() + ?3) WHERE key = ?1")
        .blob(1, key.str())
        .blob(2, body)
        .bind(3, in_us(keep))
        .step();
  } else {
    had_value = invalidate(db, key);
  }
  change.commit();
  return had_value;
}

void sweep_entries(connection& db) {
  db.execute(
      "DELETE FROM herdlock_entries WHERE rowid IN (SELECT rowid FROM herdlock_entries "
      "WHERE expires_us <= herdlock_now() "
      "AND NOT (kind >= 2 AND refresh_fencing = fencing AND refresh_us > herdlock_now()) "
      "ORDER BY expires_us LIMIT 256)");
}

std::optional<milliseconds> time_left(connection& db, cache_key const& key) {
  statement query = db.prepare(
      "SELECT expires_us - herdlock_now() FROM herdlock_entries "
      "WHERE key = ?1 AND kind >= 2 AND expires_us > herdlock_now()");
  query.blob(1, key.str());
  if (!query.step()) return std::nullopt;
  return remaining(query.number(0));
}

std::chrono::microseconds now(connection& db) {
  statement query = db.prepare("SELECT herdlock_now()");
  query.step();
  return std::chrono::microseconds(query.number(0));
}

}  // namespace herdlock::sqlite
