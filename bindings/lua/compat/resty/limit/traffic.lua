-- SPDX-License-Identifier: BSD-2-Clause
-- rl in place of resty.limit.traffic, under its name: for lua_package_path.
return require "rl.limit.traffic"
