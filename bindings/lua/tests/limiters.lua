-- SPDX-License-Identifier: BSD-2-Clause
-- What the limiters say, call by call, under the names of the library whose calls they have. Run by nginx: each test is
-- a location's argument.
local req = require "resty.limit.req"
local conn = require "resty.limit.conn"
local count = require "resty.limit.count"
local traffic = require "resty.limit.traffic"
local limit = require "rl.limit"

local tests = {}

local function equal(got, wanted, what)
	if got ~= wanted then
		error(("%s: %s, not %s"):format(what or "value", tostring(got), tostring(wanted)), 2)
	end
end

local function near(got, wanted, off)
	if type(got) ~= "number" or math.abs(got - wanted) > off then
		error(("%s is not within %s of %s"):format(tostring(got), off, wanted), 2)
	end
end

local function pair(limiter, key, commit, first, second)
	local a, b = limiter:incoming(key, commit)
	equal(a, first, "delay")
	equal(b, second, "state")
end

function tests.req_delays_and_excess()
	local lim = assert(req.new("store", 4, 3))
	pair(lim, "a", true, 0, 0)
	pair(lim, "a", true, 0.25, 1)
	pair(lim, "a", true, 0.5, 2)
	pair(lim, "b", true, 0, 0)
	pair(lim, "a", true, 0.75, 3)
	pair(lim, "a", true, nil, "rejected")
	pair(lim, "b", true, 0.25, 1)
end

function tests.req_of_a_third()
	local lim = assert(req.new("store", 3, 5))
	pair(lim, "k", true, 0, 0)
	local delay, excess = lim:incoming("k", true)
	near(delay, 1 / 3, 1e-6)
	equal(excess, 1)
end

function tests.req_dry_run_is_the_default()
	local lim = assert(req.new("store", 2, 10))
	pair(lim, "k", true, 0, 0)
	pair(lim, "k", true, 0.5, 1)
	for _ = 1, 3 do
		pair(lim, "k", nil, 1, 2)
		pair(lim, "k", false, 1, 2)
	end
	lim:set_burst(1)
	pair(lim, "k", false, nil, "rejected")
end

function tests.req_burst_and_rate_can_be_set()
	local lim = assert(req.new("store", 10, 0))
	pair(lim, "k", true, 0, 0)
	pair(lim, "k", true, nil, "rejected")
	lim:set_burst(2)
	pair(lim, "k", true, 0.1, 1)
	lim:set_rate(5) -- the level is the same, and it goes down half as fast
	local delay = lim:incoming("k", false)
	near(delay, 0.3, 0.11)
	equal(req.new("store", 0.1, 0.1):incoming("slow", true), 0)
	pair(req.new("store", 0.1, 0.1), "slow", true, nil, "rejected")
end

function tests.req_a_burst_that_is_no_whole_number()
	local lim = assert(req.new("store", 4, 0.5))
	pair(lim, "k", true, 0, 0)
	pair(lim, "k", true, nil, "rejected")
	local rule, delay, excess = lim.known.rule, nil, nil
	local began = limit.now(rule)
	repeat
		ngx.sleep(0.02)
		delay, excess = lim:incoming("k", true)
	until delay
	local left = 1 - tonumber(limit.now(rule) - began) / 1e9 * 4 -- the time of this turn, by which it was decided
	assert(left <= 0.501, left)
	near(excess, math.max(left, 0), 0.002)
	near(delay, math.max(left, 0) / 4, 0.001)
end

function tests.req_uncommit()
	local lim = assert(req.new("store", 40, 40))
	pair(lim, "k", true, 0, 0)
	equal(lim:uncommit("k"), true) -- it was not in excess: nothing comes back
	for _ = 1, 4 do
		pair(lim, "k", true, 0.025, 1)
		equal(lim:uncommit("k"), true)
	end
	local ok, err = lim:uncommit("nobody")
	equal(ok, nil)
	equal(err, "not found")
end

function tests.req_paces_a_loop()
	local lim = assert(req.new("store", 50, 50))
	ngx.update_time()
	local before = ngx.now()
	for _ = 1, 26 do
		local delay = assert(lim:incoming("k", true))
		ngx.sleep(delay)
	end
	ngx.update_time()
	local took = ngx.now() - before
	assert(took >= 0.47, took) -- 25 of them 20 ms apart, but for what a turn's clock is behind
end

function tests.req_high_rates_and_bad_ones()
	local lim = assert(req.new("store", 200000, 10))
	equal(lim:incoming("fast", true), 0)
	local none, err = req.new("store", 1e9, 1)
	equal(none, nil)
	assert(err:find("rate"), err)
	equal(pcall(req.new, "store", 0, 1), false)
	equal(pcall(req.new, "store", 1, -1), false)
end

function tests.conn_delays()
	local lim = assert(conn.new("store", 2, 4, 0.5))
	for i, delay in ipairs {0, 0, 0.5, 0.5, 1, 1} do
		pair(lim, "k", true, delay, i)
		equal(lim:is_committed(), true)
	end
	pair(lim, "k", true, nil, "rejected")
	equal(lim:is_committed(), false)
	pair(lim, "k", false, nil, "rejected")
	pair(lim, "other", false, 0, 1)
	equal(lim:is_committed(), false)
	for left = 5, 0, -1 do
		equal(lim:leaving("k"), left)
	end
	local none, err = lim:leaving("k")
	equal(none, nil)
	equal(err, "not found")
end

