#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""README.md is true: each example is taken from it and does what the text beside it says."""
import json
import os
import re
import subprocess
import unittest

from harness import PATIENCE, Case, Pending, configure, eventually, main, rlctl, used

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "..", "README.md"), encoding="utf-8") as readme:
    README = readme.read()
BLOCKS = re.findall(r"^```(\S+)\n(.*?)^```$", README, re.M | re.S)


def block(containing, kind="nginx"):
    found = [text for k, text in BLOCKS if k == kind and containing in text]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} blocks contain {containing}")
    return found[0]


class Examples(Case):
    used = set()

    def serve(self, containing, **others):
        text = block(containing)
        Examples.used.add(text)
        self.origin = self.backend()
        text = text.replace("listen 80;", "listen 127.0.0.1:%PORT%; root %ROOT%/html;")
        return self.nginx(text.replace("127.0.0.1:8000", f"127.0.0.1:{self.origin.port}"), workers=2, **others)

    def test_the_first(self):
        n = self.serve("rl_rule site 20/s")
        answers = [n.get("/a") for _ in range(2001)]
        self.assertEqual(answers[0].status, 200)
        denied = [a for a in answers if a.status != 200]
        self.assertEqual({a.status for a in denied}, {429})
        for name in ("Retry-After", "RateLimit-Policy", "RateLimit"):
            self.assertIsNotNone(denied[0][name])

    def test_a_login(self):
        n = self.serve("rl_rule login-address")
        self.assertEqual([n.get(f"/login?user=u{i}").status for i in range(7)], [200] * 5 + [429] * 2)
        rlctl(n.segment, "reset", "--all", "--yes")
        statuses = []
        for _ in range(11):
            rlctl(n.segment, "reset", "--rule", "login-address", "--yes")
            statuses.append(n.get("/login?user=anna").status)
        self.assertEqual(statuses, [200] * 10 + [429])
        rlctl(n.segment, "reset", "--all", "--yes")
        rlctl(n.segment, "ban", "127.0.0.0/24", "--for", "1h")
        self.assertEqual(n.get("/login").status, 429)

    def test_an_api_with_tiers(self):
        n = self.serve("rl_rule api")
        self.assertEqual(n.statuses("/api/", 4, X_API_Key="f3c1-first-key"), [200] * 3 + [429])
        self.assertEqual(n.statuses("/api/", 7, X_API_Key="99ab-second-key"), [200] * 6 + [429])
        self.assertEqual([n.get("/api/", X_API_Key=f"made-up-{i}").status for i in range(4)], [200] * 3 + [429])
        self.assertEqual(n.get("/api/")["X-RateLimit-Limit"], "3")

    def test_failures_alone(self):
        n = self.serve("rl_rule failures")
        self.assertEqual(n.statuses("/signin?user=u", 9), [200] * 9)
        eventually(lambda: max(used(n.segment, "failures", "u"), default=0) == 0, "nothing that counts")
        n.http = n.http.replace("proxy_pass http://127.0.0.1", "proxy_pass http://127.0.0.1:1; #")
        n.reload()
        self.assertEqual(n.statuses("/signin?user=u", 7), [502] * 5 + [429] * 2)

    def test_tokens_and_bytes(self):
        n = self.serve("rl_rule tokens")
        self.assertEqual(n.get("/v1/a", X_API_Key="k").status, 200)
        eventually(lambda: 1 < max(used(n.segment, "bytes", "127.0.0.1"), default=0) < 4096, "the bytes of an answer")
        self.assertEqual(used(n.segment, "tokens", "k"), [4096])  # no usage was told
        self.origin.usage = b"X-Usage: 731\r\n"
        answer = n.get("/v1/a", X_API_Key="k")
        self.assertIsNone(answer["X-Usage"])
        eventually(lambda: used(n.segment, "tokens", "k") == [4096 + 731], "the usage of an answer")

    def test_downloads(self):
        n = self.serve("rl_rule downloads ")
        n.http = n.http.replace("proxy_pass http", "rewrite ^/download(.*) $1 break; proxy_pass http")
        n.reload()
        pending = [Pending(n, "/download/hold") for _ in range(2)]
        self.origin.wait_held(2)
        self.assertEqual(n.get("/download/a").status, 503)
        self.origin.release(2)
        self.assertEqual([p.wait().status for p in pending], [200, 200])
        eventually(lambda: n.get("/download/a").status == 200)

    def test_behind_a_proxy(self):
        n = self.serve("set_real_ip_from")
        ask = lambda *clients: [n.get("/", X_Forwarded_For=c).status for c in clients]
        self.assertEqual(ask(*["192.0.2.1"] * 3), [200, 200, 429])
        self.assertEqual(ask("6.6.6.6, 192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"),
                         [429, 200, 200, 200, 429])
        self.assertEqual(ask("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::3"), [200, 200, 429, 200])

    def test_slow_down(self):
        n = self.serve("rl_rule search")
        pending = [Pending(n, "/search") for _ in range(4)]
        self.assertEqual({p.wait().status for p in pending}, {200})

    def test_configured(self):
        n = self.serve("rl_rule web configured")
        self.assertEqual(n.statuses("/", 6), [200] * 6)
        rules = json.loads(block('"rules"', "json"))["rules"]
        configure(n.segment, rules, n.root)
        eventually(lambda: n.get("/").status == 429)
        rlctl(n.segment, "reset", "--all", "--yes")
        self.assertEqual(n.statuses("/", 5), [200] * 4 + [429])

    def test_dry_run(self):
        n = self.serve("rl_rule strict")
        self.assertEqual(n.statuses("/", 2), [200, 200])
        eventually(lambda: len(n.read("limits.log").splitlines()) == 2)
        # Of two workers the second may be the first to write.
        self.assertRegex("\n".join(sorted(n.read("limits.log").splitlines())), r'" 200 PASSED strict 0 -\n.*" 200 REJECTED_DRY_RUN strict 0 \d+$')

    def test_stream(self):
        text = block("rl_rule ssh", "nginx-stream")
        n = self.nginx("", stream=text.replace("listen 2222", "listen 127.0.0.1:%STREAM_PORT%")
                       .replace("proxy_pass 127.0.0.1:22;", "return ok;"))
        import socket

        def ask():
            with socket.create_connection(("127.0.0.1", n.stream_port), PATIENCE) as s:
                return s.recv(10)
        self.assertEqual([ask() for _ in range(4)], [b"ok"] * 3 + [b""])

    def test_each_block_is_tried(self):
        with open(__file__, encoding="utf-8") as f:
            here = f.read()
        for kind, text in BLOCKS:
            if kind == "nginx":
                name = re.search(r"(rl_rule [\w-]+|set_real_ip_from)", text).group(1)
                self.assertIn('self.serve("' + name, here)


