-- The second look and the claim in one step.
--
-- KEYS: value, claim, error, fence. ARGV: owner, ttl, layout letter, refresh below.
-- {'s', string} | {'h', {field, content, ...}} | {'e', error, pttl} | {'b', pttl} | fencing token.
--
-- A value answers. But one that ends in less than `refresh below` ms (0: none) is refreshed: it
-- stays, and the claim is made beside it.
--
-- The fencing counter is as that of a lease (parts/next_fence.lua), but it is seeded only when it
-- is missing. A counter key that holds something else makes INCR fail; what was taken is given
-- back.
--@include parts/kind.lua
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
