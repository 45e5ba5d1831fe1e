-- How long the server is in quarantine yet, in milliseconds.
--
-- KEYS: incarnation. ARGV: quarantine.
--
-- The key says which server was the master since when, and is kept without a ttl. A server that is
-- not the one it names (or is it again after it was a replica) begins its quarantine now. The
-- server is asked in this very step who it is: what a client knows of it may be older than its
-- promotion. Where that may not be asked, only a missing key begins one. A clock that is set back
-- does not prolong the quarantine beyond its length.
--@include parts/identity.lua
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
local seen = redis.call('GET', KEYS[1])
local id, since = string.match(seen or '', '^(%S+) (%d+)$')
if not id or (identity ~= '' and id ~= identity) then
  local named = identity ~= '' and identity or 'unknown'
  redis.call('SET', KEYS[1], named .. ' ' .. string.format('%d', ms))
  return tonumber(ARGV[1])
end
local left = tonumber(since) + tonumber(ARGV[1]) - ms
return math.max(0, math.min(left, tonumber(ARGV[1])))
