-- Tells the watchers. An event names the last claim there was: "#7 " in front of the message
-- (entry_codec.hpp).
--
-- What is written stays written when a script fails later. So a PUBLISH that is refused (Redis 7
-- gives new users no channels) must not fail the call: a watcher looks by itself in time.
local function publish(fence, channel, message)
  local number = redis.pcall('GET', fence)
  if type(number) ~= 'string' then number = '0' end
  redis.pcall('PUBLISH', channel, '#' .. number .. ' ' .. message)
end
