# SPDX-License-Identifier: BSD-2-Clause
"""A segment that is missing, somebody else's, full, damaged, or made anew while the server runs."""
import json
import os
import re
import subprocess
import time
import unittest

from server import Apache, eventually, mappings, rlctl, segment_name, unlink, used

LIMIT = """RLRule page 3/30d
<Location />
RLLimit page same
</Location>
<Location /closed>
RLOnError deny
</Location>
<Location /dry>
RLOnError deny
RLDryRun on
</Location>
"""


def file_of(segment):
    return f"/dev/shm/rl.{segment}"


class Missing(unittest.TestCase):
    def setUp(self):
        self.segment = segment_name()
        self.addCleanup(unlink, self.segment)

    def plant(self, text="this is no segment\n", mode=0o600):
        with open(file_of(self.segment), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file_of(self.segment), mode)

    def complaints(self, apache):
        return sum("rl:error" in line and "cannot be opened" in line for line in apache.log().splitlines())

    def recovers(self, apache, count=3):
        """Without a restart: within a second of each child's own."""
        eventually(lambda: apache.get("/").status == 429, "a denial")
        self.assertIn("is open", apache.log())
        self.assertEqual(used(self.segment, "page", "same"), count)

    def test_foreign(self):
        self.plant()
        with Apache(LIMIT, segment=self.segment, children=2) as apache:
            self.assertEqual(apache.statuses(5), [200] * 5)
            self.assertEqual(apache.statuses(3, "/closed"), [503] * 3)
            self.assertEqual(apache.statuses(1, "/dry"), [404])
            self.assertNotIn("RateLimit", apache.get("/").fields)
            self.assertEqual(self.complaints(apache), 1)
            eventually(lambda: " ERROR - " in apache.read("access.log"), "the access log")
            os.unlink(file_of(self.segment))
            self.recovers(apache)

    def test_missing_until_somebody_makes_it(self):
        with Apache(LIMIT, segment=self.segment, options="existing", children=1, mpm="prefork") as apache:
            self.assertEqual(apache.statuses(4), [200] * 4)
            self.assertEqual(self.complaints(apache), 1)
            self.assertFalse(os.path.exists(file_of(self.segment)))
            with Apache(LIMIT, segment=self.segment, children=1):
                pass
            self.recovers(apache)

    @unittest.skipUnless(os.geteuid() == 0, "only root makes a segment that its children may not open")
    def test_no_permission(self):
        """Made by root for root alone: the parent opens it, and its children inherit that."""
        with Apache(LIMIT, segment=self.segment, options="group=off", children=2) as apache:
            self.assertEqual(os.stat(file_of(self.segment)).st_mode & 0o777, 0o600)
            self.assertEqual(apache.statuses(4), [200] * 3 + [429])
            apache.restart()
            self.assertEqual(apache.statuses(1), [429])

    @unittest.skipUnless(os.geteuid() == 0, "only root gives a segment to any group")
    def test_mode_and_group(self):
        with Apache(LIMIT, segment=self.segment, options="mode=0640 group=daemon keys=1000 on_full=deny"):
            is_ = os.stat(file_of(self.segment))
            self.assertEqual(is_.st_mode & 0o777, 0o640)
            shown = rlctl(self.segment, "status").stdout
            self.assertRegex(shown, r"group +daemon")
            self.assertRegex(shown, r"on_full +deny")

    def test_removed(self):
        with Apache(LIMIT, segment=self.segment, children=2) as apache:
            self.assertEqual(apache.statuses(4), [200] * 3 + [429])
            rlctl(self.segment, "unlink", "--yes")
            eventually(lambda: apache.get("/").status == 200, "a new segment")
            eventually(lambda: apache.get("/") and used(self.segment, "page", "same") == 3, "that all count in it")
            apache.restart()  # what a child has made, the parent takes
            self.assertEqual(apache.statuses(2), [429, 429])
            self.assertEqual(self.complaints(apache), 0)

    def test_removed_in_a_storm(self):
        """From when one thread has seen it, none counts in the old one: of the new one's hundred not one more is let in."""
        rule = LIMIT.replace("page 3/30d", "page 100/30d")
        for _ in range(3):
            with Apache(rule, segment=self.segment, children=1, mpm="event") as apache:
                apache.get("/")
                rlctl(self.segment, "unlink", "--yes")
                time.sleep(1.1)  # the next request is the one that looks
                self.assertEqual(apache.many(300, threads=16)[200], 100)

    def test_removed_and_cannot_be_made(self):
        """The old one limits on."""
        with Apache(LIMIT, segment=self.segment, children=1, options="existing", start=False) as apache:
            with Apache(LIMIT, segment=self.segment, children=1):
                pass
            apache.start()
            self.assertEqual(apache.statuses(4), [200] * 3 + [429])
            rlctl(self.segment, "unlink", "--yes")
            eventually(lambda: apache.get("/") and "The old one limits on" in apache.log(), "the log")
            self.assertEqual(apache.statuses(3), [429] * 3)
            self.assertEqual(apache.log().count("The old one limits on"), 1)

    def test_children_that_come_later(self):
        """They inherit what the parent has open, and look whether it is the segment still."""
        with Apache(LIMIT, segment=self.segment, children=1, mpm="prefork") as apache:
            apache.statuses(4)
            rlctl(self.segment, "unlink", "--yes")
            apache.kill_child(apache.children()[0])
            eventually(apache.is_up, "another child")
            self.assertEqual(apache.statuses(4), [200] * 3 + [429])

    def test_truncated(self):
        self.plant(text="")
        with Apache(LIMIT, segment=self.segment, children=1) as apache:
            self.assertEqual(apache.statuses(3, "/closed"), [503] * 3)

    def test_less_than_asked(self):
        with Apache(LIMIT, segment=self.segment, options="keys=1000", children=1):
            pass
        with Apache(LIMIT, segment=self.segment, options="keys=50000", children=1) as apache:
            self.assertEqual(apache.statuses(1), [200])
            self.assertRegex(apache.log(), "with less than RLSegment asks for: keys: .* 50000 were asked for")

    def test_the_sizes_of_a_reserve(self):
        with Apache(LIMIT, segment=self.segment, options="keys=1000 cells=64 reserves=3 events=0", children=1):
            made = json.loads(rlctl(self.segment, "status", "--json").stdout)["segment"]
        self.assertEqual((made["cells"], made["reserves"], made["events"]), (64, 3, 0))


