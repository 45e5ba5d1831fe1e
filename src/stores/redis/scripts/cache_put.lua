-- Writes a value without a claim. A claim that runs is void.
--
-- KEYS: value, claim, error, fence. ARGV: ttl, kind, channel, message, value or fields...
--@include parts/kind.lua
--@include parts/write_entry.lua
--@include parts/publish.lua

local refused = write(KEYS[1], ARGV[2], 's', ARGV[1], 5)
if refused then return refused end
redis.call('DEL', KEYS[2], KEYS[3])
publish(KEYS[4], ARGV[3], ARGV[4])
return 1
