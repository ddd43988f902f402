# SPDX-License-Identifier: BSD-2-Clause
"""A share of a cluster's limit is waited for where the limit says so: beside a real store and rld."""
import os
import shutil
import sys
import time
import unittest

from server import Apache, segment_name

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/support"))
import lent  # noqa: E402

BODY = "".join(f'RLRule {name} configured\n<Location "/{name}">\nRLLimit {name} "%{{QUERY_STRING}}"\n</Location>\n' for name in ("five", "usual", "none"))


@unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server")
class Waits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = lent.Host(segment_name())
        cls.apache = Apache(BODY, segment=cls.host.name)

    @classmethod
    def tearDownClass(cls):
        cls.apache.close()
        cls.host.close()

    def test_five_of_five(self):
        lent.in_time(lambda key: self.assertEqual(self.apache.statuses(7, f"/five/?{key}"), [404] * 5 + [429] * 2))

    def test_nobody_sleeps_unless_the_limit_says_so(self):
        self.assertEqual([self.apache.get(f"/{name}/?key").status for name in ("usual", "none")], [429] * 2)

    def test_a_sleep_ends_as_the_limit_says(self):
        with lent.Host(segment_name()) as host, Apache(BODY, segment=host.name) as apache:
            host.stop()
            began = time.monotonic()
            status = apache.get("/five/?key").status
            self.assertGreaterEqual(time.monotonic() - began, 0.99)
            self.assertEqual(status, 429)


if __name__ == "__main__":
    unittest.main()
