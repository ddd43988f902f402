-- SPDX-License-Identifier: BSD-2-Clause
-- Plays bindings/table.json: the calls and answers that every binding has in common.
local rl = require "rl"
local json = require "json"

local BUCKETS = {token_bucket = true, leaky_bucket = true}
local PLAIN = {"verdict", "error", "limit", "remaining", "used"}
local TIMES = {"retry_after_ns", "reset_after_ns", "delay_ns", "window_ns"}

-- Nanoseconds as the table writes them. Doubles are exact up to 2^53.
local function ns_text(ns)
	if ns == math.huge then
		return "never"
	end
	return string.format("%.0f", ns)
end

local function seconds_text(seconds)
	return seconds and ns_text(seconds == math.huge and seconds or math.floor(seconds * 1e9 + 0.5))
end

local function nonzero(value)
	return value ~= 0 and value or nil
end

local function told(r)
	local answer = {}
	for _, name in ipairs(PLAIN) do
		answer[name] = nonzero(r[name])
	end
	if r.verdict == "undecided" then
		return answer
	end
	answer.reason = r.reason ~= "limit" and r.reason or nil
	answer.index = nonzero(r.index - 1)
	answer.is_shadow_denied = r.is_shadow_denied and 1 or nil
	for _, name in ipairs(TIMES) do
		answer[name] = r[name] ~= 0 and ns_text(r[name]) or nil
	end
	return answer
end

local function all_told(results)
	local list = {}
	for i, r in ipairs(results) do
		list[i] = told(r)
	end
	return list
end

local function key_of(step)
	if step.key_hex then
		return (step.key_hex:gsub("..", function(hex)
			return string.char(tonumber(hex, 16))
		end))
	end
	return step.key:rep(step.times or 1)
end

-- What librl returned, where Lua has true and false.
local function done(result, _, code)
	if result == nil then
		return {error = code}
	end
	return {done = type(result) == "number" and result or result and 1 or 0}
end

local calls = {}

local function request_of(play, step)
	local request = {cost = step.cost, capacity = step.capacity, burst = step.burst,
		undelayed = step.undelayed, now_ns = step.at_ns, keep = step.request ~= nil}
	return play.segment:rule(step.rule), key_of(step), request
end

local function remember(play, step, result)
	play.last, play.last_rule = result, play.segment:rule(step.rule)
	if step.request then
		play.requests[step.request] = result.charges
	end
	return told(result)
end

function calls.check(play, step)
	local rule, key, request = request_of(play, step)
	return remember(play, step, rule:decide(key, request))
end

function calls.peek(play, step)
	local rule, key, request = request_of(play, step)
	request.peek = true
	return remember(play, step, rule:decide(key, request))
end

function calls.reserve(play, step)
	local rule, key, request = request_of(play, step)
	request.max_wait_ns = step.max_wait_ns
	return remember(play, step, rule:reserve(key, request))
end

function calls.check_limits(play, step)
	local rule, key, request = request_of(play, step)
	request.limits = true
	local result = rule:decide(key, request)
	local answer = remember(play, step, result)
	answer.limits = all_told(result.limits)
	return answer
end

local function items_of(play, step)
	local items = {}
	for i, item in ipairs(step.items) do
		items[i] = {rule = play.segment:rule(item.rule), key = key_of(item), cost = item.cost,
			capacity = item.capacity, burst = item.burst, undelayed = item.undelayed}
	end
	return items
end

function calls.check_all(play, step)
	local verdict, results, decided = play.segment:check_all(items_of(play, step), step.at_ns)
	return {verdict = verdict, results = all_told(results), decided = decided and decided - 1}
end

function calls.check_many(play, step)
	return {results = all_told(play.segment:check_many(items_of(play, step), step.at_ns))}
end

function calls.refund(play, step)
	return done(play.requests[step.request]:refund(step.at_ns))
end

function calls.settle(play, step)
	return done(play.requests[step.request]:settle(step.actual, step.at_ns))
end

function calls.release(play, step)
	return done(play.requests[step.request]:release())
end

function calls.refund_key(play, step)
	return done(play.segment:rule(step.rule):refund(key_of(step), step.cost, step.at_ns, step.capacity))
end

-- A counter's value, or false and the value if nothing was done.
local function counted(first, second, third, fourth)
	if first == nil then
		return {error = third}
	elseif first == false then
		return {done = 0, value = nonzero(second), expires_after_ns = seconds_text(third),
			is_new = fourth and 1 or nil}
	end
	return {done = 1, value = nonzero(first), expires_after_ns = seconds_text(second),
		is_new = third and 1 or nil}
end

local function lifetime_of(step)
	if step.lifetime_ns == "never" then
		return math.huge
	end
	return tonumber(step.lifetime_ns or 0) / 1e9
end

-- Who asks for counters under a rule's name is refused (EEXIST) before a call can be (EINVAL).
local function space_of(play, step)
	local space, _, code = play.segment:counters(step.space)
	assert(space or code == "EEXIST")
	return space
end

