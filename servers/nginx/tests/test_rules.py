#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rl_rule and rl_limit: each algorithm, several limits, costs, tiers, fields, variables, and what rlctl says of it."""
import ctypes
import json
import os
import re
import subprocess
import unittest

from harness import (LIBRARY, VARIANT, Case, Pending, configure, counter, eventually, main, open_request, rlctl, used)


def server(*locations):
    return "server { listen 127.0.0.1:%PORT%; root %ROOT%/html; " + "\n".join(locations) + " }"


LIMIT = server("location / { rl_limit r key=$arg_k; }")


class Rules(Case):
    def test_each_algorithm(self):
        for words, passes in (("3/h", 3), ("3/h algorithm=sliding_window granularity=1 hard=on", 3),
                              ("3/10h granularity=10min", 3), ("3/30d algorithm=fixed_window", 3),
                              ("3/h algorithm=sliding_log", 3), ("1/h algorithm=token_bucket burst=3", 3),
                              ("3/h algorithm=token_bucket", 3), ("1/h algorithm=leaky_bucket", 1),
                              ("1/h algorithm=leaky_bucket burst=2 undelayed=2", 3),
                              ("3/h algorithm=anchored_window", 3), ("9/h 3/d", 3),
                              ("3/30d algorithm=fixed_window count_denied=on", 3)):
            n = self.nginx(f"rl_rule r {words};" + LIMIT)
            self.assertEqual(n.statuses("/a?k=x", 5), [200] * passes + [429] * (5 - passes), words)
            n.stop()

    def test_the_defaults_are_those_of_rl_json(self):
        n = self.nginx("rl_rule a 5/min; rl_rule b 5/10s; rl_rule c 5/7s; rl_rule d 5/h;" + LIMIT.replace("rl_limit r", "rl_limit a"))
        other = self.nginx("rl_rule x configured;" + LIMIT.replace("rl_limit r", "rl_limit x"))
        configure(other.segment, {k: {"limit": v} for k, v in
                                  {"a": "5/min", "b": "5/10s", "c": "5/7s", "d": "5/h"}.items()}, other.root)
        shapes = [{r["rule"]: r["limits"] for r in rlctl(s.segment, "status", json_out=True)["rules"]} for s in (n, other)]
        self.assertEqual(shapes[0], shapes[1])

    def test_a_leaky_bucket_delays(self):
        n = self.nginx("rl_rule r 30/min algorithm=leaky_bucket burst=1;" +
                       server("location / { rl_limit r key=$arg_k; add_header X-Delay $rl_delay; }"))
        for attempt in range(10):
            self.assertEqual(n.get(f"/a?k={attempt}")["X-Delay"], "0.000")
            answer = n.get(f"/a?k={attempt}")
            if answer["X-Delay"] != "0.000":
                break
        self.assertGreater(float(answer["X-Delay"]), 0)
        self.assertLessEqual(float(answer["X-Delay"]), 2)
        self.assertIn('by rule "r"', n.log())

    def test_burst_and_delay_of_a_place(self):
        n = self.nginx("rl_rule r 1/h algorithm=leaky_bucket;" +
                       server("location = /a { rl_limit r key=$arg_k; }",
                              "location = /b { rl_limit r key=$arg_k burst=2 nodelay; }",
                              "location = /c { rl_limit r key=$arg_k burst=4 delay=3; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/b?k=x", 3), [200, 429, 200, 200, 429])
        self.assertEqual(n.statuses("/c?k=x", 1), [200])
        open_request(n, "/c?k=x").close()
        eventually(lambda: re.search(r"delaying request, by (3600|3[45]\d\d)\.", n.log()))

    def test_the_key_is_the_address_where_none_is_given(self):
        n = self.nginx("rl_rule r 2/h;" + server("location / { rl_limit r; }"))
        self.assertEqual(n.statuses("/a", 3), [200, 200, 429])
        self.assertEqual(used(n.segment, "r", "127.0.0.1"), [2])

    def test_a_key_is_the_same_however_it_is_written(self):
        n = self.nginx("rl_rule r 1/h;" + server("location = /a { rl_limit r key=$arg_k; }", "location = /b { rl_limit r key=${arg_k}; }",
                                                 "location ~ ^/(c)$ { rl_limit r key=$1; }", "location = /index.html { rl_limit r key=x$arg_k; }"))
        self.assertEqual([n.get(path).status for path in ("/a?k=1", "/b?k=1", "/b?k=2", "/a?k=2", "/index.html?k=1", "/a?k=x1", "/c", "/a?k=c")],
                         [200, 429, 200, 429, 200, 429, 200, 429])
        self.assertEqual([n.get(path).status for path in ("/a", "/a", "/b?k=", "/b?k=")], [200] * 4)
        n = self.nginx("rl_rule r 1/h;" + server("location = /a { rl_limit r; }", "location = /b { rl_limit r key=$rl_client; }"))
        self.assertEqual([n.get(path).status for path in ("/a", "/b")], [200, 429])

    def test_what_a_map_leaves_empty_is_not_limited(self):
        """As limit_req has it, which stands beside."""
        n = self.nginx("map $http_x_who $who { default ''; ~. $http_x_who; } rl_rule r 1/h; rl_limit_req_zone $who zone=z:1m rate=1r/h;"
                       "limit_req_zone $who zone=n:1m rate=1r/m;" +
                       server("location = /a { rl_limit r key=$who; }", "location = /b { rl_limit_req zone=z; }", "location = /c { limit_req zone=n; }"))
        for path, refused in (("/a", 429), ("/b", 503), ("/c", 503)):
            self.assertEqual([n.get(path, X_Who=who).status for who in ("", "", "x", "x", "")], [200, 200, 200, refused, 200], path)
            self.assertEqual(n.statuses(path, 2), [200] * 2)
        self.assertEqual({e["key"] for e in rlctl(n.segment, "list", json_out=True)["keys"]}, {"x"})

    def test_a_zone_is_a_rule_with_its_key(self):
        n = self.nginx("rl_limit_req_zone $arg_k zone=r:1m rate=1r/h;" + server("location / { rl_limit r; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/a", 2), [200, 429, 200, 200])

    def test_networks(self):
        n = self.nginx("rl_rule r 2/h v4=24 v6=48 3/h v4=16;" + server("location / { rl_limit r key=$arg_k; }"))
        self.assertEqual([n.get(f"/a?k=192.0.2.{i}").status for i in range(3)], [200, 200, 429])
        self.assertEqual([n.get(f"/a?k=192.0.3.{i}").status for i in range(2)], [200, 429])
        self.assertEqual([n.get(f"/a?k=2001:db8::{i}").status for i in range(3)], [200, 200, 429])
        self.assertEqual(used(n.segment, "r", "192.0.2.0/24"), [2])

    def test_several_rules_all_or_nothing(self):
        n = self.nginx("rl_rule one 2/h; rl_rule all 3/30d algorithm=fixed_window;" +
                       server("location / { rl_limit one key=$arg_k; rl_limit all key=all; }"))
        self.assertEqual(n.statuses("/a?k=x", 5), [200, 200, 429, 429, 429])
        self.assertEqual(used(n.segment, "all", "all"), [2])
        self.assertEqual(n.statuses("/a?k=y", 3), [200, 429, 429])
        self.assertEqual(used(n.segment, "one", "y"), [1])

    def test_cost(self):
        n = self.nginx("rl_rule r 10/h;" + server("location / { rl_limit r key=$arg_k cost=$arg_c; }",
                                                 "location = /b { rl_limit r key=$arg_k cost=4; }"))
        self.assertEqual([n.get(f"/a?k=x&c={c}").status for c in ("3", "", "7", "6")], [200, 200, 429, 200])
        self.assertEqual(n.statuses("/b?k=y", 3), [200, 200, 429])
        self.assertEqual([n.get(f"/a?k=z&c={c}").status for c in ("11", "9" * 40, "0", "10", "1")],
                         [403, 403, 200, 200, 429])

    def test_a_cost_that_is_none(self):
        n = self.nginx("rl_rule r 2/h;" + server("location / { rl_limit r key=$arg_k cost=$arg_c; }",
                                                "location = /b { rl_limit r key=$arg_k cost=$arg_c; rl_on_error deny; }"))
        self.assertEqual([n.get("/a?k=x&c=abc").status, n.get("/b?k=x&c=-1").status], [200, 429])
        self.assertEqual(n.log_count('rl: rule "r": '), 1)
        self.assertRegex(n.log(), r'rl: rule "r": cost "abc" is no number from 0 to \d+, in \S+nginx.conf:\d+, client')
        self.assertEqual(n.access(1)[0].split()[2], "UNDECIDED")

    def test_a_status_for_what_costs_too_much(self):
        n = self.nginx("rl_rule r 2/h;" + server("location / { rl_limit r cost=3; rl_never_status 413; }"))
        self.assertEqual((n.get("/a").status, n.get("/a")["Retry-After"]), (413, None))

    def test_a_capacity_by_the_request(self):
        n = self.nginx("map $http_x_tier $tier { default ''; gold 5; bad x; } rl_rule r 2/30d algorithm=fixed_window;" +
                       server("location / { rl_limit r key=$arg_k capacity=$tier; }"))
        self.assertEqual(n.statuses("/a?k=x", 3), [200, 200, 429])
        self.assertEqual(n.statuses("/a?k=y", 6, X_Tier="gold"), [200] * 5 + [429])
        self.assertEqual(n.statuses("/a?k=y", 1), [429])
        self.assertEqual(n.statuses("/a?k=z", 3, X_Tier="bad"), [200] * 3)
        self.assertIn('rl: rule "r": capacity "x" is no number from 0 to 268435455, in ', n.log())

    def test_what_is_no_number_makes_no_line_of_the_log(self):
        n = self.nginx("rl_rule r 9/h;" + server("location ~ ^/y(?<c>[^|]*)$ { rl_limit r cost=$c; try_files /a =404; }"))
        n.get("/y1%0Afalse")
        self.assertIn('cost "1?false" is no number', n.log())

    def test_digits_that_say_nothing(self):
        n = self.nginx("rl_rule r 9/30d algorithm=fixed_window;" +
                       server("location / { rl_limit r key=$arg_k capacity=$arg_c; }"))
        self.assertEqual([n.get(f"/a?k=x&c={1:024}").status for _ in range(2)], [200, 429])
        self.assertEqual([n.get(f"/a?k=y&c={'9' * 24}").status for _ in range(10)], [200] * 10)

    def test_in_flight_beside_a_rate(self):
        origin = self.backend()
        n = self.nginx("rl_rule downloads in_flight=1; rl_rule r 3/h;" + server(
            f"location / {{ rl_limit downloads key=$arg_k; rl_limit r key=$arg_k; proxy_pass http://127.0.0.1:{origin.port}; }}"))
        pending = Pending(n, "/hold?k=x")
        origin.wait_held(1)
        refused = n.get("/a?k=x")
        self.assertEqual((refused.status, refused["Retry-After"]), (429, None))
        self.assertEqual(used(n.segment, "r", "x"), [1])
        origin.release()
        self.assertEqual(pending.wait().status, 200)
        self.assertEqual(n.statuses("/a?k=x", 3), [200, 200, 429])
        eventually(lambda: used(n.segment, "downloads", "x") == [])

    def test_a_delayed_request_that_is_aborted_gives_back_what_it_held(self):
        n = self.nginx("rl_rule d in_flight=2; rl_rule r 1/h algorithm=leaky_bucket burst=5;" +
                       server("location / { rl_limit d key=$arg_k; rl_limit r key=$arg_k; }"))
        self.assertEqual(n.get("/a?k=x").status, 200)
        waiting = [open_request(n, "/a?k=x") for _ in range(2)]
        eventually(lambda: used(n.segment, "d", "x") == [2])
        self.assertEqual(n.get("/a?k=x").status, 429)
        for connection in waiting:
            connection.close()
        eventually(lambda: used(n.segment, "d", "x") == [])

    def test_dry_run_and_shadow(self):
        n = self.nginx("rl_rule r 1/h; rl_rule s 1/h mode=shadow;" +
                       server("location = /a { rl_limit r key=$arg_k; rl_dry_run on; }",
                              "location = /b { rl_limit s key=$arg_k; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/b?k=x", 2), [200] * 4)
        self.assertEqual([l.split()[2] for l in n.access(4)], ["PASSED", "REJECTED_DRY_RUN"] * 2)
        self.assertIn('limiting requests, dry run, retry after: ', n.log())
        self.assertIsNone(n.get("/a?k=x")["RateLimit"])
        self.assertEqual(counter(n.segment, "shadow_denied"), 1)

    def test_status_and_log_level(self):
        n = self.nginx("rl_rule r 1/h; rl_status 418; rl_log_level notice;" + LIMIT)
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 418])
        self.assertRegex(n.log(), r'\[notice\].*limiting requests, retry after: \d+s, by rule "r", client')

    def test_off_takes_nothing_from_the_outer_level(self):
        n = self.nginx("rl_rule r 1/h; rl_rule s 2/h; rl_limit r key=x;" + server(
            "location /a { rl_limit off; location /a/in { rl_limit s key=x; try_files /a =404; } try_files /a =404; } location / { }"))
        self.assertEqual(n.statuses("/b", 2), [200, 429])
        self.assertEqual(n.statuses("/a", 3), [200] * 3)
        self.assertIsNone(n.get("/a")["RateLimit"])
        self.assertEqual(n.statuses("/a/in", 3), [200, 200, 429])
        for both in ("rl_limit off; rl_limit r;", "rl_limit r; rl_limit off;", "rl_limit off; rl_limit off;", "rl_limit off key=a;"):
            self.refuses("rl_rule r 5/s;" + server(both), '"off" beside others')
        self.refuses("rl_rule off 5/s;" + server("rl_limit off;"), 'cannot have the name "off"')

    def test_an_error_has_a_token_and_the_log_its_sentence_and_remedy(self):
        n = self.nginx("rl_rule r configured; log_format why '$rl_reason'; access_log logs/why.log why;" +
                       server("location / { rl_limit r; rl_on_error deny 503; }"))
        self.assertEqual(n.get("/a").status, 503)
        eventually(lambda: n.read("why.log") == "absent\n", "the line of the access log")
        self.assertRegex(n.log(), r"limiting requests, no such segment, rule or key: 'rlctl segments' .*, by rule .r.")

    def test_inheritance(self):
        n = self.nginx("rl_rule r 1/h; rl_rule s 2/h; rl_limit r key=$arg_k;" +
                       server("location = /a { }", "location = /b { rl_limit s key=$arg_k; }"))
        self.assertEqual(n.statuses("/a?k=x", 2) + n.statuses("/b?k=x", 3), [200, 429, 200, 200, 429])

    def test_bans_and_exemptions(self):
        n = self.nginx("rl_rule r 1/h;" + server("location / { rl_limit r key=$arg_k; add_header X-Reason $rl_reason always; }"))
        rlctl(n.segment, "ban", "bad", "--for", "1h")
        rlctl(n.segment, "allow", "good", "--for", "1h")
        denied = n.get("/a?k=bad")
        self.assertEqual((denied.status, denied["X-Reason"], denied["RateLimit"]), (429, "ban", None))
        self.assertRegex(denied["Retry-After"], r"^(3600|3[45]\d\d)$")
        self.assertEqual(n.statuses("/a?k=good", 3), [200] * 3)
        self.assertEqual(n.get("/a?k=good")["X-Reason"], "exemption")

    def test_bans_under_the_names_of_limit_req(self):
        n = self.nginx("rl_limit_req_zone $arg_k zone=one:1m rate=1r/h;" + server("location / { rl_limit_req zone=one; }"))
        rlctl(n.segment, "ban", "bad", "--for", "1h")
        self.assertEqual(n.statuses("/a?k=bad", 1), [503])
        self.assertIn('limiting requests, ban, by zone "one"', n.log())

    def test_with_prefetch(self):
        n = self.nginx("rl_rule r 1000/30d algorithm=fixed_window prefetch=16;" + server("location / { rl_limit r key=all; }"))
        self.assertEqual(n.statuses("/a", 20), [200] * 20)
        self.assertGreaterEqual(used(n.segment, "r", "all")[0], 20)


