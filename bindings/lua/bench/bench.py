#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a call costs, in one run: C, each Lua, and nginx's shared dicts beside the limiters."""
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests"))
import support as s  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = "/usr/lib/nginx/modules"
CONFIG = """
load_module {modules}/ndk_http_module.so;
load_module {modules}/ngx_http_lua_module.so;
daemon off; master_process off; pid {work}/pid; error_log {work}/error.log warn;
events {{}}
http {{
    access_log off;
    lua_package_path "{share}/?.lua;{here}/?.lua;;";
    lua_package_cpath "{build}/5.1/?.so;;";
    lua_shared_dict store 10m;
    init_by_lua_block {{ assert(require("rl.limit").open("{segment}")) }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ content_by_lua_block {{
            local function say(what, ns) ngx.say(("%s %.1f"):format(what, ns)) end
            local cost = require "cost"
            cost.nginx(say)
        }} }}
    }}
}}
"""


def lines(text):
    for line in text.splitlines():
        what, ns = line.rsplit(" ", 1)
        yield what, float(ns)


def run(command, **more):
    return dict(lines(subprocess.run(command, capture_output=True, text=True, check=True,
                                     env=s.environment(**more)).stdout))


def in_nginx():
    port, segment = s.free_port(), s.segment("bench")
    config = s.write("nginx.conf", CONFIG.format(modules=MODULES, work=s.work, share=s.SHARE, here=HERE, build=s.BUILD,
                                                 segment=segment, port=port))
    process = s.start(["nginx", "-p", s.work, "-c", config, "-e", f"{s.work}/error.log"])
    s.eventually(lambda: s.is_listening(port), "nginx listens")
    s.PATIENCE = 600
    answer = s.get(port)[2]
    s.end(process, signal.SIGQUIT)
    return dict(lines(answer))


def main():
    bare = run([os.path.join(s.TOP, "build/lua/cost")])
    print("| a decision about a hot key | denied, ns | x | allowed, ns | x | told in full, ns |\n|---|--:|--:|--:|--:|--:|")
    print(f"| C, `rl_check()` with its own clock | {bare['denied']:.0f} | 1 | {bare['allowed']:.0f} | 1 | |")
    for lua, version, module, what in (
            ("luajit", "5.1", "rl.ffi", "LuaJIT, `rl.ffi`"), ("luajit", "5.1", "rl", "LuaJIT, `rl`"),
            ("lua5.1", "5.1", "rl", "Lua 5.1"), ("lua5.2", "5.2", "rl", "Lua 5.2"), ("lua5.3", "5.3", "rl", "Lua 5.3"),
            ("lua5.4", "5.4", "rl", "Lua 5.4")):
        told = run([lua, os.path.join(HERE, "cost.lua"), module], LUA_PATH=f"{s.SHARE}/?.lua",
                   LUA_CPATH=f"{s.BUILD}/{version}/?.so")
        print(f"| {what} | {told['denied']:.0f} | {told['denied'] / bare['denied']:.1f} | {told['allowed']:.0f} | "
              f"{told['allowed'] / bare['allowed']:.1f} | {told['allowed, told in full']:.0f} |")
    print("\n| in nginx, one worker | ns |\n|---|--:|")
    for what, ns in in_nginx().items():
        print(f"| {what} | {ns:.0f} |")


main()
