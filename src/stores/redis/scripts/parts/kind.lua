-- kind_of answers none, string or hash, and behind it the error for what a cache never touches: a
-- value of another kind, or the owner token of a lock that is held under this name. That is a text
-- of at most 128 bytes without a NUL, as a framed entry has one, which ends with /PID:SECRET
-- (is_own_token in types.hpp).
local function kind_of(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' or kind == 'hash' then return kind end
  if kind ~= 'string' then return kind, redis.error_reply('WRONGTYPE it is a ' .. kind) end
  local text = redis.call('GETRANGE', key, 0, 128)
  if #text <= 34 or #text > 128 then return kind end
  local token = '/%d+:' .. string.rep('[0-9a-f]', 32) .. '$'
  if string.find(text, token) and not string.find(text, '%z') then
    return kind, redis.error_reply('ISALOCK its owner holds it')
  end
  return kind
end
