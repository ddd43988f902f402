-- SPDX-License-Identifier: BSD-2-Clause
-- A request of nginx or OpenResty under a rule, and which of its answers count:
--
--	access_by_lua_block { require("rl.nginx").limit(login, {count_status = {401}}) }
--	header_filter_by_lua_block { require("rl.nginx").answered() }
--
-- The request is charged in the first, before anybody serves it, and given back in the second, before the client has a
-- byte of an answer that does not count. What a request has cost is known when it is logged:
--
--	access_by_lua_block { require("rl.nginx").limit(tokens, {cost = 800, actual = usage}) }
--	log_by_lua_block { require("rl.nginx").logged() }
local rl = require "rl"
local statuses = require "rl.statuses"
local wait = require "rl.wait"

local NO_KEY = "(none)" -- whose key is empty: all of them are one
local M = {}
local is_counted = setmetatable({}, {__mode = "k"}) -- of a count_status that is a table: read once

local function matcher(given)
	if type(given) ~= "table" then
		return statuses(given)
	end
	local known = is_counted[given]
	if not known then
		known = statuses(given)
		is_counted[given] = known
	end
	return known
end

-- A request that cannot be decided is logged, and served or answered 503.
local function undecided(rule, message, on_error)
	ngx.log(ngx.ERR, "rl: rule ", rule:name(), ": ", message)
	if on_error == "deny" then
		return ngx.exit(503)
	end
end

-- Charges the request, or answers it. Options: `key`, in place of the client's address, of IPv6 its `client_v6` bits (64);
-- `cost`; `actual`, a function; `count_status`; `status` of who is denied (429); `on_error`, "allow" (the default) or "deny".
function M.limit(rule, options)
	options = options or {}
	local key = options.key or rl.client(ngx.var.remote_addr, nil, {trusted = {}, prefix_v6 = options.client_v6 or 64})
	local is_kept = options.count_status ~= nil or options.actual ~= nil
	local answer = wait(function(waits)
		return rule:decide(key ~= "" and key or NO_KEY, {cost = options.cost, keep = is_kept, waits = waits})
	end, ngx.sleep)
	if answer.verdict == "undecided" then
		return undecided(rule, answer.message, options.on_error)
	end
	for name, value in pairs(rule:headers(answer) or {}) do
		ngx.header[name] = value
	end
	if not answer.is_allowed then
		return ngx.exit(options.status or 429)
	end
	if is_kept then
		local kept = ngx.ctx.rl or {}
		local is_counted = options.count_status ~= nil and matcher(options.count_status)
		kept[#kept + 1] = {charges = answer.charges, is_counted = is_counted, actual = options.actual}
		ngx.ctx.rl = kept
	end
end

-- Gives back what the request was charged by rules of which this answer does not count.
function M.answered()
	for _, one in ipairs(ngx.ctx.rl or {}) do
		if one.is_counted and not one.is_counted(ngx.status) then
			one.charges:refund(nil, false)
			one.actual = nil
		end
		one.is_counted = nil
	end
end

-- Settles what the request has cost, as `actual` tells it, also for a client that has hung up. What it does not know leaves the
-- charge.
function M.logged()
	local kept = ngx.ctx.rl or {}
	ngx.ctx.rl = nil
	for _, one in ipairs(kept) do
		local cost = one.actual and tonumber(one.actual())
		if cost then
			one.charges:settle(cost)
		end
	end
end

return M
