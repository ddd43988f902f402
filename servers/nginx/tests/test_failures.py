#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A segment that is missing, foreign, full, removed or replaced; rules that only rl.json has; nginx -t."""
import grp
import os
import subprocess
import time
import unittest

from harness import (BUILD, TOP, Case, Pending, configure, counter, eventually, main, rlctl, unique_segment, unlink_segment, used)


def server(*locations):
    return "server { listen 127.0.0.1:%PORT%; root %ROOT%/html; " + "\n".join(locations) + " }"


HTTP = ("rl_rule r 2/h; rl_limit_req_zone $arg_k zone=one:1m rate=1r/h; rl_limit_conn_zone $arg_k zone=held:1m;" +
        server("location = /a { rl_limit r key=$arg_k; }", "location = /b { rl_limit r key=$arg_k; rl_on_error deny; }",
               "location = /c { rl_limit r key=$arg_k; rl_on_error deny 503; }",
               "location /req/ { alias %ROOT%/html/; rl_limit_req zone=one; rl_on_error deny; }",
               "location /conn/ { alias %ROOT%/html/; rl_limit_conn held 1; rl_on_error deny; }",
               "location /both/ { alias %ROOT%/html/; rl_limit_conn held 1; rl_limit_req zone=one; }"))


def path(segment):
    for directory in ("/dev/shm/rl", "/dev/shm"):
        if os.path.isdir(directory):
            return os.path.join(directory, "rl." + segment)
    return None


class Errors(Case):
    def occupied(self, content, **others):
        """A server whose segment's name is taken by something else."""
        name = unique_segment()
        with open(path(name), "wb") as f:
            f.write(content)
        self.addCleanup(lambda: os.path.exists(path(name)) and os.unlink(path(name)))
        return self.nginx(HTTP, segment=name, **others)

    def test_a_foreign_file_is_treated_as_rl_on_error_says(self):
        n = self.occupied(b"something else" * 1000, workers=2)
        self.assertEqual(n.statuses("/a?k=x", 4), [200] * 4)
        self.assertEqual(n.statuses("/b?k=x", 2) + n.statuses("/c?k=x", 2), [429, 429, 503, 503])
        self.assertEqual(n.statuses("/req/a?k=x", 1) + n.statuses("/conn/a?k=x", 1) + n.statuses("/both/a?k=x", 2),
                         [503, 503, 200, 200])
        self.assertEqual(n.statuses("/b", 2), [200, 200])  # an empty key is not limited, so nothing is wrong
        said = [line.split()[2] for line in n.access(14)]
        self.assertEqual((said.count("UNDECIDED"), said.count("REJECTED")), (6, 6))

    def test_it_is_said_once(self):
        n = self.occupied(b"something else" * 1000, workers=4)
        end = time.monotonic() + 2  # each second each worker looks again, and is told of permission
        while time.monotonic() < end:
            n.get("/a?k=x")
        self.assertEqual(n.log_count("cannot be opened"), 1)
        self.assertIn(f'rl: segment "{n.segment}" cannot be opened: ', n.log())

    def test_it_recovers_without_a_restart(self):
        n = self.occupied(b"something else" * 1000, workers=2)
        self.assertEqual(n.statuses("/a?k=x", 4), [200] * 4)
        os.unlink(path(n.segment))
        eventually(lambda: n.get("/a?k=y").status == 429)
        self.assertEqual(sum(used(n.segment, "r", "y")), 2)
        eventually(lambda: n.log_count("is open now") == 1)
        self.assertEqual(n.statuses("/b?k=z", 3), [200, 200, 429])

    def test_a_truncated_segment(self):
        n = self.occupied(b"")
        self.assertEqual(n.statuses("/a?k=x", 3) + n.statuses("/b?k=x", 1), [200] * 3 + [429])

    def test_no_room(self):
        n = self.nginx(HTTP, start=False)
        n.declare = f"rl_segment {n.segment} keys=1500000000;"
        n.start()
        self.assertEqual(n.statuses("/a?k=x", 3) + n.statuses("/b?k=x", 1), [200] * 3 + [429])
        self.assertIn("cannot be opened", n.log())

    def test_another_owner(self):
        if os.geteuid() != 0:
            self.skipTest("not root")
        n = self.occupied(b"x")
        os.chown(path(n.segment), 65534, 65534)
        self.assertEqual(n.statuses("/b?k=x", 1), [429])

    def test_that_exists_alone(self):
        n = self.nginx(HTTP, start=False)
        n.declare = f"rl_segment {n.segment} existing;"
        n.start()
        self.assertEqual(n.statuses("/b?k=x", 2), [429, 429])
        other = self.nginx(HTTP, segment=n.segment)
        eventually(lambda: n.get("/b?k=x").status == 200)
        self.assertEqual(other.statuses("/a?k=x", 2), [200, 429])

    def test_a_full_table_is_decided_as_it_says(self):
        for on_full, after in (("deny", [429]), ("allow", [200])):
            n = self.nginx(HTTP, start=False)
            n.declare = f"rl_segment {n.segment} keys=1 on_full={on_full};"
            n.start()
            for i in range(400):
                n.get(f"/a?k=key{i}")
            self.assertGreater(counter(n.segment, "full_denied" if on_full == "deny" else "full_allowed"), 0)
            statuses = {n.get(f"/a?k=more{i}").status for i in range(50)}
            self.assertIn(after[0], statuses)
            self.assertEqual(n.log_count('rl: rule "r": '), 1)
            n.stop()

    def test_a_word_of_before_is_taken_with_a_warning(self):
        n = self.nginx(HTTP, start=False)
        n.declare = f"rl_segment {n.segment} keys=1 on_full=evict;"
        n.start()
        self.assertEqual(n.statuses("/a?k=x", 3), [200, 200, 429])
        self.assertIn('on_full: "evict" is gone, taken as "reserve"', n.read("stderr"))

    def test_one_rule_that_cannot_be_decided_does_not_switch_off_another(self):
        n = self.nginx("rl_rule r 1/h; rl_rule gone configured;" +
                       server("location / { rl_limit gone key=$arg_k; rl_limit r key=$arg_k; }"))
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 429])


