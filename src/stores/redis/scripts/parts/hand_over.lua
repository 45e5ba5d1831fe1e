-- hand_over makes the first live waiter the owner and pushes the grant to it, in this same step:
-- the resource is never free while somebody waits. It answers who has the resource now; false when
-- nobody waits; '' when a thousand dead waiters were skipped and more are in front: the next look
-- goes on. It needs next_fence.
-- Why: docs/stores/redis.md#the-queue-is-in-the-server
--
-- The dead. A waiter whose process does not listen at this server has died, or its connection has:
-- it is skipped. Nothing is published to it: a subscriber at a replica, which is not counted, would
-- hear what was not meant. Where an ACL refuses the count or the push, the waiter finds its grant
-- by looking, as a waiter of subscriber `-` does. A cluster's subscriber (`@...`) would hear over
-- the bus, too: to it nothing is published that was not counted.
--
-- The hung. The grant is for the time that the waiter has asked for, a heartbeat, so that one that
-- hangs does not keep the others waiting for longer. A subscriber that had the last grant, let it
-- expire and has not looked since, hangs. If another subscriber asks (`alive`), those who wait by
-- the hung one are taken out of the queue, wherever they stand: it costs one heartbeat, not one for
-- each. The mark `!SUBSCRIBER` remembers who had the last grant. It stands in front of the queue
-- while others wait, and its score is the grant's token, below zero. A look of that subscriber
-- takes the mark away. So does a release that finds no heir: what was given back did not expire. A
-- subscriber that is not pushed to gets no mark. (A lease that is left, by pass_on, and ends before
-- its subscriber's next look within a second, looks like one of a hung process: its other waiters
-- enter again, at the end.)
--
-- Out of memory. The server refuses INCR and SET then, and the resource is just free: nothing is
-- pushed that was not set. PEXPIRE comes first, since it is never refused for want of memory, and
-- nothing behind a write is.
--
-- A cluster's slot that is being moved. A key that is not here is somewhere else, and a script that
-- names what it has removed is cut there, with all that it has done. So the resource is
-- overwritten, not removed and made again, and the queue is not named any more once it may be
-- gone.
-- Why: docs/stores/redis-cluster.md#scripts-do-not-name-what-they-removed
--
-- The message is `fence ttl length-of-owner owner resource`.

-- Two answers: whether the subscriber's process lives, and whether nothing is to be pushed to it.
local function listens(subscriber)
  if subscriber == '-' then return true, true end
  local count = redis.pcall('PUBSUB', 'NUMSUB', 'herdlock:grants:' .. subscriber)
  if count.err then return true, string.sub(subscriber, 1, 1) == '@' end
  return tonumber(count[2]) > 0, false
end
-- The token of the owner's grant, or false.
local function give(owner, ttl, floor)
  redis.call('PEXPIRE', KEYS[3], 600000)
  local fence = next_fence(floor)
  if type(fence) ~= 'number' then return false end
  local set = redis.pcall('SET', KEYS[1], owner, 'PX', ttl)
  return not set.err and fence
end
-- The member leaves the queue, and the mark in front becomes the new one.
local function take_out(member, new, mark, fence)
  if mark and mark ~= new then
    redis.call('ZREM', KEYS[3], member, mark)
  else
    redis.call('ZREM', KEYS[3], member)
  end
  if new then redis.call('ZADD', KEYS[3], string.format('-%.0f', fence), new) end
end
-- All who wait by the hung process, among the first ten thousand, leave the queue. When nobody else
-- waits they stay: hand_over skips them one by one, and the queue goes.
-- Why: docs/stores/redis.md#a-hung-process-costs-one-heartbeat
local function drop_hung(hung)
  local others, gone = false, {}
  local prefix = hung .. ' '
  for _, member in ipairs(redis.call('ZRANGE', KEYS[3], 1, 10000)) do
    if string.sub(member, 1, #prefix) == prefix then
      gone[#gone + 1] = member
    else
      others = true
    end
  end
  if not others then return end
  for i = 1, #gone, 1000 do
    redis.call('ZREM', KEYS[3], unpack(gone, i, math.min(i + 999, #gone)))
  end
end
local function hand_over(floor, alive)
  local mark = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
  if not mark then return false end
  if string.sub(mark, 1, 1) ~= '!' then mark = nil end
  local hung, failed = nil, false
  if mark and alive and mark ~= '!' .. alive and
     -redis.call('ZSCORE', KEYS[3], mark) == tonumber(redis.call('GET', KEYS[2]) or 0) then
    hung = string.sub(mark, 2)
    drop_hung(hung)
  end
  local at = mark and 1 or 0
  local left = redis.call('ZCARD', KEYS[3]) - at
  if left == 0 then redis.call('DEL', KEYS[3]) end
  for _ = 1, 1000 do
    if left == 0 then break end
    local first = redis.call('ZRANGE', KEYS[3], at, at)[1]
    local subscriber, ttl, owner = string.match(first, '^(%S+) (%d+) (.+)$')
    local lives, mute
    if subscriber and subscriber ~= hung then lives, mute = listens(subscriber) end
    local fence = lives and give(owner, ttl, floor)
    if lives and not fence then
      failed = true
      break
    end
    left = left - 1
    if left == 0 then
      redis.call('DEL', KEYS[3])
    elseif lives then
      take_out(first, not mute and '!' .. subscriber, mark, fence)
    else
      redis.call('ZREM', KEYS[3], first)
    end
    if lives and not mute then
      redis.pcall('PUBLISH', 'herdlock:grants:' .. subscriber, string.format('%.0f', fence)
        .. ' ' .. ttl .. ' ' .. #owner .. ' ' .. owner .. ' ' .. KEYS[1])
    end
    if lives then return owner end
  end
  if mark and left > 0 and not alive then redis.call('ZREM', KEYS[3], mark) end
  return left > 0 and not failed and ''
end
