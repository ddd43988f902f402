# SPDX-License-Identifier: BSD-2-Clause
"""What is in flight is given back, whatever happens to the request."""
import os
import socket
import struct
import unittest

import h2
from server import PATIENCE, Apache, Backend, eventually, mappings, rlctl, used

MPMS = (("prefork", 8), ("worker", 2), ("event", 2))


def slots(backend, capacity=3, more=""):
    return f"""RLRule slots in_flight={capacity}
RLRule rate 1000/s
<Location /slow>
    ProxyPass http://127.0.0.1:{backend.port}/slow disablereuse=on
    RLLimit slots same
</Location>
<Location /again>
    RewriteEngine on
    RewriteRule .* /slow/redirected [L]
    RLLimit slots same
</Location>
<Location /dead>
    ProxyPass http://127.0.0.1:1/ disablereuse=on retry=0
    RLLimit slots same
</Location>
<Location /page.shtml>
    Options +Includes
    SetOutputFilter INCLUDES
    AddType text/html .shtml
</Location>
<Location /big>
    RLLimit slots same
</Location>
{more}"""


class Case(unittest.TestCase):
    def setUp(self):
        self.backend = Backend()
        self.addCleanup(self.backend.stop)

    def apache(self, **words):
        words.setdefault("mpm", "prefork")
        words.setdefault("children", 8)
        more = words.pop("more", "")
        return Apache(slots(self.backend, more=more), **words)

    def held(self, apache):
        return used(apache.segment, "slots", "same")

    def all_back(self, apache):
        eventually(lambda: self.held(apache) == 0, "that all units are given back")
        self.backend.go(True)
        self.assertEqual(apache.get("/slow/after").status, 200)