class Result(ctypes.Structure):
    _fields_ = [(f, ctypes.c_uint32) for f in ("verdict", "error", "reason", "index", "limit", "remaining", "used",
                                               "is_shadow_denied")] + \
               [(f, ctypes.c_uint64) for f in ("retry_after_ns", "reset_after_ns", "delay_ns", "window_ns")]


class HttpPolicy(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("quota", ctypes.c_uint64), ("window_ns", ctypes.c_uint64),
                ("unit", ctypes.c_char_p), ("partition", ctypes.c_void_p), ("partition_len", ctypes.c_size_t)]


class HttpLimit(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("result", ctypes.POINTER(Result)), ("partition", ctypes.c_void_p),
                ("partition_len", ctypes.c_size_t)]


class Peeked:
    """What rl_http.h makes of a key that nobody asks for meanwhile."""

    def __init__(self, segment, rule, key):
        self.rl = ctypes.CDLL(os.path.join(LIBRARY, "librl.so.1"))
        self.rl.rl_open.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
        handle = ctypes.c_void_p()
        if self.rl.rl_open(segment.encode(), None, ctypes.byref(handle)) < 0:
            raise AssertionError(f"segment {segment}")
        self.rl.rl_find.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.rl.rl_peek.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
        self.result, self.name = Result(), rule.encode()
        self.rl.rl_peek(handle, self.rl.rl_find(handle, self.name), key.encode(), len(key), ctypes.byref(self.result))
        self.rl.rl_close.argtypes = [ctypes.c_void_p]
        self.rl.rl_close(handle)

    def field(self, call, item):
        text = ctypes.create_string_buffer(256)
        call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        call.restype = ctypes.c_ssize_t
        length = call(0, ctypes.byref(item), 1, text, len(text))
        return text.value.decode() if length > 0 else None

    def ratelimit(self):
        return self.field(self.rl.rl_http_ratelimit, HttpLimit(self.name, ctypes.pointer(self.result), None, 0))

    def policy(self, quota=None, unit=None):
        return self.field(self.rl.rl_http_ratelimit_policy,
                          HttpPolicy(self.name, quota or self.result.limit, self.result.window_ns, unit, None, 0))


