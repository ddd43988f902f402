-- SPDX-License-Identifier: BSD-2-Clause
-- rl in place of resty.limit.count, under its name: for lua_package_path.
return require("rl.limit.dict").wrap(require "rl.limit.count")
