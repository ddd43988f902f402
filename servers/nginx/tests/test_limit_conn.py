#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rl_limit_conn and its like: as limit_conn is documented; and what is in flight comes back, however it ends."""
import contextlib
import os
import signal
import subprocess
import unittest

from harness import PATIENCE, Case, counter, eventually, hold, main, open_request, used

ZONE = "rl_limit_conn_zone $arg_k zone=one:1m;"
PROXY = "location / { proxy_pass http://127.0.0.1:BACKEND; }"


class Held(Case):
    def serve(self, http, **others):
        self.origin = self.backend()
        return self.nginx(http.replace("BACKEND", str(self.origin.port)), **others)

    def hold(self, n, path, count=1, **headers):
        return hold(n, self.origin, path, count, **headers)

    def end(self, pending):
        self.origin.release(len(pending))
        return [p.wait().status for p in pending]

    def becomes(self, n, path, status):
        eventually(lambda: n.get(path).status == status, f"{status} for {path}")


def server(*parts, limit="rl_limit_conn one 2;"):
    return "server { listen 127.0.0.1:%PORT%; " + limit + "\n".join(parts or (PROXY,)) + " }"


class Decisions(Held):
    def test_so_many_at_once_and_another_when_one_has_ended(self):
        n = self.serve(ZONE + server())
        pending = self.hold(n, "/hold?k=x", 2)
        self.assertEqual(n.statuses("/a?k=x", 2), [503, 503])
        self.assertEqual(self.end(pending), [200, 200])
        self.becomes(n, "/a?k=x", 200)
        eventually(lambda: used(n.segment, "one", "x") == [])
        eventually(lambda: counter(n.segment, "released") == 3)

    def test_other_keys_are_other_limits_and_an_empty_one_has_none(self):
        n = self.serve(ZONE + server())
        pending = self.hold(n, "/hold?k=x", 2) + self.hold(n, "/hold?k=y", 2) + self.hold(n, "/hold", 3)
        self.assertEqual(n.statuses("/a?k=x", 1) + n.statuses("/a?k=y", 1) + n.statuses("/a", 1), [503, 503, 200])
        self.assertEqual(self.end(pending), [200] * 7)

    def test_keys_are_texts_with_any_variables(self):
        n = self.serve('rl_limit_conn_zone "$arg_a-$arg_b" zone=one:1m;' + server(limit="rl_limit_conn one 1;"))
        pending = self.hold(n, "/hold?a=1&b=2")
        self.assertEqual([n.get("/x?a=1&b=2").status, n.get("/x?a=1&b=3").status], [503, 200])
        self.end(pending)

    def test_long_keys_are_counted(self):
        n = self.serve(ZONE + "large_client_header_buffers 4 64k;" + server(limit="rl_limit_conn one 1;"))
        for length in (255, 256, 5000):
            pending = self.hold(n, "/hold?k=" + "x" * length)
            self.assertEqual(n.get("/a?k=" + "x" * length).status, 503)
            self.end(pending)

    def test_several_limits_in_one_place(self):
        zones = ZONE + "rl_limit_conn_zone $server_name zone=all:1m;"
        n = self.serve(zones + server(limit="rl_limit_conn one 2; rl_limit_conn all 3; server_name s;"))
        pending = self.hold(n, "/hold?k=x", 2)
        self.assertEqual(n.get("/a?k=x").status, 503)
        pending += self.hold(n, "/hold?k=y")
        self.assertEqual(n.get("/a?k=y").status, 503)
        self.assertIn('limiting connections by zone "one", client', n.log())
        self.assertIn('limiting connections by zone "all", client', n.log())
        self.assertEqual(self.end(pending), [200] * 3)

    def test_what_one_rejects_is_held_by_none(self):
        zones = ZONE + "rl_limit_conn_zone $arg_all zone=all:1m;"
        n = self.serve(zones + server(limit="rl_limit_conn one 1; rl_limit_conn all 2;"))
        pending = self.hold(n, "/hold?k=x&all=1")
        self.assertEqual(n.statuses("/a?k=x&all=1", 5), [503] * 5)
        pending += self.hold(n, "/hold?k=y&all=1")
        self.assertEqual(self.end(pending), [200, 200])

    def test_one_zone_with_different_numbers(self):
        n = self.serve(ZONE + server("location /one/ { rl_limit_conn one 1; proxy_pass http://127.0.0.1:BACKEND; }",
                                     PROXY, limit="rl_limit_conn one 3;"))
        pending = self.hold(n, "/hold?k=x")
        self.assertEqual([n.get("/one/?k=x").status, n.get("/a?k=x").status], [503, 200])
        pending += self.hold(n, "/hold?k=x", 2)
        self.assertEqual([n.get("/one/?k=x").status, n.get("/a?k=x").status], [503, 503])
        self.end(pending)

    def test_zones_are_apart(self):
        n = self.serve(ZONE + "rl_limit_conn_zone $arg_k zone=two:1m;" +
                       server("location /two/ { rl_limit_conn two 1; proxy_pass http://127.0.0.1:BACKEND; }", PROXY,
                              limit="rl_limit_conn one 1;"))
        pending = self.hold(n, "/hold?k=x")
        self.assertEqual([n.get("/a?k=x").status, n.get("/two/?k=x").status], [503, 200])
        self.end(pending)

    def test_a_connection_that_is_idle_holds_nothing(self):
        n = self.serve(ZONE + server(limit="rl_limit_conn one 1;"))
        idle = [n.connect() for _ in range(3)]
        for c in idle:
            self.assertEqual(n.get("/a?k=x", c).status, 200)
        for c in idle:
            c.close()

    def test_status_and_inheritance(self):
        n = self.serve(ZONE + "rl_limit_conn one 1; rl_limit_conn_status 509; rl_limit_conn_log_level warn;" +
                       server(PROXY, "location /own { rl_limit_conn_status 403; proxy_pass http://127.0.0.1:BACKEND; }",
                              limit=""))
        pending = self.hold(n, "/hold?k=x")
        self.assertEqual([n.get("/a?k=x").status, n.get("/own?k=x").status], [509, 403])
        self.assertRegex(n.log(), r'\[warn\].*limiting connections by zone "one"')
        self.end(pending)

    def test_log_levels(self):
        for level in ("info", "notice", "warn", "error"):
            n = self.serve(ZONE + f"rl_limit_conn_log_level {level};" + server(limit="rl_limit_conn one 1;"))
            pending = self.hold(n, "/hold?k=x")
            n.get("/a?k=x")
            self.assertRegex(n.log(), rf'\[{level}\].*limiting connections by zone')
            self.end(pending)

    def test_dry_run(self):
        n = self.serve(ZONE + "rl_limit_conn_dry_run on;" + server(limit="rl_limit_conn one 1;"))
        pending = self.hold(n, "/hold?k=x", 3)
        self.assertEqual(self.end(pending), [200] * 3)
        self.assertEqual(sorted(n.access(3)), ["/hold 200 PASSED - PASSED"] +
                         ["/hold 200 REJECTED_DRY_RUN - REJECTED_DRY_RUN"] * 2)
        self.assertIn('limiting connections, dry run, by zone "one"', n.log())

    def test_the_variable(self):
        n = self.serve(ZONE + server(limit="rl_limit_conn one 1; add_header X-Status .$rl_limit_conn_status. always;"))
        self.assertEqual([n.get("/a")["X-Status"], n.get("/a?k=x")["X-Status"]], ["..", ".PASSED."])
        pending = self.hold(n, "/hold?k=x")
        self.assertEqual(n.get("/a?k=x")["X-Status"], ".REJECTED.")
        self.end(pending)

    def test_beside_limit_req(self):
        n = self.serve(ZONE + "rl_limit_req_zone $arg_k zone=rate:1m rate=1r/h;" +
                       server(limit="rl_limit_conn one 1; rl_limit_req zone=rate burst=1 nodelay;"))
        pending = self.hold(n, "/hold?k=x")
        self.assertEqual(n.statuses("/a?k=x", 3), [503] * 3)  # by the connections, so the rate is not charged
        self.end(pending)
        self.becomes(n, "/a?k=x", 200)
        self.assertEqual(n.get("/a?k=x").status, 503)
        eventually(lambda: "/a 503 REJECTED REJECTED PASSED" in n.access())


