-- A claim is the layout letter in front of the owner.
--
-- KEYS: claim. ARGV: owner, ttl. 1, or 0 when it is not the owner's.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 2) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