class Text(Case):
    def test_the_renaming(self):
        n = self.nginx(start=False)
        old = ("  limit_req_zone $arg_k zone=one:1m rate=1r/m;\n\tlimit_conn_zone $arg_k zone=c:1m;\nlog_format x '$limit_req_status$limit_conn_status';\n"
               "server {\n listen 127.0.0.1:%d; root %s/html; access_log logs/x.log x;\n location / {\n limit_req zone=one;\nlimit_req_status 429;\n limit_conn c 1; limit_rate 0;\n}\n}\n"
               % (n.port, n.root))
        with open(os.path.join(n.root, "old.conf"), "w", encoding="ascii") as f:
            f.write(old)
        command = block("sed -E", "sh").replace(" nginx.conf >new.conf", " old.conf >new.conf")
        subprocess.run(["sh", "-ec", command], cwd=n.root, check=True)
        n.http = f"include {n.root}/new.conf;"
        n.start()
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 429])
        eventually(lambda: sorted(n.read("x.log").split()) == ["PASSEDPASSED", "REJECTEDPASSED"])

    def test_each_directive_and_variable_is_there_and_none_is_missing(self):
        source = ""
        for name in os.listdir(os.path.join(HERE, "..")):
            if name.endswith(".c"):
                with open(os.path.join(HERE, "..", name), encoding="utf-8") as f:
                    source += f.read()
        names = set(re.findall(r'_COMMAND\("(\w+)"', source))
        for prefix in re.findall(r'SET_COMMANDS\("(\w+)"', source):
            names |= {prefix + word for word in ("log_level", "dry_run")}
        names |= {p + "status" for p in ("rl_", "rl_limit_req_", "rl_limit_conn_")}
        names |= {"$" + v for v in re.findall(r'ngx_string\("(rl_\w+)"\)', source)}
        told = set(re.findall(r"`(\$?rl_\w+)", README))
        self.assertEqual({n for n in names if n not in told}, set())
        self.assertEqual({n for n in told if n.lstrip("$") not in {x.lstrip("$") for x in names}}, set())

    def test_each_test_that_is_named_is_there(self):
        for name in set(re.findall(r"`(tests/\w+\.\w+)`", README)):
            self.assertTrue(os.path.exists(os.path.join(HERE, "..", name)), name)


if __name__ == "__main__":
    main()
