-- Who holds a resource, and who waits for it (the first hundred).
--
-- KEYS: resource, fence, queue. {pttl, holder, fence or 0, waiting, member...}, or nothing.
local holder = redis.call('GET', KEYS[1])
if not holder then return false end
local first = redis.call('ZRANGE', KEYS[3], 0, 100)
local marks = first[1] and string.sub(first[1], 1, 1) == '!' and 1 or 0
local info = {redis.call('PTTL', KEYS[1]), holder, redis.call('GET', KEYS[2]) or '0',
              redis.call('ZCARD', KEYS[3]) - marks}
for i = 1 + marks, math.min(#first, 100 + marks) do info[#info + 1] = first[i] end
return info
