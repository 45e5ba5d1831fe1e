-- Who this server is now: its run id, which changes with each start, and its replication id, which
-- changes when it becomes a master, as RUN:REPLICATION. Empty when it may not be asked.
local function fact(section, name)
  local told = redis.pcall('INFO', section)
  return type(told) == 'string' and string.match(told, '\n' .. name .. ':(%w+)')
end
local run, replication = fact('server', 'run_id'), fact('replication', 'master_replid')
local identity = run and replication and run .. ':' .. replication or ''
