-- Removes a value. A claim that runs is void.
--
-- KEYS: value, claim, error, fence. ARGV: channel, message. 1, or 0 when there was no value.
--@include parts/publish.lua
--@include parts/kind.lua

local _, refused = kind_of(KEYS[1])
if refused then return refused end
local removed = redis.call('DEL', KEYS[1])
redis.call('DEL', KEYS[2], KEYS[3])
publish(KEYS[4], ARGV[1], ARGV[2])
return removed
