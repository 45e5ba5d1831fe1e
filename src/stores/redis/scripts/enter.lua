-- Joins the queue, and looks again later: an owner that is queued already keeps its position.
-- Why: docs/stores/redis.md#looking-is-entering-again
--
-- KEYS: resource, fence, queue. ARGV: owner, ttl, fence floor, member, the member's other forms.
-- Number: granted, the fencing token. {pttl, holder, fence, added}: the owner now waits, if it does
-- not hold the resource; `added` is 1 when it did not wait before.
--
-- The position in the queue is kept when the member's form changes. The subscriber that asks does
-- not hang, so its mark goes. A queue that nobody looks at for ten minutes is forgotten.
--@include parts/next_fence.lua
--@include parts/hand_over.lua
--@include parts/state.lua
--@include parts/grant.lua

local floor = tonumber(ARGV[3])
local holder = redis.call('GET', KEYS[1])
local added = 0
local subscriber = string.match(ARGV[4], '^%S+')
local function take_mark_away()
  if subscriber ~= '-' then redis.call('ZREM', KEYS[3], '!' .. subscriber) end
end
if holder == ARGV[1] then
  take_mark_away()
else
  local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
  if not holder and not last[1] then return grant(ARGV[1], ARGV[2], floor) end
  if not redis.call('ZSCORE', KEYS[3], ARGV[4]) then
    local position
    local old = {}
    for form = 5, #ARGV do
      local score = redis.call('ZSCORE', KEYS[3], ARGV[form])
      position = position or score
      if score then old[#old + 1] = ARGV[form] end
    end
    if not position then
      if redis.call('ZCARD', KEYS[3]) >= 100000 then
        return redis.error_reply('QUEUEFULL 100000 wait already')
      end
      position = math.max(last[2] or 0, 0) + 1
      added = 1
    end
    redis.call('ZADD', KEYS[3], position, ARGV[4])
    if old[1] then redis.call('ZREM', KEYS[3], unpack(old)) end
  end
  redis.call('PEXPIRE', KEYS[3], 600000)
  take_mark_away()
  holder = holder or hand_over(floor, subscriber)
  if not holder then
    redis.call('ZREM', KEYS[3], ARGV[4])
    return grant(ARGV[1], ARGV[2], floor)
  end
end
local now = state(holder, floor)
if now[2] then now[4] = added end
return now
