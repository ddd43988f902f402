-- SPDX-License-Identifier: BSD-2-Clause
-- The calls of resty.limit.req: a leaky bucket that tells for how long to delay a request.
--
-- Its rule has a window of a million seconds, and each request brings the capacity along that makes its rate: so
-- rates of 0.000001 a second and more share one counter, and set_rate() keeps it. Rates that are too high for that
-- have a second rule.
local limit = require "rl.limit"
local rl = require "rl.ffi"

local M = {_VERSION = rl._VERSION}
local meta = {__index = M}
local item = rl.item
local floor, tonumber = math.floor, tonumber
local CAPACITY_MAX, BURST_MAX = 268435455, 268435453
local FINE, COARSE = 1e6, 1e3 -- seconds
local BURST_FLAG = 1

local function capacity_of(rate, window)
	return floor(rate * window + 0.5)
end

local function use_rate(self, rate)
	local window = capacity_of(rate, FINE) <= CAPACITY_MAX and FINE or COARSE
	local capacity = capacity_of(rate, window)
	if capacity < 1 or capacity > CAPACITY_MAX then
		return nil, "rate: 0.000001 to 268435 requests a second are allowed"
	end
	local known, err = limit.rule(self.zone, window == FINE and "req" or "req:fast",
		{algorithm = "leaky_bucket", capacity = capacity, window = window})
	if not known then
		return nil, err
	end
	self.known, self.capacity, self.rate = known, capacity, rate
	return true
end

function M.new(zone, rate, burst)
	assert(type(rate) == "number" and rate > 0 and type(burst) == "number" and burst >= 0)
	local self = setmetatable({zone = zone, burst = burst}, meta)
	local ok, err = use_rate(self, rate)
	if not ok then
		return nil, err
	end
	return self
end

-- Fills what the rule does not say. A burst that is no whole number is booked instead: up to the time it takes.
local function fill(self)
	local burst = floor(self.burst)
	item.capacity, item.burst, item.undelayed, item.flags = 0, 0, 0, 0
	if limit.is_configured(self.known) then
		return nil
	end
	item.capacity = self.capacity
	if burst == self.burst or burst >= BURST_MAX then
		item.burst, item.flags = burst < BURST_MAX and burst or BURST_MAX, BURST_FLAG
		return nil
	end
	return self.burst / self.rate * 1e9
end

local function excess_of(self, delay)
	return floor(delay * self.rate * 1000 + 0.5) / 1000
end

-- The delay in seconds and the number of excessive requests; or nil, "rejected"; or nil and an error.
function M:incoming(key, commit)
	local rule = self.known.rule
	local now, err = limit.now(rule)
	if not now then
		return nil, err
	end
	local max_wait = fill(self)
	local r, text = rule:ask(key, commit and 1 or 0, now, nil, max_wait)
	if not r then
		return nil, text
	elseif r.verdict ~= 0 then
		return nil, "rejected"
	end
	local delay = tonumber(r.delay_ns) / 1e9
	return delay, excess_of(self, delay)
end

-- Gives back what a request was in excess; the first of an idle key was not.
function M:uncommit(key)
	assert(key)
	local rule = self.known.rule
	local now, err = limit.now(rule)
	if not now then
		return nil, err
	end
	item.capacity, item.burst, item.undelayed, item.flags = 0, BURST_MAX, 0, BURST_FLAG
	if not limit.is_configured(self.known) then
		item.capacity = self.capacity
	end
	local r, text = rule:ask(key, 0, now)
	if not r then
		return nil, text
	elseif r.reset_after_ns == 0 then
		return nil, "not found"
	end
	if excess_of(self, tonumber(r.delay_ns) / 1e9) >= 2 then
		item.burst, item.flags = 0, 0
		local given
		given, text = rule:give_back(key, 1, now)
		if not given then
			return nil, text
		end
	end
	return true
end

function M:set_rate(rate)
	assert(type(rate) == "number" and rate > 0)
	return use_rate(self, rate)
end

function M:set_burst(burst)
	assert(type(burst) == "number" and burst >= 0)
	self.burst = burst
end

return M
