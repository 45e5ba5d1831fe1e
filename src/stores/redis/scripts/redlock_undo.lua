-- Gives back what an attempt up to this one was granted.
--
-- KEYS: resource, quorum. ARGV: owner, attempt. 1 when there was some.
--
-- An undo can be late. Meanwhile the same owner may have asked again and been granted: that newer
-- grant is left alone, since it may already count in a majority.
-- Why: docs/stores/redlock.md#giving-votes-back-names-the-attempt
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local attempt = string.match(redis.call('GET', KEYS[2]) or '', '^%d+ (%d+)$')
if attempt and tonumber(attempt) > tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
