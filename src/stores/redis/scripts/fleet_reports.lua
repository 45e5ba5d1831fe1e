-- All that is kept of what processes report (fleet_report.lua).
--
-- KEYS: the reports of even windows, those of odd ones. ARGV: window in ms. How many were told so
-- far, and each report; of a process at most the one of each window.
--@include parts/window.lua
local answer = {'0'}

local function add(key, number)
  if redis.call('HGET', key, '#window') ~= string.format('%d', number) then return end
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    if all[i] == '#sequence' then
      answer[1] = all[i + 1]
    elseif all[i] ~= '#window' then
      -- (gsub has a second result.)
      local text = string.gsub(all[i + 1], '^%d+ ', '')
      answer[#answer + 1] = text
    end
  end
end

add(KEYS[2 - window % 2], window - 1)
add(KEYS[window % 2 + 1], window)
return answer
