-- SPDX-License-Identifier: BSD-2-Clause
-- rl for HAProxy. In a file that HAProxy loads by lua-load or lua-load-per-thread:
--
--	require "rl.haproxy" {segment = "web", rules = {login = "100/min"}}
--
-- and in its configuration:
--
--	http-request lua.rl login client
--
-- The segment is opened while the configuration is read: before HAProxy gives up root and changes its root.
-- Of a rule with count_status some answers count, and what others were charged is given back by, as of one with actual, the name of
-- a field of the answer, its cost takes the place of what was charged:
--
--	http-response lua.rl_answered
local rl = require "rl"
local statuses = require "rl.statuses"
local wait = require "rl.wait"

local NO_KEY = "(none)" -- whose key is empty: all of them are one
local settings = {segment = "haproxy", rules = {}, options = {}, on_error = "allow", required = false, problem = false, status = 429,
	client_v6 = 64, count_status = {}, cost = {}, actual = {}}
local segment
local rules, said = {}, {}
local is_counted = {} -- by the name of a rule

local function refuse_setting(name, wanted)
	error(("rl: %s = %s: %s is expected"):format(name, tostring(settings[name]), wanted), 0)
end

local function is_whole(value, least, most)
	return math.type(value) == "integer" and value >= least and value <= most
end

local function read_settings(given)
	for name, value in pairs(given) do
		if settings[name] == nil then
			error(("rl: unknown setting '%s'"):format(tostring(name)), 0)
		end
		settings[name] = value
	end
	if settings.on_error ~= "allow" and settings.on_error ~= "deny" then
		refuse_setting("on_error", '"allow" or "deny"')
	elseif type(settings.required) ~= "boolean" then
		refuse_setting("required", "true or false")
	elseif type(settings.problem) ~= "boolean" then
		refuse_setting("problem", "true or false")
	elseif not is_whole(settings.client_v6, 1, 128) then
		refuse_setting("client_v6", "1 to 128")
	elseif not is_whole(settings.status, 400, 599) then
		refuse_setting("status", "400 to 599")
	end
	for _, name in ipairs {"count_status", "cost", "actual"} do
		if type(settings[name]) ~= "table" then
			refuse_setting(name, "a table, by the names of rules,")
		end
	end
	for name, cost in pairs(settings.cost) do
		if not is_whole(cost, 0, math.maxinteger) then
			error(("rl: cost of %s = %s: a whole number is expected"):format(name, tostring(cost)), 0)
		end
	end
	for name, field in pairs(settings.actual) do
		if type(field) ~= "string" then
			error(("rl: actual of %s = %s: the name of a field is expected"):format(name, tostring(field)), 0)
		end
	end
	for name, given in pairs(settings.count_status) do
		is_counted[name] = statuses(given)
	end
end

-- Whether this is haproxy -c, which must not touch the segment in use.
local function is_check()
	local file = io.open("/proc/self/cmdline")
	local line = file and file:read("a") or ""
	if file then
		file:close()
	end
	for argument in line:gmatch("[^%z]+") do
		if argument == "-c" then
			return true
		end
	end
	return false
end

-- One line a second for each kind of trouble.
local function complain(kind, text)
	local now = os.time()
	if said[kind] ~= now then
		said[kind] = now
		core.log(core.warning, "rl: " .. text)
	end
end

-- At the start no log may be open yet: who starts HAProxy reads it, too.
local function alert(text)
	core.log(core.alert, text)
	io.stderr:write(text, "\n")
end

local function open_segment()
	if is_check() then
		segment = assert(rl.private(settings.options))
		return
	end
	local options, text = {}, nil
	for name, value in pairs(settings.options) do
		options[name] = value
	end
	options.lazy = not settings.required
	segment, text = rl.open(settings.segment, options)
	if not segment then
		error(("rl: segment %s: %s"):format(settings.segment, text), 0)
	end
	local is_open
	is_open, text = segment:is_open()
	if not is_open then
		alert(("rl: segment %s: %s; requests are %s until it can be opened"):format(
			settings.segment, text, settings.on_error == "allow" and "allowed" or "denied"))
	end
end

local function define_rules()
	for name, limit in pairs(settings.rules) do
		local ok, rule, text = pcall(segment.define, segment, name, limit)
		if not ok or not rule then
			error(("rl: rule %s: %s"):format(name, ok and text or rule), 0)
		end
		rules[name] = rule
	end
end

local function rule_of(name)
	local rule = rules[name]
	if not rule then
		rule = assert(segment:rule(name))
		rules[name] = rule
	end
	return rule
end

-- A sample fetch as in HAProxy's configuration: "src", "req.hdr(x-api-key)", "var(txn.user)".
local fetches = {}