class Ends(Held):
    def test_a_client_that_goes_away(self):
        n = self.serve(ZONE + server(limit="rl_limit_conn one 1;"))
        client = open_request(n, "/hold?k=x")
        self.origin.wait_held(1)
        self.assertEqual(n.get("/a?k=x").status, 503)
        client.close()
        self.becomes(n, "/a?k=x", 200)

    def test_an_upstream_that_fails(self):
        n = self.nginx(ZONE + "server { listen 127.0.0.1:%PORT%; rl_limit_conn one 1; "
                       "location / { proxy_pass http://127.0.0.1:%PORT2%; } }")
        self.assertEqual(n.statuses("/a?k=x", 3), [502] * 3)

    def test_redirects_and_subrequests_hold_one(self):
        n = self.serve(ZONE + server("location /t { try_files /none /p$uri?$args; }",
                                     "location /p/ { rewrite ^/p/t(.*) $1 break; proxy_pass http://127.0.0.1:BACKEND; }",
                                     "location /auth { auth_request /p/t/ok; proxy_pass http://127.0.0.1:BACKEND/hold; }",
                                     limit="rl_limit_conn one 1;").replace("$arg_k", "$server_name"))
        for path in ("/t/hold?k=x", "/auth?k=x"):
            pending = self.hold(n, path)
            self.assertEqual(n.get("/p/t/a?k=x").status, 503)
            self.assertEqual(self.end(pending), [200])
            self.becomes(n, "/p/t/a?k=x", 200)

    def test_http2_streams_count_each(self):
        n = self.serve(ZONE + "server { listen 127.0.0.1:%PORT% http2; rl_limit_conn one 1;" + PROXY + "}")
        url = f"http://127.0.0.1:{n.port}"
        curl = subprocess.Popen(["curl", "-s", "--http2-prior-knowledge", "-o", os.devnull, "-w", "%{http_code}\n",
                                 f"{url}/hold?k=x"], stdout=subprocess.PIPE, text=True)
        self.origin.wait_held(1)
        code = lambda: subprocess.run(["curl", "-s", "--http2-prior-knowledge", "-o", os.devnull, "-w", "%{http_code}",
                                       f"{url}/a?k=x"], capture_output=True, text=True, check=False).stdout
        self.assertEqual(code(), "503")
        self.origin.release()
        self.assertEqual(curl.communicate(timeout=PATIENCE)[0], "200\n")
        eventually(lambda: code() == "200")

    def test_kill_9_of_a_worker_gives_back_what_it_held(self):
        n = self.serve(ZONE + server(), workers=2)
        n.may_complain = True
        self.hold(n, "/hold?k=x", 2)
        self.assertEqual(n.get("/a?k=x").status, 503)
        for worker in n.worker_pids():
            with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                os.kill(worker, signal.SIGKILL)
        eventually(lambda: len(n.worker_pids()) == 2)
        self.becomes(n, "/a?k=x", 200)
        self.origin.release(2)

    def test_a_reload_keeps_what_old_workers_hold(self):
        n = self.serve(ZONE + server())
        pending = self.hold(n, "/hold?k=x", 2)
        n.reload()
        self.assertEqual(n.get("/a?k=x").status, 503)
        self.assertEqual(self.end(pending), [200, 200])
        self.becomes(n, "/a?k=x", 200)


