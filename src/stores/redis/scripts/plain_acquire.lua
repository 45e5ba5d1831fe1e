-- KEYS: key. ARGV: owner, ttl.
-- 1: granted. {pttl, holder}: it was held, perhaps by the same owner, whose first reply was lost.
-- GET refuses a key of another type, which SET NX leaves alone.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
local holder = redis.call('GET', KEYS[1])
return {redis.call('PTTL', KEYS[1]), holder}