class Replaced(Case):
    def test_removed_while_running(self):
        n = self.nginx(HTTP, workers=2)
        self.assertEqual(n.statuses("/a?k=x", 3), [200, 200, 429])
        rlctl(n.segment, "unlink", "--yes")
        eventually(lambda: n.get("/a?k=y") and os.path.exists(path(n.segment)))
        eventually(lambda: n.get("/a?k=x") and used(n.segment, "r", "x") == [2])
        self.assertEqual(n.statuses("/a?k=x", 8)[-1], 429)

    def both(self, n):
        """A connection to each of two workers."""
        found = {}

        def more():
            c = n.connect()
            self.addCleanup(c.close)
            found.setdefault(n.get("/pid", c)["X-Pid"], c)
            return len(found) == 2
        eventually(more)
        return list(found.values())

    def test_removed_and_seen_by_one_worker(self):
        """The other looks with its next request, though its second has been looked at: each tells the other."""
        n = self.nginx(HTTP.replace("location", "location = /pid { add_header X-Pid $pid always; return 204; } location", 1), workers=2)
        workers = self.both(n)
        for first, other in (workers, workers[::-1]):
            rlctl(n.segment, "unlink", "--yes")
            eventually(lambda c=first: n.get("/a?k=x", c) and os.path.exists(path(n.segment)))
            self.assertEqual([n.get("/a?k=y", c).status for c in (other, first, other)], [200, 200, 429])
            self.assertEqual(used(n.segment, "r", "y"), [2])

    def test_replaced_by_another_program(self):
        n = self.nginx(HTTP)
        n.statuses("/a?k=x", 3)
        rlctl(n.segment, "unlink", "--yes")
        other = self.nginx(HTTP, segment=n.segment)
        self.assertEqual(other.statuses("/a?k=y", 2), [200, 200])
        eventually(lambda: n.get("/a?k=y").status == 429 and used(n.segment, "r", "y") == [2])

    def test_replaced_by_what_cannot_be_opened(self):
        n = self.nginx(HTTP)
        n.statuses("/a?k=x", 3)
        rlctl(n.segment, "unlink", "--yes")
        with open(path(n.segment), "wb") as f:
            f.write(b"x")
        eventually(lambda: n.get("/a?k=x") and "workers count on in the old one" in n.log())
        self.assertEqual(n.statuses("/a?k=x", 2), [429] * 2)
        os.unlink(path(n.segment))
        eventually(lambda: n.get("/a?k=z") and os.path.exists(path(n.segment)))
        eventually(lambda: n.get("/a?k=z").status == 429 and used(n.segment, "r", "z") == [2])

    def test_held_units_are_given_back_to_the_segment_they_are_of(self):
        origin = self.backend()
        n = self.nginx("rl_rule d in_flight=1; rl_rule r 9/h;" +
                       server(f"location / {{ rl_limit d key=$arg_k; proxy_pass http://127.0.0.1:{origin.port}; }}"))
        pending = Pending(n, "/hold?k=x")
        origin.wait_held(1)
        rlctl(n.segment, "unlink", "--yes")
        eventually(lambda: n.get("/a?k=x").status == 200)
        origin.release()
        self.assertEqual(pending.wait().status, 200)
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 200])


