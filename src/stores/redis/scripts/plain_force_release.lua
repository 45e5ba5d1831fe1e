-- Where there is no queue: of the plain dialect, and of a Redlock node.
--
-- KEYS: key. 1, or 0 when there was nothing.
-- GET refuses a key of another type: that one is not ours to delete.
if not redis.call('GET', KEYS[1]) then return 0 end
return redis.call('DEL', KEYS[1])
