-- SPDX-License-Identifier: BSD-2-Clause
-- The same as require "rl", for LuaJIT: check() and peek() go through its ffi, so that they are compiled with what
-- calls them. All else is the C module's, which has the segment open.
local rl = require "rl"
local ffi = require "ffi"

-- Another state of this process may have declared it, but not this one: a state has types of its own.
if not pcall(ffi.typeof, "struct rl_result") then
	ffi.cdef(require "rl.cdef")
	ffi.cdef "struct rl_lua_segment { struct rl *rl; unsigned epoch; };"
end

local C = ffi.load("librl.so.1")
local KEY_MAX, NEVER = 4096, 0xffffffffffffffffULL
local LOOK_NS = 1000000000ULL
local ALLOWED, UNDECIDED = 0, 3
local result = ffi.new("struct rl_result[1]")
local item = ffi.new("struct rl_item[1]")
local result_at, item_at = result[0], item[0]
local type, tonumber, huge, floor = type, tonumber, math.huge, math.floor
local EXACT = 2 ^ 53 -- a cost from there on is larger than any capacity

local function seconds(ns)
	if ns == NEVER then
		return huge
	end
	return tonumber(ns) / 1e9
end

local function bytes_of(key)
	if type(key) == "number" then
		key = tostring(key)
	elseif type(key) ~= "string" then
		error("a key is a string, not a " .. type(key), 3)
	end
	return #key <= KEY_MAX and key or rl.digest(key)
end

local function cost_of(cost)
	if cost == nil then
		return 1
	elseif type(cost) ~= "number" or cost < 0 or cost ~= floor(cost) then
		error("a whole number from 0 is expected", 3)
	end
	return cost < EXACT and cost or NEVER
end

-- The C module looks once a second whether the name has become another segment's, and may close the one that was open:
-- so which one is open is read anew at each call, from the module's own object.
local function refresh(self)
	local cell, text, code = self.segment.object:cell()
	if not cell then
		self.cell = false
		return nil, text, code
	end
	self.cell = ffi.cast("struct rl_lua_segment *", cell)
	local handle
	handle, text, code = self.object:handle()
	self.handle, self.text, self.code = handle or -1, text or false, code or false
	self.epoch = self.cell.epoch
	local now = C.rl_now(self.cell.rl)
	self.times.look = now + LOOK_NS
	return now
end

-- The time, or nil and why there is none.
local function ready(self)
	local cell = self.cell
	if cell and cell.rl ~= nil and cell.epoch == self.epoch and self.handle >= 0 then
		local now = C.rl_now(cell.rl)
		if now < self.times.look then
			return now
		end
	end
	return refresh(self)
end

local function answer(self, verdict)
	if verdict == UNDECIDED then
		if self.handle < 0 then
			return nil, self.text, self.code
		end
		return rl.error(result_at.error)
	end
	local wait = verdict == ALLOWED and result_at.delay_ns or result_at.retry_after_ns
	if result_at.error == 0 then
		return verdict == ALLOWED, seconds(wait), result_at.remaining
	end
	return verdict == ALLOWED, seconds(wait), result_at.remaining, (select(3, rl.error(result_at.error)))
end

local Rule = {}

-- true or false, seconds to wait, what remains; or nil, text, name: as the C module's.
function Rule:check(key, cost)
	key, cost = bytes_of(key), cost_of(cost)
	local now, text, code = ready(self)
	if not now then
		return nil, text, code
	end
	item_at.rule, item_at.key, item_at.key_len, item_at.cost = self.handle, key, #key, cost
	item_at.now_ns, item_at.charges = now, nil
	return answer(self, C.rl_check_item(self.cell.rl, item, result))
end

function Rule:peek(key)
	key = bytes_of(key)
	local now, text, code = ready(self)
	if not now then
		return nil, text, code
	end
	item_at.rule, item_at.key, item_at.key_len, item_at.cost = self.handle, key, #key, 0
	item_at.now_ns, item_at.charges = now, nil
	return answer(self, C.rl_check_item(self.cell.rl, item, result))
