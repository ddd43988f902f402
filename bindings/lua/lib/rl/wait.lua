-- SPDX-License-Identifier: BSD-2-Clause
-- A share of a cluster's limit is waited for by what does not hold a worker: ask(waits) is asked again for as long as the
-- limit says, and between two tries sleep(seconds) lets others run.
local MOST = 1000 -- of a Lua state; more are denied at once
local LONGEST = 2 -- seconds: nobody waits longer, so who is there then was ended by his server, and said nothing
local began, count = {}, 0 -- by who waits

local function leave(one)
	if began[one] then
		began[one] = nil
		count = count - 1
	end
end

local function has_room()
	if count < MOST then
		return true
	end
	local now = os.time()
	for one, at in pairs(began) do
		if now - at > LONGEST then
			leave(one)
		end
	end
	return count < MOST
end

local function comes_again(answer)
	return answer.reason == "share" and answer.delay > 0
end

return function(ask, sleep)
	local answer = ask(has_room())
	if not comes_again(answer) then
		return answer
	end
	local one, left = {}, answer.delay
	began[one] = os.time()
	count = count + 1
	while comes_again(answer) do
		local pause = math.min(answer.retry_after, left)
		left = left - pause
		sleep(pause)
		answer = ask(left > 0)
	end
	leave(one)
	return answer
end
