-- SPDX-License-Identifier: BSD-2-Clause
-- Which answers count: {401, "5xx"}, one of these, or a function of the status.

local function word_of(status)
	local text = tostring(status):lower()
	if not text:match("^[1-5]xx$") and not text:match("^[1-5]%d%d$") then
		error(('count_status: %s: a status such as 401 or "4xx", a list of them or a function is expected'):format(text), 0)
	end
	return text
end

-- A function that says of a status whether it counts.
return function(given)
	if type(given) == "function" then
		return given
	end
	local all = {}
	for _, status in ipairs(type(given) == "table" and given or {given}) do
		all[word_of(status)] = true
	end
	if next(all) == nil then
		word_of(nil)
	end
	return function(status)
		local text = tostring(status)
		return all[text] or all[text:sub(1, 1) .. "xx"] or false
	end
end