class Configured(Case):
    HTTP = ("rl_rule r configured;" +
            server("location = /a { rl_limit r key=$arg_k; }", "location = /b { rl_limit r key=$arg_k; rl_on_error deny 500; }"))

    def test_from_nothing_to_a_rule_to_another_and_to_nothing(self):
        n = self.nginx(self.HTTP)  # one worker: another might find the rule a second later
        self.assertEqual(n.statuses("/a?k=x", 3) + n.statuses("/b?k=x", 1), [200] * 3 + [500])
        self.assertEqual(n.log_count('rl: rule "r" cannot be found'), 1)
        configure(n.segment, {"r": {"limit": "2/h"}}, n.root)
        eventually(lambda: n.get("/b?k=y").status == 429)
        self.assertEqual(used(n.segment, "r", "y"), [2])
        configure(n.segment, {"r": {"limit": "5/h"}}, n.root)
        self.assertEqual(n.statuses("/a?k=y", 4), [200] * 3 + [429])
        configure(n.segment, {"r": {"limit": "5/h", "overrides": {"bad": {"banned": True}}}}, n.root)
        self.assertEqual(n.get("/a?k=bad").status, 429)
        configure(n.segment, {}, n.root)
        self.assertEqual(n.statuses("/b?k=y", 2), [500, 500])
        self.assertEqual(n.get("/a?k=y").status, 200)
        configure(n.segment, {"r": {"limit": "1/h"}}, n.root)
        eventually(lambda: n.get("/b?k=z").status == 429)

    def test_a_rule_whose_row_was_another_s_meanwhile(self):
        n = self.nginx(self.HTTP, start=False)
        n.declare = f"rl_segment {n.segment} keys=1000 rules=2;"
        n.start()
        for rules, status in (("r", 429), ("p", 500), ("pq", 500), ("", 500), ("r", 429)):
            configure(n.segment, {rule: {"limit": "1/h"} for rule in rules}, n.root)
            eventually(lambda: n.get("/b?k=x").status == status, f"{status} with the rules {rules}")

    def test_what_is_configured_stands_above_what_nginx_says(self):
        n = self.nginx("rl_rule r 2/h; rl_limit_req_zone $arg_k zone=one:1m rate=1r/h; rl_limit_conn_zone $arg_k zone=c:1m;" +
                       server("location = /a { rl_limit r key=$arg_k; }",
                              "location = /b { rl_limit_req zone=one burst=1 nodelay; rl_limit_conn c 1; }"))
        configure(n.segment, {"r": {"limit": "4/h"},
                              "one": {"limit": "1/h", "algorithm": "leaky_bucket", "burst": 3, "undelayed": 3}}, n.root)
        self.assertEqual(n.statuses("/a?k=x", 5) + n.statuses("/b?k=x", 5), ([200] * 4 + [429]) + ([200] * 4 + [503]))
        n.reload()
        self.assertEqual(n.statuses("/a?k=x", 1) + n.statuses("/b?k=x", 1), [429, 503])

    def test_fields_follow(self):
        n = self.nginx("rl_rule r 2/h;" + server("location / { rl_limit r key=$arg_k; }"))
        self.assertEqual(n.get("/a?k=x")["RateLimit-Policy"], '"r";q=2;w=3600')
        configure(n.segment, {"r": {"limit": "9/d", "algorithm": "fixed_window"}}, n.root)
        self.assertEqual(n.get("/a?k=x")["RateLimit-Policy"], '"r";q=9;w=86400')

    def test_more_limits_than_are_decided_at_once(self):
        rules = {f"r{n}": {"limits": [{"limit": f"{h}/{h}h"} for h in range(1, 9)]} for n in range(5)}
        places = "".join(f"rl_limit {name} key=$arg_k;" for name in rules)
        n = self.nginx("".join(f"rl_rule {name} configured;" for name in rules) + "log_format reason $rl_reason;" +
                       server("access_log logs/reason reason;", f"location = /a {{ {places} }}", f"location = /b {{ {places} rl_on_error deny; }}"))
        configure(n.segment, rules, n.root)
        n.reload()
        self.assertEqual(n.statuses("/b?k=x", 1) + n.statuses("/a?k=x", 2), [429, 200, 429])
        self.assertEqual(n.log_count('rl: rule "r0": a request has more than 32 items, or limits of all of them'), 1)
        eventually(lambda: n.read("reason").split()[:1] == ["items"], "the reason")

    def test_another_kind_of_limit(self):
        n = self.nginx("rl_rule r 2/h;" + server("location / { rl_limit r key=$arg_k; rl_on_error deny; }"))
        configure(n.segment, {"r": {"algorithm": "in_flight", "capacity": 1}}, n.root)
        self.assertEqual(n.statuses("/a?k=x", 3), [200] * 3)
        eventually(lambda: used(n.segment, "r", "x") == [])


