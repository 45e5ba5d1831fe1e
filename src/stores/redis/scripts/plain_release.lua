-- KEYS: key. ARGV: owner. 1, or 0 when it is not the owner's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
