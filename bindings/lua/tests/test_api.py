#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The module on each Lua: the common table, its own tests, processes that share a limit and are killed."""
import os
import signal
import subprocess
import sys
import time
import unittest

import support as s

HERE = os.path.dirname(os.path.abspath(__file__))
LUAS = {"lua5.1": "5.1", "lua5.2": "5.2", "lua5.3": "5.3", "lua5.4": "5.4", "luajit": "5.1"}
s.need(*LUAS)

WORKER = """
local rl = require "rl"
local segment = assert(rl.open(arg[1]))
local rule = assert(segment:define("shared", {algorithm = "fixed_window", limit = "100/day"}))
local allowed = 0
for _ = 1, 200 do
	if rule:check("k") then allowed = allowed + 1 end
end
print(allowed)
"""

HOLDER = """
local rl = require "rl"
local segment = assert(rl.open(arg[1]))
local rule = assert(segment:define("held", {algorithm = "in_flight", capacity = 2}))
local a, b = assert(rule:acquire("k")), assert(rule:acquire("k"))
print("held")
io.stdout:flush()
io.read()
"""

TAKER = """
local rl = require "rl"
local segment = assert(rl.open(arg[1]))
print(segment:rule("held"):acquire("k") and "free" or "taken")
"""


def run(lua, script, *arguments, **options):
    environment = s.environment(LUA_CPATH=f"{s.BUILD}/{LUAS[lua]}/?.so", LUA_PATH=f"{HERE}/?.lua;{s.SHARE}/?.lua",
                                LUA_INIT="", **options)
    for name in list(environment):
        if name.startswith(("LUA_PATH_", "LUA_CPATH_", "LUA_INIT")):
            del environment[name]
    if os.environ.get("RL_PRELOAD"):
        environment["LD_PRELOAD"] = os.environ["RL_PRELOAD"]
    return subprocess.Popen([lua, script, *arguments], env=environment, stdin=subprocess.PIPE, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Api(unittest.TestCase):
    def ends_well(self, process):
        out, _ = process.communicate(timeout=10 * s.PATIENCE)
        self.assertEqual(process.returncode, 0, out)
        return out

    def test_the_common_table(self):
        for lua in LUAS:
            with self.subTest(lua):
                out = self.ends_well(run(lua, f"{HERE}/table.lua", os.path.join(s.TOP, "bindings/table.json")))
                self.assertIn(" 0 differ", out)

    def test_own(self):
        for lua in LUAS:
            with self.subTest(lua):
                self.ends_well(run(lua, f"{HERE}/api.lua", "rl", self.name()))

    def test_each_call_while_all_is_collected(self):
        for lua in LUAS:
            with self.subTest(lua):
                table = os.path.join(s.TOP, "bindings/table.json")
                self.assertIn(" 0 differ", self.ends_well(run(lua, f"{HERE}/stress.lua", table, self.name())))

    def name(self):
        base = s.segment(f"-api{time.monotonic_ns()}")
        for suffix in ("-lazy", "-absent"):
            s._segments.append(base + suffix)
        return base

    @unittest.skipIf(os.environ.get("RL_PRELOAD"), "sanitizers do not see LuaJIT's memory")
    def test_ffi(self):
        sizes = s.write("sizes", subprocess.run([os.path.join(s.TOP, "build/lua/sizes")], capture_output=True,
                                                text=True, check=True).stdout)
        self.ends_well(run("luajit", f"{HERE}/api.lua", "rl.ffi", self.name(), sizes))

    def test_all_luas_share_a_limit(self):
        script, name = s.write("worker.lua", WORKER), self.name()
        workers = [run(lua, script, name) for lua in LUAS for _ in range(2)]
        self.assertEqual(sum(int(self.ends_well(worker)) for worker in workers), 100)

    def test_what_the_killed_held_comes_back(self):
        holder, taker, name = s.write("holder.lua", HOLDER), s.write("taker.lua", TAKER), self.name()
        for lua in LUAS:
            process = run(lua, holder, name)
            self.assertEqual(process.stdout.readline(), "held\n")
            self.assertEqual(self.ends_well(run("lua5.4", taker, name)), "taken\n")
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            process.stdin.close()
            s.eventually(lambda: self.ends_well(run("lua5.4", taker, name)) == "free\n", lua)


if __name__ == "__main__":
    if os.environ.get("RL_PRELOAD"):
        LUAS.pop("luajit")
    unittest.main(argv=sys.argv)