class Changes(Case):
    """What is in force is not what a place, or what this server's own rule, says."""

    HTTP = "rl_rule r configured;" + server("location = /a { rl_limit r key=$arg_k burst=2 nodelay; }",
                                            "location = /b { rl_limit r key=$arg_k burst=2 nodelay; rl_on_error deny; }")

    def test_a_place_asks_for_what_rl_json_does_not_have(self):
        n = self.nginx(self.HTTP, workers=2)
        configure(n.segment, {"r": {"limit": "1/h"}}, n.root)
        n.stop()
        n.start()
        words = "burst: 2; sliding_window has none"
        self.assertEqual(n.log_count(words), 2)  # of both places, before any request
        self.assertRegex(n.log(), r'\[error\].*rl: rule "r" is another in segment "\S+" than \S+nginx.conf:\d+ asks for: ')
        self.assertEqual(n.statuses("/a?k=x", 4) + n.statuses("/b?k=x", 1), [200] * 4 + [429])
        configure(n.segment, {"r": {"limit": "1/h", "algorithm": "leaky_bucket"}}, n.root)
        self.assertEqual(n.statuses("/a?k=y", 4), [200] * 3 + [429])
        configure(n.segment, {"r": {"limit": "1/h", "algorithm": "fixed_window"}}, n.root)
        eventually(lambda: n.get("/a?k=y") and n.log_count("asks for: burst: 2; fixed_window has none") == 2)

    def test_two_servers_define_a_rule_otherwise(self):
        text = "rl_rule same 9/h; rl_rule r %s/h;" + server("location = /a { rl_limit r key=$arg_k; rl_limit same; }")
        one = self.nginx(text.replace("%s", "100"), workers=2)
        one.get("/a?k=x")
        other = self.nginx(text.replace("%s", "50"), segment=one.segment)
        self.assertRegex(other.log(), r'\[warn\].*rl: rule "r" was defined otherwise in segment')
        eventually(lambda: one.get("/a?k=x") and one.log_count('rl: rule "r" is defined otherwise in segment') == 1)
        self.assertEqual((one.log_count('"same" '), other.log_count('"same" '), other.log_count("by another program than")),
                         (0, 0, 0))

    def test_a_reload_that_changes_a_rule_is_nobody_else_s(self):
        n = self.nginx(HTTP, workers=2)
        n.get("/a?k=x")
        n.http = HTTP.replace("2/h", "7/h")
        n.reload()
        self.assertEqual((n.log_count("was defined otherwise"), n.log_count("is defined otherwise")), (1, 0))


