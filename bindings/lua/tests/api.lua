-- SPDX-License-Identifier: BSD-2-Clause
-- What the table of all bindings does not have: Lua's own types and errors, short answers, units in flight that are
-- forgotten, segments that come and go, and the ffi face, which says the same. Run by test_api.py.
local module, name, ffi_face = arg[1], arg[2], arg[1] == "rl.ffi"
local rl = require(module)
local plain = require "rl"
local tests, order = {}, {}

local function test(what, run)
	order[#order + 1] = what
	tests[what] = run
end

local function equal(got, wanted, what)
	if got ~= wanted then
		error(("%s: %s, not %s"):format(what or "value", tostring(got), tostring(wanted)), 2)
	end
end

local function fails(text, call, ...)
	local ok, why = pcall(call, ...)
	if ok or not tostring(why):find(text, 1, true) then
		error(("an error with '%s' was expected, not %s"):format(text, tostring(why)), 2)
	end
end

test("short answers", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", {algorithm = "fixed_window", limit = "3/day"}))
	equal(rule:name(), "r")
	for left = 2, 0, -1 do
		local allowed, wait, remaining, err = rule:check("a")
		equal(allowed, true)
		equal(wait, 0)
		equal(remaining, left)
		equal(err, nil)
	end
	local allowed, wait, remaining = rule:check("a")
	equal(allowed, false)
	assert(wait > 0 and wait <= 86400, wait)
	equal(remaining, 0)
	equal(rule:peek("a"), false)
	allowed, wait, remaining = rule:peek("b")
	equal(allowed, true)
	equal(remaining, 3)
	allowed, wait = rule:check("b", 4)
	equal(allowed, false)
	equal(wait, math.huge)
	equal(rule:check("b", 3), true)
	equal(rule:check("b", 0), false) -- a peek
	local _, _, _, empty = rule:check("")
	equal(empty, "RL_EEMPTY")
	equal(rule:reset("a"), true)
	equal(rule:reset("a"), false)
	equal(rule:check("a"), true)
end)

test("keys", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", {algorithm = "fixed_window", limit = "1/day"}))
	for _, key in ipairs {"\0a", "\0b", "\255", ("x"):rep(4096), ("x"):rep(4097), ("x"):rep(100000), 42} do
		equal(rule:check(key), true)
		equal(rule:check(key), false)
	end
	equal(rule:check("42"), false)
	equal(rule:check(rl.digest(("x"):rep(4097))), false)
	fails("string", rule.check, rule, nil)
	fails("string", rule.check, rule, {})
	fails("string", rule.check, rule, true)
end)

test("waits are seconds", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", {algorithm = "leaky_bucket", capacity = 1, window = 100, burst = 2}))
	rule:check("a")
	local allowed, wait = rule:check("a")
	equal(allowed, true)
	assert(wait > 50 and wait <= 100, wait)
	local booking = rule:reserve("a", {max_wait = 3600, keep = true})
	equal(booking.verdict, "allowed")
	assert(booking.delay > 150 and booking.delay <= 200, booking.delay)
	equal(booking.charges:refund(), true)
	equal(booking.charges:refund(), false)
	equal(rule:reserve("a", {max_wait = "1s"}).verdict, "denied")
end)

test("what a request has cost is said once", function()
	local segment = assert(rl.private {})
	local rule = assert(segment:define("tokens", "100/h"))
	local less = rule:decide("a", {cost = 40, keep = true}).charges
	local more = rule:decide("a", {cost = 10, keep = true}).charges
	equal(less:settle(15), true)
	equal(rule:decide("a", {peek = true}).used, 25)
	equal(more:settle(110), true)
	equal(rule:decide("a", {peek = true}).used, 125)
	equal(rule:decide("a", {peek = true}).remaining, 0)
	equal(select(3, less:settle(15)), "RL_ESETTLED")
	fails("whole number", more.settle, more, -1)
	fails("what it has cost", more.settle, more)
end)

test("what a function spends", function()
	local segment = assert(rl.private {})
	local rule = assert(segment:define("llm", {limits = {"100/h", {algorithm = "in_flight", capacity = 1, counts = "requests"}}}))
	local function used()
		local each = rule:decide("a", {cost = 0, limits = true}).limits
		return each[1].used .. " " .. each[2].used
	end
	local function never() error("it ran") end
	local is_well, one, two = rule:spend("a", 40, function(charges, answer)
		equal(used(), "40 1")
		equal(answer.used, 1)
		local denied, why = rule:spend("a", 1, never)
		equal(denied, false)
		equal(why.verdict, "denied")
		equal(charges:settle(10), true)
		return 1, 2
	end)
	equal(is_well, true)
	equal(one + two, 3)
	equal(used(), "10 0")
	local failed = {pcall(rule.spend, rule, "a", 20, function() error({"an object"}) end)}
	equal(failed[2][1], "an object")
	equal(used(), "30 0")
	local routine = coroutine.wrap(function() return rule:spend("a", 40, function(charges) return charges:settle(coroutine.yield()) end) end)
	if pcall(routine) then -- Lua 5.1 yields in no pcall
		equal(used(), "70 1")
		equal(routine(5), true)
		equal(used(), "35 0")
	else
		equal(_VERSION, "Lua 5.1")
	end
	segment:close()
	equal(select("#", rule:spend("a", 1, never)), 3)
	equal(rule:spend("a", 1, never), nil)
end)

test("the reserve of a full table", function()
	local segment = assert(rl.private {keys = 1, cells = 128, reserves = 2})
	local info = segment:info()
	equal(info.cells, 128)
	equal(info.reserves, 2)
	local has_cells = {}
	for _, name in ipairs {"a", "b", "c"} do
		local rule = assert(segment:define(name, "5/h"))
		for i = 1, 200 do
			has_cells[name] = has_cells[name] or rule:decide("key" .. i).reason == "reserve"
		end
	end
	equal(has_cells.a, true)
	equal(has_cells.b, true)
	equal(has_cells.c, false) -- two limits have them
	equal(select(3, rl.private {cells = 128, on_full = "deny"}), "EINVAL")
	equal(select(3, rl.private {cells = 100}), "EINVAL")
	fails("option reserves", rl.private, {reserves = 1025})
	equal(assert(rl.private {keys = 1}):info().events, 4096)
	equal(assert(rl.private {keys = 1, events = 64}):info().events, 64)
	equal(assert(rl.private {keys = 1, events = false}):info().events, 0)
	fails("option events", rl.private, {events = 1048577})
end)

test("rules as they are written", function()
	local segment = assert(rl.private())
	local info = assert(segment:define("a", "300/5min")):info()
	equal(info.limits[1].granularity, 60)
	equal(info.limits[1].hard, true)
	equal(info.limits[1].window_ns, 300e9)
	equal(info.source, "application")
	info = assert(segment:define("b", {limit = "10/s", granularity = "100ms"})):info()
	equal(info.limits[1].granularity, 10)
	equal(info.limits[1].hard, false)
	info = assert(segment:define("c", {limits = {"10/s", {capacity = 100, window = "1h30m"}}})):info()
	equal(#info.limits, 2)
	equal(info.limits[2].window_ns, 5400e9)
	equal(segment:rules().b.name, "b")
	assert(segment:define("k", {limit = "1/s", keep = true}))
	local none, text, code = segment:define("k", {limit = "2/s", keep = true})
	equal(none, nil)
	equal(code, "RL_EDEFINED")
	none, text, code = segment:define("d", {algorithm = "sliding_log", capacity = 5000, window = 1})
	equal(none, nil)
	equal(code, "RL_ERING")
	assert(text:find("capacity", 1, true), text)
	fails("colour: a limit has no such field", segment.define, segment, "d", {limit = "1/s", colour = "blue"})
	fails("algorithm: expected \"sliding_window\", ", segment.define, segment, "d", {limit = "1/s", algorithm = "magic"})
	fails("limit: expected a rate", segment.define, segment, "d", "5 per minute")
	fails("capacity: expected an integer", segment.define, segment, "d", {capacity = 1.5, window = 1})
	fails("capacity: expected an integer", segment.define, segment, "d", {capacity = -1, window = 1})
	fails("hard: expected true or false", segment.define, segment, "d", {limit = "1/s", hard = 2})
	fails("window: expected a duration", segment.define, segment, "d", {capacity = 1, window = "soon"})
	fails("limits[2].limit", segment.define, segment, "d", {limits = {"1/s", "nonsense"}})
	fails("limits: there are 0", segment.define, segment, "d", {limits = {}})
	fails("granularity: its length divides", segment.define, segment, "d", {limit = "1/s", granularity = "300ms"})
end)

test("options", function()
	local segment = assert(rl.private {keys = 100, ring = 8, key_bytes = 16, on_full = "deny", bans = 10})
	local info = segment:info()
	equal(info.ring, 8)
	equal(assert(rl.private {keys = 10}):info().ring, 64)
	local refused, why, which = assert(rl.private {keys = 10, ring = 1}):define("r", "5/min")
	equal(refused, nil)
	equal(which, "RL_ERING")
	assert(why:find("'rlctl resize --ring 60'", 1, true), why)
	equal(info.key_bytes, 16)
	assert(info.keys >= 100 and info.bans >= 10)
	fails("option kees: a segment has no such option", rl.private, {kees = 1})
	fails("option keys: expected an integer", rl.private, {keys = "many"})
	fails("on_full", rl.private, {on_full = "shrug"})
	equal(assert(rl.private {on_full = "evict"}):info().on_full, "reserve") -- a word of before
	fails("option mode", rl.private, {mode = "rw"})
	local none, text, code = rl.open("no/name")
	equal(none, nil)
	equal(code, "EINVAL")
	none, text, code = rl.open(("x"):rep(100))
	equal(code, "EINVAL")
	none, text, code = rl.open(name .. "-absent", {existing = true})
	equal(none, nil)
	equal(code, "ENOENT")
	assert(type(text) == "string" and #text > 0)
end)

test("requests", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", "10/day"))
	fails("unknown", rule.decide, rule, "a", {colour = 1})
	fails("cost: a whole number", rule.decide, rule, "a", {cost = -1})
	fails("digits", rule.decide, rule, "a", {now_ns = "soon"})
	equal(rule:decide("a", {peek = true}).used, 0)
	equal(rule:decide("a", {cost = 3}).used, 3)
	equal(rule:decide("a", {capacity = 3}).verdict, "denied")
	local other = assert(rl.private())
	local foreign = assert(other:define("r", "10/day"))
	fails("another segment", segment.check_all, segment, {{rule = foreign, key = "a"}})
	fails("key: a string", segment.check_all, segment, {{rule = rule}})
	fails("at most 32", segment.check_all, segment, (function()
		local many = {}
		for i = 1, 33 do
			many[i] = {rule = rule, key = "k" .. i}
		end
		return many
	end)())
	local both = {{rule = rule, key = "x", keep = true}, {rule = rule, key = "y", cost = 11}}
	local verdict, results, decided = segment:check_all(both)
	equal(verdict, "never")
	equal(decided, 2)
	equal(rule:decide("x", {peek = true}).used, 0)
	both[2].cost = 1
	equal(segment:check_all(both), "allowed")
	equal(both[1].charges:refund(), true)
	equal(#segment:check_many(both), 2)
end)

-- A table that closes the segment when it is asked for what it does not have.
local function closer(segment, fields)
	return setmetatable(fields, {__index = function(_, name)
		if name == "keep" then
			segment:close()
		end
	end})
end

test("code that runs while a request is read may close the segment", function()
	for _, call in ipairs {"decide", "reserve"} do
		local segment = assert(rl.private())
		local rule = assert(segment:define("r", "10/day"))
		local answer = rule[call](rule, "a", closer(segment, {}))
		equal(answer.verdict, "undecided")
		equal(answer.error, "EBADF")
	end
	for _, call in ipairs(ffi_face and {} or {"check_all", "check_many"}) do
		local segment = assert(rl.private())
		local rule = assert(segment:define("r", "10/day"))
		equal(select(3, segment[call](segment, {closer(segment, {rule = rule, key = "a"})})), "EBADF")
	end
end)

test("what requests of a list are made of may be made while they are read", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", "10/day"))
	local list = {}
	for i = 1, 32 do
		list[i] = setmetatable({}, {__index = function(_, name)
			collectgarbage()
			return ({rule = rule, key = ("key%d"):format(i), keep = true})[name]
		end, __newindex = function() end})
	end
	if ffi_face then
		fails("", segment.check_all, segment, list) -- its requests are plain tables
		return
	end
	equal(segment:check_all(list), "allowed")
	for i = 1, 32 do
		equal(rule:decide("key" .. i, {peek = true}).used, 1)
	end
end)

test("numbers that are none", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", "10/day"))
	for _, cost in ipairs {-1, 0.5, 0 / 0} do
		fails("whole number", rule.check, rule, "a", cost)
		fails("whole number", rule.acquire, rule, "a", 1, cost)
		fails("whole number", rule.refund, rule, "a", 1, nil, cost)
	end
	equal(rule:peek("a"), true)
	equal(select(3, rule:peek("a")), 10)
	equal(rule:check("a", 2 ^ 60), false)
	equal(rule:check("a", math.huge), false)
end)

test("units in flight", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", {algorithm = "in_flight", capacity = 2}))
	local a, used = rule:acquire("k")
	equal(used, 1)
	local b = rule:acquire("k")
	local c
	c, used = rule:acquire("k")
	equal(c, false)
	equal(used, 2)
	equal(a:release(), true)
	equal(a:release(), false)
	assert(rule:acquire("k")) -- and forgets it
	b = nil
	collectgarbage()
	collectgarbage()
	local d, e = rule:acquire("k"), rule:acquire("k")
	assert(d and e, "what was forgotten came back")
	local none, _, code = rule:check("k")
	equal(none, nil)
	equal(code, "RL_ECHARGES")
end)

test("counters", function()
	local segment = assert(rl.private())
	local failed = assert(segment:counters("failed"))
	local value, expires, is_new = failed:add("a", 1, 60)
	equal(value, 1)
	equal(is_new, true)
	assert(expires > 30 and expires <= 60.001, expires) -- to the millisecond, upwards
	equal(failed:add("a", 5, 60), 6)
	equal(failed:add("a"), 7)
	equal(failed:get("a"), 7)
	equal(failed:get("b"), false)
	equal(failed:set_new("a", 1, 60), false)
	equal(failed:set("a", 1, "never"), 1)
	local _, never = failed:get("a")
	equal(never, math.huge)
	equal(failed:drop("a"), 0)
	equal(failed:get("a"), false)
	failed:set("x", 1, 60)
	equal(failed:reset_matching(), 1)
	assert(segment:define("r", "1/s"))
	local none, _, code = segment:counters("r")
	equal(none, nil)
	equal(code, "EEXIST")
	fails("whole number", failed.add, failed, "a", 1.5, 60)
end)

test("bans", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", "10/day"))
	equal(rule:ban("user:*", 60), true)
	equal(rule:check("user:1"), false)
	equal(rule:check("admin"), true)
	equal(rule:allow("user:1"), true)
	equal(rule:check("user:1"), true)
	equal(rule:unban("user:*"), true)
	equal(rule:unban("user:*"), false)
	equal(segment:ban("192.0.2.0/24", "1h"), true)
	equal(rule:check("192.0.2.1"), false)
	equal(segment:ban("literally*", 60, "key"), true)
	equal(rule:check("literally*"), false)
	equal(rule:check("literally1"), true)
	local none, _, code = segment:ban("nonsense", 60, "network")
	equal(none, nil)
	equal(code, "RL_EADDRESS")
	fails("unknown", segment.ban, segment, "x", 60, "glob")
	none, _, code = segment:rule("nobody"):ban("x", 60)
	equal(none, nil) -- and not under every rule
	equal(rule:check("x"), true)
end)

test("closed", function()
	local segment = assert(rl.private())
	local rule = assert(segment:define("r", "1/day"))
	local kept = rule:decide("a", {keep = true}).charges
	segment:close()
	segment:close()
	local none, text, code = rule:check("a")
	equal(none, nil)
	equal(code, "EBADF")
	equal(text, "the segment is closed")
	equal(kept:refund(), false)
	none, text, code = segment:define("s", "1/day")
	equal(code, "EBADF")
	none, text, code = segment:info()
	equal(code, "EBADF")
end)

test("objects are what they are", function()
	local segment = assert(plain.private())
	local rule = assert(segment:define("r", "1/day"))
	fails("rl.rule", rule.check, segment, "a")
	fails("rl.segment", segment.info, rule)
	fails("rl.rule", rule.check, io.stdout, "a")
	fails("rl.space", rule.reset_matching, io.stdout)
	fails("rl.space", segment.ban, 1, "a")
end)

test("a shared segment, and rules that come later", function()
	local segment = assert(rl.open(name))
	local early = segment:rule("later")
	local none, text, code = early:check("a")
	equal(none, nil)
	equal(code, "ENOENT")
	assert(text:find("later", 1, true), text)
	local other = assert(plain.open(name, {existing = true}))
	assert(other:define("later", {algorithm = "fixed_window", limit = "2/day"}))
	equal(early:check("a"), true)
	equal(other:rule("later"):check("a"), true)
	equal(early:check("a"), false)
	equal(segment:name(), name)
	equal(segment:is_open(), true)
	assert(segment:now() > 0)
	assert(other:forget("later"))
end)

local function wait_for(what, run)
	local stop = os.time() + 60
	while not run() do
		assert(os.time() < stop, what)
	end
end

test("a segment that is made anew", function()
	local segment = assert(rl.open(name))
	local rule = assert(segment:define("r", {algorithm = "fixed_window", limit = "1/day"}))
	local kept = rule:decide("a", {keep = true}).charges
	local idle = segment:rule("r") -- is asked before and after, and not in between
	equal(rule:check("a"), false)
	equal(idle:check("a"), false)
	assert(rl.unlink(name))
	local other = assert(plain.open(name))
	wait_for("the new segment is found", function()
		return rule:check("b") and other:rule("r"):info()
	end)
	equal(rule:check("a"), true)
	equal(kept:refund(), false) -- it was charged in the old one
	equal(idle:check("a"), false)
	equal(other:rule("r"):check("a"), false)
end)

test("a lazy segment", function()
	local lazy = name .. "-lazy"
	local segment = assert(rl.open(lazy, {existing = true, lazy = true}))
	local none, text, code = segment:is_open()
	equal(none, nil)
	equal(code, "ENOENT")
	local rule = assert(segment:define("r", {algorithm = "fixed_window", limit = "1/day"}))
	none, text, code = rule:check("a")
	equal(none, nil)
	equal(code, "ENOENT")
	equal(rule:decide("a").verdict, "undecided")
	local other = assert(plain.open(lazy))
	wait_for("it is found", function()
		return rule:check("a")
	end)
	equal(rule:check("a"), false)
	assert(rl.unlink(lazy))
end)

if ffi_face then
	test("the ffi knows the sizes that C has", function()
		local ffi = require "ffi"
		for line in io.lines(arg[3]) do
			local what, size = line:match("^(.-) (%d+)$")
			local struct, field = what:match("^(.-)%.(.*)$")
			local own = field and ffi.offsetof(struct, field) or ffi.sizeof(what)
			equal(own, tonumber(size), what)
		end
	end)
	test("both faces share their counters", function()
		local a, b = assert(rl.open(name)), assert(plain.open(name))
		local rule = assert(a:define("shared", {algorithm = "fixed_window", limit = "4/day"}))
		local same = b:rule("shared")
		for left = 3, 0, -1 do
			local _, _, remaining = (left % 2 == 0 and rule or same):check("a")
			equal(remaining, left)
		end
		equal(rule:check("a"), false)
		equal(same:check("a"), false)
	end)
end

for _, what in ipairs(order) do
	local ok, why = xpcall(tests[what], debug.traceback)
	if not ok then
		print("FAILED: " .. what .. "\n" .. why)
		os.exit(1)
	end
end
print(("%s, %s: %d tests"):format(_VERSION, module, #order))
