#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rl_limit_req and its like: as limit_req is documented, word for word."""
import os
import re
import select
import subprocess
import time
import unittest

from harness import Case, Pending, main, open_request, rlctl, used

ZONE = "rl_limit_req_zone $arg_k zone=one:1m rate=1r/h;"


def server(*locations):
    return "server { listen 127.0.0.1:%PORT%; root %ROOT%/html; " + "\n".join(locations) + " }"


class Decisions(Case):
    def test_without_a_burst_one_passes_and_the_next_is_503(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one; }"))
        self.assertEqual(n.statuses("/a?k=x", 3), [200, 503, 503])

    def test_each_key_has_a_limit_of_its_own_and_an_empty_one_has_none(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/a?k=y", 2), [200, 503, 200, 503])
        self.assertEqual(n.statuses("/a", 4) + n.statuses("/a?k=", 2), [200] * 6)

    def test_a_burst_without_delay(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=3 nodelay; }"))
        self.assertEqual(n.statuses("/a?k=x", 6), [200] * 4 + [503] * 2)

    def test_the_words_may_stand_in_any_order(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req nodelay burst=1 zone=one; }"))
        self.assertEqual(n.statuses("/a?k=x", 3), [200, 200, 503])

    def test_delay_lets_some_of_the_burst_through_at_once(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=5 delay=2; }"))
        self.assertEqual(n.statuses("/a?k=x", 3), [200] * 3)
        waits = open_request(n, "/a?k=x")  # the fourth is to wait
        self.wait_for_log(n, "delaying request, excess: 2.9")
        waits.close()

    def test_a_delay_beyond_the_burst_is_as_good_as_none(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=2 delay=9; }"))
        self.assertEqual(n.statuses("/a?k=x", 4), [200] * 3 + [503])

    def wait_for_log(self, n, text):
        for _ in range(3000):
            if text in n.log():
                return
            time.sleep(0.02)
        self.fail(n.log())

    def test_requests_that_are_delayed_are_answered_then(self):
        n = self.nginx("rl_limit_req_zone $arg_k zone=one:1m rate=2r/s;" +
                       server("location / { rl_limit_req zone=one burst=3; }"))
        for attempt in range(10):  # a machine that stands still meanwhile delays nobody
            began = time.monotonic()
            all_of_them = [Pending(n, f"/a?k={attempt}") for _ in range(4)]
            self.assertEqual([p.wait().status for p in all_of_them], [200] * 4)
            if n.access(4 * attempt + 4)[-4:].count("/a 200 DELAYED DELAYED -") == 3:
                self.assertGreater(time.monotonic() - began, 1.4)
                return
        self.fail("no request was delayed")

    def test_beyond_the_burst_is_rejected_while_others_wait(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=2; }"))
        self.assertEqual(n.get("/a?k=x").status, 200)
        first, second = open_request(n, "/a?k=x"), open_request(n, "/a?k=x")
        self.wait_for_log(n, "excess: 1.9")
        self.assertEqual(n.statuses("/a?k=x", 2), [503, 503])
        first.close(), second.close()

    def test_who_goes_away_while_delayed_leaves_nothing(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=5; }", "location = /b { }"))
        self.assertEqual(n.get("/a?k=x").status, 200)
        waiting = [open_request(n, "/a?k=x") for _ in range(3)]
        self.wait_for_log(n, "excess: 2.9")
        for connection in waiting:
            connection.close()
        for _ in range(3000):
            if sum(" 499 DELAYED" in line for line in n.access()) == 3:
                break
            time.sleep(0.02)
        self.assertEqual([line for line in n.access() if " 499 " in line], ["/a 499 DELAYED DELAYED -"] * 3)
        self.assertEqual(n.get("/b").status, 200)

    def test_what_is_rejected_is_not_counted(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=2 nodelay; }"))
        self.assertEqual(n.statuses("/a?k=x", 4), [200] * 3 + [503])
        before = used(n.segment, "one", "x")
        self.assertEqual(n.statuses("/a?k=x", 9), [503] * 9)
        self.assertLessEqual(used(n.segment, "one", "x"), before)

    def test_keys_of_any_bytes_and_any_length(self):
        n = self.nginx("rl_limit_req_zone $http_x_key zone=one:1m rate=1r/h; large_client_header_buffers 4 64k;" +
                       server("location / { rl_limit_req zone=one; }"))
        for key in ("k" * 4096, "k" * 4097, "k" * 60000, 'a"b\\c%s%n/../*'):
            self.assertEqual(n.statuses("/a", 2, X_Key=key), [200, 503], len(key))
        self.assertEqual(n.statuses("/a", 1, X_Key="k" * 59999), [200])

    def test_keys_are_texts_with_any_variables(self):
        n = self.nginx('rl_limit_req_zone "$arg_a:$arg_b" zone=one:1m rate=1r/h;' +
                       server("location / { rl_limit_req zone=one; }"))
        self.assertEqual(n.statuses("/a?a=1&b=2", 2) + n.statuses("/a?a=1&b=3", 2), [200, 503] * 2)

    def test_binary_remote_addr(self):
        n = self.nginx("rl_limit_req_zone $binary_remote_addr zone=one:1m rate=1r/h;" +
                       server("location / { rl_limit_req zone=one; }"))
        self.assertEqual(n.statuses("/a", 2), [200, 503])

    def test_rates(self):
        for rate, passes in (("1r/s", 1), ("1000000r/s", 8), ("5r/h", 1), ("1r/d", 1)):
            n = self.nginx(f"rl_limit_req_zone $arg_k zone=one:1m rate={rate};" +
                           server("location / { rl_limit_req zone=one burst=1 nodelay; }"))
            got = n.statuses("/a?k=x", 8)
            self.assertGreaterEqual(got.count(200), passes + 1 if passes == 1 else 8, rate)
            if rate[-1] in "hd":
                self.assertEqual(got, [200, 200] + [503] * 6, rate)

    def test_without_a_rate_it_is_one_a_second(self):
        n = self.nginx("rl_limit_req_zone $arg_k zone=one:1m;" + server("location / { rl_limit_req zone=one; }"))
        self.assertEqual(n.get("/a?k=x").status, 200)
        limits = rlctl(n.segment, "status", json_out=True)
        self.assertIn('"leaky_bucket"', str(limits).replace("'", '"'))


class Delayed(Case):
    """What comes after a delay is what would have come without it."""

    ZONE = "rl_limit_req_zone $arg_k zone=one:1m rate=60r/m;"
    LOCATION = "rl_limit_req zone=one burst=2; add_header X-Status $rl_limit_req_status;"

    def second(self, ask):
        """The answer to a request that was delayed; on a machine that stands still meanwhile none is."""
        for attempt in range(10):
            ask(f"k{attempt}")
            answer = ask(f"k{attempt}")
            if "DELAYED" in str(answer):
                return answer
        self.fail("no request was delayed")

    def test_a_large_answer_is_whole(self):
        n = self.nginx(self.ZONE + server("location / { " + self.LOCATION + " }"), start=False)
        with open(os.path.join(n.root, "html", "large"), "wb") as f:
            f.write(b"1234567890\n" * (1 << 18))
        n.start()

        def ask(key):
            text = b""
            with open_request(n, f"/large?k={key}") as s:
                select.select([s], [], [], 30)
                time.sleep(0.1)  # meanwhile all buffers are filled
                while len(text.partition(b"\r\n\r\n")[2]) < 11 << 18:
                    text += s.recv(1 << 20)
            return text.partition(b"\r\n\r\n")
        head, _, body = self.second(ask)
        self.assertIn(b" 200 OK", head)
        self.assertEqual(body, b"1234567890\n" * (1 << 18))

    def proxy(self, how=""):
        return self.nginx(self.ZONE + "server { listen 127.0.0.1:%PORT2%; return 200; }" +
                          server("location / { " + self.LOCATION + " add_header X-Body $request_body; "
                                 "proxy_pass http://127.0.0.1:%PORT2%; }").replace("%PORT%", f"%PORT% {how}"))

    def test_a_body_is_passed_on(self):
        n = self.proxy()
        answer = self.second(lambda key: n.get(f"/a?k={key}", method="POST", body="body" * 500).fields)
        self.assertIn(("X-Body", "body" * 500), answer)

    def test_over_http2(self):
        n = self.proxy("http2")

        def ask(key):
            return subprocess.run(["curl", "-si", "--http2-prior-knowledge", "--data", "body" * 500,
                                   f"http://127.0.0.1:{n.port}/a?k={key}"], capture_output=True, text=True, check=True).stdout
        answer = self.second(ask)
        self.assertIn("HTTP/2 200", answer)
        self.assertIn("x-body: " + "body" * 500, answer.lower())


class Several(Case):
    HTTP = ("rl_limit_req_zone $arg_k zone=one:1m rate=1r/h; rl_limit_req_zone $arg_all zone=all:1m rate=1r/h;" +
            server("location / { rl_limit_req zone=one burst=1 nodelay; rl_limit_req zone=all burst=3 nodelay; }",
                   "location /one/ { rl_limit_req zone=one burst=1 nodelay; alias %ROOT%/html/; }"))

    def test_the_strictest_decides(self):
        n = self.nginx(self.HTTP)
        self.assertEqual(n.statuses("/a?k=x&all=1", 3), [200, 200, 503])
        self.assertEqual(n.statuses("/a?k=y&all=1", 3), [200, 200, 503])
        self.assertEqual(n.statuses("/a?k=z&all=1", 1), [503])

    def test_what_one_rejects_is_charged_to_none(self):
        n = self.nginx(self.HTTP)
        self.assertEqual(n.statuses("/a?k=x&all=1", 9), [200] * 2 + [503] * 7)
        self.assertEqual(n.statuses("/a?k=y&all=1", 3), [200] * 2 + [503])

    def test_one_whose_key_is_empty_holds_nobody_back(self):
        n = self.nginx(self.HTTP)
        self.assertEqual(n.statuses("/a?k=x", 3) + n.statuses("/a?all=1", 5) + n.statuses("/a", 3),
                         [200] * 2 + [503] + [200] * 4 + [503] + [200] * 3)

    def test_a_zone_is_shared_by_locations(self):
        n = self.nginx(self.HTTP)
        self.assertEqual(n.statuses("/one/a?k=x", 2) + n.statuses("/a?k=x&all=1", 1), [200, 200, 503])

    def test_one_zone_with_different_bursts(self):
        n = self.nginx(ZONE + server("location = /a { rl_limit_req zone=one; }",
                                     "location = /b { rl_limit_req zone=one burst=3 nodelay; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/b?k=x", 4), [200, 503] + [200] * 3 + [503])

    def test_the_log_names_the_zone_that_decided(self):
        n = self.nginx(self.HTTP)
        n.statuses("/a?k=x&all=1", 3)
        self.assertRegex(n.log(), r'limiting requests, excess: 1\.9\d\d by zone "one", client: 127\.0\.0\.1')


class Inheritance(Case):
    def test_from_http_and_server_where_a_location_has_none_of_its_own(self):
        n = self.nginx(ZONE + "rl_limit_req_zone $arg_k zone=two:1m rate=1r/h; rl_limit_req zone=one;" +
                       server("location = /a { }", "location = /b { rl_limit_req zone=two burst=2 nodelay; }",
                              "location /c { }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/c?k=x", 1), [200, 503, 503])
        self.assertEqual(n.statuses("/b?k=x", 4), [200] * 3 + [503])

    def test_status_level_and_dry_run_are_inherited(self):
        n = self.nginx(ZONE + "rl_limit_req_status 429; rl_limit_req_log_level warn; rl_limit_req zone=one;" +
                       server("location = /a { }", "location = /b { rl_limit_req_status 444; }",
                              "location = /c { rl_limit_req_dry_run on; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/c?k=x", 2), [200, 429, 200, 200])
        self.assertRegex(n.log(), r'\[warn\].*limiting requests, excess')
        with self.assertRaises(Exception):  # 444: the connection is closed without an answer
            n.get("/b?k=x")


class Log(Case):
    def levels(self, directive):
        n = self.nginx(ZONE + directive + server("location / { rl_limit_req zone=one burst=1; }"))
        n.get("/a?k=x")
        waits = open_request(n, "/a?k=x")
        for _ in range(3000):
            if "delaying request" in n.log():
                break
            time.sleep(0.02)
        n.get("/a?k=x")
        waits.close()
        delayed = re.search(r'\[(\w+)\].*delaying request, excess: 0\.9\d\d, by zone "one"', n.log())
        limited = re.search(r'\[(\w+)\].*limiting requests, excess: 1\.9\d\d by zone "one"', n.log())
        return delayed.group(1), limited.group(1)

    def test_a_delay_is_logged_one_level_lower(self):
        self.assertEqual(self.levels(""), ("warn", "error"))
        self.assertEqual(self.levels("rl_limit_req_log_level error;"), ("warn", "error"))
        self.assertEqual(self.levels("rl_limit_req_log_level warn;"), ("notice", "warn"))
        self.assertEqual(self.levels("rl_limit_req_log_level notice;"), ("info", "notice"))
        self.assertEqual(self.levels("rl_limit_req_log_level info;"), ("info", "info"))

    def test_what_passes_is_not_logged(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=1 nodelay; }"))
        n.statuses("/a?k=x", 2)
        self.assertNotIn("excess", n.log())


class DryRun(Case):
    HTTP = (ZONE + "rl_limit_req_dry_run on;" +
            server("location = /a { rl_limit_req zone=one; }", "location = /b { rl_limit_req zone=one burst=1; }",
                   "location = /c { }"))

    def test_nothing_is_limited_or_delayed_and_all_is_told(self):
        n = self.nginx(self.HTTP)
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/b?k=x", 2) + n.statuses("/c", 1), [200] * 5)
        self.assertEqual(n.access(5), ["/a 200 PASSED PASSED -", "/a 200 REJECTED_DRY_RUN REJECTED_DRY_RUN -",
                                      "/b 200 DELAYED_DRY_RUN DELAYED_DRY_RUN -",
                                      "/b 200 REJECTED_DRY_RUN REJECTED_DRY_RUN -", "/c 200 - - -"])
        self.assertRegex(n.log(), r'\[error\].*limiting requests, dry run, excess: 0\.9\d\d by zone "one"')
        self.assertRegex(n.log(), r'\[warn\].*delaying request, dry run, excess: 0\.9\d\d, by zone "one"')

    def test_off_again_in_a_location(self):
        n = self.nginx(ZONE + "rl_limit_req_dry_run on;" +
                       server("location / { rl_limit_req zone=one; rl_limit_req_dry_run off; }"))
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 503])


