-- KEYS: resource, last. ARGV: owner.
-- 1, or 0 when it is not the owner's. 2: the owner released it before, by a request whose answer
-- was lost, perhaps. RENAME leaves the mark of who released it last, for the rest of the ttl.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.call('GET', KEYS[2]) == ARGV[1] and 2 or 0
end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
