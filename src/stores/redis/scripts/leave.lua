-- Takes a waiter out of the queue.
--
-- KEYS: resource, fence, queue. ARGV: owner, fence floor, all forms of the member.
-- {pttl, holder, fence} if the grant crossed this and the owner has it; else 0: it does not wait
-- any more. A resource that somebody made a key of another type is not ours; the entry in the
-- queue goes all the same.
--@include parts/next_fence.lua
--@include parts/state.lua

local holder = redis.pcall('GET', KEYS[1])
local left = redis.call('ZCARD', KEYS[3])
left = left - redis.call('ZREM', KEYS[3], unpack(ARGV, 3))
if left == 1 and string.sub(redis.call('ZRANGE', KEYS[3], 0, 0)[1], 1, 1) == '!' then
  redis.call('DEL', KEYS[3])
end
if holder ~= ARGV[1] then return 0 end
return state(holder, tonumber(ARGV[2]))
