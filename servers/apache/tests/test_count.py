# SPDX-License-Identifier: BSD-2-Clause
"""Exactly as many requests as the limit says, however many children, whatever ends them."""
import contextlib
import hashlib
import json
import os
import subprocess
import unittest

from server import PATIENCE, Apache, Backend, eventually, rlctl, segment_name, unlink, used

LIMIT = "RLRule page 100/30d\n<Location />\nRLLimit page same\n</Location>\n"


def served_by(apache):
    return {line.split()[0] for line in apache.read("access.log").splitlines()}


class Exact(unittest.TestCase):
    def count(self, mpm, children, requests=400):
        with Apache(LIMIT, mpm=mpm, children=children) as apache:
            found = apache.many(requests, threads=16)
            self.assertEqual(found, {200: 100, 429: requests - 100})
            eventually(lambda: len(served_by(apache)) > 1 or not apache.many(20, threads=16), "several children serve")
            self.assertEqual(used(apache.segment, "page", "same"), 100)

    def test_prefork_8_children(self):
        self.count("prefork", 8, requests=800)

    def test_worker_2_children(self):
        self.count("worker", 2)

    def test_event_2_children(self):
        self.count("event", 2)

    def test_http2_streams(self):
        with Apache(LIMIT, children=2) as apache:
            done = subprocess.run(["h2load", "-n", "150", "-c", "3", "-m", "25", apache.url("/index.html")],
                                  capture_output=True, text=True, timeout=PATIENCE)
            self.assertIn("status codes: 100 2xx, 0 3xx, 50 4xx, 0 5xx", done.stdout, done.stderr)


class Client(unittest.TestCase):
    def test_a_thousand_addresses_of_a_network_are_one_client(self):
        text = (LIMIT.replace("100/30d", "20/30d").replace(" same", "") +
                "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.0/8\n")
        with Apache(text, mpm="prefork", children=4) as apache:
            found = [apache.get("/", {"X-Forwarded-For": f"2001:db8:0:7::{i:x}"}).status for i in range(1000)]
            self.assertEqual((found.count(200), found.count(429)), (20, 980))
            self.assertEqual([e["key"] for e in json.loads(rlctl(apache.segment, "list", "--json").stdout)["keys"]], ["2001:db8:0:7::"])
            apache.get("/", {"X-Forwarded-For": "::ffff:192.0.2.1"})
            self.assertEqual(used(apache.segment, "page", "192.0.2.1"), 1)


class Answers(unittest.TestCase):
    """A limit of failures: what is right is given back, and of many at once no more come through."""

    def serve(self, mpm, children, condition="count_if=%{REQUEST_STATUS} -eq 401"):
        self.backend = Backend()
        self.addCleanup(self.backend.stop)
        text = (f"RLRule login 5/30d\n<Location /login>\nProxyPass http://127.0.0.1:{self.backend.port}/ disablereuse=on\n"
                f"RLLimit login same \"{condition}\"\n</Location>\n")
        return Apache(text, mpm=mpm, children=children)

    def test_50_wrong_guesses_at_once(self):
        for mpm, children in (("prefork", 8), ("event", 2)):
            with self.serve(mpm, children) as apache:
                guesses = [apache.background("/login/fail") for _ in range(50)]
                self.backend.await_arrived(5)
                eventually(lambda: sum(g.answer is not None for g in guesses) == 45, "45 denials")
                self.backend.go()
                for guess in guesses:
                    guess.join()
                statuses = [guess.answer.status for guess in guesses]
                self.assertEqual((statuses.count(401), statuses.count(429), self.backend.arrived), (5, 45, 5), mpm)
                self.assertEqual(used(apache.segment, "login", "same"), 5)

    def test_1000_successes_leave_nothing(self):
        with self.serve("event", 2) as apache:
            self.backend.go()
            for _ in range(1000):
                self.assertEqual(apache.get("/login/good").status, 200)
            eventually(lambda: used(apache.segment, "login", "same") == 0, "nothing that counts")

    def test_a_client_that_goes_away_and_a_child_that_is_killed(self):
        with self.serve("prefork", 4) as apache:
            apache.open_request("/login/good").close()
            self.backend.await_arrived(1)
            self.backend.go()
            eventually(lambda: used(apache.segment, "login", "same") == 0, "the refund of a request without a client")
            self.backend.go(False)
            pending = apache.background("/login/good")
            self.backend.await_arrived(2)
            for pid in apache.children():
                apache.kill_child(pid)
            self.backend.go()
            pending.join()
            self.assertEqual(used(apache.segment, "login", "same"), 1)