class Test(Case):
    def test_nginx_t_touches_no_segment(self):
        n = self.nginx(HTTP)
        n.get("/a?k=x")
        before = (rlctl(n.segment, "status", json_out=True), os.stat(path(n.segment)))
        n.http = HTTP.replace("2/h", "99/d").replace("rate=1r/h", "rate=7r/s") + "rl_rule new 1/h;"
        self.assertEqual(n.test()[0], 0)
        after = (rlctl(n.segment, "status", json_out=True), os.stat(path(n.segment)))
        self.assertEqual(before[0], after[0])
        self.assertEqual((before[1].st_ino, before[1].st_mtime_ns), (after[1].st_ino, after[1].st_mtime_ns))

    def test_nginx_t_creates_none(self):
        n = self.nginx(HTTP, start=False)
        self.assertEqual(n.test()[0], 0)
        self.assertFalse(os.path.exists(path(n.segment)))

    def test_a_bad_reload_leaves_all_as_it_is(self):
        n = self.nginx(HTTP)
        n.may_complain = True
        n.statuses("/a?k=x", 2)
        n.http = HTTP.replace("2/h", "50/h") + "rl_nonsense;"
        n.write()
        os.kill(n.pid(), 1)
        eventually(lambda: "rl_nonsense" in n.log())
        self.assertEqual(n.get("/a?k=x").status, 429)