local function parse_fetch(text)
	local name, inside = text:match("^([%w_.]+)%((.*)%)$")
	local fetch = {name = (name or text):gsub("%.", "_"), arguments = {}}
	for argument in (inside or ""):gmatch("[^,]+") do
		fetch.arguments[#fetch.arguments + 1] = argument
	end
	fetches[text] = fetch
	return fetch
end

-- Who asks: IPv4, or the network of IPv6, the same key as in other servers.
local function client_of(txn)
	return rl.client(txn.sf:src() or "", nil, {trusted = {}, prefix_v6 = settings.client_v6})
end

local function key_of(txn, text)
	if text == "client" then
		return client_of(txn)
	end
	local fetch = fetches[text] or parse_fetch(text)
	local call = txn.sf[fetch.name]
	if not call then
		return nil, "there is no sample fetch '" .. text .. "'"
	end
	local key = call(txn.sf, table.unpack(fetch.arguments))
	if key == nil or key == "" then
		return NO_KEY
	end
	return tostring(key)
end

local function sleep(seconds)
	core.msleep(math.ceil(seconds * 1000))
end

-- Whether something may be given back of what its requests are charged.
local function is_kept(rule_name)
	return is_counted[rule_name] ~= nil or settings.actual[rule_name] ~= nil
end

-- The answer to a request; nothing is known of an undecided one but that.
local function decide(txn, rule_name, key_text)
	local key, text = key_of(txn, key_text)
	if not key then
		return {verdict = "undecided", message = text}
	end
	local result = wait(function(waits)
		return rule_of(rule_name):decide(key, {cost = settings.cost[rule_name], keep = is_kept(rule_name), waits = waits})
	end, sleep)
	if result.delay_ns and result.delay_ns > 0 then
		sleep(result.delay)
	end
	return result
end

local function is_allowed(result, rule_name)
	if result.verdict ~= "undecided" then
		return result.is_allowed
	end
	complain(rule_name .. result.message, ("rule %s: %s; the request is %s"):format(rule_name, result.message,
		settings.on_error == "allow" and "allowed" or "denied"))
	return settings.on_error == "allow"
end

local function refuse(txn, rule, result)
	local status = result.verdict == "undecided" and 503 or settings.status
	local reply = txn:reply {status = status}
	for name, value in pairs(rule:headers(result) or {}) do
		reply:add_header(name, value)
	end
	local body, content_type = status == 503 and "Service Unavailable\n" or "Too Many Requests\n", "text/plain"
	if settings.problem then
		body, content_type = rule:problem(result, status)
	end
	reply:add_header("content-type", content_type)
	reply:set_body(body)
	txn:done(reply)
end

-- Until the answer is known it is the transaction's.
local function keep(txn, result, rule_name)
	if result.is_allowed and is_kept(rule_name) then
		local kept = txn:get_priv() or {}
		kept[#kept + 1] = {charges = result.charges, is_counted = is_counted[rule_name], field = settings.actual[rule_name]}
		txn:set_priv(kept)
	end
end

-- What the answer says that it has cost, in a field that its client does not see; nil: nothing that is a number.
local function cost_of(txn, field)
	local cost = math.tointeger(tonumber(txn.sf:res_hdr(field)))
	return cost and cost >= 0 and cost or nil
end

-- http-response lua.rl_answered: gives back what the request was charged by rules of which this answer does not count, and settles
-- what others say that it has cost.
local function answered(txn)
	local kept = txn:get_priv() or {}
	for _, one in ipairs(kept) do
		local cost = one.field and cost_of(txn, one.field)
		if one.is_counted and not one.is_counted(txn.sf:status()) then
			one.charges:refund(nil, false)
		elseif cost then
			one.charges:settle(cost)
		end
	end
	for _, one in ipairs(kept) do
		if one.field then
			txn.http:res_del_header(one.field)
		end
	end
	txn:set_priv(nil)
end

-- http-request lua.rl RULE KEY: answers a request that is denied.
local function limit(txn, rule_name, key_text)
	local result = decide(txn, rule_name, key_text)
	if not is_allowed(result, rule_name) then
		refuse(txn, rule_of(rule_name), result)
	end
	keep(txn, result, rule_name)
end

-- http-request lua.rl_check RULE KEY: sets txn.rl_RULE_allowed and others, for conditions.
local function check(txn, rule_name, key_text)
	local result = decide(txn, rule_name, key_text)
	keep(txn, result, rule_name)
	local prefix = "txn.rl_" .. rule_name:gsub("[^%w_]", "_") .. "_"
	txn:set_var(prefix .. "allowed", is_allowed(result, rule_name) and 1 or 0)
	txn:set_var(prefix .. "verdict", result.verdict)
	if result.verdict == "undecided" then
		return
	end
	txn:set_var(prefix .. "remaining", result.remaining)
	for name, value in pairs(rule_of(rule_name):headers(result) or {}) do
		txn:set_var(prefix .. name:lower():gsub("-", "_"), value)
	end
end

return function(given)
	read_settings(given or {})
	open_segment()
	define_rules()
	core.register_action("rl", {"http-req"}, limit, 2)
	core.register_action("rl_check", {"http-req"}, check, 2)
	core.register_action("rl_answered", {"http-res"}, answered, 0)
end