class Configuration(Case):
    def test_zones(self):
        self.accepts(ZONE + "server { rl_limit_conn one 65535; }")
        for bad, said in (("$arg_k zone=one", "invalid zone size"), ("$arg_k zone=one:1k", "is too small"),
                          ("$arg_k rate=1r/s", 'invalid parameter "rate=1r/s"'),
                          ("$arg_k zone=one:1m x", "invalid number of arguments"),
                          ("$arg_k", "invalid number of arguments")):
            self.refuses(f"rl_limit_conn_zone {bad}; server {{ }}", said)
        self.refuses(ZONE + ZONE + "server { }", 'rl_limit_conn_zone "one" is already bound to key "$arg_k"')

    def test_uses(self):
        for bad, said in (("one 0", 'invalid number of connections "0"'), ("one x", "invalid number of connections"),
                          ("one 65536", "connection limit must be less 65536"), ("one", "invalid number of arguments"),
                          ("two 1", '"two": there is no rule or zone of this name'),
                          ("one 1; rl_limit_conn one 2", "is duplicate")):
            self.refuses(ZONE + f"server {{ rl_limit_conn {bad}; }}", said)
        self.refuses("rl_limit_req_zone $arg_k zone=one:1m rate=1r/s; server { rl_limit_conn one 1; }",
                     "rl_limit_conn needs a zone of rl_limit_conn_zone")


if __name__ == "__main__":
    main()
