-- Which leases are here, with time left; and a write, so that WAIT has something to wait for.
--
-- KEYS: leases. ARGV: their owners. '1' for each that is here with time left, else '0'.
--
-- The first of them gets the time that it has once more: WAIT speaks of what came before the last
-- write of its own connection (before Redis 7.2: before its last command), and answers at once
-- where that has written nothing. Also a server that is out of memory does this write, and whoever
-- may renew a lease may do it. These are whole milliseconds, and the clock stands still in a
-- script, so the lease does not end any earlier.
local held, written = {}, false
for i, key in ipairs(KEYS) do
  local left = 0
  if redis.pcall('GET', key) == ARGV[i] then left = redis.call('PTTL', key) end
  held[i] = left > 0 and '1' or '0'
  if left > 0 and not written then written = redis.call('PEXPIRE', key, left) end
end
return table.concat(held)
