-- Lengthens the time to live of an entry that somebody else has written, within its bound.
--
-- KEYS: value, mark. ARGV: to which time left, how much beyond the first expiry at most, the marker
-- of a negative entry. 1, or 0 when it was not lengthened.
--
-- The mark is `FIRST LAST`: the expiry that was seen first, and the one that was set here last. An
-- entry that ends at LAST is the one of the mark; one that ends at another time was written, or
-- given a time, by somebody else since, and what is seen then is the first. The mark ends with the
-- entry.
--
-- The mark is written behind PEXPIRE, since a full server refuses nothing behind a write.
--@include parts/kind.lua

local left = redis.call('PTTL', KEYS[1])
local to = tonumber(ARGV[1])
-- Gone, or without an expiry; or much is left, mostly since another process was first.
if left < 0 or left * 4 > to * 3 then return 0 end

-- "No such thing" is to be asked about again when it says so.
local kind, refused = kind_of(KEYS[1])
if refused then return 0 end
if kind == 'hash' and redis.call('HEXISTS', KEYS[1], ARGV[3]) == 1 then return 0 end
local is_short = kind == 'string' and redis.call('STRLEN', KEYS[1]) == #ARGV[3]
if is_short and redis.call('GET', KEYS[1]) == ARGV[3] then return 0 end

local ends = redis.call('PEXPIRETIME', KEYS[1])
local first = ends
local mark = redis.call('GET', KEYS[2]) or ''
local known, last = string.match(mark, '^(%d+) (%d+)$')
if known and tonumber(last) == ends then first = tonumber(known) end

local now = ends - left
local more = math.min(to, first + tonumber(ARGV[2]) - now)
if more <= left then return 0 end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', more), 'GT')
ends = redis.call('PEXPIRETIME', KEYS[1])
redis.call('SET', KEYS[2], string.format('%.0f %.0f', first, ends))
redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', ends))
return 1
