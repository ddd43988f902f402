#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nginx with Debian's lua module: the limiters call by call, workers that share a limit and are killed."""
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import support as s

s.need("nginx")
s.need_root()
MODULES = "/usr/lib/nginx/modules"
if not os.path.exists(f"{MODULES}/ngx_http_lua_module.so"):
    print("there is no lua module of nginx here")
    raise SystemExit(77)
HERE = os.path.dirname(os.path.abspath(__file__))
COMPAT = os.path.join(s.TOP, "bindings/lua/compat")

CONFIG = """
load_module {modules}/ndk_http_module.so;
load_module {modules}/ngx_http_lua_module.so;
user www-data;
daemon off;
worker_processes 4;
pid {work}/nginx.pid;
error_log {work}/error.log warn;
env LD_LIBRARY_PATH;
events {{}}
http {{
    access_log off;
    client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3;
    uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
    lua_package_path "{share}/?.lua;{compat}/?.lua;{here}/?.lua;;";
    lua_package_cpath "{build}/5.1/?.so;;";
    lua_shared_dict store 1m;
    init_by_lua_block {{
        assert(require("rl.limit").open("{segment}"))
        local segment = require("rl.limit").segment()
        login = assert(segment:define("login", "50/day"))
        guess = assert(segment:define("guess", "5/day"))
        nowhere = segment:rule("nowhere")
        client = assert(segment:define("client", "20/day"))
        statuses = {{401, "5xx"}}
        tokens = assert(segment:define("tokens", "3000/day"))
        usage = function() return ngx.ctx.spent or ngx.var.sent_http_x_usage end
    }}
    server {{
        listen 127.0.0.1:{port} reuseport;
        location /tests {{
            content_by_lua_block {{ ngx.print(require("limiters")(ngx.var.arg_name)) }}
        }}
        location /count {{
            access_by_lua_block {{
                local lim = assert(require("rl.limit.count").new("store", 50, 86400))
                local delay, err = lim:incoming(ngx.var.arg_key or "k", true)
                if not delay then
                    return ngx.exit(err == "rejected" and 429 or 500)
                end
            }}
            content_by_lua_block {{ ngx.print(ngx.worker.pid()) }}
        }}
        location /login {{
            access_by_lua_block {{
                local result = login:decide(ngx.var.remote_addr)
                for name, value in pairs(login:headers(result)) do
                    ngx.header[name] = value
                end
                if not result.is_allowed then
                    return ngx.exit(429)
                end
            }}
            content_by_lua_block {{ ngx.print("welcome") }}
        }}
        location /guess/ {{
            access_by_lua_block {{
                require("rl.nginx").limit(guess, {{count_status = statuses, key = ngx.var.http_x_user}})
            }}
            header_filter_by_lua_block {{ require("rl.nginx").answered() }}
            content_by_lua_block {{
                require("rl.limit").segment():counters("reached"):add(ngx.var.uri, 1, 3600)
                if ngx.var.uri == "/guess/killed" then os.execute("kill -9 " .. ngx.worker.pid()) end
                if ngx.var.uri == "/guess/wrong" then ngx.sleep(0.1) end -- others come meanwhile
                ngx.status = ngx.var.uri == "/guess/right" and 200 or 401
                ngx.print("told")
            }}
        }}
        location /spend/ {{
            access_by_lua_block {{ require("rl.nginx").limit(tokens, {{key = "one", cost = 40, actual = usage}}) }}
            log_by_lua_block {{ require("rl.nginx").logged() }}
            content_by_lua_block {{
                local does = ngx.var.uri:match("[^/]+$")
                if does == "killed" then os.execute("kill -9 " .. ngx.worker.pid()) end
                if does == "thrown" then error("thrown") end
                if does == "less" then ngx.header["X-Usage"] = "15" end
                if does == "more" then ngx.ctx.spent = 100 end
                if does == "strange" then ngx.header["X-Usage"] = "none" end
                if does == "within" then
                    assert(tokens:spend("one", 40, function(charges) ngx.sleep(0.01) charges:settle(5) end))
                end
                local parts = require("rl.limit").segment():counters("parts")
                while does == "endless" and ngx.print(("."):rep(65536)) and ngx.flush(true) do -- until the client is gone
                    parts:add("all", 1, 3600)
                    ngx.ctx.spent = (ngx.ctx.spent or 0) + 1
                end
                ngx.print("told")
            }}
        }}
        location /client {{
            set_real_ip_from 127.0.0.1;
            access_by_lua_block {{ require("rl.nginx").limit(client) }}
            content_by_lua_block {{ ngx.print("told") }}
        }}
        location /keyless {{
            access_by_lua_block {{ require("rl.nginx").limit(guess, {{key = ""}}) }}
            content_by_lua_block {{ ngx.print("told") }}
        }}
        location /client56 {{
            set_real_ip_from 127.0.0.1;
            access_by_lua_block {{ require("rl.nginx").limit(client, {{client_v6 = 56, cost = 3}}) }}
            content_by_lua_block {{ ngx.print("told") }}
        }}
        location /undecided {{
            access_by_lua_block {{ require("rl.nginx").limit(nowhere, {{on_error = ngx.var.arg_how}}) }}
            content_by_lua_block {{ ngx.print("told") }}
        }}
        location /hold {{
            access_by_lua_block {{
                local lim = assert(require("rl.limit.conn").new("store", 3, 0, 1))
                local delay, err = lim:incoming("k", true)
                if not delay then
                    return ngx.exit(err == "rejected" and 503 or 500)
                end
                ngx.ctx.lim = lim
            }}
            content_by_lua_block {{
                if ngx.var.arg_forever then ngx.sleep(600) end
                ngx.print("held")
            }}
            log_by_lua_block {{
                if ngx.ctx.lim then ngx.ctx.lim:leaving("k") end
            }}
        }}
    }}
}}
"""