class Status(Case):
    def test_the_variable(self):
        n = self.nginx(ZONE + server("location = /a { rl_limit_req zone=one burst=1 nodelay; "
                                     "add_header X-Status $rl_limit_req_status always; }",
                                     "location = /b { add_header X-Status .$rl_limit_req_status.; }"))
        self.assertEqual([n.get("/a?k=x")["X-Status"] for _ in range(3)], ["PASSED", "PASSED", "REJECTED"])
        self.assertEqual(n.get("/b")["X-Status"], "..")

    def test_the_code(self):
        for code in (400, 418, 429, 503, 599):
            n = self.nginx(ZONE + server(f"location / {{ rl_limit_req zone=one; rl_limit_req_status {code}; }}"))
            self.assertEqual(n.statuses("/a?k=x", 2), [200, code])

    def test_no_fields_are_added_unless_asked_for(self):
        n = self.nginx(ZONE + server("location = /a { rl_limit_req zone=one; }",
                                     "location = /b { rl_limit_req zone=one; rl_headers ietf; }"))
        for answer in (n.get("/a?k=x"), n.get("/a?k=x")):
            self.assertEqual([answer["RateLimit"], answer["Retry-After"]], [None, None])
        self.assertRegex(n.get("/b?k=x")["RateLimit"], r'^"one";r=0;t=\d+$')
        self.assertEqual(n.get("/b?k=x")["RateLimit-Policy"], '"one";q=1;w=3600')


