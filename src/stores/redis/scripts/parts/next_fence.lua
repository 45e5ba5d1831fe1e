-- The next fencing token, or an error.
--
-- INCR is the common path. Its answer is below the floor only in two cases:
--   - There was no counter: first use, FLUSHALL, eviction, or its ttl of 7 days is over.
--   - The counter is older than this server's time of office: a replica that lagged was promoted.
-- Then the counter begins at the server's time in microseconds. That is larger than any token given
-- before: an older seed was an earlier time, and a resource is not granted once per microsecond. If
-- the clock was set back, the floor is the seed. A server that does not tell the time gets no
-- counter. The ttl is set with the seed only, so that resources that are used no more leave nothing
-- behind. All tokens are below 2^53, so they are exact in Lua's numbers.
local function next_fence(floor)
  local fence = redis.pcall('INCR', KEYS[2])
  if type(fence) ~= 'number' or fence >= floor then
    return fence
  end
  local now = redis.pcall('TIME')
  if now.err then
    redis.pcall('DEL', KEYS[2])
    return now
  end
  local seed = math.max(now[1] * 1000000 + now[2], floor)
  redis.call('SET', KEYS[2], string.format('%.0f', seed), 'EX', 604800)
  return seed
end