class Nginx(unittest.TestCase):
    def setUp(self):
        self.segment = s.segment(self.id().rsplit(".", 1)[1])
        self.port = s.free_port()
        self.config = s.write("nginx.conf", CONFIG.format(
            modules=MODULES, work=s.work, share=s.SHARE, compat=COMPAT, here=HERE, build=s.BUILD,
            segment=self.segment, port=self.port))
        self.command = ["nginx", "-p", s.work, "-c", self.config, "-e", f"{s.work}/error.log"]
        self.run_it()
        self.addCleanup(lambda: s.end(self.process, signal.SIGQUIT))

    def run_it(self):
        self.process = s.start(self.command)
        s.eventually(lambda: s.is_listening(self.port), "nginx listens")

    def errors(self):
        with open(f"{s.work}/error.log", encoding="utf-8") as file:
            return file.read()

    def get(self, path):
        return s.get(self.port, path)

    def test_limiters(self):
        names = self.get("/tests?name=names")[2].split()
        self.assertGreater(len(names), 15)
        for name in sorted(names):
            with self.subTest(name):
                self.assertEqual(self.get(f"/tests?name={name}")[2], "ok", self.errors()[-2000:])

    def test_exactly_50_of_400_by_four_workers(self):
        self.assertEqual(s.count_status(self.port, "/count", 400, 16), 50)
        pids = set()
        for i in range(200):
            pids.add(self.get(f"/count?key=other{i}")[2])
        self.assertGreater(len(pids), 1)
        self.assertIn("50", s.rlctl("--segment", self.segment, "get", "store:count:86400", "k"))

    def test_rules_and_header_fields(self):
        self.assertEqual(s.count_status(self.port, "/login", 120, 8), 50)
        status, headers, _ = self.get("/login")
        self.assertEqual(status, 429)
        self.assertRegex(headers["RateLimit"], r'^"login";r=0;t=\d+$')
        self.assertGreater(int(headers["Retry-After"]), 80000)
        s.rlctl("--segment", self.segment, "reset", "--yes", "127.0.0.1")
        self.assertEqual(self.get("/login")[0], 200)

    def used(self, rule, key):
        told = json.loads(s.rlctl("--segment", self.segment, "--json", "get", rule, key))
        return told["limits"][0]["counted"]["used"]

    def test_failures_alone_count(self):
        """50 wrong guesses, 1,000 right ones, and one whose worker is killed."""
        def ask(path, user):
            return s.get(self.port, path, **{"x-user": user})[0]
        with ThreadPoolExecutor(50) as pool:
            wrong = list(pool.map(lambda _: ask("/guess/wrong", "a"), range(50)))
        with ThreadPoolExecutor(4) as pool:
            right = list(pool.map(lambda _: ask("/guess/right", "b"), range(1000)))
        self.assertEqual((wrong.count(401), wrong.count(429), right.count(200)), (5, 45, 1000), self.errors()[-2000:])
        self.assertEqual((self.used("guess", "a"), self.used("guess", "b")), (5, 0))
        with self.assertRaises((OSError, http.client.HTTPException)):
            ask("/guess/killed", "b")
        self.assertEqual(self.used("guess", "b"), 1)

    def test_what_is_used_is_what_it_has_cost(self):
        """Also over an error, a worker that is killed, and a client that hangs up."""
        expected = 0
        for does, cost in (("less", 15), ("more", 100), ("unknown", 40), ("strange", 40), ("thrown", 40), ("within", 45), ("killed", 40)):
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.get(f"/spend/{does}")
            expected += cost
            s.eventually(lambda: self.used("tokens", "one") == expected, f"{expected} after {does}; {self.used('tokens', 'one')}")
        with socket.create_connection(("127.0.0.1", self.port)) as one:
            one.sendall(b"GET /spend/endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            one.recv(4096)
            time.sleep(0.1)
        s.eventually(lambda: self.used("tokens", "one") == expected + self.parts(), "the parts of an answer")
        self.assertGreater(self.parts(), 0)
        while self.get("/spend/more")[0] == 200:
            pass
        self.assertGreater(self.used("tokens", "one"), 2960)

    def parts(self):
        keys = json.loads(s.rlctl("--segment", self.segment, "--json", "list"))["keys"]
        return sum(key["used"] for key in keys if key["rule"] == "parts")

    def test_a_thousand_addresses_of_a_network_are_one_client(self):
        def ask(i):
            return s.get(self.port, "/client", **{"x-real-ip": f"2001:db8:0:7::{i:x}"})[0]
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(ask, range(1, 1001)))
        self.assertEqual((told.count(200), told.count(429)), (20, 980), self.errors()[-2000:])
        self.assertEqual(self.used("client", "2001:db8:0:7::"), 20)
        for address in ("2001:db8:0:107::1", "192.0.2.1", "::ffff:192.0.2.1"):
            self.assertEqual(s.get(self.port, "/client56", **{"x-real-ip": address})[0], 200)
        self.assertEqual((self.used("client", "2001:db8:0:100::"), self.used("client", "192.0.2.1")), (3, 6))

    def test_who_has_no_key_shares_one(self):
        self.assertEqual([self.get("/keyless")[0] for _ in range(6)], [200] * 5 + [429])

    def test_what_cannot_be_decided(self):
        self.assertEqual([self.get(f"/undecided?how={how}")[0] for how in ("allow", "deny", "")], [200, 503, 200])
        self.assertIn("rl: rule nowhere: ", self.errors())

    def test_reload_and_restart_keep_counts(self):
        self.assertEqual(s.count_status(self.port, "/count", 30, 4), 30)
        old = set(s.children(self.process.pid))
        self.process.send_signal(signal.SIGHUP)
        s.eventually(lambda: not old & set(s.children(self.process.pid)), "other workers")
        self.assertEqual(s.count_status(self.port, "/count", 40, 4), 20)
        s.end(self.process, signal.SIGQUIT)
        self.run_it()
        self.assertEqual(self.get("/count")[0], 429)

    def hold(self):
        def ask():
            try:
                while self.get("/hold?forever=1")[0] == 503:
                    pass  # who looks whether all are held had the place
            except OSError:
                pass
        threading.Thread(target=ask, daemon=True).start()

    def held(self):
        """As rlctl tells it: nothing before the rule is there, and of a key that is free."""
        told = s.rlctl("--segment", self.segment, "--json", "get", "store:conn", "k", check=False)
        return json.loads(told)["limits"][0]["counted"]["used"] if told else 0

    def test_killed_workers_give_back_what_they_held(self):
        for _ in range(3):
            self.hold()
        s.eventually(lambda: self.held() == 3, "three are held")
        self.assertEqual(self.get("/hold")[0], 503)
        for pid in s.children(self.process.pid):
            with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                os.kill(pid, signal.SIGKILL)
        s.eventually(lambda: len(s.children(self.process.pid)) == 4 and self.answers(), "new workers")
        for _ in range(5):  # each is given back after its answer
            s.eventually(lambda: self.get("/hold")[0] == 200, "what was held is free")

    def answers(self):
        try:
            return self.get("/count?key=alive")[0] in (200, 429)
        except OSError:
            return False

    def test_the_configuration_stands_above(self):
        config = s.write("rl.json", '{"segment": {"name": "%s"}, "rules": {"store:count:86400": {"algorithm":'
                         ' "anchored_window", "limit": "5/day"}}}' % self.segment)
        self.assertEqual(self.get("/count")[0], 200)
        s.rlctl("--segment", self.segment, "config", "reload", "--config", config)
        time.sleep(2.1)  # each worker asks once a second whether the rule is configured
        self.assertEqual(s.count_status(self.port, "/count?key=other", 20, 4), 5)

    def test_a_segment_that_is_made_anew_is_found(self):
        self.assertEqual(s.count_status(self.port, "/login", 60, 4), 50)
        os.unlink(f"/dev/shm/rl.{self.segment}")
        keeper = s.start([os.path.join(s.TOP, "build/rld"), "--config", s.write(
            "rld.json", '{"segment": {"name": "%s", "mode": "0600"}}' % self.segment)])
        s.eventually(lambda: os.path.exists(f"/dev/shm/rl.{self.segment}"), "rld has made it")
        os.chown(f"/dev/shm/rl.{self.segment}", 33, 33)  # www-data's, as its workers are
        s.eventually(lambda: self.get("/login")[0] == 200, "workers count in the new one")
        s.end(keeper)

    def test_a_check_of_the_configuration_touches_nothing(self):
        s.end(self.process, signal.SIGQUIT)
        os.unlink(f"/dev/shm/rl.{self.segment}")
        subprocess.run([*self.command, "-t"], check=True, capture_output=True, env=s.environment(),
                       timeout=s.PATIENCE)
        self.assertFalse(os.path.exists(f"/dev/shm/rl.{self.segment}"))


if __name__ == "__main__":
    unittest.main()
