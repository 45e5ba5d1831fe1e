-- Gives a claim more time.
--
-- KEYS: claim. ARGV: owner, ttl. 1, or 0 when it is not the owner's.
--@include parts/claim_held.lua

return redis.call('PEXPIRE', KEYS[1], ARGV[2])
