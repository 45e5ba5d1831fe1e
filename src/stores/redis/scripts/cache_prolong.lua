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
-- The mark is written behind PEXPIREAT, since a full server refuses nothing behind a write.
-- Why: docs/decisions/hot-keys.md#the-store-knows-the-first-expiry
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

-- One time for the entry and for its mark: a server may read its clock anew for each command, so a
-- time that is left would be counted from later than it was computed for, and go over the bound.
local until_then = math.min(ends - left + to, first + tonumber(ARGV[2]))
if until_then <= ends then return 0 end
local at = string.format('%.0f', until_then)
redis.call('PEXPIREAT', KEYS[1], at, 'GT')
redis.call('SET', KEYS[2], string.format('%.0f %s', first, at))
redis.call('PEXPIREAT', KEYS[2], at)
return 1