end

-- For other modules of this package: decides the item that `fill` has filled, in a result that the next call
-- overwrites. Its time is `now` if that is given. `max_wait` books, in nanoseconds.
function Rule:ask(key, cost, now, charges, max_wait)
	key = bytes_of(key)
	local clock, text, code = ready(self)
	if not clock then
		return nil, text, code
	end
	item_at.rule, item_at.key, item_at.key_len, item_at.cost = self.handle, key, #key, cost
	item_at.now_ns, item_at.charges = now or clock, charges
	if max_wait then
		C.rl_decide(self.cell.rl, item, 1, "RL_RESERVE", max_wait, result, nil)
	else
		C.rl_check_item(self.cell.rl, item, result)
	end
	if result_at.verdict == UNDECIDED then
		return answer(self, UNDECIDED)
	end
	return result_at
end

-- Gives back by key what the item says; how much, or nil and why.
function Rule:give_back(key, cost, now)
	key = bytes_of(key)
	local clock, text, code = ready(self)
	if not clock then
		return nil, text, code
	end
	item_at.rule, item_at.key, item_at.key_len, item_at.cost = self.handle, key, #key, cost
	item_at.now_ns, item_at.charges = now or clock, nil
	local given = C.rl_refund_key(self.cell.rl, item)
	if given < 0 then
		return rl.error(given)
	end
	return given
end

function Rule:clock()
	return ready(self)
end

-- The segment that is open, and how often it was opened. After one of the calls above.
function Rule:current()
	return self.cell.rl, self.epoch
end

local Segment = {}

local function delegate(name)
	return function(self, ...)
		local call = self.object[name]
		if not call then
			error("there is no method '" .. name .. "'", 2)
		end
		return call(self.object, ...)
	end
end

-- Methods that this face does not have are the object's: each is made once, and then a method like the others.
local function made(class, name)
	local method = delegate(name)
	class[name] = method
	return method
end

setmetatable(Rule, {__index = made})
setmetatable(Segment, {__index = made})
local segment_meta = {__index = Segment}
local rule_meta = {__index = Rule}

local function wrap_rule(segment, object)
	local self = {segment = segment, object = object, handle = -1, epoch = -1, cell = false, text = false, code = false,
		times = ffi.new("struct { uint64_t look; }")}
	return setmetatable(self, rule_meta)
end

function Segment:rule(name)
	local object, text, code = self.object:rule(name)
	if not object then
		return nil, text, code
	end
	return wrap_rule(self, object)
end

function Segment:define(name, limit)
	local object, text, code = self.object:define(name, limit)
	if not object then
		return nil, text, code
	end
	return wrap_rule(self, object)
end

-- Of several requests the rules are this face's.
local function unwrap(requests)
	local list = {}
	for i, request in ipairs(requests) do
		local copy = {}
		for name, value in pairs(request) do
			copy[name] = value
		end
		copy.rule = request.rule and request.rule.object
		list[i] = copy
	end
	return list
end

-- What a request keeps comes back in the caller's own table.
local function give_charges(requests, list)
	for i, copy in ipairs(list) do
		requests[i].charges = copy.charges
	end
end

function Segment:check_all(requests, now_ns)
	local list = unwrap(requests)
	local verdict, results, decided = self.object:check_all(list, now_ns)
	give_charges(requests, list)
	return verdict, results, decided
end

function Segment:check_many(requests, now_ns)
	local list = unwrap(requests)
	local results, text, code = self.object:check_many(list, now_ns)
	give_charges(requests, list)
	return results, text, code
end

local M = {C = C, item = item_at, result = result_at}

function M.open(name, options)
	local object, text, code = rl.open(name, options)
	if not object then
		return nil, text, code
	end
	return setmetatable({object = object}, segment_meta)
end

function M.private(options)
	local object, text, code = rl.private(options)
	if not object then
		return nil, text, code
	end
	return setmetatable({object = object}, segment_meta)
end

return setmetatable(M, {__index = rl})
