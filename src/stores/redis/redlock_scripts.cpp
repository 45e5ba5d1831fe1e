#include "stores/redis/redlock_scripts.hpp"

#include "stores/redis/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

// The lease is a plain string at the resource's own key, as everywhere, so that other clients of
// the Redlock pattern over the same nodes exclude us and are excluded.
//
// A counter that is missing (first use, a node restarted empty, 7 days unused) begins at the
// server's time in microseconds, or at the attempt's number, which is such a time as well. All
// numbers stay below 2^53, exact in Lua; they are written with %.0f because its own form of large
// numbers is 1.7e+15.

// Everything that can fail for junk in the side key or a missing right comes before the SET: a
// script that fails behind it would leave a ghost. The attempt's number only rises while the owner
// stays: an older request that comes late must not open the newer grant to its undo.
//
// KEYS: resource, quorum. ARGV: owner, ttl, attempt.
constexpr std::string_view acquire_lua = R"lua(
local was = redis.call('GET', KEYS[2])
local fence = ARGV[3]
local counter = was and tonumber(string.match(was, '^(%d+) %d+$'))
local first = counter
if not first then
  local now = redis.call('TIME')
  first = tonumber(now[1]) * 1000000 + tonumber(now[2])
end
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  if first >= tonumber(fence) then fence = string.format('%.0f', first + 1) end
  redis.call('SET', KEYS[2], fence .. ' ' .. ARGV[3], 'EX', 604800)
  return tonumber(fence)
end
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then return {redis.call('PTTL', KEYS[1]), holder} end
if not counter then counter = tonumber(fence) end
fence = string.format('%.0f', counter)
local attempt = was and string.match(was, '^%d+ (%d+)$') or '0'
if tonumber(attempt) < tonumber(ARGV[3]) then attempt = ARGV[3] end
redis.call('SET', KEYS[2], fence .. ' ' .. attempt, 'EX', 604800)
return {redis.call('PTTL', KEYS[1]), holder, fence}
)lua";

// KEYS: resource, quorum. ARGV: owner, token.
constexpr std::string_view raise_lua = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local was = redis.call('GET', KEYS[2]) or ''
local counter, attempt = string.match(was, '^(%d+) (%d+)$')
if counter and tonumber(counter) >= tonumber(ARGV[2]) then return tonumber(counter) end
redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. (attempt or '0'), 'EX', 604800)
return tonumber(ARGV[2])
)lua";

// An undo can be late, and the same owner have asked again meanwhile and been granted: that newer
// grant is left alone, it may already count in a majority.
//
// KEYS: resource, quorum. ARGV: owner, attempt.
constexpr std::string_view undo_lua = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local attempt = string.match(redis.call('GET', KEYS[2]) or '', '^%d+ (%d+)$')
if attempt and tonumber(attempt) > tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
)lua";

// KEYS: resource. ARGV: owner, ttl.
constexpr std::string_view renew_lua = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
)lua";

// RENAME leaves the mark of who released it last, for the rest of the ttl. 2: it was released
// before, by a request whose answer was lost, perhaps.
//
// KEYS: resource, last. ARGV: owner.
constexpr std::string_view release_lua = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.call('GET', KEYS[2]) == ARGV[1] and 2 or 0
end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
)lua";

// KEYS: resource, quorum.
constexpr std::string_view inspect_lua = R"lua(
local holder = redis.call('GET', KEYS[1])
if not holder then return false end
local counter = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) %d+$')
return {redis.call('PTTL', KEYS[1]), holder, counter or '0'}
)lua";

// KEYS: resource. GET refuses a key of another type: that one is not ours to delete.
constexpr std::string_view force_release_lua = R"lua(
if not redis.call('GET', KEYS[1]) then return 0 end
return redis.call('DEL', KEYS[1])
)lua";

struct redlock_scripts {
  script acquire{acquire_lua, "2"};
  script raise{raise_lua, "2"};
  script undo{undo_lua, "2"};
  script renew{renew_lua, "1"};
  script release{release_lua, "2"};
  script inspect{inspect_lua, "2"};
  script force_release{force_release_lua, "1"};
};

script const& script_of(node_verb verb) {
  static redlock_scripts const set;
  switch (verb) {
    case node_verb::acquire:
      return set.acquire;
    case node_verb::raise:
      return set.raise;
    case node_verb::undo:
      return set.undo;
    case node_verb::renew:
      return set.renew;
    case node_verb::release:
      return set.release;
    case node_verb::inspect:
      return set.inspect;
    case node_verb::force_release:
      break;
  }
  return set.force_release;
}

}  // namespace

void encode_question(node_verb verb, lease_question const& what, command_writer& out,
                     script_form form) {
  script const& lua = script_of(verb);
  out.begin(lua, form);
  out.add(what.name.str());
  if (lua.key_count == "2") {
    out.add_side_key(what.name.str(), verb == node_verb::release ? last_role : quorum_role);
  }
  if (verb != node_verb::inspect && verb != node_verb::force_release) out.add(what.owner);
  if (verb == node_verb::acquire || verb == node_verb::renew) out.add_number(what.ttl.count());
  if (verb == node_verb::acquire || verb == node_verb::undo) out.add_number(what.attempt);
  if (verb == node_verb::raise) out.add_number(static_cast<std::int64_t>(what.token));
  out.end();
}

void encode_load(node_verb verb, command_writer& out) {
  out.begin("SCRIPT");
  out.add("LOAD");
  out.add(script_of(verb).source);
  out.end();
}

std::string_view verb_text(node_verb verb) {
  switch (verb) {
    case node_verb::acquire:
    case node_verb::raise:
      return "acquire";
    case node_verb::renew:
      return "renew";
    case node_verb::inspect:
      return "inspect";
    case node_verb::force_release:
      return "force the release of";
    default:
      return "release";
  }
}

}  // namespace herdlock::redis
