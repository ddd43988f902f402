-- SPDX-License-Identifier: BSD-2-Clause
-- A passdb for Dovecot that stands before the real one and limits how often a user and an address may try:
--
--	passdb {
--	  driver = lua
--	  args = file=/etc/dovecot/rl.lua blocking=yes
--	  result_internalfail = return-fail
--	}
--
-- and since Dovecot 2.4
--
--	passdb lua {
--	  lua_file = /etc/dovecot/rl.lua
--	  use_worker = yes
--	  result_internalfail = return-fail
--	}
--
-- Every worker of the auth service counts in one segment. Who is denied is told to come back later; the password is
-- not looked at.
local rl = require "rl"

local NAME = os.getenv("RL_SEGMENT") or "dovecot"
local segment, by_address, by_user

function script_init()
	return 0
end

-- The auth service itself runs the script, too, as a user of its own, and never looks up. A segment that it made would be
-- a stranger's to the workers: so the first lookup opens it, and that is a worker's.
local function open()
	local why
	segment, why = rl.open(NAME, {lazy = true})
	if not segment then
		return why
	end
	by_address = assert(segment:define("auth-address", {limits = {
		{limit = "20/min", granularity = 12, hard = true, prefix_v4 = 32, prefix_v6 = 64}}}))
	by_user = assert(segment:define("auth-user", "10/10min"))
end

local function key_or_none(text)
	return text and text ~= "" and text or "(none)"
end

-- Both limits allow, or nothing is spent.
function auth_passdb_lookup(req)
	local verdict, why
	if not segment then
		why = open()
	end
	if segment then
		verdict, why = segment:check_all {
			{rule = by_address, key = key_or_none(req.remote_ip), sleeps = true},
			{rule = by_user, key = key_or_none(req.user):lower(), sleeps = true},
		}
	end
	if verdict == "denied" or verdict == "never" then
		return dovecot.auth.PASSDB_RESULT_INTERNAL_FAILURE, "too many attempts"
	elseif verdict ~= "allowed" then
		dovecot.i_warning("rl: " .. tostring(verdict or why) .. "; the attempt is not limited")
	end
	return dovecot.auth.PASSDB_RESULT_NEXT, ""
end
