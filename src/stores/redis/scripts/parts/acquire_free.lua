-- The beginning of acquire: the resource is free and nobody waits. This is the usual case and comes
-- before all functions: what is only defined costs the server time, too.
local floor = tonumber(ARGV[3])
local taken = redis.call('EXISTS', KEYS[3]) == 0 and
              redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if taken then
  local fence = redis.pcall('INCR', KEYS[2])
  if type(fence) == 'number' and fence >= floor then return fence end
end