for _, name in ipairs {"add", "set", "set_new"} do
	calls["counter_" .. name] = function(play, step)
		local space = space_of(play, step)
		if not space then
			return {error = "EINVAL"}
		end
		return counted(space[name](space, key_of(step), step.value, lifetime_of(step), step.at_ns))
	end
end

for _, name in ipairs {"get", "drop"} do
	calls["counter_" .. name] = function(play, step)
		local space = space_of(play, step)
		if not space then
			return {error = "EINVAL"}
		end
		return counted(space[name](space, key_of(step), step.at_ns))
	end
end

function calls.counter_touch(play, step)
	return counted(space_of(play, step):touch(key_of(step), lifetime_of(step), step.at_ns))
end

local function scope_of(play, step)
	return step.rule and play.segment:rule(step.rule) or play.segment
end

for _, name in ipairs {"ban", "allow"} do
	calls[name] = function(play, step)
		local scope = scope_of(play, step)
		local ok, _, code = scope[name](scope, key_of(step), {until_ns = step.until_ns}, step.match)
		return ok and {done = 0} or {error = code}
	end
end

function calls.unban(play, step)
	return done(scope_of(play, step):unban(key_of(step), step.match))
end

function calls.reset(play, step)
	local rule = play.segment:rule(step.rule)
	return done(rule:reset(key_of(step)))
end

function calls.reset_matching(play, step)
	local forgotten, unknown, code = scope_of(play, step):reset_matching(step.match and key_of(step), step.match)
	if not forgotten then
		return {error = code}
	end
	return {done = 0, forgotten = nonzero(forgotten), unknown = nonzero(unknown)}
end

-- The table says what struct rl_limit says: what is absent is 0.
local function limits_of(rule)
	local made = {keep = rule.keep, limits = {}}
	for i, limit in ipairs(rule.limits) do
		local copy = {granularity = 0, hard = false}
		for name, value in pairs(limit) do
			copy[name] = value
		end
		made.limits[i] = copy
	end
	return made
end

function calls.define(play, step)
	local rule, text, code = play.segment:define(step.define.name, limits_of(step.define))
	if rule then
		return {done = 0}
	end
	return {error = code, text = step.answer.text and text}
end

function calls.forget(play, step)
	return done(play.segment:forget(step.rule))
end

function calls.key_digest(_, step)
	return {text = rl.digest(key_of(step))}
end

function calls.headers(play, step)
	return play.last_rule:headers(play.last, "unix", step.at_ns, step.set)
end

function calls.client(_, step)
	local address, how, hops = rl.client(step.peer, step.lines, {trusted = step.trusted, field = step.field,
		prefix_v4 = step.prefix_v4, prefix_v6 = step.prefix_v6})
	if not address then
		return {error = hops}
	end
	return {address = address, ["end"] = how, hops = hops}
end

function calls.rate(_, step)
	local capacity, window_ns, code = rl.rate(step.rate)
	if not capacity then
		return {error = code}
	end
	return {capacity = capacity, window_ns = ns_text(window_ns)}
end

local function show(value)
	if type(value) ~= "table" then
		return tostring(value)
	end
	local names, parts = {}, {}
	for name in pairs(value) do
		names[#names + 1] = tostring(name)
	end
	table.sort(names)
	for _, name in ipairs(names) do
		parts[#parts + 1] = name .. "=" .. show(value[name] ~= nil and value[name] or value[tonumber(name)])
	end
	return "{" .. table.concat(parts, ", ") .. "}"
end

local function same(a, b)
	if type(a) ~= "table" or type(b) ~= "table" then
		return a == b
	end
	for name, value in pairs(a) do
		if not same(value, b[name]) then
			return false
		end
	end
	for name in pairs(b) do
		if a[name] == nil then
			return false
		end
	end
	return true
end

local function play_case(case, failures)
	local options = {}
	for name, value in pairs(case.options or {}) do
		options[name] = value
	end
	local play = {segment = assert(rl.private(options)), requests = {}}
	for _, rule in ipairs(case.rules or {}) do
		assert(play.segment:define(rule.name, limits_of(rule)))
	end
	for _, name in ipairs(case.spaces or {}) do
		assert(play.segment:counters(name))
	end
	for i, step in ipairs(case.steps) do
		local answer = assert(calls[step.call], step.call)(play, step)
		if not same(step.answer, answer) then
			failures[#failures + 1] = string.format("%s, step %d, %s:\n  answered %s\n  the table %s",
				case.name, i, step.call, show(answer), show(step.answer))
		end
	end
	return #case.steps
end

local path = assert(arg[1], "which table?")
local file = assert(io.open(path))
local cases = json(file:read("*a")).cases
file:close()
local failures, steps = {}, 0
for _, case in ipairs(cases) do
	steps = steps + play_case(case, failures)
end
assert(steps > 100, "the table is too short")
print(string.format("%s: %d cases, %d steps, %d differ", _VERSION, #cases, steps, #failures))
if #failures > 0 then
	print(table.concat(failures, "\n"))
	os.exit(1)
end
