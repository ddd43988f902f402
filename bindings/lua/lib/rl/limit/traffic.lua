-- SPDX-License-Identifier: BSD-2-Clause
-- The call of resty.limit.traffic: several limiters for one request. Any object with incoming() and uncommit() will do.
--
-- All are asked first without being charged, but for the last one, which is charged at once. Then the others are
-- charged in order. If one of them is used up by then, what was charged is given back.
local M = {}
local max = math.max

local function give_back(limiters, keys, last)
	for i = 1, last do
		limiters[i]:uncommit(keys[i])
	end
	limiters[#limiters]:uncommit(keys[#limiters])
end

local function ask_all(limiters, keys)
	local count = #limiters
	for i = 1, count - 1 do
		local delay, err = limiters[i]:incoming(keys[i], false)
		if not delay then
			return nil, err
		end
	end
	return limiters[count]:incoming(keys[count], true)
end

-- The longest delay; or nil, "rejected"; or nil and an error. `states` gets what each limiter says besides.
function M.combine(limiters, keys, states)
	local count = #limiters
	if count == 0 then
		return 0
	end
	local delay, state = ask_all(limiters, keys)
	if not delay then
		return nil, state
	end
	local told = {[count] = state}
	for i = 1, count - 1 do
		local wait
		wait, state = limiters[i]:incoming(keys[i], true)
		if not wait then
			give_back(limiters, keys, i - 1)
			return nil, state
		end
		told[i] = state
		delay = max(delay, wait)
	end
	for i = 1, states and count or 0 do
		states[i] = told[i]
	end
	return delay
end

return M
