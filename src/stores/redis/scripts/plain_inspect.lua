-- KEYS: key. {pttl, holder}, or nothing.
local holder = redis.call('GET', KEYS[1])
if not holder then return false end
return {redis.call('PTTL', KEYS[1]), holder}
