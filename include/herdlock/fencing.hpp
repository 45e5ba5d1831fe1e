// The guarded side of a lock: how a database or a Redis key refuses a holder that is late.
//
// A lease can end while its holder is stopped between its last look at the clock and the write
// that follows. The fencing token of the lease makes that harmless, provided that what is written
// to compares: it keeps the largest token that it has seen, and refuses a write with a smaller one,
// in the same step as the write. An equal token is the same holder and may write again.
//
// Here are the two guards that need no code in a server: a predicate for SQL, and a script for
// Redis. Tokens come from `lease::fencing()`, and from stores that make them
// (store_traits::fences): not from `redis://…?dialect=plain` or `getset`.
#pragma once

#include <string>
#include <string_view>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// Text for an UPDATE that refuses a stale holder. The column keeps the largest token; give it a
/// 64-bit type (BIGINT, INTEGER in SQLite). Tokens are below 2^63 in every store of this library.
///
///     auto const fence = herdlock::sql_fence::on("fence");
///     "UPDATE account SET balance = ?, " + fence.assignment + " WHERE id = ? AND " +
///         fence.predicate     // bind the token to both parameters of the two texts
///
/// One row changed: written. None: there is no such row, or a later holder has written, so stop. (A
/// MySQL client counts changed rows, not found ones, unless asked: a second write of the very same
/// values counts 0 there. Connect with CLIENT_FOUND_ROWS to tell the two apart.)
///
/// The comparison is part of the statement, so it is as atomic as the UPDATE: every server judges
/// it against the row it locks. It guards rows that exist: insert them with fence NULL or 0 first.
struct sql_fence {
  std::string assignment;  ///< `fence = ?`
  std::string predicate;   ///< `(fence IS NULL OR fence <= ?)`

  /// `column`: a letter or '_', then letters, digits or '_', at most 63 bytes; it is written into
  /// the text as it is, so nothing else is taken (and a reserved word is the database's to refuse).
  /// `parameter`: how the statement writes its parameter: `?`, `?1`, `$1`, `:name`, `@name` or
  /// `%s`. Throws herdlock::error (errc::invalid_name) for anything else.
  static sql_fence on(std::string_view column, std::string_view parameter = "?");
};

/// A Redis script that writes a string for the holder of the latest token, in one step, and can be
/// run by any client, in any language:
///
///     EVALSHA <set_if_fenced_sha1> 2 KEY FENCE_KEY TOKEN VALUE TTL
///
/// (EVAL with the text of set_if_fenced_script when the server answers NOSCRIPT.)
///
///  * KEY: the string that is guarded.
///  * FENCE_KEY: keeps the largest token, for ever. `{KEY}:fenced`, say, to share KEY's cluster
///    slot; not one of herdlock's own side keys.
///  * TOKEN: the lease's token in decimal, 1 to 2^64 - 1, without sign or leading zero.
///  * TTL: of KEY in milliseconds; 0: without.
///
/// It answers
///  * 1: written;
///  * 0: refused, nothing changed: FENCE_KEY has seen a larger token;
///  * error `ERR fencing …`: the token, the ttl or what FENCE_KEY holds is no such number;
///  * error `WRONGTYPE …`: FENCE_KEY is not a string.
///
/// Tokens are compared as decimal texts: Lua's numbers would take 2^53 and 2^53 + 1 for equal.
/// FENCE_KEY has no ttl on purpose: a guard that forgets lets the late writer in. Every write to
/// KEY must come through the script; a plain SET is not refused.
inline constexpr std::string_view set_if_fenced_script = R"lua(
local token, ttl = ARGV[1], ARGV[3]
local function is_token(text)
  return string.find(text, '^[1-9]%d*$') and
    (#text < 20 or (#text == 20 and text <= '18446744073709551615'))
end
if not is_token(token) then return redis.error_reply('ERR fencing token: not 1 to 2^64-1') end
if not string.find(ttl, '^%d+$') or #ttl > 15 then
  return redis.error_reply('ERR fencing ttl: not a number of milliseconds')
end
local seen = redis.call('GET', KEYS[2])
if seen then
  if not is_token(seen) then return redis.error_reply('ERR fencing key: it holds no token') end
  if #token < #seen or (#token == #seen and token < seen) then return 0 end
end
redis.call('SET', KEYS[2], token)
if tonumber(ttl) > 0 then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ttl)
else
  redis.call('SET', KEYS[1], ARGV[2])
end
return 1
)lua";
/// SHA-1 of the text above, as EVALSHA wants it.
inline constexpr std::string_view set_if_fenced_sha1 = "c558c15afd48a04e225946d3bb20308aff62e02f";

}  // namespace v0
}  // namespace herdlock