class Count(Case):
    def test_exactly_the_capacity(self):
        for mpm, children in MPMS:
            with self.subTest(mpm), self.apache(mpm=mpm, children=children) as apache:
                self.backend.go(False)
                before = self.backend.arrived
                requests = [apache.background("/slow/x") for _ in range(3)]
                self.backend.await_arrived(before + 3)
                self.assertEqual(self.held(apache), 3)
                refused = apache.get("/slow/x")
                self.assertEqual(refused.status, 429)
                self.assertNotIn("Retry-After", refused.fields)
                self.assertEqual(refused.fields["RateLimit-Policy"], '"slots";q=3;qu="concurrent-requests"')
                self.assertEqual(refused.fields["RateLimit"], '"slots";r=0')
                self.backend.go()
                for request in requests:
                    request.join(PATIENCE)
                    self.assertEqual(request.answer.status, 200)
                self.all_back(apache)

    def test_a_flood_of_eight_never_gets_more(self):
        with self.apache() as apache:
            requests = [apache.background("/slow/x") for _ in range(8)]
            eventually(lambda: sum(r.answer is not None for r in requests) >= 5, "five refusals")
            self.assertLessEqual(self.backend.arrived, 3)
            self.backend.go()
            for request in requests:
                request.join(PATIENCE)
            self.assertLessEqual(sum(r.answer.status == 200 for r in requests), 3)
            self.all_back(apache)

    def test_one_connection_many_requests(self):
        self.backend.go()
        with self.apache(mpm="event", children=1) as apache, \
                socket.create_connection(("127.0.0.1", apache.port), PATIENCE) as s:
            for _ in range(10):
                s.sendall(b"GET /slow/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
                text = b""
                while not text.endswith(b"from the backend\n"):
                    got = s.recv(4096)
                    self.assertTrue(got)
                    text += got
                self.assertIn(b" 200 ", text.splitlines()[0])
            self.all_back(apache)


class GivenBack(Case):
    def test_aborted(self):
        for mpm, children in MPMS:
            with self.subTest(mpm), self.apache(mpm=mpm, children=children) as apache:
                self.backend.go(False)
                before = self.backend.arrived
                connections = [apache.open_request("/slow/x") for _ in range(3)]
                self.backend.await_arrived(before + 3)
                for s in connections:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    s.close()
                self.backend.go()
                self.all_back(apache)

    def test_a_download_holds_until_it_is_sent(self):
        for mpm, children in MPMS:
            with self.subTest(mpm), self.apache(mpm=mpm, children=children) as apache:
                with open(apache.path("htdocs/big"), "wb") as file:
                    file.truncate(64 << 20)
                s = apache.open_request("/big")
                self.assertTrue(s.recv(1000))
                self.assertEqual(self.held(apache), 1)
                s.close()
                self.all_back(apache)

    def test_redirected(self):
        with self.apache() as apache:
            request = apache.background("/again/x")
            self.backend.await_arrived(1)
            self.assertEqual(self.held(apache), 1)
            self.backend.go()
            request.join(PATIENCE)
            self.assertEqual(request.answer.status, 200)
            self.all_back(apache)

    def test_subrequests(self):
        with self.apache() as apache:
            apache.write("htdocs/page.shtml", '<!--#include virtual="/slow/1" -->' * 5)
            request = apache.background("/page.shtml")
            self.backend.await_arrived(1)
            self.assertEqual(self.held(apache), 1)
            self.backend.go()
            request.join(PATIENCE)
            self.assertEqual(request.answer.body, "from the backend\n" * 5)
            self.all_back(apache)

    def test_a_backend_that_is_dead(self):
        with self.apache() as apache:
            self.assertEqual(apache.statuses(5, "/dead/"), [503] * 5)
            self.all_back(apache)

    def test_denied_by_another_limit(self):
        more = "RLRule one 1/30d\n<Location /slow/late>\nRLLimit one late late\n</Location>\n"
        self.backend.go()
        with self.apache(more=more) as apache:
            self.assertEqual(apache.statuses(5, "/slow/late"), [200] + [429] * 4)
            self.all_back(apache)

    def test_child_killed(self):
        for mpm, children in MPMS:
            with self.subTest(mpm), self.apache(mpm=mpm, children=children) as apache:
                self.backend.go(False)
                before = self.backend.arrived
                requests = [apache.background("/slow/x") for _ in range(3)]
                self.backend.await_arrived(before + 3)
                self.assertEqual(apache.get("/slow/x").status, 429)
                for pid in apache.children():
                    try:
                        os.kill(pid, 9)
                    except ProcessLookupError:
                        pass
                for request in requests:
                    request.join(PATIENCE)
                eventually(apache.is_up, "new children")
                self.backend.go()
                eventually(lambda: apache.many(3, threads=3, path="/slow/y") == {200: 3}, "room for three")

    def test_graceful_restart(self):
        with self.apache(mpm="event", children=2) as apache:
            requests = [apache.background("/slow/x") for _ in range(2)]
            self.backend.await_arrived(2)
            apache.restart()
            requests.append(apache.background("/slow/x"))
            self.backend.await_arrived(3)
            self.assertEqual(self.held(apache), 3)
            self.assertEqual(apache.get("/slow/x").status, 429)
            self.backend.go()
            for request in requests:
                request.join(PATIENCE)
                self.assertEqual(request.answer.status, 200)
            self.all_back(apache)

    def test_restart_that_ends_requests(self):
        with self.apache(mpm="event", children=2) as apache:
            requests = [apache.background("/slow/x") for _ in range(3)]
            self.backend.await_arrived(3)
            self.backend.go()
            apache.restart(is_graceful=False)
            for request in requests:
                request.join(PATIENCE)
            self.all_back(apache)

    def test_http2_streams_that_are_reset(self):
        with self.apache(mpm="event", children=1) as apache:
            connection = h2.Connection(apache.port)
            streams = [connection.get("/slow/x") for _ in range(3)]
            self.backend.await_arrived(3)
            self.assertEqual(self.held(apache), 3)
            self.assertEqual(apache.get("/slow/x").status, 429)
            for stream in streams:
                connection.reset(stream)
            self.backend.go()
            eventually(lambda: self.held(apache) == 0, "that all units are given back")
            self.assertEqual(apache.curl("--http2-prior-knowledge", apache.url("/slow/y")).stdout, "from the backend\n")
            connection.close()
            self.all_back(apache)

    def test_http2_connection_that_is_lost(self):
        with self.apache(mpm="event", children=1) as apache:
            connection = h2.Connection(apache.port)
            for _ in range(3):
                connection.get("/slow/x")
            self.backend.await_arrived(3)
            connection.close()
            self.backend.go()
            self.all_back(apache)

    def test_segment_removed_meanwhile(self):
        """The unit belongs to the segment it was taken from, which is closed after it."""
        with self.apache(mpm="event", children=1) as apache:
            pid, before = apache.children()[0], mappings(apache.children()[0])
            request = apache.background("/slow/x")
            self.backend.await_arrived(1)
            rlctl(apache.segment, "unlink", "--yes")
            eventually(lambda: apache.get("/dead/") and "open anew" in apache.log(), "a new segment")
            self.assertGreater(mappings(pid), before)
            self.backend.go()
            request.join(PATIENCE)
            self.assertEqual(request.answer.status, 200)
            self.all_back(apache)
            eventually(lambda: mappings(pid) == before, "the end of the old segment")


if __name__ == "__main__":
    unittest.main()