class Settle(unittest.TestCase):
    def test_what_it_has_cost_takes_the_place_of_the_charge(self):
        backend = Backend()
        self.addCleanup(backend.stop)
        backend.go()
        text = (f"RLRule tokens 100/30d\n<Location /v1>\nProxyPass http://127.0.0.1:{backend.port}/ disablereuse=on\n"
                "Header always set X-Usage %{COST}e env=COST\nSetEnvIf X-Cost (.+) COST=$1\n"
                "RLLimit tokens same cost=10\nRLSettle tokens cost=%{resp:X-Usage}\n</Location>\n")
        with Apache(text, mpm="event", children=2) as apache:
            total = 0
            for cost, counted in (("3", 3), ("25", 25), ("0", 0), (None, 10), ("none", 10)):
                self.assertEqual(apache.get("/v1/a", {"X-Cost": cost} if cost else {}).status, 200)
                total += counted
                eventually(lambda: used(apache.segment, "tokens", "same") == total, f"{total} that count")
            eventually(lambda: "what a request has cost is no number" in apache.log(), "a line of the log")
            self.assertEqual(apache.get("/v1/a", {"X-Cost": "500"}).status, 200)  # a debt
            eventually(lambda: used(apache.segment, "tokens", "same") == total + 500, "the debt")
            self.assertEqual(apache.get("/v1/a").status, 429)

    def test_a_client_that_goes_away_and_a_child_that_is_killed(self):
        backend = Backend()
        self.addCleanup(backend.stop)
        text = (f"RLRule tokens 100/30d\n<Location /v1>\nProxyPass http://127.0.0.1:{backend.port}/ disablereuse=on\n"
                "RLLimit tokens same cost=10\nRLSettle tokens cost=7\n</Location>\n")
        with Apache(text, mpm="prefork", children=4) as apache:
            apache.open_request("/v1/a").close()
            backend.await_arrived(1)
            backend.go()
            eventually(lambda: used(apache.segment, "tokens", "same") == 7, "what a request without a client has cost")
            backend.go(False)
            pending = apache.background("/v1/a")
            backend.await_arrived(2)
            for pid in apache.children():
                apache.kill_child(pid)
            backend.go()
            pending.join()
            self.assertEqual(used(apache.segment, "tokens", "same"), 7 + 10)
            self.assertEqual(apache.get("/v1/a").status, 200)
            eventually(lambda: used(apache.segment, "tokens", "same") == 7 + 10 + 7, "what another child has served")


    def test_what_a_client_has_had_that_hangs_up_in_the_middle(self):
        size = 32 << 20  # more than sockets hold
        text = ("RLRule bytes 200000000/30d\n<Location /large>\nRLLimit bytes same cost=10\n"
                "RLSettle bytes cost=%{RL_BYTES}\n</Location>\nLogFormat %S bytes\nCustomLog @ROOT@/bytes.log bytes\n")
        for mpm in ("prefork", "event"):
            with Apache(text, mpm=mpm) as apache:
                apache.write("htdocs/large", "x" * size)
                total = 0
                for is_whole in (False, True, False):
                    client = apache.open_request("/large", "Connection: close\r\n")
                    while client.recv(65536) and is_whole:
                        pass
                    client.close()
                    eventually(lambda: used(apache.segment, "bytes", "same") > total + 10, "what was sent")
                    cost = used(apache.segment, "bytes", "same") - total
                    total += cost
                    self.assertGreater(cost, 4096)
                    self.assertEqual(is_whole, cost > size, cost)
                self.assertEqual(total, sum(map(int, apache.read("bytes.log").split())), mpm)
                self.assertNotIn("not given back", apache.log())


