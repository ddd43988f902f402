#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A share of a cluster's limit is waited for: by HAProxy and nginx, which serve others meanwhile, and by a program that sleeps.
Beside a real store and rld."""
import contextlib
import os
import select
import socket
import subprocess
import sys
import time
import unittest

import support as s

sys.path.insert(0, os.path.join(s.TOP, "tests", "support"))
import lent  # noqa: E402

s.need("haproxy", "nginx", "redis-server")
s.need_root()
HAPROXY = """
global
    nbthread 1
    lua-prepend-path {share}/?.lua
    lua-prepend-path {build}/?.so cpath
    lua-load {file}
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 60s
frontend www
    bind 127.0.0.1:{port}
    http-request lua.rl five hdr(x-key) if {{ path /five }}
    http-request lua.rl none hdr(x-key) if {{ path /none }}
    http-request return status 200
"""
NGINX = """
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off;
worker_processes 1;
pid {work}/wait.pid;
error_log {work}/wait.log warn;
env LD_LIBRARY_PATH;
events {{}}
http {{
    access_log off;
    client_body_temp_path {work}/w1; proxy_temp_path {work}/w2; fastcgi_temp_path {work}/w3;
    uwsgi_temp_path {work}/w4; scgi_temp_path {work}/w5;
    lua_package_path "{share}/?.lua;;";
    lua_package_cpath "{build}/5.1/?.so;;";
    init_by_lua_block {{
        local segment = assert(require("rl").open("{segment}", {{existing = true}}))
        five, none = segment:rule("five"), segment:rule("none")
    }}
    server {{
        listen 127.0.0.1:{port};
        location /five {{
            access_by_lua_block {{ require("rl.nginx").limit(five, {{key = ngx.var.http_x_key}}) }}
            content_by_lua_block {{ ngx.print("ok") }}
        }}
        location /none {{
            access_by_lua_block {{ require("rl.nginx").limit(none, {{key = ngx.var.http_x_key}}) }}
            content_by_lua_block {{ ngx.print("ok") }}
        }}
        location / {{ return 200; }}
    }}
}}
"""
PROGRAM = """
local segment = assert(require("rl").open(os.getenv("RL_LENT_SEGMENT"), {existing = true}))
local five, usual, open = segment:rule("five"), segment:rule("usual"), segment:rule("unasked")
local allowed = {}
local key = ...
assert(not five:decide(key).is_allowed)
for i = 1, 6 do allowed[i] = tostring(five:decide(key, {sleeps = true}).is_allowed) end
assert(not usual:decide(key, {sleeps = true}).is_allowed)
assert(usual:decide(key, {waits = true}).reason ~= "limit")
assert(segment:check_all {{rule = five, key = "c" .. key, sleeps = true}, {rule = open, key = "c"}} == "allowed")
print(table.concat(allowed, " "))
"""


class Waits(unittest.TestCase):
    def setUp(self):
        self.host = lent.Host(s.segment("wait"))
        self.addCleanup(self.host.close)
        self.port = s.free_port()

    def serve(self, command):
        process = s.start(command)
        self.addCleanup(lambda: s.end(process))
        s.eventually(lambda: s.is_listening(self.port), "it listens")

    def haproxy(self):
        lua = s.write("wait.lua", f'require "rl.haproxy" {{segment = "{self.host.name}", options = {{existing = true}}}}')
        self.serve(["haproxy", "-db", "-f", s.write("wait.cfg", HAPROXY.format(
            share=s.SHARE, build=f"{s.BUILD}/{s.lua_of_haproxy()}", file=lua, port=self.port))])

    def nginx(self):
        self.serve(["nginx", "-p", s.work, "-c", s.write("wait.conf", NGINX.format(
            work=s.work, share=s.SHARE, build=s.BUILD, segment=self.host.name, port=self.port))])

    def statuses(self, path, key, count):
        return [s.get(self.port, path, **{"x-key": key})[0] for _ in range(count)]

    @contextlib.contextmanager
    def without_store(self):
        """Nothing is lent meanwhile."""
        self.host.stop()
        try:
            yield
        finally:
            self.host.go_on()

    def play(self):
        lent.in_time(lambda key: self.assertEqual(self.statuses("/five", key, 7), [200] * 5 + [429] * 2))
        self.assertEqual(self.statuses("/none", "b", 1), [429])
        lent.in_time(self.serves_others)

    def serves_others(self, key):
        with self.without_store(), socket.create_connection(("127.0.0.1", self.port), s.PATIENCE) as asked:
            began = time.monotonic()
            asked.sendall(f"GET /five HTTP/1.1\r\nHost: localhost\r\nx-key: c-{key}\r\n\r\n".encode())
            self.assertEqual(self.statuses("/", "c", 1), [200])  # by the same thread, or worker
            self.assertEqual(select.select([asked], [], [], 0)[0], [], "others are served after the wait")
            self.assertIn(b" 429 ", asked.recv(100))
            self.assertGreater(time.monotonic() - began, 0.9)

    def test_haproxy(self):
        self.haproxy()
        self.play()

    def test_nginx(self):
        self.nginx()
        self.play()

    def test_a_program_sleeps(self):
        environment = s.environment(RL_LENT_SEGMENT=self.host.name, LUA_PATH=f"{s.SHARE}/?.lua", LUA_CPATH=f"{s.BUILD}/5.4/?.so")
        program = s.write("program.lua", PROGRAM)

        def sleeps(key):
            told = subprocess.run(["lua5.4", program, key], env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(told.stdout.split(), ["true"] * 5 + ["false"], told.stderr)
        lent.in_time(sleeps)


if __name__ == "__main__":
    unittest.main(verbosity=1)
