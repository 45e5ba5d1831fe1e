#include <algorithm>

#include "stores/sqlite/field_encoding.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {
namespace {

// The state of a key, as it is kept in the column `kind`. A claim is only made where nothing else
// is live, so a key never has a value and a claim at once. From first_value on they are values.
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

result<cache_value> make_value(entry_kind kind, std::string body, cache_key const& key,
                               layout form) {
  cache_value value = absent{};
  if (kind == entry_kind::string) {
    value = std::move(body);
  } else if (kind == entry_kind::hash) {
    auto fields = decode_fields(body);
    if (!fields) {
      return make_failure(errc::protocol, "sqlite: the entry " + in_quotes(key.str()) +
                                              " cannot be decoded; invalidate it");
    }
    value = std::move(*fields);
  }
  failure other = check_layout(key, value, form);
  if (other.code) return make_failure(errc::wrong_type, "sqlite: " + other.message);
  return value;
}

// What a claim finds: nothing when the key is free to be claimed.
std::optional<result<claim_reply>> look(connection& db, claim_request const& request) {
  statement query = db.prepare(
      "SELECT kind, owner, fencing, expires_us - herdlock_now(), body FROM herdlock_entries "
      "WHERE key = ?1");
  query.blob(1, request.key.str());
  if (!query.step() || query.number(3) <= 0) return std::nullopt;
  auto kind = static_cast<entry_kind>(query.number(0));
  milliseconds left = remaining(query.number(3));
  if (kind == entry_kind::error) return claim_reply(load_backing_off{query.bytes(4), left});
  if (kind == entry_kind::claim) {
    if (query.bytes(1) != request.owner.str()) return claim_reply(claim_busy{left});
    return claim_reply(claimed{{static_cast<std::uint64_t>(query.number(2))}});
  }
  auto value = make_value(kind, query.bytes(4), request.key, request.form);
  if (!value) return result<claim_reply>(value.error());
  return claim_reply(cache_hit{std::move(*value)});
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
  db.prepare(
        "INSERT INTO herdlock_entries(key, kind, owner, fencing, expires_us, body) "
        "VALUES (?1, 0, ?2, ?3, herdlock_now() + ?4, x'') ON CONFLICT(key) DO UPDATE SET "
        "kind = 0, owner = excluded.owner, fencing = excluded.fencing, "
        "expires_us = excluded.expires_us, body = x''")
      .blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, static_cast<std::int64_t>(mine.fencing.value))
      .bind(4, in_us(request.ttl))
      .step();
  change.commit();
  return claim_reply(mine);
}

renew_reply extend(connection& db, cache_key const& key, owner_token const& owner,
                   milliseconds ttl) {
  db.prepare(
        "UPDATE herdlock_entries SET expires_us = herdlock_now() + ?3 "
        "WHERE key = ?1 AND kind = 0 AND owner = ?2 AND expires_us > herdlock_now()")
      .blob(1, key.str())
      .text(2, owner.str())
      .bind(3, in_us(ttl))
      .step();
  return db.changes() > 0 ? renew_reply::renewed : renew_reply::lost;
}

namespace {

// Turns our claim into what came of the load, in one statement: a claim that expired, was voided or
// went to another in the meantime is not there any more, and nothing is changed.
fill_reply end_claim(statement& update, connection& db) {
  update.step();
  return db.changes() > 0 ? fill_reply::stored : fill_reply::superseded;
}

constexpr char end_claim_sql[] =
    "UPDATE herdlock_entries SET kind = ?3, owner = '', expires_us = herdlock_now() + ?4, "
    "body = ?5 WHERE key = ?1 AND kind = 0 AND owner = ?2 AND expires_us > herdlock_now()";

}  // namespace

fill_reply fill(connection& db, fill_request const& request) {
  std::string space;
  std::string_view body = body_of(request.value, space);
  statement update = db.prepare(end_claim_sql);
  update.blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, static_cast<std::int64_t>(kind_of(request.value)))
      .bind(4, in_us(request.ttl))
      .blob(5, body);
  return end_claim(update, db);
}

fill_reply fail(connection& db, fail_request const& request) {
  if (request.back_off == milliseconds{0}) {
    statement remove = db.prepare(
        "DELETE FROM herdlock_entries "
        "WHERE key = ?1 AND kind = 0 AND owner = ?2 AND expires_us > herdlock_now()");
    remove.blob(1, request.key.str()).text(2, request.owner.str());
    return end_claim(remove, db);
  }
  std::string_view text(request.error.data(), std::min(request.error.size(), max_error_bytes));
  statement update = db.prepare(end_claim_sql);
  update.blob(1, request.key.str())
      .text(2, request.owner.str())
      .bind(3, static_cast<std::int64_t>(entry_kind::error))
      .bind(4, in_us(request.back_off))
      .blob(5, text);
  return end_claim(update, db);
}

void put(connection& db, put_request const& request) {
  std::string space;
  std::string_view body = body_of(request.value, space);
  db.prepare(
        "INSERT INTO herdlock_entries(key, kind, owner, fencing, expires_us, body) "
        "VALUES (?1, ?2, '', 0, herdlock_now() + ?3, ?4) ON CONFLICT(key) DO UPDATE SET "
        "kind = excluded.kind, owner = '', fencing = 0, expires_us = excluded.expires_us, "
        "body = excluded.body")
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

}  // namespace herdlock::sqlite
