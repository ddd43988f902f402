-- SPDX-License-Identifier: BSD-2-Clause
-- What programs that name a lua_shared_dict expect of it: that it is there, and that flush_all() of it forgets what
-- limiters have counted. They count in rl all the same.
local limit = require "rl.limit"

local M = {}
local shared = ngx.shared
local watched = {}

local function watch(name, dict)
	if watched[name] then
		return
	end
	watched[name] = true
	local flush_all = dict.flush_all
	dict.flush_all = function(self, ...)
		limit.flush(name)
		return flush_all(self, ...)
	end
end

for name, dict in pairs(shared) do
	if type(dict) == "table" then
		watch(name, dict)
	end
end

-- The class, whose new() refuses the name of a dict that is not there.
function M.wrap(class)
	local wrapped = setmetatable({}, {__index = class})
	function wrapped.new(name, ...)
		if not shared[name] then
			return nil, "shared dict not found"
		end
		return class.new(name, ...)
	end
	return wrapped
end

return M
