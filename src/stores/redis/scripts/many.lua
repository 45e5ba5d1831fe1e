-- Many acquires and releases in one step. That costs the server less than each in one of its own:
-- entering a script is a third of what it takes.
--
-- KEYS: theirs, one after the other. ARGV: for each `A`, owner, ttl, floor or `R`, owner, floor.
-- Their answers in a list. Of one that failed the answer is nothing or its error: asked again
-- alone, which acquire and release allow, it gets the whole of it.
local all_keys, all_arguments = KEYS, ARGV
local KEYS, ARGV = {}, {}
--@include parts/next_fence.lua
--@include parts/hand_over.lua
--@include parts/state.lua
--@include parts/grant.lua

local function acquire()
--@include parts/acquire_free.lua
--@include parts/acquire_otherwise.lua
end
local function release()
--@include parts/release_unawaited.lua
--@include parts/release_awaited.lua
end
local answers, k, a = {}, 1, 1
while all_arguments[a] do
  KEYS[1], KEYS[2], KEYS[3] = all_keys[k], all_keys[k + 1], all_keys[k + 2]
  ARGV[1], ARGV[2] = all_arguments[a + 1], all_arguments[a + 2]
  local step
  if all_arguments[a] == 'A' then
    step, ARGV[3], k, a = acquire, all_arguments[a + 3], k + 3, a + 4
  else
    step, KEYS[4], k, a = release, all_keys[k + 3], k + 4, a + 3
  end
  local fine, answer = pcall(step)
  answers[#answers + 1] = fine and answer or false
end
return answers
