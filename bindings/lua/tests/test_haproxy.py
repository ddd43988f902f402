#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""HAProxy with the module: chroot, threads, kill -9, a segment that is not there."""
import collections
import contextlib
import http.client
import http.server
import json
import os
import signal
import subprocess
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import support as s

s.need("haproxy")
s.need_root()
CONFIG = """
global
    chroot {work}/empty
    user nobody
    group nogroup
    nbthread 8
    log stderr format raw local0
    lua-prepend-path {share}/?.lua
    lua-prepend-path {build}/?.so cpath
    {load} {settings}
defaults
    mode http
    timeout client 60s
    timeout server 60s
    timeout connect 60s
frontend www
    bind 127.0.0.1:{port}
    http-request lua.rl page src if {{ path /page }}
    http-request set-src hdr(x-from) if {{ hdr(x-from) -m found }}
    http-request lua.rl page client if {{ path /client }}
    http-request lua.rl key req.hdr(x-key) if {{ path /key }}
    http-request lua.rl none src if {{ path /none }}
    http-request lua.rl page no.such.fetch if {{ path /fetch }}
    http-request lua.rl slow src if {{ path /slow }}
    http-request lua.rl_check page src if {{ path /check }}
    http-request deny deny_status 403 if {{ path /check }} !{{ var(txn.rl_page_allowed) -m bool }}
    http-request lua.rl login hdr(x-user) if {{ path_beg /login/ }}
    http-request lua.rl tokens str(one) if {{ path_beg /paid/ }}
    http-response lua.rl_answered
    http-request return status 200 content-type text/plain lf-string "%[var(txn.rl_page_remaining)]" if !{{ path_beg /login/ /paid/ }}
    default_backend logins
backend logins
    server application 127.0.0.1:{application}
"""


class Logins(http.server.BaseHTTPRequestHandler):
    """An application with a password."""
    reached, lock = collections.Counter(), threading.Lock()

    def do_GET(self):
        with Logins.lock:
            Logins.reached[self.path] += 1
        if self.path == "/login/wrong":
            time.sleep(0.1)  # others come meanwhile
        if self.path == "/paid/held":
            time.sleep(600)
        if self.path.endswith("/lost"):
            self.close_connection = True
            return
        self.send_response(200 if self.path.endswith("/right") else 401)
        self.send_header("Content-Length", "0")
        if cost := self.headers.get("x-cost"):
            self.send_header("X-Tokens", cost)
        self.end_headers()

    def log_message(self, *_arguments):
        pass


