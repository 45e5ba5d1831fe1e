-- One node's vote.
--
-- KEYS: resource, quorum. ARGV: owner, ttl, attempt.
-- Number: granted, the node's counter. {pttl, holder}: busy. {pttl, holder, counter}: the owner's
-- already.
--
-- The lease is a plain string at the resource's own key, as everywhere, so that other clients of
-- the Redlock pattern over the same nodes exclude us and are excluded.
--
-- A counter that is missing (first use, a node restarted empty, 7 days unused) begins at the
-- server's time in microseconds, or at the attempt's number, which is such a time as well. All
-- numbers stay below 2^53, exact in Lua; they are written with %.0f because its own form of large
-- numbers is 1.7e+15.
--
-- Everything that can fail for junk in the side key or a missing right comes before the SET: a
-- script that fails behind it would leave a ghost. The attempt's number only rises while the owner
-- stays: an older request that comes late must not open the newer grant to its undo.
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