class Full(unittest.TestCase):
    KEYS = """RLRule page 1/30d
<Location />
RLLimit page "%{req:X-Key}"
</Location>
<Location /closed>
RLOnError deny
</Location>
"""

    def fill(self, on_full):
        apache = Apache(self.KEYS, options=f"keys=64 on_full={on_full}", children=1, mpm="prefork")
        self.addCleanup(apache.close)
        done = [apache.get("/", {"X-Key": f"k{i}"}).status for i in range(800)]
        return apache, done

    def test_a_word_of_before_is_taken_with_a_warning(self):
        apache, done = self.fill("evict")
        self.assertEqual(set(done), {200, 429})
        self.assertNotIn("cannot decide", apache.log())
        self.assertIn('on_full: "evict" is gone, taken as "reserve"', apache.log())

    def test_reserve_counts_keys_together(self):
        """The default: nobody gets more than the limit, and nobody is undecided."""
        apache, done = self.fill("reserve")
        self.assertEqual(set(done), {200, 429})
        again = [apache.get("/closed", {"X-Key": f"k{i}"}).status for i in range(400)]
        self.assertEqual(set(again), {429})
        self.assertNotIn("cannot decide", apache.log())
        eventually(lambda: " REJECTED page 0 " in apache.read("access.log"), "the access log")

    def test_deny(self):
        apache, done = self.fill("deny")
        self.assertEqual(set(done), {200, 429})
        self.assertIn("cannot decide", apache.log())

    def test_allow(self):
        apache, done = self.fill("allow")
        self.assertEqual(set(done), {200})
        self.assertIn("cannot decide", apache.log())


def reload(apache, text):
    rlctl(apache.segment, "config", "reload", "--config", apache.write("rl.json", text))


class Configured(unittest.TestCase):
    """Rules that stand in rl.json alone."""

    def test_rule_of_the_administrator(self):
        with Apache('RLRule login configured\n<Location />\nRLLimit login same\n</Location>\n'
                    '<Location /closed>\nRLOnError deny\n</Location>', children=1) as apache:
            self.assertEqual(apache.statuses(3), [200] * 3)
            self.assertEqual(apache.statuses(1, "/closed"), [503])
            self.assertEqual(apache.log().count("the configuration of the segment has none of this name"), 1)
            reload(apache, '{"rules": {"login": {"limit": "2/30d"}}}')
            eventually(lambda: apache.get("/").status == 429, "a denial")
            self.assertEqual(used(apache.segment, "login", "same"), 2)
            reload(apache, '{"rules": {"login": {"limit": "4/30d"}}}')
            self.assertEqual(apache.statuses(3), [200, 200, 429])
            reload(apache, '{"rules": {}}')
            self.assertEqual(apache.statuses(1), [200])
            self.assertEqual(apache.statuses(1, "/closed"), [503])
            reload(apache, '{"rules": {"login": {"limit": "4/30d"}}}')
            eventually(lambda: apache.get("/").status == 429, "a denial again")

    def test_configuration_stands_above_RLRule(self):
        with Apache(LIMIT, children=1) as apache:
            reload(apache, '{"rules": {"page": {"limit": "1/30d"}}}')
            self.assertEqual(apache.statuses(2), [200, 429])

    def test_limit_that_is_as_rl_json_has_it_keeps_its_counters(self):
        with Apache(LIMIT, children=1) as apache:
            self.assertEqual(apache.statuses(2), [200, 200])
            reload(apache, '{"rules": {"page": {"limit": "3/30d"}}}')
            self.assertEqual(apache.statuses(2), [200, 429])

    def test_forgotten_rule_is_defined_again(self):
        with Apache(LIMIT, children=1) as apache:
            apache.statuses(4)
            rlctl(apache.segment, "forget", "page", "--yes")
            eventually(lambda: apache.get("/").status == 429, "a denial")

    def test_segment_without_room_for_rules(self):
        rules = "".join(f"RLRule r{i} 5/h\n" for i in range(8))
        with Apache(rules + LIMIT, options="rules=4", children=1) as apache:
            self.assertEqual(apache.statuses(1, "/closed"), [503])
            self.assertIn('rule "page"', apache.log())


