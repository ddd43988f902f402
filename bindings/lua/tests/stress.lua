-- SPDX-License-Identifier: BSD-2-Clause
-- The common table and what it leaves out, with a full collection at each allocation of the first calls of each function
-- of the module; no function is left out. Run by test_api.py.
local rl = require "rl"
local path, name = arg[1], arg[2]
local ROUNDS = 3
local names, calls = {}, {}

local function note(of, prefix)
	for key, value in pairs(of) do
		if type(value) == "function" and key:sub(1, 2) ~= "__" then
			names[value], calls[value] = prefix .. key, 0
		end
	end
end

note(rl, "rl.")
for _, kind in ipairs {"rl.segment", "rl.rule", "rl.space", "rl.charges"} do
	note(debug.getregistry()[kind], kind .. ":")
end

-- No pause, and steps that do all at once: whatever asks whether to collect collects everything.
local function stress()
	if _VERSION == "Lua 5.4" then
		collectgarbage("incremental", 1, 1000, 1)
	else
		collectgarbage("setpause", 0)
		collectgarbage("setstepmul", 1000000)
	end
	collectgarbage()
end

local function calm()
	if _VERSION == "Lua 5.4" then
		collectgarbage("generational")
	else
		collectgarbage("setpause", 200)
		collectgarbage("setstepmul", 200)
	end
end

local function watch(event)
	local called = debug.getinfo(2, "f").func
	if not calls[called] then
		return
	end
	calls[called] = calls[called] + (event == "return" and 0 or 1)
	if event ~= "return" and calls[called] <= ROUNDS then
		stress()
	else
		calm()
	end
end

local function call_the_rest()
	local segment = assert(rl.open(name, {keys = 100}))
	local rule = assert(segment:define("r", {algorithm = "in_flight", capacity = 2}))
	local space = assert(segment:counters("c"))
	assert(rule:handle() >= 0 and rule:name() == "r" and space:name() == "c" and segment:name() == name)
	local held = assert(rule:acquire(("k"):rep(100)))
	assert(rule:peek("k") and held:release())
	local plain = assert(segment:define("p", {algorithm = "fixed_window", limit = "2/day"}))
	assert(plain:check(("k"):rep(100)) and plain:check(("k"):rep(100)) and not plain:check(("k"):rep(100)))
	assert(plain:decide("t", {keep = true}).charges:settle(2))
	assert(plain:spend("s", 2, function(charges) return charges:settle(1) end))
	assert(plain:problem(plain:decide("t"), 429):find("quota-exceeded", 1, true))
	assert(plain:info() and segment:rules() and segment:info())
	for _, of in ipairs {plain, segment} do
		assert(of:ban("198.51.100.0/24", "1h") and of:unban("198.51.100.0/24"))
		assert(of:allow("a") and of:unban("a"))
	end
	assert(plain:reset_matching("k*") and space:reset_matching() and segment:reset_matching())
	assert(segment:now() > 0 and segment:give_back() == 0 and segment:cell() and segment:is_open())
	assert(select(3, rl.error(-22)) == "EINVAL")
	segment:close()
	assert(not segment:is_open() and rl.unlink(name))
end

local weak = setmetatable({}, {__mode = "v"})
stress()
weak[1] = {}
local _ = ("x"):rep(1000)
assert(not weak[1], "what is dropped is not collected at once")
calm()

debug.sethook(watch, "cr")
arg = {path}
dofile((debug.getinfo(1, "S").source:sub(2):gsub("stress.lua$", "table.lua")))
call_the_rest()
debug.sethook()

local missing = {}
for value, count in pairs(calls) do
	if count == 0 then
		missing[#missing + 1] = names[value]
	end
end
table.sort(missing)
assert(#missing == 0, "called by nobody: " .. table.concat(missing, ", "))
