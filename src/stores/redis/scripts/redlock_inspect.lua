-- KEYS: resource, quorum. {pttl, holder, counter or 0}, or nothing.
local holder = redis.call('GET', KEYS[1])
if not holder then return false end
local counter = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) %d+$')
return {redis.call('PTTL', KEYS[1]), holder, counter or '0'}