class Problems(Case):
    def problem(self, answer, status, kind):
        self.assertEqual((answer.status, answer["Content-Type"]), (status, "application/problem+json"))
        told = json.loads(answer.body)
        self.assertEqual((told["status"], told["type"]), (status, "https://iana.org/assignments/http-problem-types#" + kind))
        return told

    def test_a_used_quota_and_a_ban_and_what_costs_too_much(self):
        n = self.nginx("rl_rule r 2/h; rl_problem on; error_page 429 403 /index.html;" +
                       server("location = /a { rl_limit r key=$arg_k cost=$arg_c; rl_headers ietf x; }", "location = /b { rl_limit r key=$arg_k; rl_problem off; }"))
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 200])
        c = n.connect()
        self.addCleanup(c.close)
        for method in ("GET", "GET", "HEAD"):
            c.request(method, "/a?k=x", body=b"x" * 3000 if method == "GET" else None)
            answer = c.getresponse()
            body = answer.read()
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (429, "application/problem+json"))
            self.assertEqual(body == b"", method == "HEAD")
            self.assertEqual((answer.headers["X-RateLimit-Remaining"], answer.headers["RateLimit-Policy"]), ("0", '"r";q=2;w=3600'))
        told = self.problem(n.get("/a?k=x"), 429, "quota-exceeded")
        self.assertEqual(told["violated-policies"], ["r"])
        self.assertIn("It may come again in ", told["detail"])
        self.assertEqual(self.problem(n.get("/a?k=y&c=3"), 403, "quota-exceeded")["detail"], "The request costs more than its limit admits.")
        rlctl(n.segment, "ban", "z", "--rule", "r")
        self.problem(n.get("/a?k=z"), 429, "abnormal-usage-detected")
        self.assertEqual(n.get("/b?k=x")["Content-Type"], "text/html")

    def test_what_cannot_be_decided(self):
        n = self.nginx("rl_rule r configured; rl_problem on;" +
                       server("location = /a { rl_limit r; rl_on_error deny 503; }", "location = /b { rl_limit r; }"))
        told = self.problem(n.get("/a"), 503, "temporary-reduced-capacity")
        self.assertNotIn("violated-policies", told)
        self.assertEqual(n.get("/b").status, 200)


