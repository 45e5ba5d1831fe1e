-- Keeps the counter of a key's claims for as long as what it counts: while a claim can be held, or
-- its error answers. And 10 s longer, so that an event of this claim that is read late has another
-- number than the next claim, even if the server's clock is set back in between. Its time is never
-- made shorter.
local function keep_counter(counter, span)
  local least = span + 10000
  if redis.call('PTTL', counter) < least then redis.call('PEXPIRE', counter, least) end
end
