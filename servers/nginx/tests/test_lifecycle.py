#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Exactly N with eight workers: also over kill -9, a reload, a binary upgrade and a restart; nothing leaks."""
import contextlib
import os
import signal
import threading
import unittest

from harness import Case, counter, eventually, hold, main, rlctl, used


def server(*locations):
    return "server { listen 127.0.0.1:%PORT%; root %ROOT%/html; " + "\n".join(locations) + " }"


WORKERS = 8
LIMIT = 100
RATE = f"rl_rule r {LIMIT}/30d algorithm=fixed_window;" + server("location / { rl_limit r key=$arg_k; }")


class Storm:
    """Threads that ask until each has had so many answers; a connection that breaks counts as none."""

    def __init__(self, n, path, threads=8, requests=100):
        self.n, self.path, self.requests = n, path, requests
        self.lock = threading.Lock()
        self.answers = []
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        done = 0
        while done < self.requests:
            try:
                status = self.n.get(self.path).status
            except Exception:  # its worker was killed
                status = None
            with self.lock:
                self.answers.append(status)
            done += status is not None

    def count(self, status):
        with self.lock:
            return self.answers.count(status)

    def wait(self):
        for thread in self.threads:
            thread.join()
        return self


class Exactly(Case):
    def test_so_many_of_800_with_8_workers(self):
        n = self.nginx(RATE, workers=WORKERS)
        storm = Storm(n, "/a?k=x").wait()
        self.assertEqual((storm.count(200), storm.count(429)), (LIMIT, 700))
        self.assertGreater(len({pid for pid in n.worker_pids()}), 7)
        self.assertEqual(used(n.segment, "r", "x"), [LIMIT])

    def test_over_kill_9(self):
        n = self.nginx(RATE.replace("100/30d", "400/30d"), workers=WORKERS)
        n.may_complain = True
        storm = Storm(n, "/a?k=x")
        for i in range(6):
            eventually(lambda: storm.count(200) > 40 * i)
            for worker in n.worker_pids()[:2]:
                with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                    os.kill(worker, signal.SIGKILL)
        storm.wait()
        lost = storm.count(None)  # a worker may be killed between its decision and its answer
        self.assertLessEqual(storm.count(200), 400)
        self.assertGreaterEqual(storm.count(200), 400 - lost)
        self.assertEqual(used(n.segment, "r", "x"), [400])

    def test_over_reloads(self):
        n = self.nginx(RATE.replace("100/30d", "400/30d"), workers=WORKERS)
        storm = Storm(n, "/a?k=x")
        for i in range(3):
            eventually(lambda: storm.count(200) > 90 * i)
            n.reload()
        storm.wait()
        self.assertEqual(storm.count(200) + storm.count(None), 400 + storm.count(None))
        self.assertEqual(used(n.segment, "r", "x"), [400])

    def test_a_reload_with_another_limit(self):
        n = self.nginx(RATE, workers=2)
        self.assertEqual(n.statuses("/a?k=x", LIMIT + 1)[-2:], [200, 429])
        n.http = RATE.replace("100/30d", "103/30d")
        n.reload()
        self.assertEqual(n.statuses("/a?k=x", 4), [200] * 3 + [429])

    def test_over_a_restart(self):
        n = self.nginx(RATE)
        n.statuses("/a?k=x", LIMIT - 1)
        n.stop()
        n.start()
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 429])

    def test_over_a_binary_upgrade(self):
        n = self.nginx(RATE, workers=2, daemon=True)
        n.statuses("/a?k=x", LIMIT - 2)
        old = n.pid()
        os.kill(old, signal.SIGUSR2)
        eventually(lambda: os.path.exists(os.path.join(n.root, "nginx.pid.oldbin")) and self.has_workers(n, old))
        self.assertEqual(n.get("/a?k=x").status, 200)
        os.kill(old, signal.SIGWINCH)
        eventually(lambda: not n.worker_pids(old))
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 429])
        os.kill(old, signal.SIGQUIT)
        eventually(lambda: not os.path.exists(os.path.join(n.root, "nginx.pid.oldbin")))
        self.assertEqual(n.get("/a?k=x").status, 429)

    @staticmethod
    def has_workers(n, old):
        try:
            return n.pid() != old and len(n.worker_pids()) == 2
        except (OSError, ValueError):
            return False

    def test_without_a_master_process(self):
        n = self.nginx(RATE, start=False, main="master_process off;", workers=0)
        n.start()
        self.assertEqual(n.statuses("/a?k=x", LIMIT + 1)[-2:], [200, 429])


class InFlight(Case):
    HTTP = "rl_rule d in_flight=3; " + server("location / { rl_limit d key=$arg_k; proxy_pass http://127.0.0.1:BACKEND; }")

    def serve(self, **others):
        self.origin = self.backend()
        return self.nginx(self.HTTP.replace("BACKEND", str(self.origin.port)), **others)

    def hold(self, n, count):
        return hold(n, self.origin, "/hold?k=x", count)

    def test_exactly_so_many_at_once_with_8_workers(self):
        n = self.serve(workers=WORKERS)
        pending = self.hold(n, 3)
        self.assertEqual(set(n.statuses("/a?k=x", 40)), {429})
        self.origin.release(3)
        self.assertEqual([p.wait().status for p in pending], [200] * 3)
        eventually(lambda: used(n.segment, "d", "x") == [])

    def test_what_a_killed_worker_held_comes_back(self):
        n = self.serve(workers=WORKERS)
        n.may_complain = True
        for _ in range(3):
            self.hold(n, 3)
            self.assertEqual(n.get("/a?k=x").status, 429)
            for worker in n.worker_pids():
                with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
                    os.kill(worker, signal.SIGKILL)
            eventually(lambda: len(n.worker_pids()) == WORKERS)
            eventually(lambda: n.get("/a?k=x").status == 200)
            self.origin.release(3)
            eventually(lambda: self.origin.held == 0)
            # A request gives back after its answer was sent; what another of the dead held, a sweep, or who is denied by it.
            eventually(lambda: rlctl(n.segment, "sweep") and used(n.segment, "d", "x") == [])

    def test_over_a_reload_nothing_is_held_twice(self):
        n = self.serve(workers=2)
        pending = self.hold(n, 2)
        n.reload()
        pending += self.hold(n, 1)
        self.assertEqual(n.get("/a?k=x").status, 429)
        self.origin.release(3)
        self.assertEqual([p.wait().status for p in pending], [200] * 3)
        eventually(lambda: used(n.segment, "d", "x") == [])
        self.assertEqual(counter(n.segment, "release_void"), 0)

    def test_a_storm_leaves_nothing_held(self):
        n = self.serve(workers=WORKERS)
        storm = Storm(n, "/a?k=x", threads=12, requests=60).wait()
        self.assertGreater(storm.count(200), 0)
        eventually(lambda: used(n.segment, "d", "x") == [])
        told = rlctl(n.segment, "stats", json_out=True)
        self.assertIn("released", str(told))
        self.assertEqual(counter(n.segment, "released"), storm.count(200))


if __name__ == "__main__":
    main()