class HAProxy(unittest.TestCase):
    def start(self, segment, settings='rules = {page = "100/day"}', load="lua-load"):
        lua = s.write("rl.lua", f'require "rl.haproxy" {{segment = "{segment}", {settings}}}')
        os.makedirs(os.path.join(s.work, "empty"), exist_ok=True)
        self.port = s.free_port()
        application = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Logins)
        self.addCleanup(application.server_close)
        self.addCleanup(application.shutdown)
        threading.Thread(target=application.serve_forever, daemon=True).start()
        self.config = s.write("haproxy.cfg", CONFIG.format(
            work=s.work, share=s.SHARE, build=f"{s.BUILD}/{s.lua_of_haproxy()}", settings=lua, load=load,
            port=self.port, application=application.server_port))
        self.process = s.start(["haproxy", "-db", "-f", self.config])
        self.addCleanup(lambda: s.end(self.process))
        s.eventually(lambda: s.is_listening(self.port), "HAProxy listens")

    def test_exactly_100_of_800(self):
        for load in ("lua-load", "lua-load-per-thread"):
            segment = s.segment(load)
            self.start(segment, load=load)
            self.assertEqual(s.count_status(self.port, "/page", 800, 16), 100, load)
            root = os.readlink(f"/proc/{self.process.pid}/root")
            self.assertEqual(root, os.path.join(s.work, "empty"))
            self.assertIn("100", s.rlctl("--segment", segment, "get", "page", "127.0.0.1"))
            s.end(self.process)

    def test_a_thousand_addresses_of_a_network_are_one_client(self):
        segment = s.segment("client")
        self.start(segment, 'rules = {page = "20/day"}')
        asked = [s.get(self.port, "/client", **{"x-from": f"2001:db8:0:7::{i:x}"})[0] for i in range(1000)]
        self.assertEqual((asked.count(200), asked.count(429)), (20, 980))
        self.assertIn('"key": "2001:db8:0:7::"', s.rlctl("--segment", segment, "list", "--json"))
        s.get(self.port, "/client", **{"x-from": "::ffff:192.0.2.1"})
        self.assertIn('"key": "192.0.2.1"', s.rlctl("--segment", segment, "list", "--json"))
        s.end(self.process)
        self.start(segment, 'client_v6 = 56, rules = {page = "20/day"}')
        self.assertEqual(s.get(self.port, "/client", **{"x-from": "2001:db8:0:107::1"})[0], 200)
        self.assertIn('"key": "2001:db8:0:100::"', s.rlctl("--segment", segment, "list", "--json"))

    def used(self, segment, key, rule="login"):
        told = json.loads(s.rlctl("--segment", segment, "--json", "get", rule, key))
        return told["limits"][0]["counted"]["used"]

    def test_what_is_used_is_what_it_has_cost(self):
        """Also of an application that ends without an answer, and of a HAProxy that is killed."""
        segment = s.segment("tokens")
        settings = ('rules = {tokens = "3000/day"}, cost = {tokens = 40}, actual = {tokens = "x-tokens"},'
                    ' count_status = {tokens = {200, 401}}')
        self.start(segment, settings)
        expected = 0
        for path, cost, counted in (("right", "15", 15), ("wrong", "100", 100), ("right", None, 40), ("right", "many", 40), ("right", "-1", 40),
                                    ("right", "0", 0), ("lost", None, 40)):
            headers = s.get(self.port, f"/paid/{path}", **({"x-cost": cost} if cost else {}))[1]
            self.assertNotIn("X-Tokens", headers)
            expected += counted
            self.assertEqual(self.used(segment, "one", "tokens"), expected, (path, cost, s.log()[-2000:]))
        held = threading.Thread(target=lambda: self.hold("/paid/held"), daemon=True)
        held.start()
        s.eventually(lambda: self.used(segment, "one", "tokens") == expected + 40, "one is charged")
        s.end(self.process, signal.SIGKILL)
        held.join()
        self.start(segment, settings)
        self.assertEqual(s.get(self.port, "/paid/right", **{"x-cost": "2900"})[0], 200)
        self.assertEqual(self.used(segment, "one", "tokens"), expected + 40 + 2900)
        self.assertEqual(s.get(self.port, "/paid/right")[0], 429)

    def hold(self, path):
        with contextlib.suppress(OSError, http.client.HTTPException):
            s.get(self.port, path)

    def test_failures_alone_count(self):
        """50 wrong guesses, 200 right ones, and an application that ends without an answer."""
        for load in ("lua-load", "lua-load-per-thread"):
            segment = s.segment(f"login-{load}")
            Logins.reached.clear()
            self.start(segment, 'rules = {login = "5/day"}, count_status = {login = {401}}', load)
            with ThreadPoolExecutor(50) as pool:
                wrong = list(pool.map(lambda _: s.get(self.port, "/login/wrong", **{"x-user": "a"})[0], range(50)))
                right = list(pool.map(lambda _: s.get(self.port, "/login/right", **{"x-user": "b"})[0], range(3)))
            right += [s.get(self.port, "/login/right", **{"x-user": "b"})[0] for _ in range(200)]
            self.assertEqual((wrong.count(401), wrong.count(429)), (5, 45), s.log()[-2000:] + str(wrong))
            self.assertEqual((right.count(200), Logins.reached["/login/wrong"]), (203, 5))
            self.assertEqual((self.used(segment, "a"), self.used(segment, "b")), (5, 0))
            self.assertEqual(s.get(self.port, "/login/lost", **{"x-user": "b"})[0], 502)
            self.assertEqual(self.used(segment, "b"), 1)
            s.end(self.process)

    def test_killed_and_started_again(self):
        segment = s.segment("kill")
        self.start(segment, 'rules = {page = "10/day"}')
        self.assertEqual(s.count_status(self.port, "/page", 6, 2), 6)
        s.end(self.process, signal.SIGKILL)
        self.start(segment, 'rules = {page = "10/day"}')
        self.assertEqual(s.count_status(self.port, "/page", 20, 4), 4)

    def test_answer(self):
        segment = s.segment("answer")
        self.start(segment, 'rules = {page = "1/day"}')
        self.assertEqual(s.get(self.port, "/page")[0], 200)
        status, headers, body = s.get(self.port, "/page")
        self.assertEqual((status, body), (429, "Too Many Requests\n"))
        self.assertGreater(int(headers["retry-after"]), 80000)
        self.assertRegex(headers["ratelimit"], r'^"page";r=0;t=\d+$')
        self.assertEqual(headers["ratelimit-policy"], '"page";q=1;w=86400')
        s.rlctl("--segment", segment, "reset", "--yes", "127.0.0.1")
        self.assertEqual(s.get(self.port, "/page")[0], 200)
        s.rlctl("--segment", segment, "ban", "127.0.0.1", "--for", "1h")
        self.assertEqual(s.get(self.port, "/page")[0], 429)

    def problem(self, path, status, kind):
        answer, headers, body = s.get(self.port, path)
        self.assertEqual((answer, headers["content-type"]), (status, "application/problem+json"))
        told = json.loads(body)
        self.assertEqual((told["status"], told["type"]), (status, "https://iana.org/assignments/http-problem-types#" + kind))
        return told

    def test_problems(self):
        segment = s.segment("problem")
        self.start(segment, 'rules = {page = "1/day"}, problem = true, on_error = "deny"')
        self.assertEqual(s.get(self.port, "/page")[0], 200)
        told = self.problem("/page", 429, "quota-exceeded")
        self.assertEqual(told["violated-policies"], ["page"])
        self.assertRegex(told["detail"], r"again in \d+ s\.$")
        self.assertNotIn("violated-policies", self.problem("/none", 503, "temporary-reduced-capacity"))
        s.rlctl("--segment", segment, "ban", "127.0.0.1", "--for", "1h")
        self.problem("/page", 429, "abnormal-usage-detected")

    def test_keys(self):
        self.start(s.segment("keys"), 'rules = {key = "1/day"}')
        self.assertEqual(s.get(self.port, "/key", **{"x-key": "a"})[0], 200)
        self.assertEqual(s.get(self.port, "/key", **{"x-key": "a"})[0], 429)
        self.assertEqual(s.get(self.port, "/key", **{"x-key": "b"})[0], 200)
        # Who has no key shares one with all others who have none.
        self.assertEqual([s.get(self.port, "/key")[0] for _ in range(2)], [200, 429])
        long = "x" * 6000
        self.assertEqual([s.get(self.port, "/key", **{"x-key": long})[0] for _ in range(2)], [200, 429])

    def test_variables(self):
        self.start(s.segment("variables"), 'rules = {page = "2/day"}')
        self.assertEqual([s.get(self.port, "/check")[0::2] for _ in range(3)],
                         [(200, "1"), (200, "0"), (403, s.get(self.port, "/check")[2])])

    def test_a_delayed_request_waits(self):
        segment = s.segment("slow")
        config = s.write("slow.json", '{"segment": {"name": "%s"}, "rules": {"slow": {"algorithm": "leaky_bucket",'
                         ' "limit": "10/s", "burst": 100}}}' % segment)
        self.start(segment, 'rules = {page = "1/day"}')
        s.rlctl("--segment", segment, "config", "reload", "--config", config)
        before = os.times().elapsed
        self.assertEqual(s.count_status(self.port, "/slow", 11, 11), 11)
        self.assertGreaterEqual(os.times().elapsed - before, 0.9)

    def test_trouble_is_told_and_answered_as_configured(self):
        for policy, status in (("allow", 200), ("deny", 503)):
            self.start(s.segment(policy), f'on_error = "{policy}", rules = {{page = "1/day"}}')
            self.assertEqual(s.get(self.port, "/none")[0], status)
            self.assertEqual(s.get(self.port, "/fetch")[0], status)
            s.eventually(lambda: "rule none: " in s.log() and "no.such.fetch" in s.log(), "a line of log")
            s.end(self.process)

    def test_a_segment_that_cannot_be_opened(self):
        foreign = s.segment("foreign")
        with open(f"/dev/shm/rl.{foreign}", "wb") as file:
            file.write(b"not a segment" * 1000)
        self.start(foreign, 'on_error = "deny"')
        self.assertEqual(s.get(self.port, "/page")[0], 503)
        self.assertIn(foreign, s.log())
        s.end(self.process)
        self.refused(f'segment = "{foreign}", required = true', foreign, check=[])

    def refused(self, settings, text, check=("-c",)):
        lua = s.write("rl.lua", f'require "rl.haproxy" {{{settings}}}')
        config = s.write("bad.cfg", f"""
global
    lua-prepend-path {s.SHARE}/?.lua
    lua-prepend-path {s.BUILD}/{s.lua_of_haproxy()}/?.so cpath
    lua-load {lua}
""")
        done = subprocess.run(["haproxy", "-db", *check, "-f", config], capture_output=True, text=True,
                              env=s.environment(), timeout=s.PATIENCE, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(text, done.stderr)

    def test_bad_settings(self):
        self.refused('rules = {page = "5/fortnight"}', "rule page: limit: expected a rate")
        self.refused("rules = {page = {capacity = 0, window = 1}}", "rule page: limit.capacity: 0")
        self.refused('colour = "blue"', "unknown setting 'colour'")
        self.refused('on_error = "shrug"', "on_error = shrug")
        self.refused("status = 200", "status = 200")
        self.refused("count_status = {page = {}}", "count_status: nil: a status")
        self.refused('count_status = {page = {"6xx"}}', "count_status: 6xx: a status")
        self.refused("count_status = 5", "count_status = 5: a table")
        self.refused('cost = {page = "5"}', "cost of page = 5: a whole number")
        self.refused("actual = {page = 5}", "actual of page = 5: the name of a field")
        self.refused("client_v6 = 129", "client_v6 = 129: 1 to 128")
        self.refused("options = {kees = 1}", "option kees: a segment has no such option")

    def test_a_check_touches_nothing(self):
        segment = s.segment("check")
        self.start(segment)
        s.end(self.process)
        os.unlink(f"/dev/shm/rl.{segment}")
        subprocess.run(["haproxy", "-c", "-f", self.config], check=True, capture_output=True, env=s.environment(),
                       timeout=s.PATIENCE)
        self.assertFalse(os.path.exists(f"/dev/shm/rl.{segment}"))


if __name__ == "__main__":
    unittest.main()
