-- Gives a claim more time.
--
-- KEYS: claim, counter. ARGV: owner, ttl. 1, or 0 when it is not the owner's.
--@include parts/keep_counter.lua
--@include parts/claim_held.lua

keep_counter(KEYS[2], tonumber(ARGV[2]))
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
