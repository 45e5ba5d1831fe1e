-- Writes what was loaded under a claim, and ends the claim.
--
-- KEYS: value, claim, error, fence. ARGV: owner, ttl, kind, channel, message, value or fields...
-- 1, or 0 when the claim is not the owner's any more.
--@include parts/kind.lua
--@include parts/write_entry.lua
--@include parts/publish.lua

local held = redis.call('GET', KEYS[2])
if not held or string.sub(held, 2) ~= ARGV[1] then return 0 end
local refused = write(KEYS[1], ARGV[3], string.sub(held, 1, 1), ARGV[2], 6)
if refused then return refused end
redis.call('DEL', KEYS[2], KEYS[3])
publish(KEYS[4], ARGV[4], ARGV[5])
return 1
