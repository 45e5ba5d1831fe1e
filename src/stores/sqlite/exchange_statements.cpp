#include <algorithm>

#include "algo/entry_prolonging.hpp"
#include "stores/sqlite/schema.hpp"
#include "stores/sqlite/statements.hpp"

namespace herdlock::sqlite {
namespace {

using std::chrono::microseconds;

// Further ones come with the next question.
constexpr std::size_t rows_per_question = 1024;
// A row from after that is from another boot.
constexpr microseconds ahead_at_most = std::chrono::seconds(1);

clock::time_point time_of(std::int64_t us) { return clock::time_point(microseconds(us)); }
std::int64_t us_of(clock::time_point when) {
  return std::chrono::floor<microseconds>(when.time_since_epoch()).count();
}

struct kept_reports {
  std::int64_t behind;
  std::int64_t to;
};

// By their times.
kept_reports kept_at(clock::time_point when) {
  return {us_of(when - report_store::keeps_for), us_of(when + ahead_at_most)};
}

bool has_reports(connection& db) { return has_table(db, "herdlock_reports"); }
bool has_rules(connection& db) { return has_table(db, "herdlock_rules"); }

// What a statement with (at, topic, body) finds.
algo::told_rows rows_of(statement& query, std::int64_t from) {
  algo::told_rows found{from, from, {}, false};
  while (query.step()) {
    found.rows.push_back({query.number(0), query.bytes(1), query.bytes(2)});
    found.through = found.rows.back().at;
  }
  found.more = found.rows.size() == rows_per_question;
  return found;
}

}  // namespace

// The time is taken behind the write lock, and is greater than those of all rows: so who has seen a
// row misses none by asking for those behind it.
void report(connection& db, store_report const& what) {
  transaction change(db);
  if (!has_reports(db)) make_exchange_tables(db);
  auto const now = clock::now();
  auto const kept = kept_at(now);
  db.prepare("DELETE FROM herdlock_reports WHERE told_us <= ?1 OR told_us > ?2")
      .bind(1, kept.behind)
      .bind(2, kept.to)
      .step();
  db.prepare(
        "INSERT INTO herdlock_reports(told_us, topic, process, number, body) VALUES (max(?1, "
        "(SELECT coalesce(max(told_us), 0) + 1 FROM herdlock_reports)), ?2, ?3, ?4, ?5) "
        "ON CONFLICT(topic, process) DO UPDATE SET told_us = excluded.told_us, "
        "number = excluded.number, body = excluded.body "
        "WHERE excluded.number > herdlock_reports.number")
      .bind(1, us_of(now))
      .blob(2, what.topic)
      .text(3, what.process)
      .bind(4, static_cast<std::int64_t>(what.number))
      .blob(5, what.text)
      .step();
  change.commit();
}

algo::told_rows reports_behind(connection& db, std::int64_t from) {
  if (!has_reports(db)) return {from, from, {}, false};
  auto const kept = kept_at(clock::now());
  statement query = db.prepare(
      "SELECT told_us, topic, body FROM herdlock_reports WHERE told_us > ?1 AND told_us <= ?2 "
      "ORDER BY told_us LIMIT ?3");
  query.bind(1, std::max(from, kept.behind))
      .bind(2, kept.to)
      .bind(3, std::int64_t{rows_per_question});
  return rows_of(query, from);
}

store_rules read_rules(connection& db, std::string const& topic) {
  if (!has_rules(db)) return {};
  statement query = db.prepare("SELECT version, body FROM herdlock_rules WHERE topic = ?1");
  query.blob(1, topic);
  if (!query.step()) return {};
  return {static_cast<std::uint64_t>(query.number(0)), query.bytes(1)};
}

// A version is a fencing token: these rise, also when the file was deleted.
std::uint64_t write_rules(connection& db, rules_change const& what) {
  transaction change(db);
  if (read_rules(db, what.topic).version != what.expected) return 0;
  make_exchange_tables(db);
  auto const version = next_fencing(db).value;
  db.prepare(
        "INSERT INTO herdlock_rules(version, topic, body) VALUES (?1, ?2, ?3) "
        "ON CONFLICT(topic) DO UPDATE SET version = excluded.version, body = excluded.body")
      .bind(1, static_cast<std::int64_t>(version))
      .blob(2, what.topic)
      .blob(3, what.text)
      .step();
  change.commit();
  return version;
}

algo::told_rows rules_behind(connection& db, std::int64_t from) {
  if (!has_rules(db)) return {from, from, {}, false};
  statement query = db.prepare(
      "SELECT version, topic, body FROM herdlock_rules WHERE version > ?1 ORDER BY version "
      "LIMIT ?2");
  query.bind(1, from).bind(2, std::int64_t{rows_per_question});
  return rows_of(query, from);
}

namespace {

// A value that is there, and not "no such thing", which is to be asked about again when it says so.
constexpr char find_end[] =
    "SELECT expires_us FROM herdlock_entries WHERE key = ?1 AND kind > 2 "
    "AND expires_us > herdlock_now()";
constexpr char find_end_and_mark[] =
    "SELECT expires_us, coalesce(first_end_us, 0), coalesce(prolonged_us, 0) "
    "FROM herdlock_entries LEFT JOIN herdlock_prolonged USING(key) "
    "WHERE key = ?1 AND kind > 2 AND expires_us > herdlock_now()";

std::optional<algo::prolong_mark> find_longer_end(connection& db, prolong_request const& request) {
  bool const has_marks = has_table(db, "herdlock_prolonged");
  statement query = db.prepare(has_marks ? find_end_and_mark : find_end);
  query.blob(1, request.key.str());
  if (!query.step()) return std::nullopt;
  algo::prolong_mark mark;
  if (has_marks) mark = {time_of(query.number(1)), time_of(query.number(2))};
  auto const now = time_of(us_of(clock::now()));
  return algo::prolonged(time_of(query.number(0)), mark, {request.to, request.at_most}, now);
}

}  // namespace

// Of many who ask, most learn from a plain read that another one was first.
bool prolong(connection& db, prolong_request const& request) {
  if (!find_longer_end(db, request)) return false;
  transaction change(db);
  auto const longer = find_longer_end(db, request);
  if (!longer) return false;
  make_exchange_tables(db);
  db.execute("DELETE FROM herdlock_prolonged WHERE prolonged_us <= herdlock_now()");
  db.prepare("UPDATE herdlock_entries SET expires_us = ?2 WHERE key = ?1")
      .blob(1, request.key.str())
      .bind(2, us_of(longer->last))
      .step();
  db.prepare(
        "INSERT INTO herdlock_prolonged(key, prolonged_us, first_end_us) VALUES (?1, ?2, ?3) "
        "ON CONFLICT(key) DO UPDATE SET prolonged_us = excluded.prolonged_us, "
        "first_end_us = excluded.first_end_us")
      .blob(1, request.key.str())
      .bind(2, us_of(longer->last))
      .bind(3, us_of(longer->first))
      .step();
  change.commit();
  return true;
}

}  // namespace herdlock::sqlite
