-- The second look and the claim in one step.
--
-- KEYS: value, claim, error, counter. ARGV: owner, ttl, layout letter, refresh below.
-- {'s', string} | {'h', {field, content, ...}} | {'e', error, pttl} | {'b', pttl} | fencing token.
--
-- A value answers. But one that ends in less than `refresh below` ms (0: none) is refreshed: it
-- stays, and the claim is made beside it.
--
-- The token is the key's counter, raised by 1. One that is missing begins at the server's time in
-- microseconds. That is more than any token of before, for an older counter began at an earlier
-- time, and a key is not claimed once per microsecond; so the counter need not outlive its claims
-- by much. (A clock that is set back behind the last claim: guarantees.md.)
--
-- A counter key that holds something else makes INCR fail, and a server that does not tell the time
-- gets no counter; what was taken is given back.
-- Why: docs/decisions/cache.md#a-refresh-is-beside-the-entry
--@include parts/keep_counter.lua
--@include parts/kind.lua

local kind, refused = kind_of(KEYS[1])
if refused then return refused end
local refreshed = false
if ARGV[4] ~= '0' and kind ~= 'none' then
  local left = redis.call('PTTL', KEYS[1])
  refreshed = left >= 0 and left < tonumber(ARGV[4])
end
if kind == 'string' and not refreshed then return {'s', redis.call('GET', KEYS[1])} end
if kind == 'hash' and not refreshed then return {'h', redis.call('HGETALL', KEYS[1])} end
local failed = redis.call('GET', KEYS[3])
if failed then return {'e', failed, redis.call('PTTL', KEYS[3])} end

local mine = ARGV[3] .. ARGV[1]
if not redis.call('SET', KEYS[2], mine, 'NX', 'PX', ARGV[2]) then
  if redis.call('GET', KEYS[2]) ~= mine then return {'b', redis.call('PTTL', KEYS[2])} end
  local same = redis.call('GET', KEYS[4])
  if same then return same end
end
local fence = redis.pcall('INCR', KEYS[4])
local is_new = type(fence) == 'number' and fence <= 1
if is_new then
  local now = redis.pcall('TIME')
  if now.err then
    redis.call('DEL', KEYS[4])
    fence = now
  else
    fence = now[1] * 1000000 + now[2]
    redis.call('SET', KEYS[4], string.format('%.0f', fence), 'PX', ARGV[2] + 10000)
  end
end
if type(fence) ~= 'number' then
  redis.call('DEL', KEYS[2])
  return fence
end
keep_counter(KEYS[4], tonumber(ARGV[2]))
return fence
