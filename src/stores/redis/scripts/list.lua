-- One page of the keys that are leases.
--
-- ARGV: cursor, count, pattern, whether the text has to be an owner token. {next cursor, key...}
--
-- An owner token stands also in a claim (behind its layout letter), in what remembers the last
-- owner, and in the lease of the collector of hot keys: side keys. What cannot be read (it expired,
-- or its slot is on the move) is no lease here. But where nothing can be read, as at a server that
-- has no slots any more, or for another reason, that is told.
local page = redis.call('SCAN', ARGV[1], 'COUNT', ARGV[2], 'MATCH', ARGV[3], 'TYPE', 'string')
local found = {page[1]}
local secret = ':' .. string.rep('[0-9a-f]', 32) .. '$'
local refused, why = 0, nil
local function asked(verb, key)
  local got = redis.pcall(verb, key)
  if type(got) ~= 'table' or not got.err or string.find(got.err, 'WRONGTYPE') then return got end
  refused, why = refused + 1, got.err
  if not string.find(got.err, 'non local key') then refused = #page[2] end
end
local function is_lease(key)
  if ARGV[4] ~= '1' then return true end
  local side = string.match(key, '[}:]:herdlock:(%a+)$')
  if side == 'claim' or side == 'last' or side == 'collector' then return false end
  local length = asked('STRLEN', key)
  if type(length) ~= 'number' or length < 33 or length > 128 then return false end
  local owner = asked('GET', key)
  return type(owner) == 'string' and string.find(owner, secret) ~= nil
end
for _, key in ipairs(page[2]) do
  if is_lease(key) then found[#found + 1] = key end
end
if why and refused >= #page[2] then return redis.error_reply(why) end
return found
