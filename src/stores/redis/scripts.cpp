#include "stores/redis/scripts.hpp"

#include <openssl/evp.h>

#include <array>

namespace herdlock::redis {
namespace {

// A claim's fencing counter: as that of a lease (lease_scripts.cpp), but seeded only when it is
// missing. A counter key that holds something else makes INCR fail; what was taken is given back.

// KEYS: value, claim, error, fence. ARGV: owner, ttl, layout letter.
// {'s', string} | {'h', {field, content, …}} | {'e', error, pttl} | {'b', pttl} | fencing token.
constexpr std::string_view claim = R"lua(
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'string' then return {'s', redis.call('GET', KEYS[1])} end
if kind == 'hash' then return {'h', redis.call('HGETALL', KEYS[1])} end
if kind ~= 'none' then return redis.error_reply('WRONGTYPE it is a ' .. kind) end
local failed = redis.call('GET', KEYS[3])
if failed then return {'e', failed, redis.call('PTTL', KEYS[3])} end
local mine = ARGV[3] .. ARGV[1]
if redis.call('SET', KEYS[2], mine, 'NX', 'PX', ARGV[2]) then
  local fence = redis.pcall('INCR', KEYS[4])
  if type(fence) ~= 'number' then redis.call('DEL', KEYS[2]) return fence end
  if fence > 1 then return fence end
else
  if redis.call('GET', KEYS[2]) ~= mine then return {'b', redis.call('PTTL', KEYS[2])} end
  local fence = redis.call('GET', KEYS[4])
  if fence then return fence end
end
local now = redis.call('TIME')
local seed = now[1] .. string.format('%06d', now[2])
redis.call('SET', KEYS[4], seed, 'EX', 604800)
return seed
)lua";

// Of a running claim: how long it has yet, and its fencing token.
// KEYS: claim, fence.
constexpr std::string_view look = R"lua(
return {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2])}
)lua";

// KEYS: claim. ARGV: owner, ttl. A claim is the layout letter in front of the owner.
constexpr std::string_view extend = R"lua(
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 2) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
)lua";

// Writes an entry: 's' a string, 'h' a hash, 'n' a negative entry (ARGV[first] is its marker) in
// the given layout. A hash is replaced as a whole, in this one step: nobody sees a mixture. Fields
// go 500 at a time because Lua's stack bounds what one call takes.
#define HERDLOCK_WRITE_ENTRY                                                    \
  "local function write(key, kind, layout, ttl, first)\n"                       \
  "  local present = redis.call('TYPE', key).ok\n"                              \
  "  if present ~= 'none' and present ~= 'string' and present ~= 'hash' then\n" \
  "    return redis.error_reply('WRONGTYPE it is a ' .. present)\n"             \
  "  end\n"                                                                     \
  "  if kind == 's' or (kind == 'n' and layout ~= 'h') then\n"                  \
  "    redis.call('SET', key, ARGV[first], 'PX', ttl)\n"                        \
  "    return nil\n"                                                            \
  "  end\n"                                                                     \
  "  redis.call('DEL', key)\n"                                                  \
  "  if kind == 'n' then redis.call('HSET', key, ARGV[first], '') end\n"        \
  "  for i = (kind == 'h') and first or #ARGV + 1, #ARGV, 1000 do\n"            \
  "    redis.call('HSET', key, unpack(ARGV, i, math.min(i + 999, #ARGV)))\n"    \
  "  end\n"                                                                     \
  "  redis.call('PEXPIRE', key, ttl)\n"                                         \
  "  return nil\n"                                                              \
  "end\n"

// An event names the last claim there was: "#7 " in front of the message (entry_codec.hpp).
#define HERDLOCK_PUBLISH                                                 \
  "local function publish(fence, channel, message)\n"                    \
  "  local number = redis.pcall('GET', fence)\n"                         \
  "  if type(number) ~= 'string' then number = '0' end\n"                \
  "  redis.pcall('PUBLISH', channel, '#' .. number .. ' ' .. message)\n" \
  "end\n"

// What is written stays written when a script fails later, so a PUBLISH that is refused (Redis 7
// gives new users no channels) must not fail the call: a watcher looks by itself in time.

// KEYS: value, claim, error, fence. ARGV: owner, ttl, kind, channel, message, value or fields…
constexpr std::string_view fill = HERDLOCK_WRITE_ENTRY HERDLOCK_PUBLISH R"lua(
local held = redis.call('GET', KEYS[2])
if not held or string.sub(held, 2) ~= ARGV[1] then return 0 end
local refused = write(KEYS[1], ARGV[3], string.sub(held, 1, 1), ARGV[2], 6)
if refused then return refused end
redis.call('DEL', KEYS[2], KEYS[3])
publish(KEYS[4], ARGV[4], ARGV[5])
return 1
)lua";

// KEYS: claim, error, fence. ARGV: owner, back-off, channel, message, error text.
constexpr std::string_view fail = HERDLOCK_PUBLISH R"lua(
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 2) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
if tonumber(ARGV[2]) > 0 then redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[2]) end
publish(KEYS[3], ARGV[3], ARGV[4])
return 1
)lua";

// KEYS: value, claim, error, fence. ARGV: ttl, kind, channel, message, value or fields…
constexpr std::string_view put = HERDLOCK_WRITE_ENTRY HERDLOCK_PUBLISH R"lua(
local refused = write(KEYS[1], ARGV[2], 's', ARGV[1], 5)
if refused then return refused end
redis.call('DEL', KEYS[2], KEYS[3])
publish(KEYS[4], ARGV[3], ARGV[4])
return 1
)lua";

// KEYS: value, claim, error, fence. ARGV: channel, message.
constexpr std::string_view invalidate = HERDLOCK_PUBLISH R"lua(
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'string' and kind ~= 'hash' then
  return redis.error_reply('WRONGTYPE it is a ' .. kind)
end
local removed = redis.call('DEL', KEYS[1])
redis.call('DEL', KEYS[2], KEYS[3])
publish(KEYS[4], ARGV[1], ARGV[2])
return removed
)lua";

#undef HERDLOCK_PUBLISH
#undef HERDLOCK_WRITE_ENTRY

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 15];
  }
  return hex;
}

}  // namespace

script::script(std::string_view lua, std::string_view keys)
    : source(lua), key_count(keys), sha(sha1_hex(lua)) {}

script_set const& scripts() {
  static script_set const set{{claim, "4"}, {look, "2"}, {extend, "1"},    {fill, "4"},
                              {fail, "3"},  {put, "4"},  {invalidate, "4"}};
  return set;
}

}  // namespace herdlock::redis
