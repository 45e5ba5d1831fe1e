-- What a process reports: kept until the end of the next window, and told.
--
-- KEYS: the reports of even windows, those of odd ones. ARGV: window in ms, process, number,
-- report, channel. 1, or 0 for one that is no newer than what is there.
--
-- A hash for each window: `#window` says which, `#sequence` how many were told so far, in all
-- windows; `PROCESS` has `NUMBER REPORT`. It ends with the next window: so who is silent goes by
-- itself, and what is there counts for whoever reads it (HSCAN; kept_reports.hpp).
-- The number of the present `window`, of ARGV[1] ms; and the ms until the next one ends.
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + time[2] / 1000
local window = math.floor(now_ms / ARGV[1])
local left_ms = math.ceil((window + 2) * ARGV[1] - now_ms)
local live, last = KEYS[window % 2 + 1], KEYS[2 - window % 2]

local function field_of(key, number, name)
  if redis.call('HGET', key, '#window') ~= string.format('%d', number) then return nil end
  return redis.call('HGET', key, name)
end

local known = field_of(live, window, ARGV[2]) or field_of(last, window - 1, ARGV[2])
if known and tonumber(string.match(known, '^%d+') or 0) >= tonumber(ARGV[3]) then return 0 end

local sequence = field_of(live, window, '#sequence')
if not sequence then
  sequence = field_of(last, window - 1, '#sequence') or '0'
  redis.call('DEL', live)
  redis.call('HSET', live, '#window', string.format('%d', window))
end
sequence = string.format('%d', sequence + 1)
redis.call('HSET', live, '#sequence', sequence, ARGV[2], ARGV[3] .. ' ' .. ARGV[4])
redis.call('PEXPIRE', live, string.format('%d', left_ms))
-- Who may not publish is heard by those who ask.
redis.pcall('PUBLISH', ARGV[5], sequence .. ' ' .. ARGV[4])
return 1
