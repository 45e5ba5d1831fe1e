#include "stores/mysql/lease_statements.hpp"

#include "stores/common/granted_before.hpp"

namespace herdlock::mysql {
namespace {

std::string in_us(milliseconds span) {
  return std::to_string(std::chrono::microseconds(span).count());
}

std::string where(resource const& name, std::optional<owner_token> const& owner) {
  std::string const owned = owner ? joined({" AND owner = ", literal(owner->str())}) : "";
  return joined({" WHERE resource = ", literal(name.str()), " AND expires_at > ", now_sql, owned});
}

// Who released it last is kept for the one that asks again after a lost answer; not beyond a grant
// of its own.
// Why: docs/stores/mysql.md#sql-tables-keep-who-released-last
std::string another_sql(owner_token const& owner) {
  return joined({"IF(released_by = ", literal(owner.str()), ", '', released_by)"});
}

acquire_reply as_held(lease_row const& found, acquire_request const& request,
                      clock::time_point asked) {
  if (found.owner == request.owner.str()) {
    auto const left = std::chrono::floor<milliseconds>(std::chrono::microseconds(found.left_us));
    return stores::granted_before(found.fencing, asked, left, request.ttl);
  }
  return busy{owner_label(found.owner), found.remaining()};
}

}  // namespace

std::string after_sql(milliseconds ttl) {
  return joined({now_sql, " + INTERVAL ", in_us(ttl), " MICROSECOND"});
}

milliseconds lease_row::remaining() const {
  return std::chrono::ceil<milliseconds>(std::chrono::microseconds(left_us < 0 ? 0 : left_us));
}

std::string read_sql(std::string const& table, resource const& name) {
  return "SELECT owner, fencing, TIMESTAMPDIFF(MICROSECOND, " + std::string(now_sql) +
         ", expires_at), session, TIMESTAMPDIFF(MICROSECOND, acquired_at, " + now_sql + ") FROM `" +
         table + "` WHERE resource = " + literal(name.str());
}

std::optional<lease_row> as_lease_row(outcome const& reply) {
  if (reply.rows.empty()) return std::nullopt;
  row const& one = reply.rows.front();
  return lease_row{text(one, 0),
                   {static_cast<std::uint64_t>(number(one, 1))},
                   number(one, 2),
                   static_cast<std::uint64_t>(number(one, 3)),
                   number(one, 4)};
}

lease_info as_lease_info(lease_row const& found) {
  lease_info told{owner_label(found.owner), found.fencing, found.remaining()};
  told.held_for = std::chrono::floor<milliseconds>(
      std::chrono::microseconds(std::max<std::int64_t>(found.age_us, 0)));
  return told;
}

std::string next_token_sql() {
  return joined({"LAST_INSERT_ID(GREATEST(fencing + 1, ", now_us_sql, "))"});
}

namespace {

// For a row that is there and free.
// Why: docs/stores/mysql.md#first-as-if-it-were-free
std::string grab_sql(settings const& how, acquire_request const& request) {
  return joined(
      {"UPDATE `", how.table, "` SET fencing = ", next_token_sql(),
       ", owner = ", literal(request.owner.str()), ", released_by = ", another_sql(request.owner),
       ", acquired_at = ", now_sql, ", expires_at = ", after_sql(request.ttl),
       " WHERE resource = ", literal(request.name.str()), " AND expires_at <= ", now_sql});
}

// The assignments of one statement are made from left to right, and all of their conditions look at
// expires_at, which is therefore the last. The second statement tells what the first one found.
//
// Never less than the clock's microseconds: should the last commits be lost in a crash of the
// server, or the row be swept, the tokens still go up.
std::string take_sql(settings const& how, acquire_request const& request) {
  std::string const owner = literal(request.owner.str());
  std::string const now = now_sql;
  std::string const free = "IF(expires_at <= " + now + ", ";
  return "INSERT INTO `" + how.table +
         "`(resource, owner, fencing, acquired_at, expires_at, session) VALUES (" +
         literal(request.name.str()) + ", " + owner + ", " + now_us_sql + ", " + now + ", " +
         after_sql(request.ttl) + ", 0) ON DUPLICATE KEY UPDATE fencing = " + free +
         "GREATEST(fencing + 1, " + now_us_sql + "), fencing), owner = " + free + owner +
         ", owner), released_by = " + free + another_sql(request.owner) +
         ", released_by), acquired_at = " + free + now + ", acquired_at), expires_at = " + free +
         after_sql(request.ttl) + ", expires_at); " + read_sql(how.table, request.name);
}

}  // namespace

awaitable<acquire_reply> acquire_row(connection& db, settings const& how,
                                     acquire_request const& request,
                                     std::atomic<bool>& busy_lately) {
  std::string sql = grab_sql(how, request);
  if (busy_lately) sql += "; " + read_sql(how.table, request.name);
  auto asked = clock::now();
  auto const grabbed = co_await db.ask(std::move(sql));
  auto found = as_lease_row(grabbed.last());
  if (grabbed.at(0).matched > 0) {
    busy_lately = false;
    co_return grant{{grabbed.at(0).given}};
  }
  if (!found || !found->held()) {
    asked = clock::now();
    auto const taken = co_await db.ask(take_sql(how, request));
    found = as_lease_row(taken.last());
  }
  acquire_reply reply = busy{"", milliseconds{0}};  // it ended in between
  // What this statement has taken runs since then, what an earlier one took since that.
  if (found && found->held()) reply = as_held(*found, request, asked);
  busy_lately = std::holds_alternative<busy>(reply);
  co_return reply;
}

awaitable<renew_reply> renew_row(connection& db, settings const& how,
                                 acquire_request const& request) {
  auto const done =
      co_await db.ask("UPDATE `" + how.table + "` SET expires_at = " + after_sql(request.ttl) +
                      where(request.name, request.owner));
  co_return done.last().matched > 0 ? renew_reply::renewed : renew_reply::lost;
}

// The assignments are made from left to right. The owner may be the one that it is left to already,
// after a lost answer.
awaitable<release_reply> leave_row(connection& db, settings const& how,
                                   leave_request const& request) {
  std::string const left_to = literal(request.left_to.str());
  std::string const leave =
      joined({"UPDATE `", how.table, "` SET expires_at = IF(owner = ", left_to, ", expires_at, ",
              after_sql(request.ttl), "), owner = ", left_to, where(request.name, std::nullopt),
              " AND owner IN (", literal(request.owner.str()), ", ", left_to, ")"});
  auto const left = co_await db.ask(leave);
  co_return left.last().matched > 0 ? release_reply::released : release_reply::lost;
}

// A row that is not freed may have been by the same owner before.
awaitable<release_reply> free_row(connection& db, settings const& how, resource const& name,
                                  std::optional<owner_token> const& owner) {
  std::string const free =
      joined({"UPDATE `", how.table, "` SET released_by = ", owner ? "owner" : "released_by",
              ", expires_at = ", never_sql, where(name, owner)});
  auto const freed = co_await db.ask(free);
  if (freed.last().matched > 0) co_return release_reply::released;
  if (!owner) co_return release_reply::lost;
  std::string const look =
      joined({"SELECT 1 FROM `", how.table, "` WHERE resource = ", literal(name.str()),
              " AND released_by = ", literal(owner->str())});
  auto const found = co_await db.ask(look);
  co_return found.last().rows.empty() ? release_reply::lost : release_reply::released;
}

awaitable<std::optional<lease_info>> inspect_row(connection& db, settings const& how,
                                                 resource const& name) {
  auto const told = co_await db.ask(read_sql(how.table, name));
  auto const found = as_lease_row(told.last());
  if (!found || !found->held()) co_return std::nullopt;
  co_return as_lease_info(*found);
}

// Free rows count as looked at, so that a page is a bounded piece of work.
awaitable<lease_page> list_rows(connection& db, settings const& how, std::string const& cursor,
                                std::size_t most) {
  auto const told = co_await db.ask(
      "SELECT resource, expires_at > " + std::string(now_sql) + " FROM `" + how.table +
      "` WHERE resource > " + literal(cursor) + " ORDER BY resource LIMIT " + std::to_string(most));
  outcome const& found = told.last();
  lease_page page;
  for (row const& one : found.rows) {
    // Another program may have put one there that is no name.
    auto name = resource::parse(text(one, 0));
    if (number(one, 1) != 0 && name) page.names.push_back(std::move(*name));
  }
  if (found.rows.size() == most) page.cursor = text(found.rows.back(), 0);
  co_return page;
}

// A new row's tokens begin at the clock, so only what is well behind it may be forgotten: the age
// that counts is the token's. One that is ahead of the clock stays until the clock has passed it.
//
// Looking locks nothing, so that no row that somebody works on holds the sweeper up.
awaitable<std::string> sweep_rows(connection& db, settings const& how, std::string const& behind) {
  std::string const table = "`" + how.table + "`";
  std::string const old = "fencing < " + std::string(now_us_sql) + " - " + in_us(how.keep) +
                          " AND expires_at <= " + now_sql + " - INTERVAL " +
                          in_us(std::min(how.keep, milliseconds{60'000})) + " MICROSECOND";
  std::string const limit = " ORDER BY resource LIMIT " + std::to_string(rows_per_sweep) + ")";
  std::string const look = "(SELECT resource, " + old + " FROM " + table + " WHERE resource ";
  auto const found = co_await db.ask(look + "> " + literal(behind) + limit + " UNION ALL " + look +
                                     "<= " + literal(behind) + limit);
  std::string names;
  std::string last = behind;
  std::size_t seen = 0;
  for (auto const& each : found.last().rows) {
    if (++seen > rows_per_sweep) break;
    last = text(each, 0);
    if (number(each, 1) != 0) names += (names.empty() ? "" : ", ") + literal(last);
  }
  if (!names.empty()) {
    co_await db.ask("DELETE FROM " + table + " WHERE resource IN (" + names + ") AND " + old);
  }
  co_return last;
}

}  // namespace herdlock::mysql
