-- The end of release. Where a waiter has got the resource, SET leaves the mark of who released it,
-- for the rest of its ttl, and for the time in which a release that had no answer is asked again.
-- It needs hand_over.
local rest = redis.call('PTTL', KEYS[1])
local heir = hand_over(tonumber(ARGV[2]))
if heir and heir ~= '' then
  redis.call('SET', KEYS[4], ARGV[1], 'PX', math.max(rest, 10000))
else
  redis.call('RENAME', KEYS[1], KEYS[4])
end
return 1