class Survive(unittest.TestCase):
    def test_kill_9_of_children(self):
        with Apache(LIMIT, mpm="prefork", children=8) as apache:
            admitted = apache.many(40)[200]
            for _ in range(3):
                apache.kill_child(apache.children()[0])
                admitted += apache.many(10)[200]
            admitted += apache.many(100)[200]
            self.assertEqual(admitted, 100)

    def test_kill_9_under_load(self):
        """Who is killed has charged at most the request it had."""
        with Apache(LIMIT, mpm="prefork", children=4) as apache:
            first = apache.many(60)
            pid = apache.children()[0]
            requests = [apache.background("/") for _ in range(20)]
            with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                os.kill(pid, 9)
            for request in requests:
                request.join(PATIENCE)
            admitted = first[200] + sum(r.answer.status == 200 for r in requests)
            admitted += apache.many(60)[200]
            self.assertLessEqual(admitted, 100)
            self.assertGreaterEqual(admitted, 99)
            self.assertEqual(used(apache.segment, "page", "same"), 100)

    def test_restarts_keep_counts(self):
        with Apache(LIMIT, mpm="prefork", children=2) as apache:
            admitted = apache.many(30)[200]
            apache.restart()
            admitted += apache.many(30)[200]
            apache.restart(is_graceful=False)
            admitted += apache.many(30)[200]
            apache.stop()
            apache.start()
            admitted += apache.many(30)[200]
            self.assertEqual(admitted, 100)

    def test_graceful_restart_with_another_limit(self):
        with Apache(LIMIT) as apache:
            apache.many(90)
            apache.configure(LIMIT.replace("100/30d", "110/30d"))
            apache.restart()
            self.assertEqual(apache.many(60), {200: 20, 429: 40})

    def test_graceful_restarts_under_load(self):
        with Apache(LIMIT, mpm="event", children=2) as apache:
            requests = [apache.background("/") for _ in range(40)]
            apache.restart()
            requests += [apache.background("/") for _ in range(40)]
            apache.restart()
            for request in requests:
                request.join(PATIENCE)
            admitted = sum(r.answer.status == 200 for r in requests) + apache.many(60)[200]
            self.assertEqual(used(apache.segment, "page", "same"), 100)
            self.assertLessEqual(admitted, 100)


def digest(segment):
    with open(f"/dev/shm/rl.{segment}", "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class ConfigTest(unittest.TestCase):
    def test_live_segment_is_untouched(self):
        with Apache(LIMIT) as apache:
            apache.get()
            before = digest(apache.segment)
            apache.configure(LIMIT.replace("100/30d", "7/1d") + "RLRule more 3/s\n")
            self.assertIn("Syntax OK", apache.test_config().stderr)
            self.assertEqual(digest(apache.segment), before)

    def test_no_segment_is_made(self):
        with Apache(LIMIT, start=False) as apache:
            self.assertIn("Syntax OK", apache.test_config().stderr)
            self.assertFalse(os.path.exists(f"/dev/shm/rl.{apache.segment}"))

    def test_unused_module_makes_no_segment(self):
        with Apache("", options=None) as apache:
            self.assertEqual(apache.get().status, 200)
            self.assertFalse(os.path.exists("/dev/shm/rl.apache"))


class Shared(unittest.TestCase):
    def test_two_servers_share_a_segment(self):
        name = segment_name()
        try:
            with Apache(LIMIT, segment=name) as one, Apache(LIMIT, segment=name, mpm="prefork") as two:
                admitted = one.many(70)[200] + two.many(70)[200]
                self.assertEqual(admitted, 100)
        finally:
            unlink(name)

    def test_rlctl_sees_resets_and_bans(self):
        with Apache("RLRule page 3/30d\n<Location />\nRLLimit page\n</Location>\n") as apache:
            self.assertEqual(apache.statuses(4), [200, 200, 200, 429])
            rlctl(apache.segment, "reset", "127.0.0.1", "--rule", "page")
            self.assertEqual(apache.statuses(1), [200])
            rlctl(apache.segment, "ban", "127.0.0.1", "--for", "1h")
            answer = apache.get()
            self.assertEqual(answer.status, 429)
            self.assertIn(int(answer.fields["Retry-After"]), range(3500, 3602))  # an end is rounded up to a millisecond
            rlctl(apache.segment, "unban", "127.0.0.1")
            rlctl(apache.segment, "allow", "127.0.0.1", "--for", "1h")
            answers = [apache.get() for _ in range(5)]
            self.assertEqual([a.status for a in answers], [200] * 5)
            self.assertNotIn("RateLimit", answers[0].fields)
            eventually(lambda: "REJECTED page 0" in apache.read("access.log"), "the log")


if __name__ == "__main__":
    unittest.main()