class Once(Case):
    """A request is counted once, whatever nginx makes of it."""

    def test_an_error_page_is_not_limited_again(self):
        n = self.nginx(ZONE + server("error_page 503 /b?k=x;", "location / { rl_limit_req zone=one; }"))
        n.get("/a?k=x")
        answer = n.get("/a?k=x")
        self.assertEqual((answer.status, answer.body), (503, "b\n"))

    def test_redirects_inside(self):
        n = self.nginx(ZONE + server("location = /t { rl_limit_req zone=one; try_files /none /b?k=x; }",
                                     "location = /n { rl_limit_req zone=one; try_files /none @b; }",
                                     "location @b { rl_limit_req zone=one; try_files /b =404; }",
                                     "location = /i/ { rl_limit_req zone=one; alias %ROOT%/html/; index index.html; }",
                                     "location / { rl_limit_req zone=one; }"))
        for path in ("/t", "/n"):
            got = [n.get(f"{path}?k={path}") for _ in range(2)]
            self.assertEqual([(a.status, a.body) for a in got][0], (200, "b\n"), path)
            self.assertEqual(got[1].status, 503, path)

    def test_subrequests(self):
        n = self.nginx(ZONE.replace("$arg_k", "$http_x_k") +
                       server("location = /a { auth_request /auth; rl_limit_req zone=one; }",
                              "location = /auth { rl_limit_req zone=one; try_files /b =404; }",
                              "location = /m { mirror /auth; rl_limit_req zone=one; try_files /b =404; }"))
        self.assertEqual(n.statuses("/a", 2, X_K="x") + n.statuses("/m", 2, X_K="y"), [200, 503, 200, 503])

    def test_a_mirror_is_limited_and_holds_nobody_up(self):
        origin = self.backend()
        n = self.nginx("log_subrequest on;" + ZONE + server(f"location / {{ mirror /m; proxy_pass http://127.0.0.1:{origin.port}; }}",
                                   f"location = /m {{ rl_limit_req zone=one burst=3; rl_headers ietf; proxy_pass http://127.0.0.1:{origin.port}; }}"))
        c = n.connect()
        answers = [n.get("/?k=x", c) for _ in range(6)]
        self.assertEqual([(a.status, a["RateLimit"], a["Retry-After"]) for a in answers], [(200, None, None)] * 6)
        mirrored = [line.split()[2] for line in n.access(12) if line.startswith("/m ")]
        self.assertEqual(sorted(mirrored), ["PASSED"] * 4 + ["REJECTED"] * 2)
        self.assertEqual(n.log_count("delaying request"), 0)
        c.close()

    def test_a_subrequest_alone_is_limited(self):
        n = self.nginx(ZONE.replace("$arg_k", "$remote_addr") +
                       server("location = /a { auth_request /auth; }",
                                     "location = /auth { rl_limit_req zone=one; rl_limit_req_status 403; try_files /b =404; }"))
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 403])

    def test_keep_alive_counts_each(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=2 nodelay; }"))
        c = n.connect()
        self.assertEqual([n.get("/a?k=x", c).status for _ in range(5)], [200] * 3 + [503] * 2)
        c.close()

    def test_pipelined(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one burst=1 nodelay; }"))
        s = open_request(n, "/a?k=x")
        s.sendall(b"GET /a?k=x HTTP/1.1\r\nHost: a\r\n\r\n" * 2 + b"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        text = b""
        while more := s.recv(65536):
            text += more
        s.close()
        self.assertEqual(re.findall(rb"HTTP/1.1 (\d+)", text), [b"200", b"200", b"503", b"200"])

    def test_with_a_body(self):
        n = self.nginx(ZONE + server("location / { rl_limit_req zone=one; error_page 405 =200 /a; }"))
        got = [n.get("/a?k=x", method="POST", body="x" * 100000).status for _ in range(2)]
        self.assertEqual(got, [200, 503])


class Configuration(Case):
    def test_zones(self):
        good = "$arg_k zone=one:1m rate=1r/s"
        self.accepts(f"rl_limit_req_zone {good};" + server())
        for bad, said in (("$arg_k rate=1r/s", 'must have "zone" parameter'),
                          ("$arg_k zone=one rate=1r/s", "invalid zone size"),
                          ("$arg_k zone=one: rate=1r/s", "invalid zone size"),
                          ("$arg_k zone=one:x rate=1r/s", "invalid zone size"),
                          ("$arg_k zone=:1m rate=1r/s", "invalid zone size"),
                          ("$arg_k zone=one:1k rate=1r/s", 'zone "one" is too small'),
                          ("$arg_k zone=one:1m rate=1", 'invalid rate "rate=1"'),
                          ("$arg_k zone=one:1m rate=0r/s", "invalid rate"),
                          ("$arg_k zone=one:1m rate=-1r/s", "invalid rate"),
                          ("$arg_k zone=one:1m rate=1r/y", "invalid rate"),
                          ("$arg_k zone=one:1m rate=xr/s", "invalid rate"),
                          ("$arg_k zone=one:1m burst=1", 'invalid parameter "burst=1"'),
                          ("$no_such_variable zone=one:1m", "unknown \"no_such_variable\" variable"),
                          ("zone=one:1m", "invalid number of arguments")):
            self.refuses(f"rl_limit_req_zone {bad};" + server(), said)

    def test_uses(self):
        for bad, said in (("burst=1", 'must have "zone" parameter'),
                          ("zone=two", '"two": there is no rule or zone of this name'),
                          ("zone=one burst=0", 'invalid burst value "burst=0"'),
                          ("zone=one burst=x", "invalid burst value"),
                          ("zone=one burst=1 delay=x", "invalid delay value"),
                          ("zone=one burst=1 delay=0", "invalid delay value"),
                          ("zone=one nonsense", 'invalid parameter "nonsense"'),
                          ("zone=one; rl_limit_req zone=one", "is duplicate")):
            self.refuses(ZONE + server(f"location / {{ rl_limit_req {bad}; }}"), said)

    def test_a_zone_is_declared_once_anywhere_in_http(self):
        self.accepts(server("location / { rl_limit_req zone=one; }") + ZONE)
        self.refuses(ZONE + ZONE + server(), 'rl_limit_req_zone "one" is already bound to key "$arg_k"')
        self.refuses(ZONE + "rl_limit_conn_zone $arg_k zone=one:1m;" + server(), "declared already")
        self.refuses(server(ZONE), "is not allowed here")
        self.refuses("rl_limit_conn_zone $arg_k zone=one:1m;" + server("rl_limit_req zone=one;"),
                     "rl_limit_req needs a zone of rl_limit_req_zone")

    def test_the_others(self):
        for bad, said in (("rl_limit_req_status 399", "value must be between 400 and 599"),
                          ("rl_limit_req_status 600", "value must be between 400 and 599"),
                          ("rl_limit_req_status x", "invalid number"),
                          ("rl_limit_req_log_level debug", 'invalid value "debug"'),
                          ("rl_limit_req_dry_run maybe", 'it must be "on" or "off"'),
                          ("rl_limit_req_status 400; rl_limit_req_status 401", "is duplicate")):
            self.refuses(ZONE + server(f"location / {{ {bad}; }}"), said)


if __name__ == "__main__":
    main()
