-- Ends a claim whose load failed, and keeps the error for the back-off.
--
-- KEYS: claim, error, counter. ARGV: owner, back-off, channel, message, error text.
-- 1, or 0 when the claim is not the owner's any more.
--@include parts/publish.lua
--@include parts/keep_counter.lua
--@include parts/claim_held.lua

redis.call('DEL', KEYS[1])
if tonumber(ARGV[2]) > 0 then
  redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[2])
  keep_counter(KEYS[3], tonumber(ARGV[2]))
end
publish(KEYS[3], ARGV[3], ARGV[4])
return 1
