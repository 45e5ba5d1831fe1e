-- Gives a lease that its holder leaves behind to another owner, and sets the time left. Of every
-- kind of lease that is a plain string, as renew.
--
-- KEYS: resource. ARGV: owner, the owner from now on, ttl. 1, or 0 when it is not the owner's.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[2] then return 1 end
if holder ~= ARGV[1] then return 0 end
-- PEXPIRE comes first: a full server refuses a script's first write only where it needs memory.
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