function tests.conn_latency_moves_the_delay()
	local lim = assert(conn.new("store", 1, 5, 1))
	pair(lim, "k", true, 0, 1)
	pair(lim, "k", true, 1, 2)
	equal(lim:leaving("k", 3), 1)
	pair(lim, "k", true, 2, 2) -- (3 + 1) / 2
	equal(lim:uncommit("k"), 1)
	equal(lim:leaving("k"), 0)
end

function tests.conn_settings_change()
	local lim = assert(conn.new("store", 1, 0, 1))
	pair(lim, "k", true, 0, 1)
	pair(lim, "k", true, nil, "rejected")
	lim:set_conn(2)
	lim:set_burst(1)
	pair(lim, "k", true, 0, 2)
	pair(lim, "k", true, 1, 3)
	pair(lim, "k", true, nil, "rejected")
	lim:set_conn(1)
	lim:set_burst(0)
	pair(lim, "k", true, nil, "rejected")
	for left = 2, 0, -1 do
		equal(lim:leaving("k"), left)
	end
end

function tests.conn_objects_share_their_zone()
	local a, b = assert(conn.new("store", 2, 0, 1)), assert(conn.new("store", 2, 0, 1))
	pair(a, "k", true, 0, 1)
	pair(b, "k", true, 0, 2)
	pair(a, "k", true, nil, "rejected")
	equal(b:leaving("k"), 1)
	equal(b:leaving("k"), 0)
end

function tests.count_down()
	local lim = assert(count.new("store", 3, 100))
	for left = 2, 0, -1 do
		pair(lim, "k", true, 0, left)
	end
	pair(lim, "k", true, nil, "rejected")
	pair(lim, "k", false, nil, "rejected")
	pair(lim, "other", false, 0, 2)
	pair(lim, "other", true, 0, 2)
end

function tests.count_windows_begin_with_a_key()
	local lim = assert(count.new("store", 1, 1))
	for _ = 1, 2 do
		pair(lim, "k", true, 0, 0)
		pair(lim, "k", true, nil, "rejected")
		ngx.sleep(1.05)
	end
end

function tests.count_uncommit()
	local lim = assert(count.new("store", 2, 100))
	for _ = 1, 3 do
		pair(lim, "k", true, 0, 1)
		equal(lim:uncommit("k"), 2)
	end
	local none, err = lim:uncommit("nobody")
	equal(none, nil)
	equal(err, "not found")
end

function tests.count_refuses()
	equal(pcall(count.new, "store", 0, 1), false)
	equal(pcall(count.new, "store", 1, 0), false)
	local none, err = count.new("store", 1, 1e9)
	equal(none, nil)
	assert(err:find("window_ns"), err)
	local lim = assert(count.new("store", 0.5, 10))
	pair(lim, "k", true, nil, "rejected")
end

local function three()
	return {assert(req.new("store", 2, 2)), assert(conn.new("store", 3, 1, 2)), assert(count.new("store", 10, 100))}
end

function tests.traffic_combines()
	local limiters, keys, states = three(), {"r", "c", "n"}, {}
	equal(traffic.combine(limiters, keys, states), 0)
	equal(table.concat(states, " "), "0 1 9")
	equal(traffic.combine(limiters, keys, states), 0.5)
	equal(table.concat(states, " "), "1 2 8")
	equal(traffic.combine(limiters, keys), 1)
	local none, err = traffic.combine(limiters, keys, states)
	equal(none, nil)
	equal(err, "rejected")
	equal(table.concat(states, " "), "1 2 8") -- as the last that was allowed left them
	pair(limiters[2], "c", false, 2, 4) -- nobody was charged: three are in flight
	pair(limiters[3], "n", false, 0, 6)
end

function tests.traffic_the_last_one_denies()
	local limiters = {assert(req.new("store", 2, 5)), assert(count.new("store", 1, 100))}
	equal(traffic.combine(limiters, {"r", "n"}), 0)
	local none, err = traffic.combine(limiters, {"r", "n"})
	equal(none, nil)
	equal(err, "rejected")
	pair(limiters[1], "r", false, 0.5, 1)
end

-- A limiter that is used up between being asked and being charged.
function tests.traffic_gives_back()
	local undone = {}
	local function fake(name, answers)
		return {incoming = function()
			return unpack(table.remove(answers, 1))
		end, uncommit = function(_, key)
			undone[#undone + 1] = name .. key
		end}
	end
	local limiters = {fake("a", {{0, 1}, {0, 1}}), fake("b", {{0, 1}, {nil, "rejected"}}), fake("c", {{0, 1}})}
	local none, err = traffic.combine(limiters, {1, 2, 3})
	equal(none, nil)
	equal(err, "rejected")
	equal(table.concat(undone, " "), "a1 c3")
	equal(traffic.combine({}, {}), 0)
end

function tests.unknown_dicts_are_told()
	for _, class in ipairs {req, conn, count} do
		local none, err = class.new("nowhere", 1, 1, 1)
		equal(none, nil)
		equal(err, "shared dict not found")
	end
end

function tests.any_bytes_are_a_key()
	local lim = assert(count.new("store", 1, 100))
	for _, key in ipairs {"\0a", "\0b", ("x"):rep(5000), ("x"):rep(5001), "\255\254", 42} do
		pair(lim, key, true, 0, 0)
		pair(lim, key, true, nil, "rejected")
	end
	equal(pcall(lim.incoming, lim, nil, true), false)
end

return function(name)
	if name == "names" then
		local names = {}
		for each in pairs(tests) do
			names[#names + 1] = each
		end
		return table.concat(names, " ")
	end
	ngx.shared.store:flush_all()
	local ok, why = xpcall(tests[name], debug.traceback)
	return ok and "ok" or why
end
