-- The end of release. Where a waiter has got the resource, SET leaves the mark of who released it,
-- for as long as a release that had no answer is asked again. Needs hand_over.
local heir = hand_over(tonumber(ARGV[2]), nil, head)
if heir and heir ~= '' then
  redis.call('SET', KEYS[4], ARGV[1], 'PX', 10000)
else
  redis.call('RENAME', KEYS[1], KEYS[4])
end
return 1
