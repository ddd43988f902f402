-- SPDX-License-Identifier: BSD-2-Clause
-- Reads JSON into tables, for the table of calls that every binding plays. null is nil.
local escapes = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

local function utf8(code)
	if code < 0x80 then
		return string.char(code)
	elseif code < 0x800 then
		return string.char(0xc0 + math.floor(code / 0x40), 0x80 + code % 0x40)
	end
	return string.char(0xe0 + math.floor(code / 0x1000), 0x80 + math.floor(code / 0x40) % 0x40,
		0x80 + code % 0x40)
end

local read

local function read_string(text, at)
	local parts = {}
	at = at + 1
	while true do
		local stop = assert(text:find('["\\]', at), "a string has no end")
		parts[#parts + 1] = text:sub(at, stop - 1)
		if text:sub(stop, stop) == '"' then
			return table.concat(parts), stop + 1
		end
		local letter = text:sub(stop + 1, stop + 1)
		if letter == "u" then
			parts[#parts + 1] = utf8(tonumber(text:sub(stop + 2, stop + 5), 16))
			at = stop + 6
		else
			parts[#parts + 1] = escapes[letter] or letter
			at = stop + 2
		end
	end
end

local function read_list(text, at, close, add)
	at = text:find("%S", at + 1)
	while text:sub(at, at) ~= close do
		at = text:find("%S", add(at))
		if text:sub(at, at) == "," then
			at = text:find("%S", at + 1)
		end
	end
	return at + 1
end

local function read_array(text, at)
	local list = {}
	return list, read_list(text, at, "]", function(here)
		local value, after = read(text, here)
		list[#list + 1] = value
		return after
	end)
end

local function read_object(text, at)
	local object = {}
	return object, read_list(text, at, "}", function(here)
		local name, after = read_string(text, here)
		after = text:find("%S", text:find(":", after, true) + 1)
		object[name], after = read(text, after)
		return after
	end)
end

function read(text, at)
	at = text:find("%S", at)
	local first = text:sub(at, at)
	if first == '"' then
		return read_string(text, at)
	elseif first == "[" then
		return read_array(text, at)
	elseif first == "{" then
		return read_object(text, at)
	end
	local word = text:match("^[%w%.+-]+", at)
	local words = {["true"] = true, ["false"] = false}
	if words[word] ~= nil then
		return words[word], at + #word
	end
	return tonumber(word), at + #word
end

return function(text)
	return (read(text, 1))
end