@unittest.skipIf(VARIANT == "asan", "librl with sanitizers is not loaded into Python")
class Fields(Case):
    def same(self, n, key, quota=None):
        """The fields of an answer are those of rl_http.h, byte for byte, unless a second went by in between."""
        for _ in range(20):
            answer = n.get(f"/a?k={key}")
            peeked = Peeked(n.segment, "r", key)
            if answer["RateLimit"] == peeked.ratelimit():
                break
        self.assertEqual(answer["RateLimit"], peeked.ratelimit())
        self.assertEqual(answer["RateLimit-Policy"], peeked.policy(quota))
        return answer

    def test_byte_for_byte(self):
        for words, quota in (("5/h", None), ("5/h algorithm=anchored_window", None),
                             ("5/h algorithm=token_bucket burst=9", 5), ("7/25h algorithm=fixed_window", None)):
            n = self.nginx(f"rl_rule r {words};" + LIMIT)
            self.same(n, "x", quota)
            n.statuses("/a?k=y", 9)
            answer = self.same(n, "y", quota)
            self.assertEqual(answer.status, 429)
            self.assertEqual(answer["RateLimit"].split(";t=")[1], answer["Retry-After"])
            n.stop()

    def test_each_rule_is_an_item(self):
        n = self.nginx("rl_rule r 5/h; rl_rule s 9/d algorithm=anchored_window; rl_rule f in_flight=3;" +
                       server("location / { rl_limit r key=$arg_k; rl_limit s key=$arg_k; rl_limit f key=$arg_k; }"))
        answer = n.get("/a?k=x")
        self.assertEqual(answer["RateLimit-Policy"], '"r";q=5;w=3600, "s";q=9;w=86400, "f";q=3;qu="concurrent-requests"')
        self.assertRegex(answer["RateLimit"], r'^"r";r=4;t=\d+, "s";r=8;t=86400, "f";r=2$')

    def test_what_is_asked_for(self):
        n = self.nginx("rl_rule r 1/h algorithm=anchored_window; rl_limit r key=$arg_k;" +
                       server("location = /a { rl_headers off; }", "location = /b { rl_headers x; }",
                              "location = /c { rl_headers ietf x-unix; }", "location = /index.html { rl_headers retry-after; }"))
        names = ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
                 "Retry-After")
        n.get("/a?k=x")
        told = {p: [n.get(f"{p}?k=x")[name] for name in names] for p in ("/a", "/b", "/c", "/index.html")}
        self.assertEqual(told["/a"], [None] * 6)
        self.assertEqual(told["/b"][:4], [None, None, "1", "0"])
        self.assertEqual(told["/b"][4], told["/b"][5])
        self.assertEqual(told["/c"][1], '"r";q=1;w=3600')
        self.assertGreater(int(told["/c"][4]), 1700000000)
        self.assertEqual([v is None for v in told["/index.html"]], [True] * 5 + [False])

    def test_by_a_version_of_the_draft(self):
        """One rule, told in two ways; in the older one, RateLimit is of the tightest."""
        n = self.nginx("rl_rule r 5/h algorithm=anchored_window; rl_rule s 3/h algorithm=anchored_window;" +
                       server("rl_limit r key=$arg_k;", "location = /a { rl_limit r key=$arg_k; rl_limit s key=$arg_k; rl_headers ietf-7 x; }",
                              "location = /b { rl_headers ietf-11; }", "location = /c { rl_headers ietf; }"))
        answer = n.get("/a?k=x")
        self.assertEqual((answer["RateLimit-Policy"], answer["RateLimit"]), ("5;w=3600, 3;w=3600", "limit=3, remaining=2, reset=3600"))
        self.assertEqual(answer["X-RateLimit-Remaining"], "2")
        for path, left in (("/b", 3), ("/c", 2)):
            answer = n.get(path + "?k=x")
            self.assertEqual(answer["RateLimit-Policy"], '"r";q=5;w=3600')
            self.assertRegex(answer["RateLimit"], rf'^"r";r={left};t=\d+$')
        self.assertEqual(n.get("/a?k=x")["RateLimit-Policy"], "5;w=3600, 3;w=3600")

    def test_with_an_error_page(self):
        n = self.nginx("rl_rule r 1/h;" + server("error_page 429 /b;", "location = /a { rl_limit r key=$arg_k; }"))
        answer = [n.get("/a?k=x") for _ in range(2)][1]
        self.assertEqual((answer.status, answer.body), (429, "b\n"))
        self.assertIsNotNone(answer["Retry-After"])
        self.assertEqual(sum(k == "RateLimit" for k, _ in answer.fields), 1)

    def test_over_http2(self):
        n = self.nginx("rl_rule r 1/h;" + LIMIT.replace("%PORT%", "%PORT% http2"))
        said = [subprocess.run(["curl", "-si", "--http2-prior-knowledge", f"http://127.0.0.1:{n.port}/a?k=x"],
                               capture_output=True, text=True, check=True).stdout for _ in range(2)]
        self.assertIn("HTTP/2 200", said[0])
        self.assertIn("HTTP/2 429", said[1])
        self.assertRegex(said[1], r'(?i)ratelimit: "r";r=0;t=\d+')


