-- SPDX-License-Identifier: BSD-2-Clause
-- The calls of resty.limit.count: so many requests in a window that begins with a key's first.
local limit = require "rl.limit"
local rl = require "rl.ffi"

local M = {_VERSION = rl._VERSION}
local meta = {__index = M}
local item = rl.item
local floor = math.floor
local CAPACITY_MAX = 268435455

function M.new(zone, count, window)
	assert(type(count) == "number" and count > 0 and type(window) == "number" and window > 0)
	if count > CAPACITY_MAX then
		return nil, "limit: at most 268435455 are allowed"
	end
	local seconds = string.format("%.9f", window):gsub("%.?0+$", "")
	local known, err = limit.rule(zone, "count:" .. seconds,
		{algorithm = "anchored_window", capacity = count < 1 and 1 or floor(count), window = window})
	if not known then
		return nil, err
	end
	return setmetatable({known = known, limit = count, window = window}, meta)
end

-- The capacity is this object's, unless the rule is configured.
local function fill(self)
	item.capacity, item.burst, item.undelayed, item.flags = floor(self.limit), 0, 0, 0
	if limit.is_configured(self.known) then
		item.capacity = 0
	elseif self.limit < 1 then
		return nil, "rejected"
	end
	return limit.now(self.known.rule)
end

local function ask(self, key, cost)
	local now, err = fill(self)
	if not now then
		return nil, err
	end
	return self.known.rule:ask(key, cost, now)
end

-- 0 and what remains; or nil, "rejected"; or nil and an error.
function M:incoming(key, commit)
	local r, text = ask(self, key, commit and 1 or 0)
	if not r then
		return nil, text
	elseif r.verdict ~= 0 then
		return nil, "rejected"
	end
	return 0, commit and r.remaining or r.remaining - 1
end

-- Gives one back, and returns what remains then.
function M:uncommit(key)
	assert(key)
	local now, err = fill(self)
	if not now then
		return nil, err
	end
	local given, text = self.known.rule:give_back(key, 1, now)
	if not given then
		return nil, text
	elseif given == 0 then
		return nil, "not found"
	end
	local r
	r, text = ask(self, key, 0)
	if not r then
		return nil, text
	end
	return r.remaining
end

return M