class Upgrade(Case):
    """What the packages' postinst says after they are upgraded; it never fails."""

    def upgrade(self, http, *arguments, module="http"):
        n = self.nginx(http, start=False)
        n.write()
        with open(os.path.join(n.root, "nginx"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nexec " + " ".join(n.command('"$@"')) + "\n")
        os.chmod(f.name, 0o755)
        script = os.path.join(TOP, "debian", f"libnginx-mod-{module}-rl.postinst")
        done = subprocess.run(["sh", script, "configure", *arguments], capture_output=True, text=True, check=True,
                              env=dict(n.environment(), PATH=n.root + ":" + os.environ["PATH"]))
        return done.stdout + done.stderr

    def test_what_is_refused_is_told(self):
        bad = "rl_rule r 5/min;" + server("rl_limit r burst=5;")
        for module in ("http", "stream"):
            said = self.upgrade(bad, "0.1.0-1", module=module)
            self.assertIn("burst: 5; sliding_window has none", said)
            self.assertIn(f"libnginx-mod-{module}-rl: nginx refuses this configuration now", said)
        self.assertEqual(self.upgrade(HTTP, "0.1.0-1"), "")
        self.assertEqual(self.upgrade(bad), "")  # installed for the first time


class Segments(Case):
    def test_less_than_was_asked_for_is_said(self):
        n = self.nginx(HTTP)
        n.stop()
        n.declare = f"rl_segment {n.segment} keys=50000 rules=100;"
        n.start()
        self.assertIn("less than was asked for: keys: 1", n.log())
        self.assertEqual(n.get("/a?k=x").status, 200)

    def test_the_sizes_of_a_reserve(self):
        n = self.nginx(HTTP, start=False)
        n.declare = f"rl_segment {n.segment} keys=1000 cells=64 reserves=3 events=none;"
        n.start()
        made = rlctl(n.segment, "status", json_out=True)["segment"]
        self.assertEqual((made["cells"], made["reserves"], made["events"]), (64, 3, 0))

    def test_a_ring_that_is_too_small_for_limits_in_flight_is_said(self):
        for ring, times in ((3, 1), (4, 0)):
            n = self.nginx(HTTP.replace("2/h", "2/h granularity=1 hard=on"), start=False, workers=2)
            n.declare = f"rl_segment {n.segment} ring={ring};"
            n.start()
            self.assertEqual(n.log_count("limits in flight need 2 for each of 2 workers"), times)
            n.stop()

    def test_a_ring_that_another_has_made_is_told_where_a_rule_needs_more(self):
        buckets = "rl_limit_req_zone $arg_k zone=one:1m rate=1r/h;" + server("location = /a { rl_limit_req zone=one; }")
        n = self.nginx(buckets, start=False)
        n.declare = f"rl_segment {n.segment} ring=1;"
        n.start()
        n.stop()
        n.declare = f"rl_segment {n.segment};"
        n.start()
        self.assertNotIn("less than was asked for", n.log())
        n.stop()
        n.http = HTTP
        n.start()
        self.assertNotIn("less than was asked for", n.log())
        self.assertEqual(n.log_count('rule "r" cannot be defined'), 1)
        self.assertIn("'rlctl resize --ring N'; 'rlctl doctor' says N; until it can be", n.log())
        self.assertEqual(n.get("/b?k=x").status, 429)  # as rl_on_error says
        self.assertEqual(rlctl(n.segment, "status", json_out=True)["segment"]["ring_asked"], 60)
        rlctl(n.segment, "resize", "--ring", "60")
        eventually(lambda: n.get("/b?k=x").status == 200)

    def test_zones_say_how_many_keys(self):
        n = self.nginx("rl_limit_req_zone $arg_k zone=a:4m rate=1r/s; rl_limit_conn_zone $arg_k zone=b:4m;" + server(),
                       start=False)
        n.declare = f"rl_segment {n.segment} ring=1;"
        n.start()
        self.assertEqual(rlctl(n.segment, "status", json_out=True)["segment"]["keys"] // 100, 655)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_whose_it_is(self):
        for declare, group, mode in (("", "www-data", 0o660), ("mode=0600", "root", 0o600), ("group=daemon mode=0640", "daemon", 0o640)):
            n = self.nginx(HTTP, start=False)
            n.declare = f"rl_segment {n.segment} keys=100 {declare};"
            n.start()
            status = os.stat(path(n.segment))
            self.assertEqual((grp.getgrgid(status.st_gid).gr_name, status.st_mode & 0o777), (group, mode), declare)
            self.assertEqual(n.statuses("/a?k=x", 3), [200, 200, 429])
            n.stop()

    def test_without_a_name_it_is_the_prefix_own(self):
        n = self.nginx(HTTP, declare=False)
        names = [name for name in os.listdir(os.path.dirname(path("x"))) if name.startswith("rl.nginx-")]
        mine = [name[3:] for name in names if os.stat(os.path.join(os.path.dirname(path("x")), name)).st_mtime >= os.stat(n.root + "/nginx.conf").st_mtime]
        n.get("/a?k=unmistakable")
        found = [name for name in mine if used(name, "r", "unmistakable") == [1]]
        self.assertEqual(len(found), 1)
        unlink_segment(found[0])

    def test_nginx_starts_without_any_rule_and_makes_none(self):
        n = self.nginx(server())
        self.assertEqual(n.get("/a").status, 200)
        self.assertFalse(os.path.exists(path(n.segment)))

    def test_another_program_shares_it(self):
        n = self.nginx(HTTP)
        self.assertEqual(rlctl(n.segment, "check", "r", "x").returncode, 0)
        self.assertEqual(n.statuses("/a?k=x", 2), [200, 429])
        self.assertEqual(rlctl(n.segment, "check", "r", "x").returncode, 1)
        rlctl(n.segment, "reset", "x")
        self.assertEqual(n.get("/a?k=x").status, 200)

    def test_doctor_finds_nothing_wrong(self):
        n = self.nginx(HTTP)
        n.statuses("/a?k=x", 3)
        done = subprocess.run([os.path.join(BUILD, "rlctl"), "--segment", n.segment, "doctor"], capture_output=True,
                              text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)


if __name__ == "__main__":
    main()