class Variables(Case):
    def test_in_the_access_log(self):
        n = self.nginx("rl_rule r 2/h algorithm=anchored_window; log_format v '$rl_status|$rl_rule|$rl_limit|$rl_remaining|"
                       "$rl_retry_after|$rl_delay|$rl_reason';" +
                       server("access_log logs/v.log v;", "location = /a { rl_limit r key=$arg_k; }", "location = /b { }"))
        n.statuses("/a?k=x", 3)
        n.get("/b")
        eventually(lambda: len(n.read("v.log").splitlines()) == 4)
        lines = n.read("v.log").splitlines()
        self.assertEqual(lines[:2], ["PASSED|r|2|1|-|0.000|limit", "PASSED|r|2|0|-|0.000|limit"])
        self.assertRegex(lines[2], r"^REJECTED\|r\|2\|0\|3(600|599)\|0.000\|limit$")
        self.assertEqual(lines[3], "-|-|-|-|-|-|-")

    def test_rlctl_tells_the_same(self):
        n = self.nginx("rl_rule r 5/h algorithm=anchored_window;" +
                       server("location / { rl_limit r key=$arg_k; add_header X-Remaining $rl_remaining; }"))
        for _ in range(3):
            remaining = n.get("/a?k=x")["X-Remaining"]
        told = rlctl(n.segment, "peek", "r", "x", json_out=True)
        self.assertEqual((remaining, told["remaining"]), ("2", 2))


