# SPDX-License-Identifier: BSD-2-Clause
"""The examples of the README, as they stand there."""
import os
import re
import subprocess
import unittest

from server import BUILD, TOP, Apache, Backend, eventually, used

PASSWORDS = "alice:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"  # test
SITE = "RLRule a 5/h\n<Location />\nRLLimit a\n</Location>\n"


def blocks():
    with open(os.path.join(TOP, "servers", "apache", "README.md"), encoding="utf-8") as file:
        return dict(re.findall(r"<!-- ([\w-]+) -->\n```\w+\n(.*?)```", file.read(), re.S))


BLOCKS = blocks()


class Readme(unittest.TestCase):
    tried = set()

    def apache(self, name, more="", **words):
        self.tried.add(name)
        text = BLOCKS[name].replace("/etc/apache2/passwords", "@ROOT@/passwords")
        apache = Apache(text + more, children=1, start=False, **words)
        self.addCleanup(apache.close)
        for page in ("login", "private", "api", "download", "search", "app"):
            apache.write(f"htdocs/{page}", "page\n")
        apache.write("passwords", PASSWORDS)
        apache.start()
        return apache

    def test_start(self):
        apache = self.apache("start")
        found = apache.many(150)
        self.assertEqual(found, {200: 100, 429: 50})
        answer = apache.get()
        self.assertEqual(answer.fields["RateLimit-Policy"], '"site";q=100;w=60')
        self.assertRegex(answer.fields["RateLimit"], r'^"site";r=0;t=\d+$')
        self.shell(apache)

    def shell(self, apache):
        self.tried.add("start-shell")
        text = BLOCKS["start-shell"].replace("--segment apache", f"--segment {apache.segment}")
        done = subprocess.run(["sh", "-e", "-c", text], env=dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}"),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(apache.get().status, 200)
        self.assertIn("127.0.0.1", done.stdout)

    def test_rules(self):
        apache = self.apache("rules")
        self.assertIn("Syntax OK", apache.test_config().stderr)

    def test_log(self):
        apache = self.apache("log", "CustomLog @ROOT@/limits.log limits\n" + SITE)
        apache.get()
        apache.stop()
        self.assertIn(" 200 PASSED a 4", apache.read("limits.log"))

    def test_login(self):
        backend = Backend()
        self.addCleanup(backend.stop)
        backend.go()
        apache = self.apache("login", f"<Location /login>\nProxyPass http://127.0.0.1:{backend.port}/\n</Location>\n")
        self.assertEqual(apache.statuses(9, "/login/good"), [200] * 9)
        self.assertEqual(apache.statuses(7, "/login/fail"), [401] * 5 + [429] * 2)
        self.assertEqual(apache.get("/login/good").fields["Retry-After"], "3600")

    def test_api(self):
        apache = self.apache("api")
        self.assertEqual(apache.many(110, path="/api", fields={"X-Api-Key": "beta-91c2"})[200], 100)
        answer = apache.get("/api", {"X-Api-Key": "alpha-7f3a"})
        self.assertEqual(answer.fields["X-RateLimit-Limit"], "1000")
        self.assertEqual(sum(apache.get("/api", {"X-Api-Key": f"guess-{i}"}).status == 200 for i in range(20)), 10)

    def test_user(self):
        apache = self.apache("user")
        self.assertEqual(apache.statuses(2, "/private"), [401] * 2)
        apache.curl("-u", "alice:test", apache.url("/private"))
        self.assertEqual(used(apache.segment, "user", "alice"), 1)

    def test_downloads(self):
        apache = self.apache("downloads")
        with open(apache.path("htdocs/download"), "wb") as file:
            file.truncate(64 << 20)
        open_ones = [apache.open_request("/download") for _ in range(2)]
        for s in open_ones:
            s.recv(1000)
        self.assertEqual(apache.get("/download").status, 429)
        self.assertEqual(used(apache.segment, "all-downloads", "all"), 2)
        for s in open_ones:
            s.close()

    def test_proxy(self):
        apache = self.apache("proxy")
        apache.get("/", {"X-Forwarded-For": "203.0.113.9"})
        self.assertEqual(used(apache.segment, "site", "203.0.113.9"), 1)
        self.assertNotIn("RateLimit", apache.get("/", {"X-Forwarded-For": "10.1.2.3"}).fields)

    def test_search(self):
        apache = self.apache("search")
        self.assertEqual(apache.get("/search", {"X-Rows": "600"}).status, 200)
        self.assertEqual(apache.get("/search", {"X-Rows": "600"}).status, 429)
        self.assertEqual(apache.get("/search", {"X-Rows": "400"}).status, 200)

    def test_dry(self):
        apache = self.apache("dry", SITE)
        self.assertEqual(apache.statuses(7), [200] * 7)

    def test_evasive(self):
        apache = self.apache("evasive", "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n")
        self.assertEqual(apache.statuses(60), [200] * 60)
        for _ in range(200):  # a page more than twice in a second
            answer = apache.get("/", {"X-Forwarded-For": "203.0.113.9"})
            if answer.status == 403:
                break
        self.assertEqual(answer.status, 403)
        self.assertEqual(answer.fields["Retry-After"], "10")
        self.assertEqual(apache.get("/app", {"X-Forwarded-For": "203.0.113.9"}).status, 403)
        self.assertEqual(apache.get("/", {"X-Forwarded-For": "203.0.113.10"}).status, 200)

    def test_qos(self):
        apache = self.apache("qos")
        self.assertEqual(apache.get("/app").status, 200)
        # what is in flight, and what is refunded, is given back after the answer
        eventually(lambda: used(apache.segment, "app", "all") == 0, "the end of a request")
        eventually(lambda: used(apache.segment, "failed", "127.0.0.1") == 0, "a refund")

    def test_the_tables_name_directives_that_are_there(self):
        with open(os.path.join(TOP, "servers", "apache", "README.md"), encoding="utf-8") as file:
            named = set(re.findall(r"\bRL[A-Z][A-Za-z]+", file.read()))
        with open(os.path.join(TOP, "servers", "apache", "directives.c"), encoding="utf-8") as file:
            there = set(re.findall(r'AP_INIT_\w+\(\s*"(RL\w+)"', file.read()))
        self.assertEqual(named, there)

    @classmethod
    def tearDownClass(cls):
        if cls.tried and cls.tried != set(BLOCKS) and len(cls.tried) > 5:
            raise AssertionError(f"not tried: {set(BLOCKS) - cls.tried}")


if __name__ == "__main__":
    unittest.main()
