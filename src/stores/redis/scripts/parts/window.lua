-- The number of the present `window`, of ARGV[1] ms.
local time = redis.call('TIME')
local window = math.floor((time[1] * 1000 + time[2] / 1000) / ARGV[1])
