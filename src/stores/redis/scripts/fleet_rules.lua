-- Writes rules in the place of those that their writer has read, and tells them to all.
--
-- KEYS: the rules, a hash of `version` and `text`. ARGV: the version that was read (0: there were
-- none), text, channel. The version that they have now, or 0: others are there.
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then return '0' end
-- Microseconds since 1970: greater than all before, even when the server has lost them.
local time = redis.call('TIME')
version = string.format('%.0f', math.max(version + 1, time[1] * 1000000 + time[2]))
redis.call('HSET', KEYS[1], 'version', version, 'text', ARGV[2])
-- Who may not publish is heard by those who look.
redis.pcall('PUBLISH', ARGV[3], version .. ' ' .. ARGV[2])
return version
