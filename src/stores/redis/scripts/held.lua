-- Which leases are here, until when they were promised; and a write, so that WAIT has something to
-- wait for.
-- Why: docs/stores/redis.md#confirmed-by-a-write-of-its-own
--
-- KEYS: leases. ARGV: for each, its owner and the ms that it must have left.
-- Who the server is, a blank, and '1' for each lease that is here with time left, else '0'.
--
-- A lease that has less time left was renewed at another server, or its renewal was not replicated
-- to this one yet. It gets the time here that its holder believes in.
--
-- The first of them is written in any case: WAIT speaks of what came before the last write of its
-- own connection (before Redis 7.2: before its last command), and answers at once where that has
-- written nothing. Also a server that is out of memory does this write, and whoever may renew a
-- lease may do it. These are whole milliseconds. Before Redis 7.2 the clock goes on in a script, so
-- a lease may end as much later, never earlier.
--@include parts/identity.lua
local held, written = {}, false
for i, key in ipairs(KEYS) do
  local left, wanted = 0, tonumber(ARGV[2 * i])
  if redis.pcall('GET', key) == ARGV[2 * i - 1] then left = redis.call('PTTL', key) end
  held[i] = left > 0 and '1' or '0'
  if left > 0 and (left < wanted or not written) then
    written = redis.call('PEXPIRE', key, math.max(left, wanted))
  end
end
return identity .. ' ' .. table.concat(held)