class Configuration(Case):
    def test_rules(self):
        for bad, said in (("r", "invalid number of arguments"), ("r x", 'invalid parameter "x"'),
                          ("r 5", 'invalid parameter "5"'), ("r 5/fortnight", 'invalid parameter "5/fortnight"'),
                          ("r 0/s", 'invalid parameter "0/s"'), ("r 5/500d", 'invalid parameter "5/500d"'),
                          ("r 999999999999/s", "invalid parameter"), ("r burst=1 5/s", 'invalid parameter "burst=1"'),
                          ("r 5/s algorithm=magic", 'algorithm: expected "sliding_window", '), ("r 5/s hard=yes", "hard: expected on or off"),
                          ("r 5/s granularity=65", "invalid parameter"), ("r 5/s granularity=7ms", '"r": granularity: its length divides'),
                          ("r 5/s v4=33", "1 to 32"), ("r 5/s v6=0", "1 to 128"), ("r 5/s mode=soft", 'mode: expected "enforce" or "shadow"'),
                          ("r 5/s prefetch=5000", "0 to 4095"), ("r 5/s whatever=1", "whatever: unknown word"),
                          ("r 5/s scope=cluster", "scope: shares of a cluster come from rld(8)"), ("r 5/s window=3s", "window: the rate says it"),
                          ("r in_flight=0", "invalid parameter"), ("r in_flight=3 algorithm=token_bucket", '"r": limit.window_ns: 0 ns'),
                          ("r 5/s burst=3", '"r": limit.burst: 3'), ("r 5/s algorithm=leaky_bucket burst=1 undelayed=2", '"r": '),
                          ("bad(name) 5/s", '"bad(name)": '), ("r 5/5ms", 'invalid parameter "5/5ms"'),
                          ("r 1/s 2/s 3/s 4/s 5/s 6/s 7/s 8/s 9/s", "no more than 8"),
                          ("r 5/s v4=24 5/m", '"r": ')):
            self.refuses(f"rl_rule {bad};" + server("rl_limit r;"), said)
        self.refuses("rl_rule r 5/s; rl_rule r 6/s; server { }", '"r" is declared already')

    def test_limits(self):
        for bad, said in (("q", '"q": there is no rule or zone of this name'), ("r what", 'invalid parameter "what"'),
                          ("r key=$no_such", 'unknown "no_such" variable'), ("r nodelay", "without a burst"),
                          ("r delay=2", "without a burst"), ("r burst=x", "invalid burst value"),
                          ("r cost=abc", 'invalid parameter "cost=abc": a number from 0 to'),
                          ("r cost=-1", 'invalid parameter "cost=-1"'),
                          ("r capacity=1e3", 'invalid parameter "capacity=1e3": a number from 0 to 268435455'),
                          ("r; rl_limit r", "stands in this place already, with the same key"),
                          ("r key=$arg_k; rl_limit r key=$arg_k cost=2", "stands in this place already"),
                          ("r; rl_limit r key=$rl_client", "stands in this place already")):
            self.refuses("rl_rule r 5/s;" + server(f"rl_limit {bad};"), said)
        self.refuses("rl_rule r 5/s; server { rl_limit r; if ($arg_a) { rl_limit r; } }", "is not allowed here")
        for rates, rules in ((1, 33), (8, 5)):
            rule = "".join(f" {n}/{n}h" for n in range(1, rates + 1))
            places = [f"rl_limit r key={n}; " for n in range(rules)]
            self.refuses(f"rl_rule r{rule}; server {{ " + "".join(places) + "}", "more than 32 limits")
            self.accepts(f"rl_rule r{rule};" + server("".join(places[1:])))
        self.accepts("rl_rule r 5/s; rl_limit r;" + server("rl_limit r; rl_limit r key=$arg_k; location = /a { rl_limit r; }"))

    def test_a_place_that_asks_for_what_its_rule_has_not(self):
        for words, place, said in (
                ("5/min", "burst=5", "burst: 5; sliding_window has none, leaky_bucket and token_bucket have one"),
                ("5/min", "burst=5 nodelay", "burst: 5; sliding_window has none"),
                ("5/min algorithm=fixed_window", "burst=5 delay=2", "burst: 5; fixed_window has none"),
                ("in_flight=3", "burst=5", "burst: 5; in_flight has none"),
                ("5/min algorithm=token_bucket", "burst=2 nodelay", "undelayed: 2; token_bucket has none, leaky_bucket has one"),
                ("5/min 9/h algorithm=leaky_bucket", "burst=5", "burst: 5; sliding_window has none"),
                ("in_flight=3", "capacity=100000000", "capacity: 100000000; 1 to "),
                ("5/min algorithm=sliding_log", "capacity=40", "capacity: 40; a log in a segment with a ring of 64 has")):
            self.refuses(f"rl_rule r {words};" + server(f"rl_limit r {place};"), said)
        n = self.nginx("rl_rule r 5/min;\n" + server("location = /a {\nrl_limit r burst=5;\n}"), start=False)
        said = n.test()[1]
        with open(os.path.join(n.root, "nginx.conf"), encoding="utf-8") as f:
            line = next(i for i, text in enumerate(f, 1) if "burst=5" in text)
        self.assertIn(f"nginx.conf:{line}: burst: 5", said)

    def test_the_others(self):
        for bad, said in (("rl_status 200", "must be between 400 and 599"), ("rl_headers", "invalid number of arguments"),
                          ("rl_headers on", 'invalid parameter "on"'), ("rl_headers off ietf", '"off" beside others'),
                          ("rl_headers ietf-7 ietf", "two forms of the same fields"), ("rl_headers ietf-12", 'invalid parameter "ietf-12"'),
                          ("rl_on_error maybe", 'must be "allow"'), ("rl_on_error deny 200", "between 400 and 599"),
                          ("rl_on_error allow 503", 'must be "allow"'), ("rl_never_status 1", "between 400 and 599")):
            self.refuses("rl_rule r 5/s;" + server(bad + ";"), said)

    def test_segments(self):
        for bad, said in (("a/b", "a segment cannot have the name"), ("a keys=0", 'invalid parameter "keys=0"'),
                          ("a keys=x", "invalid parameter"), ("a mode=999", "invalid parameter"), ("a mode=7", "invalid parameter"),
                          ("a group=no-such-group", 'invalid parameter "group=no-such-group"'), ("a on_full=burn", "invalid parameter"),
                          ("a what", "invalid parameter"), ("a key_bytes=x", "invalid parameter"), ("a ring=9999", "invalid parameter"),
                          ("a buffer=1", "buffer: expected a duration"), ("a mode=0066", "with 6 for the owner"), ("a cells=16777217", "invalid parameter"),
                          ("a reserves=0", "invalid parameter"), ("a events=-1", "events: expected a number from 0 to 1048576, or none"),
                          ("a cells=100", "cells: expected a power of two"), ("a flags=1", "each has a word of its own"), ("a readonly", "unknown word"),
                          ("a reserves=2 on_full=deny", "reserves: only a segment with on_full reserve has any"), ("a; rl_segment b", "is duplicate")):
            self.refuses("rl_rule r 5/s; server { }", said, declare=f"rl_segment {bad};")
        self.accepts("rl_rule r 5/s; server { }", declare="rl_segment a keys=10 ring=8 key_bytes=none rules=9 overrides=9 bans=9 "
                     "holders=9 events=64 on_full=deny buffer=1s mode=0640 group=www-data existing huge_pages populate;")
        self.accepts("rl_rule r 5/s; server { }", declare="rl_segment a events=0 key_bytes=0 buffer=1h30m;")
        self.refuses("rl_rule r 5/s granularity=64; server { }", '"r": ', declare="rl_segment a ring=8;")


if __name__ == "__main__":
    main()
