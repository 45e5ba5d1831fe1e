-- The script ends here unless the claim KEYS[1] is held by the owner ARGV[1]. A claim is the layout
-- letter in front of the owner.
local held = redis.call('GET', KEYS[1])
if not held or string.sub(held, 2) ~= ARGV[1] then return 0 end
