-- SPDX-License-Identifier: BSD-2-Clause
-- The same in Lua: ns for a hot key, the median of nine rounds. Under nginx, beside its shared dicts.
local M = {}
local ROUNDS, CALLS = 9, 200000
local KEY = "203.0.113.7"

local function median(run)
	local ns = {}
	for round = 1, ROUNDS do
		collectgarbage()
		local before = os.clock()
		run(CALLS)
		ns[round] = (os.clock() - before) * 1e9 / CALLS
	end
	table.sort(ns)
	return ns[(ROUNDS + 1) / 2]
end

local function rules_of(rl)
	local segment = assert(rl.private())
	return assert(segment:define("r", {algorithm = "fixed_window", limit = "1/day"})),
		assert(segment:define("s", {algorithm = "fixed_window", limit = "268435455/day"}))
end

-- Calls a line of its own for each, so that a compiler of traces sees a program and not a list of functions.
function M.module(name, say)
	local small, large = rules_of(require(name))
	say("denied", median(function(calls)
		for _ = 1, calls do
			small:check(KEY)
		end
	end))
	say("allowed", median(function(calls)
		for _ = 1, calls do
			large:check(KEY)
		end
	end))
	say("allowed, told in full", median(function(calls)
		for _ = 1, calls do
			large:decide(KEY)
		end
	end))
end

function M.nginx(say)
	local dict = ngx.shared.store
	local count = assert(require("rl.limit.count").new("store", 1e8, 86400))
	local req = assert(require("rl.limit.req").new("store", 250, 1e6))
	local conn = assert(require("rl.limit.conn").new("store", 10, 0, 1))
	say("shared dict: incr with a lifetime", median(function(calls)
		for _ = 1, calls do
			dict:incr(KEY, 1, 0, 86400)
		end
	end))
	say("rl.limit.count: incoming", median(function(calls)
		for _ = 1, calls do
			count:incoming(KEY, true)
		end
	end))
	say("shared dict: get and set of a string", median(function(calls)
		for _ = 1, calls do
			local v = dict:get("s")
			dict:set("s", v or "0123456789abcdef")
		end
	end))
	say("rl.limit.req: incoming", median(function(calls)
		for _ = 1, calls do
			req:incoming(KEY, true)
		end
	end))
	say("shared dict: incr and incr back", median(function(calls)
		for _ = 1, calls do
			dict:incr("c", 1, 0)
			dict:incr("c", -1)
		end
	end))
	say("rl.limit.conn: incoming and leaving", median(function(calls)
		for _ = 1, calls do
			conn:incoming(KEY, true)
			conn:leaving(KEY)
		end
	end))
end

if not ngx then
	M.module(arg[1], function(what, ns)
		print(("%s %.1f"):format(what, ns))
	end)
end
return M
