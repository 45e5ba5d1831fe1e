-- Takes a lease away, whoever has it, and makes the first live waiter the owner.
--
-- KEYS: resource, fence, queue. ARGV: fence floor. 1, or 0 when there was nothing.
-- GET refuses a key of another type: that one is not ours to delete.
--@include parts/next_fence.lua
--@include parts/hand_over.lua

if not redis.call('GET', KEYS[1]) then return 0 end
local heir = hand_over(tonumber(ARGV[1]))
if not heir or heir == '' then redis.call('DEL', KEYS[1]) end
return 1
