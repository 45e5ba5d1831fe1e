-- Of every kind of lease that is a plain string: the queue's, Redlock's, the plain dialect's.
--
-- KEYS: resource. ARGV: owner, ttl. 1, or 0 when it is not the owner's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
