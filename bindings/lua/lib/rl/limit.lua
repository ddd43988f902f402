-- SPDX-License-Identifier: BSD-2-Clause
-- What rl.limit.req, .conn and .count share: the segment they count in, and the rules of a zone.
--
-- A zone is what lua_shared_dict names for the modules of the same calls. Here it is the first part of the names of
-- rules, "ZONE:req", in one segment. A rule of that name in the configuration stands above what Lua asks for.
local rl = require "rl.ffi"

local M = {}
local DEFAULT = "nginx"
local segment
local rules = {} -- by name

-- Opens the segment for all limiters of this state: in init_by_lua, before nginx forks and gives up root. Without it the
-- first limiter opens "nginx".
function M.open(name, options)
	if segment then
		return nil, "the segment is open already"
	end
	local opened, text, code = rl.open(name or DEFAULT, options)
	if not opened then
		return nil, text, code
	end
	segment = opened
	return segment
end

function M.segment()
	if segment then
		return segment
	end
	return M.open(DEFAULT)
end

local function is_configured(rule)
	local info = rule:info()
	return info and info.source == "configuration"
end

-- The rule of a zone, defined as `limit` unless it is there already.
function M.rule(zone, kind, limit)
	if type(zone) ~= "string" or zone == "" then
		return nil, "the name of a zone is expected"
	end
	local name = zone .. ":" .. kind
	local known = rules[name]
	if known then
		return known
	end
	local opened, text = M.segment()
	if not opened then
		return nil, text
	end
	local rule
	rule, text = opened:define(name, limit)
	if not rule then
		return nil, name .. ": " .. text
	end
	known = {rule = rule, zone = zone, configured = is_configured(rule), holds = {}, look = 0}
	rules[name] = known
	return known
end

-- nginx has a time for each turn of its event loop. As long as it is the same, so is rl's: several calls of one handler
-- count at one instant.
local ngx_now = ngx and ngx.now
local turn, time

function M.now(rule)
	if not ngx_now then
		return rule:clock()
	end
	local now = ngx_now()
	if now ~= turn then
		local clock, text = rule:clock()
		if not clock then
			return nil, text
		end
		turn, time = now, clock
	end
	return time
end

-- Whether the administrator has configured the rule: then its own numbers hold. Asked once a second.
function M.is_configured(known)
	local now = ngx_now and ngx_now() or os.time()
	if now >= known.look + 1 then
		known.look = now
		known.configured = is_configured(known.rule)
	end
	return known.configured
end

-- Forgets what the limiters of a zone have counted, in whichever process.
function M.flush(zone)
	local opened = M.segment()
	local all = opened and opened:rules() or {}
	for name in pairs(all) do
		if name:sub(1, #zone + 1) == zone .. ":" then
			opened:rule(name):reset_matching()
		end
	end
	for _, known in pairs(rules) do
		if known.zone == zone then
			known.holds = {}
		end
	end
end

return M
