-- `kind` is none, string or hash; with a value of another kind the script ends here.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'string' and kind ~= 'hash' then
  return redis.error_reply('WRONGTYPE it is a ' .. kind)
end
