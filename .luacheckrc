-- The composed Lua scripts, as Redis runs them.
std = "lua51"
read_globals = {"redis", "KEYS", "ARGV", "cjson", "struct", "cmsgpack", "bit"}
max_line_length = 100
-- A part's function may name its parameter as the script names a variable.
ignore = {"43."}
