-- SPDX-License-Identifier: BSD-2-Clause
-- The calls of resty.limit.conn: how many requests are in flight at once. What a worker held comes back when it ends,
-- however it ends.
local limit = require "rl.limit"
local rl = require "rl.ffi"
local ffi = require "ffi"

local M = {_VERSION = rl._VERSION}
local meta = {__index = M}
local C, item = rl.C, rl.item
local floor = math.floor
local CAPACITY_MAX = 1048575
local charges = ffi.new("struct rl_charges[1]")
local hold_type = ffi.typeof("struct rl_hold[1]")

function M.new(zone, conn, burst, delay)
	assert(type(conn) == "number" and conn > 0 and type(burst) == "number" and burst >= 0 and
		type(delay) == "number" and delay > 0)
	local capacity = floor(conn + burst)
	if capacity < 1 or capacity > CAPACITY_MAX then
		return nil, "conn and burst: 1 to 1048575 in all are allowed"
	end
	local known, err = limit.rule(zone, "conn", {algorithm = "in_flight", capacity = capacity})
	if not known then
		return nil, err
	end
	return setmetatable({known = known, max = conn, burst = burst, unit_delay = delay, committed = false}, meta)
end

local function fill(self)
	local capacity = floor(self.max + self.burst)
	item.capacity = capacity < CAPACITY_MAX and capacity or CAPACITY_MAX
	item.burst, item.undelayed, item.flags = 0, 0, 0
	if limit.is_configured(self.known) then
		item.capacity = 0
	end
end

-- What this worker holds by key; nothing of a segment that is not the open one any more.
local function holds_of(known)
	local _, opened = known.rule:current()
	if known.opened ~= opened then
		known.opened, known.holds = opened, {}
	end
	return known.holds
end

-- Requests of one key have no order: the hold that was taken last is given back first.
local function remember(known, key)
	local hold = ffi.new(hold_type)
	if C.rl_holds(charges, hold, 1) == 0 then
		hold = false -- exempt, or nothing to hold
	end
	local holds = holds_of(known)
	local list = holds[key]
	if not list then
		list = {}
		holds[key] = list
	end
	list[#list + 1] = hold
end

-- The delay in seconds, and how many are in flight with this one; or nil, "rejected"; or nil and an error.
function M:incoming(key, commit)
	self.committed = false
	fill(self)
	charges[0].count = 0
	local r, text = self.known.rule:ask(key, commit and 1 or 0, nil, charges)
	if not r then
		return nil, text
	elseif r.verdict ~= 0 then
		return nil, "rejected"
	end
	local conn = commit and r.used or r.used + 1
	if commit then
		remember(self.known, key)
		self.committed = true
	end
	if conn > self.max then
		return self.unit_delay * floor((conn - 1) / self.max), conn
	end
	return 0, conn
end

function M:is_committed()
	return self.committed
end

local function release(known, key)
	local holds = holds_of(known)
	local list = holds[key]
	if not list then
		return nil, "not found"
	end
	local hold = table.remove(list)
	if #list == 0 then
		holds[key] = nil
	end
	local done = hold and C.rl_release((known.rule:current()), hold, 1) or 0
	if done < 0 then
		return nil, (select(2, rl.error(done)))
	end
	return true
end

local function give_back(self, key)
	local known = self.known
	local ok, err = known.rule:clock()
	if ok then
		ok, err = release(known, key)
	end
	if not ok then
		return nil, err
	end
	item.capacity, item.burst, item.undelayed, item.flags = 0, 0, 0, 0
	local r, text = known.rule:ask(key, 0)
	if not r then
		return nil, text
	end
	return r.used
end

-- How many are in flight without this one.
function M:leaving(key, latency)
	assert(key)
	local conn, err = give_back(self, key)
	if not conn then
		return nil, err
	end
	if latency then
		self.unit_delay = (latency + self.unit_delay) / 2
	end
	return conn
end

function M:uncommit(key)
	assert(key)
	return give_back(self, key)
end

function M:set_conn(conn)
	assert(type(conn) == "number" and conn > 0)
	self.max = conn
end

function M:set_burst(burst)
	assert(type(burst) == "number" and burst >= 0)
	self.burst = burst
end

return M
