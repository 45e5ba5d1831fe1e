-- Raises the node's counter to at least the majority's token.
--
-- KEYS: resource, quorum. ARGV: owner, token. The counter, or 0 when it is not the owner's.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local was = redis.call('GET', KEYS[2]) or ''
local counter, attempt = string.match(was, '^(%d+) (%d+)$')
if counter and tonumber(counter) >= tonumber(ARGV[2]) then return tonumber(counter) end
redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. (attempt or '0'), 'EX', 604800)
return tonumber(ARGV[2])
