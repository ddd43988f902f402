#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A share of a cluster's limit is waited for, by a timer: beside a real store and rld."""
import contextlib
import os
import select
import shutil
import socket
import sys
import time
import unittest

from harness import TOP, Case, eventually, main, open_request, unique_segment, used

sys.path.insert(0, os.path.join(TOP, "tests", "support"))
import lent  # noqa: E402

WAITERS = 1000  # as ngx_rl_wait.c has it
RULES = "rl_rule five configured; rl_rule usual configured; rl_rule none configured;"
SERVER = """
server {
    listen 127.0.0.1:%PORT% backlog=4096;
    root %ROOT%/html;
    location = /a { rl_limit five key=$arg_k; }
    location = /b { rl_limit none key=$arg_k; }
    location = /c { rl_dry_run on; rl_limit five key=$arg_k; }
    location = /index.html { }
}
"""
SESSIONS = "rl_rule five configured; server { listen 127.0.0.1:%STREAM_PORT%; rl_limit five key=$remote_addr; return ok; }"


class Waits(Case):
    def setUp(self):
        super().setUp()
        self.host = lent.Host(unique_segment())

    def tearDown(self):
        self.host.close()
        super().tearDown()

    def server(self, **others):
        return self.nginx(RULES + SERVER, segment=self.host.name, declare=f"rl_segment {self.host.name};",
                          user="root", events="worker_connections 4096;", **others)

    @contextlib.contextmanager
    def without_store(self):
        """Nothing is lent meanwhile."""
        self.host.stop()
        try:
            yield
        finally:
            self.host.go_on()

    def test_five_of_five(self):
        n = self.server()
        lent.in_time(lambda key: self.assertEqual(n.statuses(f"/a?k={key}", 7), [200] * 5 + [429] * 2))

    def test_nobody_waits_where_the_limit_says_so_or_nothing_is_enforced(self):
        n = self.server()
        for attempt in range(10):  # a machine that stands still meanwhile tells nothing
            with self.without_store():
                began = time.monotonic()
                self.assertEqual(n.statuses(f"/b?k=none{attempt}", 3) + n.statuses(f"/c?k=dry{attempt}", 3), [429] * 3 + [200] * 3)
                if time.monotonic() - began < 1:  # of six that would wait for a second each
                    return
        self.fail("somebody waits each time")

    def test_the_worker_serves_others_and_a_wait_ends_when_the_limit_says_so(self):
        n = self.server()
        for attempt in range(10):  # on a machine that stands still meanwhile the wait may be over
            with self.without_store():
                began = time.monotonic()
                waits = open_request(n, f"/a?k=end{attempt}")
                self.assertEqual(n.get("/index.html").status, 200)
                is_over = select.select([waits], [], [], 0)[0]
                self.assertIn(b" 429 ", waits.recv(100))
            self.assertGreater(time.monotonic() - began, 0.9)
            if not is_over:
                return
        self.fail("others are served after the wait")

    def test_who_goes_away_is_not_charged(self):
        n = self.server()

        def gone():
            return sum(" 499 " in line for line in n.access())

        def goes_away(key):
            before = gone()
            with self.without_store():
                waits = open_request(n, f"/a?k={key}")
                self.assertEqual(n.get("/index.html").status, 200)  # the worker has that one by now
                waits.close()
                eventually(lambda: gone() > before, "a client that is gone")
            self.assertEqual(n.statuses(f"/a?k={key}", 6), [200] * 5 + [429])
            self.assertEqual(used(n.segment, "five", key), [5])
        lent.in_time(goes_away)

    def test_a_thousand_wait_and_more_are_denied_at_once(self):
        n = self.server()
        for attempt in range(10):  # a machine that stands still meanwhile has fewer at a time
            with self.without_store():
                crowd = [socket.create_connection(("127.0.0.1", n.port), 60) for _ in range(WAITERS + 20)]
                for s in crowd:  # all within the second that the first one waits
                    s.sendall(f"GET /a?k=crowd{attempt} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                first = [s.recv(100) for s in crowd[WAITERS:]]
                waiting = 0
                for s in crowd[:WAITERS]:
                    s.setblocking(False)
                    try:
                        s.recv(100)
                    except BlockingIOError:
                        waiting += 1
            for s in crowd:
                s.close()
            if waiting == WAITERS:
                self.assertTrue(all(b" 429 " in text for text in first))
                break
        else:
            self.fail("never a thousand at a time")
        # None of them counts as waiting any more.
        lent.in_time(lambda key: self.assertEqual(n.statuses(f"/a?k={key}", 6), [200] * 5 + [429]))

    def test_a_session_waits_as_well(self):
        n = self.nginx("", stream=SESSIONS, segment=self.host.name, declare=f"rl_segment {self.host.name};", user="root")
        lent.in_time(lambda key: self.assertEqual([self.ask(n, f"127.0.1.{key[-1]}") for _ in range(6)], ["ok"] * 5 + [""]))

    @staticmethod
    def ask(n, address):
        with socket.create_connection(("127.0.0.1", n.stream_port), 60, (address, 0)) as s:
            try:
                return s.recv(100).decode()
            except ConnectionResetError:
                return ""


if __name__ == "__main__":
    if not shutil.which("redis-server"):
        print("without redis-server")
        sys.exit(77)
    main()
