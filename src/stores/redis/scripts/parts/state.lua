-- How things stand with a resource that is held: {pttl, holder, fence}, or an error. Needs
-- next_fence.
local function state(holder, floor)
  local fence = redis.call('GET', KEYS[2])
  if not fence then fence = next_fence(floor) end
  if type(fence) == 'table' then return fence end
  return {redis.call('PTTL', KEYS[1]), holder, fence}
end
