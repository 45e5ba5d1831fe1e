-- Of a running claim: how long it has yet, and its fencing token.
--
-- KEYS: claim, fence.
return {redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2])}
