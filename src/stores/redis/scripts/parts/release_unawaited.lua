-- The beginning of release: nobody waits, or there is nothing to release. RENAME takes the resource
-- away and leaves the mark of who released it, with the rest of its ttl.
-- Why: docs/stores/redis.md#the-mark-of-who-released-last
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.call('GET', KEYS[4]) == ARGV[1] and 1 or 0
end
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('RENAME', KEYS[1], KEYS[4])
  return 1
end
