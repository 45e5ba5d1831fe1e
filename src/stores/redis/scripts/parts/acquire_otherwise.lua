-- The end of acquire. A resource that expired while others wait is theirs. Needs hand_over, state
-- and grant.
if taken then return grant(ARGV[1], ARGV[2], floor) end
local holder = redis.call('GET', KEYS[1]) or hand_over(floor, '')
if not holder then return grant(ARGV[1], ARGV[2], floor) end
return state(holder, floor)
