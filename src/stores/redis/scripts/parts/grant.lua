-- The token of the owner's grant, or an error. A counter key that holds something else makes INCR
-- fail; what was taken is given back then. Needs next_fence.
local function grant(owner, ttl, floor)
  redis.call('SET', KEYS[1], owner, 'PX', ttl)
  local fence = next_fence(floor)
  if type(fence) ~= 'number' then redis.call('DEL', KEYS[1]) end
  return fence
end
