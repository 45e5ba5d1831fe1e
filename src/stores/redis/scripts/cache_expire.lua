-- Makes a framed value stale, and keeps it for a while. A claim that runs is void.
--
-- KEYS: value, claim, error, fence. ARGV: keep, channel, message, field of the header, how a header
-- begins, the mark. 1, or 0 when there was no value.
--
-- The mark is written behind the beginning of the header, which is in front of a string, or in a
-- field of a hash. Without one, and with `keep` 0, the value is removed.
--
-- The claim goes first, since a full server never refuses DEL, and nothing behind a write.
--@include parts/publish.lua

--@include parts/kind.lua

local begins = ARGV[5]
local kind, refused = kind_of(KEYS[1])
if refused then return refused end
local header = ''
if kind == 'string' then header = redis.call('GETRANGE', KEYS[1], 0, #begins) end
if kind == 'hash' then header = redis.call('HGET', KEYS[1], ARGV[4]) or '' end
local known = #header > #begins and string.sub(header, 1, #begins) == begins
local kept = known and ARGV[1] ~= '0'

redis.call('DEL', KEYS[2], KEYS[3])
if not kept then
  redis.call('DEL', KEYS[1])
elseif kind == 'string' then
  redis.call('SETRANGE', KEYS[1], #begins, ARGV[6])
else
  redis.call('HSET', KEYS[1], ARGV[4], begins .. ARGV[6] .. string.sub(header, #begins + 2))
end
local left = kept and redis.call('PTTL', KEYS[1])
if left and (left < 0 or left > tonumber(ARGV[1])) then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
publish(KEYS[4], ARGV[2], ARGV[3])
return kind == 'none' and 0 or 1
