-- Writes an entry in the given layout. Its kind is 's' (a string), 'h' (a hash) or 'n' (a negative
-- entry; ARGV[first] is its marker). Answers the error when the key holds something else. Needs
-- kind_of.
--
-- A hash is replaced as a whole, in this one step: nobody sees a mixture. Fields go 500 at a time,
-- because Lua's stack bounds what one call takes.
local function write(key, kind, layout, ttl, first)
  local _, refused = kind_of(key)
  if refused then return refused end
  if kind == 's' or (kind == 'n' and layout ~= 'h') then
    redis.call('SET', key, ARGV[first], 'PX', ttl)
    return nil
  end
  redis.call('DEL', key)
  if kind == 'n' then redis.call('HSET', key, ARGV[first], '') end
  for i = (kind == 'h') and first or #ARGV + 1, #ARGV, 1000 do
    redis.call('HSET', key, unpack(ARGV, i, math.min(i + 999, #ARGV)))
  end
  redis.call('PEXPIRE', key, ttl)
  return nil
end