class Changes(unittest.TestCase):
    """What is in force is not what a place, or what this server's own RLRule, says."""

    PLACES = ("RLRule page configured\n<Location />\nRLLimit page same burst=2 nodelay\n</Location>\n"
              "<Location /closed>\nRLOnError deny\n</Location>\n")

    def test_a_place_asks_for_what_rl_json_does_not_have(self):
        asks = "another than .*httpd.conf:[0-9]+ asks for: burst: 2; {} has none"
        with Apache(self.PLACES, children=2) as apache:
            reload(apache, '{"rules": {"page": {"limit": "1/30d"}}}')
            apache.restart()
            self.assertEqual(len(re.findall(asks.format("sliding_window"), apache.log())), 1)  # before any request
            self.assertEqual(apache.statuses(3) + apache.statuses(1, "/closed"), [200] * 3 + [503])
            reload(apache, '{"rules": {"page": {"limit": "1/30d", "algorithm": "leaky_bucket"}}}')
            self.assertEqual(apache.statuses(4), [200] * 3 + [429])
            reload(apache, '{"rules": {"page": {"limit": "1/30d", "algorithm": "fixed_window"}}}')
            eventually(lambda: apache.get("/") and re.search(asks.format("fixed_window"), apache.log()), "the log")

    def test_two_servers_define_a_rule_otherwise(self):
        with Apache("RLRule both 5/h\n" + LIMIT, children=2) as one:
            one.get("/")
            with Apache("RLRule both 5/h\n" + LIMIT.replace("3/30d", "4/30d"), segment=one.segment) as other:
                self.assertIn('rule "page" was defined otherwise', other.log())
                eventually(lambda: one.get("/") and one.log().count('rule "page" is defined otherwise by another') == 1, "the log")
                self.assertNotIn('"both"', one.log() + other.log())
                self.assertNotIn("is defined otherwise", other.log())

    def test_a_restart_that_changes_a_rule_is_nobody_else_s(self):
        with Apache(LIMIT, children=2) as apache:
            apache.get("/")
            apache.configure(LIMIT.replace("3/30d", "7/30d"))
            apache.restart()
            apache.statuses(4)
            self.assertEqual(apache.log().count('rule "page" was defined otherwise'), 1)
            self.assertNotIn("is defined otherwise", apache.log())


class Mapping(unittest.TestCase):
    def test_old_segments_are_closed(self):
        """Who opens anew unmaps the old one."""
        with Apache(LIMIT, children=1, mpm="prefork") as apache:
            pid = apache.children()[0]
            before = mappings(pid)
            self.assertGreater(before, 0)
            for _ in range(3):
                apache.statuses(4)
                rlctl(apache.segment, "unlink", "--yes")
                eventually(lambda: apache.get("/").status == 200, "a new segment")
            self.assertEqual(mappings(pid), before)


class Unprivileged(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "who is not root has one server for all tests")
    def test_server_of_an_ordinary_user(self):
        """It has a segment of its own, of mode 0600, for its children are of the same user."""
        with Apache(LIMIT, start=False, children=1) as apache:
            subprocess.run(["chown", "-R", "nobody:nogroup", apache.root], check=True)
            apache.start(user="nobody")
            self.assertEqual(apache.statuses(4), [200] * 3 + [429])
            self.assertEqual(os.stat(file_of(apache.segment)).st_mode & 0o777, 0o600)
            rlctl(apache.segment, "unlink", "--yes")
            eventually(lambda: apache.get("/").status == 200, "a new segment")


if __name__ == "__main__":
    unittest.main()
