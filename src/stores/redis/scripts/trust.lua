-- How long the server is in quarantine yet.
--
-- KEYS: incarnation. ARGV: who the server is, quarantine, 'look' or 'write'.
-- Milliseconds that are left of it; -1: the key names another server, or none.
--
-- The key is kept without a ttl. Only who has just asked the server who it is writes it ('write'):
-- a client that asked earlier may not know that the server was promoted since. A clock that is set
-- back does not prolong the quarantine beyond its length.
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local seen = redis.call('GET', KEYS[1])
local id, since = string.match(seen or '', '^(%S+) (%d+)$')
if id ~= ARGV[1] then
  if ARGV[3] == 'look' then return -1 end
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. string.format('%d', ms))
  return tonumber(ARGV[2])
end
local left = tonumber(since) + tonumber(ARGV[2]) - ms
return math.max(0, math.min(left, tonumber(ARGV[2])))
