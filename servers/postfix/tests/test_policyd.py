#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rl-policyd by its protocol: what it answers, what it refuses, and who waits for whom."""
import gzip
import json
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import support as s

sys.path.insert(0, os.path.join(s.TOP, "tests", "support"))
import lent  # noqa: E402

HOURLY = {"messages": {"algorithm": "fixed_window", "limit": "3/30d"}}


class Policyd(unittest.TestCase):
    def serve(self, rules=None, **settings):
        self.segment = s.make_segment(rules or HOURLY)
        self.server = s.Server({"segment": self.segment, "checks": [{"rule": "messages"}], **settings})
        self.addCleanup(self.stop)
        return self.server

    def stop(self):
        self.assertEqual(self.server.end(), 0, s.log())

    def test_by_sasl_username(self):
        server = self.serve()
        self.assertEqual([server.ask(sasl_username="alice") for _ in range(3)], ["action=DUNNO"] * 3)
        self.assertRegex(server.ask(sasl_username="alice"),
                         r"^action=DEFER 4\.7\.1 Too much mail, try again in \d+ seconds$")
        self.assertEqual(server.ask(sasl_username="bob"), "action=DUNNO")
        self.assertEqual(server.ask(sasl_username=""), "action=DUNNO")
        self.assertEqual(server.ask(), "action=DUNNO")
        self.assertIn("3", s.rlctl("--segment", self.segment, "get", "messages", "alice"))
        s.rlctl("--segment", self.segment, "reset", "--yes", "alice")
        self.assertEqual(server.ask(sasl_username="alice"), "action=DUNNO")
        s.rlctl("--segment", self.segment, "ban", "bob", "--for", "1h")
        self.assertIn("action=DEFER", server.ask(sasl_username="bob"))
        s.rlctl("--segment", self.segment, "allow", "alice", "--for", "1h")
        self.assertEqual([server.ask(sasl_username="alice") for _ in range(9)], ["action=DUNNO"] * 9)

    def test_one_user_in_any_case(self):
        server = self.serve()
        answers = [server.ask(sasl_username=name) for name in ("Alice", "ALICE", "alice", "aLiCe")]
        self.assertEqual(answers[:3], ["action=DUNNO"] * 3)
        self.assertIn("DEFER", answers[3])

    def test_case_may_count(self):
        server = self.serve(checks=[{"rule": "messages", "lowercase": False}])
        for name in ("Alice", "alice"):
            self.assertEqual([server.ask(sasl_username=name)[:12] for _ in range(4)],
                             ["action=DUNNO"] * 3 + ["action=DEFER"])

    def test_actions_are_what_the_settings_say(self):
        server = self.serve(allow="PREPEND X-Checked: yes", checks=[
            {"rule": "messages", "cost": "recipient_count", "deny": "REJECT {rule}: {limit} a day, wait {seconds} s",
             "never": "DISCARD too many at once"}])
        self.assertEqual(server.ask(sasl_username="a", recipient_count="3"), "action=PREPEND X-Checked: yes")
        self.assertRegex(server.ask(sasl_username="a"), r"^action=REJECT messages: 3 a day, wait \d+ s$")
        self.assertEqual(server.ask(sasl_username="b", recipient_count="4"), "action=DISCARD too many at once")
        for cost in ("0", "", "none", "-5"):
            self.assertEqual(server.ask(sasl_username=f"c{cost}", recipient_count=cost), "action=PREPEND X-Checked: yes")
        self.assertEqual(server.ask(sasl_username="d", recipient_count="9" * 5000), "action=DISCARD too many at once")
        s.rlctl("--segment", self.segment, "ban", "e", "--until", "never")
        self.assertEqual(server.ask(sasl_username="e"), "action=DISCARD too many at once")

    def test_a_long_answer_is_cut(self):
        rule = "r" * 63
        for deny in ("{rule}" * 60, "{seconds}" + "{rule}" * 8, "x" * 399):
            with self.subTest(deny=deny[:12]):
                server = self.serve({rule: {"algorithm": "fixed_window", "limit": "1/30d"}},
                                    checks=[{"rule": rule, "deny": deny}])
                with server.connect() as client:
                    self.assertEqual(s.ask(client, sasl_username="a"), "action=DUNNO")
                    reply = s.ask(client, sasl_username="a")
                    self.assertRegex(reply, r"^action=[rx0-9]+$")
                    self.assertIn(len(reply), (len("action=") + 399, len("action=") + 503))
                    self.assertEqual(s.ask(client, sasl_username="b"), "action=DUNNO")
                self.stop()

    def test_several_attributes_are_one_key(self):
        server = self.serve(checks=[{"rule": "messages", "key": ["sasl_username", "sender", "client_address"]}])
        self.assertEqual([server.ask(sasl_username="a", sender="x|y", client_address="z")[:12] for _ in range(4)],
                         ["action=DUNNO"] * 3 + ["action=DEFER"])
        for sender, address in (("x", "y|z"), ("x\\|y", "z"), ("x\\", "y|z"), ("", "")):
            self.assertEqual(server.ask(sasl_username="a", sender=sender, client_address=address), "action=DUNNO")
        self.assertEqual(server.ask(sender="x|y", client_address="z"), "action=DUNNO")
        self.assertIn("a|x\\|y|z", s.rlctl("--segment", self.segment, "list", "--json").replace("\\\\", "\\"))

    def test_parts_of_attributes_are_keys(self):
        for key, same, others in (
                ("domain(sender)", ["a@Example.com", "b@example.COM", '"x@y"@example.com'], ["a@example.org", "a@sub.example.com"]),
                ("domain(recipient)", ["a@x.test"] * 3, ["a@y.test"]),
                ("localpart(sender)", ["root@a.test", "root@b.test", "root"], ["root+x@a.test"]),
                ("network(client_address)", ["192.0.2.1", "192.0.2.200", "::ffff:192.0.2.7"], ["192.0.3.1", "2001:db8::1"]),
                ("network(client_address)", ["2001:db8::1", "2001:db8:0:0:ffff::1", "2001:DB8::2"], ["2001:db8:0:1::1"]),
                ("client(client_address)", ["192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"], ["192.0.2.2", "2001:db8::1"]),
                ("client(client_address)", ["2001:db8::1", "2001:db8:0:0:ffff::1", "2001:DB8::2"], ["2001:db8:0:1::1"]),
                ("client(client_address, 56)", ["2001:db8::1", "2001:db8:0:ff::1", "2001:db8:0:7::"], ["2001:db8:0:100::1"]),
                ("network(client_address, 16, 48)", ["192.0.2.1", "192.0.9.1", "192.0.255.255"], ["192.1.0.0", "2001:db8::1"])):
            with self.subTest(key=key, same=same[0]):
                server = self.serve(checks=[{"rule": "messages", "key": key}])
                attribute = key.split("(")[1].split(",")[0].rstrip(")")
                self.assertEqual([server.ask(**{attribute: value}) for value in same], ["action=DUNNO"] * 3)
                for value in same:
                    self.assertIn("DEFER", server.ask(**{attribute: value}), value)
                for value in others:
                    self.assertEqual(server.ask(**{attribute: value}), "action=DUNNO", value)
                self.stop()
        self.serve()  # what is stopped at the end

    def test_a_thousand_addresses_of_a_network_are_one_client(self):
        server = self.serve({"messages": {"algorithm": "fixed_window", "limit": "20/30d"}},
                            checks=[{"rule": "messages", "key": "client(client_address)"}])
        said = [server.ask(client_address=f"2001:db8:0:7::{i:x}") for i in range(1000)]
        self.assertEqual(said.count("action=DUNNO"), 20)
        keys = json.loads(s.rlctl("--segment", self.segment, "list", "--json"))["keys"]
        self.assertEqual([(k["key"], k["used"]) for k in keys], [("2001:db8:0:7::", 20)])

    def test_what_has_no_such_part_is_not_limited(self):
        server = self.serve({"messages": {"algorithm": "fixed_window", "limit": "1/30d"}},
                            checks=[{"rule": "messages", "key": ["domain(sender)", "network(client_address)"]}])
        for sender in ("", "nobody", "nobody@"):
            self.assertEqual([server.ask(sender=sender, client_address="192.0.2.1") for _ in range(3)], ["action=DUNNO"] * 3)
        self.assertEqual(server.ask(sender="a@x.test", client_address="192.0.2.1"), "action=DUNNO")
        self.assertIn("x.test|192.0.2.0/24", s.rlctl("--segment", self.segment, "list", "--json"))
        self.assertIn("DEFER", server.ask(sender="b@x.test", client_address="192.0.2.9"))
        self.assertEqual(server.ask(sender="b@x.test", client_address="unknown"), "action=DUNNO")  # x.test, no network

    def test_a_check_applies_where_its_conditions_hold(self):
        names = s.write("names", "# partners\n\n  Partner.Example \n.customers.example\r\n")
        networks = s.write("networks", "192.0.2.0/24\n2001:db8::/32\n203.0.113.7\n")
        one = {"messages": {"algorithm": "fixed_window", "limit": "1/30d"}}
        for conditions, applies, does_not in (
                ({"if": {"sasl_username": "Alice"}}, [{"sasl_username": "aLICE"}], [{"sasl_username": "bob"}, {"sasl_username": "alice2"}]),
                ({"if": {"sasl_username": ""}}, [{}, {"sasl_username": ""}], [{"sasl_username": "bob"}]),
                ({"unless": {"domain(recipient)": ["a.test", f"file:{names}"]}},
                 [{"recipient": "x@b.test"}, {"recipient": "x@customers.example"}, {"recipient": ""}],
                 [{"recipient": "x@A.test"}, {"recipient": "x@partner.example"}, {"recipient": "x@eu.Customers.Example"}]),
                ({"if": {"client_address": f"file:{networks}"}},
                 [{"client_address": a} for a in ("192.0.2.9", "::ffff:192.0.2.8", "2001:db8:9::1", "203.0.113.7")],
                 [{"client_address": a} for a in ("192.0.3.1", "2001:db9::1", "203.0.113.8", "", "unknown")]),
                ({"if": {"client_address": "192.0.2.0/24", "domain(sender)": "x.test"}, "unless": {"localpart(sender)": ["root", "postmaster"]}},
                 [{"client_address": "192.0.2.1", "sender": "a@x.test"}],
                 [{"client_address": "192.0.2.1", "sender": "a@y.test"}, {"client_address": "192.0.1.1", "sender": "a@x.test"},
                  {"client_address": "192.0.2.1", "sender": "Root@x.test"}])):
            with self.subTest(conditions=conditions):
                server = self.serve(one, checks=[{"rule": "messages", "key": "instance", **conditions}])
                for n, attributes in enumerate(applies):
                    self.assertEqual([server.ask(instance=f"i{n}", **attributes)[:12] for _ in range(2)],
                                     ["action=DUNNO", "action=DEFER"], attributes)
                for n, attributes in enumerate(does_not):
                    self.assertEqual([server.ask(instance=f"i{n}", **attributes) for _ in range(3)],
                                     ["action=DUNNO"] * 3, attributes)
                self.stop()
        self.serve()

    def test_a_long_list(self):
        names = s.write("names", "".join(f"u{i:06}\n" for i in range(100000, 0, -1)))
        networks = s.write("networks", "".join(f"10.{i // 256}.{i % 256}.0/24\n" for i in range(5000)))
        server = self.serve({"messages": {"algorithm": "fixed_window", "limit": "1/30d"}}, checks=[
            {"rule": "messages", "key": "instance", "if": {"sasl_username": f"file:{names}"}, "unless": {"client_address": f"file:{networks}"}}])
        for n, (user, address, answers) in enumerate((("u000001", "192.0.2.1", "DEFER"), ("u100000", "", "DEFER"), ("u100001", "", "DUNNO"),
                                                      ("u000000", "", "DUNNO"), ("u050000", "10.19.135.9", "DUNNO"),
                                                      ("u050000", "10.19.136.9", "DEFER"))):
            got = [server.ask(sasl_username=user, client_address=address, instance=str(n)) for _ in range(2)]
            self.assertIn(answers, got[1], (user, address))
        s.write("names", "u100001\n")
        server.process.send_signal(signal.SIGHUP)
        s.eventually(lambda: "read again" in s.log(), "the list is read again")
        self.assertEqual([server.ask(sasl_username="u100001", instance="new")[:12] for _ in range(2)], ["action=DUNNO", "action=DEFER"])
        self.assertEqual([server.ask(sasl_username="u000001", instance="new") for _ in range(2)], ["action=DUNNO"] * 2)
        s.write("names", "x\n")
        s.write("networks", "10.0.0.0/8\n10.0.0.0/33\n")
        server.process.send_signal(signal.SIGHUP)
        s.eventually(lambda: "line 2, '10.0.0.0/33', is no address and no network; the settings stay" in s.log(), "a bad list changes nothing")
        self.assertEqual([server.ask(sasl_username="u100001", instance="newer")[:12] for _ in range(2)], ["action=DUNNO", "action=DEFER"])

    def test_who_is_exempt_is_not_asked_about(self):
        server = self.serve({"messages": {"algorithm": "fixed_window", "limit": "1/30d"}}, allow="OK",
                            exempt={"sasl_username": ["newsletter"], "client_address": ["127.0.0.0/8", "::1"]})
        for attributes in ({"sasl_username": "Newsletter"}, {"sasl_username": "a", "client_address": "127.0.0.9"},
                           {"sasl_username": "a", "client_address": "::1"}):
            self.assertEqual([server.ask(**attributes) for _ in range(3)], ["action=OK"] * 3, attributes)
        self.assertEqual([server.ask(sasl_username="a", client_address="192.0.2.1")[:12] for _ in range(2)], ["action=OK", "action=DEFER"])

    def test_actions_of_each_rule(self):
        server = self.serve({"a": {"algorithm": "fixed_window", "limit": "2/30d"}, "b": {"algorithm": "fixed_window", "limit": "3/30d"}},
                            allow="OK", checks=[
                                {"rule": "a", "key": "sender", "deny": "HOLD {rule}: {remaining} of {limit} are left"},
                                {"rule": "b", "key": "recipient", "deny": "DEFER wait {seconds} s",
                                 "allow": "PREPEND X-Remaining: {remaining} of {limit} by {rule}"}])
        self.assertEqual(server.ask(sender="x"), "action=OK")
        self.assertEqual(server.ask(sender="x", recipient="y"), "action=PREPEND X-Remaining: 2 of 3 by b")
        self.assertEqual(server.ask(sender="x", recipient="y"), "action=HOLD a: 0 of 2 are left")
        self.assertEqual([server.ask(recipient="y")[:14] for _ in range(3)], ["action=PREPEND"] * 2 + ["action=DEFER w"])

    def test_a_report_of_who_was_limited(self):
        now = int(time.time())

        def line(ago, text):
            return time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime(now - ago)) + text + "\n"

        def event(ago, key, rule="messages", kind="denied", segment="mail"):
            return line(ago, f"rl[{segment}] {kind}: rule {rule} limit 1 one in 1 retry 900 ms key {key}")

        events = s.write("events", "torn li" + event(300, "alice") + event(240, "alice") + event(200, "bob", kind="banned") +
                         event(100, "other", rule="pages") + event(100, "other", segment="web") + event(90000, "old") +
                         line(50, "rl[mail] reset: rule messages limit 1 one in 1 retry 0 ms by uid 0 key carol") +
                         event(60, "dave", rule="recipients") + "no event\n")
        with gzip.open(f"{events}.1.gz", "wt") as file:
            file.write(event(7200, "alice") + event(7300, "\\x1b[31mred") + event(200000, "older"))
        settings = {"segment": "mail", "checks": [{"rule": "messages"}, {"rule": "recipients"}], "report": {"events": events}}

        def report(*arguments, **more):
            path = s.write("report.json", {**settings, "report": {"events": events, **more}})
            return subprocess.run([s.POLICYD, "--config", path, "--report", *arguments], capture_output=True, text=True,
                                  env=s.environment(), timeout=s.PATIENCE, check=False)

        done = report()
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [(row[0], row[1], row[-1] if row[-1] != "(banned)" else row[-2]) for row in (text.split() for text in done.stdout.splitlines()[3:])]
        self.assertEqual(rows, [("messages", "2", "alice"), ("messages", "1", "\\x1b[31mred"), ("messages", "1", "bob"), ("recipients", "1", "dave")])
        self.assertIn("bob (banned)", done.stdout)
        self.assertRegex(done.stdout, r"^Limited from .* to .*: 4\n")
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80)
        self.assertEqual(len(report("--since", "1").stdout.splitlines()), 6)
        self.assertEqual(len(report("--since", "48").stdout.splitlines()), 8)  # and old

        mail = os.path.join(s.work, "mail")
        self.assertEqual(report(command=["sh", "-c", f"cat >{mail}"]).stdout, "")
        with open(mail, encoding="utf-8") as file:
            self.assertEqual(file.read(), done.stdout)
        done = report(command=["sh", "-c", "exit 3"])
        self.assertEqual((done.returncode, "it has failed, status 3" in done.stderr), (1, True))
        done = report(command=["/nowhere/mail"])
        self.assertEqual((done.returncode, "/nowhere/mail: No such file" in done.stderr), (1, True))
        s.write("events", "")
        os.unlink(f"{events}.1.gz")
        os.unlink(mail)
        self.assertEqual(report(command=["sh", "-c", f"cat >{mail}"]).returncode, 0)
        self.assertFalse(os.path.exists(mail))  # nobody is mailed about nothing
        os.unlink(events)
        done = report()
        self.assertEqual((done.returncode, f"{events}: it cannot be read" in done.stderr), (1, True))

    def test_states_and_several_rules_all_or_nothing(self):
        server = self.serve({**HOURLY, "address": {"window": "1d", "algorithm": "fixed_window", "prefixes": [
            {"v4": 24, "v6": 64, "capacity": 5}]}}, checks=[
                {"rule": "messages", "state": "DATA"},
                {"rule": "address", "key": "client_address", "state": ["DATA", "RCPT"], "deny": "REJECT network"}])
        data = {"protocol_state": "DATA", "client_address": "192.0.2.1"}
        self.assertEqual([server.ask(sasl_username="a", **data) for _ in range(3)], ["action=DUNNO"] * 3)
        self.assertIn("DEFER", server.ask(sasl_username="a", **data))  # and the network is not charged
        self.assertEqual([server.ask(client_address=f"192.0.2.{i}") for i in (2, 3, 4)],
                         ["action=DUNNO"] * 2 + ["action=REJECT network"])
        self.assertEqual(server.ask(sasl_username="a", protocol_state="EHLO"), "action=DUNNO")

    def test_a_bucket_lets_postfix_wait(self):
        server = self.serve({"messages": {"algorithm": "leaky_bucket", "limit": "1/min", "burst": 1}})
        self.assertRegex(" ".join(server.ask(sasl_username="a") for _ in range(3)),
                         r"^action=DUNNO action=sleep ([1-5]?\d|60) action=DEFER 4\.")

    def test_the_segment_may_come_later_and_be_made_anew(self):
        name = f"postfix-later-{os.getpid()}"
        self.server = s.Server({"segment": name, "checks": [{"rule": "messages"}], "error": "DEFER_IF_PERMIT later"})
        self.addCleanup(self.stop)
        self.assertEqual(self.server.ask(sasl_username="a"), "action=DEFER_IF_PERMIT later")
        self.assertIn(f"segment {name}: ", s.log())
        s.make_segment({"other": {"limit": "1/day"}}, segment=name)
        s.eventually(lambda: self.server.ask(sasl_username="a") == "action=DEFER_IF_PERMIT later" and
                     "rule messages: there is none of this name" in s.log(), "the rule is missed")
        for _ in range(2):
            s.remove(name)
            s.make_segment(HOURLY, segment=name)
            s.eventually(lambda: self.server.ask(sasl_username="a") == "action=DUNNO", "it is found")
            s.eventually(lambda: "DEFER 4.7.1" in self.server.ask(sasl_username="a"), "it is used up")

    def test_exactly_so_many_over_many_connections_and_processes(self):
        server = self.serve({"messages": {"algorithm": "fixed_window", "limit": "100/30d"}})

        def client(_):
            with server.connect() as connection:
                return [s.ask(connection, sasl_username="a") for _ in range(20)]

        def spawned(_):
            ours, theirs = socket.socketpair()
            process = subprocess.Popen([s.POLICYD, "--config", server.config, "--stdin"], stdin=theirs,
                                       stdout=theirs, env=s.environment())
            theirs.close()
            with ours:
                ours.settimeout(s.PATIENCE)
                answers = [s.ask(ours, sasl_username="a") for _ in range(20)]
            self.assertEqual(process.wait(s.PATIENCE), 0)
            return answers

        with ThreadPoolExecutor(20) as pool:
            all_of_them = list(pool.map(client, range(10))) + list(pool.map(spawned, range(10)))
        self.assertEqual(sum(answers.count("action=DUNNO") for answers in all_of_them), 100)

    def test_killed_and_started_again(self):
        server = self.serve()
        self.assertEqual([server.ask(sasl_username="a") for _ in range(2)], ["action=DUNNO"] * 2)
        s.end(server.process, signal.SIGKILL)
        self.server = s.Server({"segment": self.segment, "checks": [{"rule": "messages"}]})
        self.assertEqual([self.server.ask(sasl_username="a")[:12] for _ in range(2)], ["action=DUNNO", "action=DEFER"])

    def test_requests_in_pieces_and_many_at_once(self):
        server = self.serve()
        with server.connect() as client:
            for byte in s.request(sasl_username="a"):
                client.sendall(bytes([byte]))
            self.assertEqual(s.read_reply(client), "action=DUNNO")
            client.sendall(s.request() * 200 + s.request(sasl_username="a"))
            client.sendall(s.request(sasl_username="a") * 2)
            replies = b""
            while replies.count(b"\n\n") < 203:
                replies += client.recv(65536)
            self.assertEqual(replies.count(b"DUNNO"), 202)
            self.assertTrue(replies.endswith(b"seconds\n\n"))

    def test_what_is_no_request_is_cut_off(self):
        server = self.serve()
        for bad in (b"\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\n\n", b"request=other\n\n", b"=x\n\n",
                    b"request=smtpd_access_policy\nsasl_username=a\0b\n\n", b"request=smtpd_access_policy\nnonsense\n\n",
                    b"x" * 40000, b"a=b\n" * 10000, b"request=smtpd_access_policy\nx=" + b"y" * 20000):
            with server.connect() as client:
                try:
                    client.sendall(bad)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                self.assertTrue(s.is_cut_off(client), bad[:40])
        self.told(b"request=smtpd_access_policy\na=\0\n\n", "a request is refused: it has a NUL byte")
        self.told(b"x" * 20000, "a request has more than 16384 bytes")
        self.assertEqual(server.ask(sasl_username="a"), "action=DUNNO")

    def told(self, bad, text):
        """One line a second tells of such clients, so one that says this comes."""
        def is_told():
            with self.server.connect() as client:
                try:
                    client.sendall(bad)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                s.is_cut_off(client)
            return text in s.log()
        s.eventually(is_told, text)

    def test_hostile_values_are_keys_like_others(self):
        server = self.serve()
        for name in ("a" * 10000, "\x1b[31m", "é|\\", "%s%n", "{seconds}", " ", "*"):
            self.assertEqual([server.ask(sasl_username=name)[:12] for _ in range(4)],
                             ["action=DUNNO"] * 3 + ["action=DEFER"], name[:20])
        self.assertEqual(server.ask(sasl_username="a" * 9999 + "b"), "action=DUNNO")

    def test_slow_clients_hold_up_nobody(self):
        server = self.serve()
        for attempt in range(5):  # a machine that stands still meanwhile tells nothing
            slow = [server.connect() for _ in range(100)]
            for client in slow:
                client.sendall(b"request=smtpd_access_policy\nsasl_user")
            before = time.monotonic()
            self.assertEqual(server.ask(sasl_username=f"a{attempt}"), "action=DUNNO")
            took = time.monotonic() - before
            for client in slow:  # in ten seconds
                self.assertTrue(s.is_cut_off(client))
                client.close()
            if took < 5:
                return
        self.fail("they hold up others each time")

    def test_who_takes_no_replies_is_not_served_on(self):
        server = self.serve()
        with server.connect() as client:
            client.settimeout(0.5)
            one, sent = s.request(sasl_username="x"), 0
            try:
                while sent < 50_000_000:
                    sent += client.send(one * 100)
            except socket.timeout:
                pass
            self.assertLess(sent, 20_000_000)
            self.assertEqual(server.ask(sasl_username="a"), "action=DUNNO")
            client.settimeout(s.PATIENCE)  # and none is lost for who takes them at last
            replies = 0
            while replies < sent // len(one):
                replies += client.recv(65536).count(b"\n\n")
            self.assertEqual(replies, sent // len(one))

    def test_more_clients_than_places(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
        server = self.serve()
        idle = [server.connect() for _ in range(700)]
        self.assertEqual(server.ask(sasl_username="a"), "action=DUNNO")
        s.eventually(lambda: "places for clients are taken" in s.log(), "it is told")
        status = os.path.join("/proc", str(server.process.pid), "status")
        with open(status, encoding="ascii") as file:
            memory = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
        if "asan" not in s.POLICYD:
            self.assertLess(memory, 64 * 1024)
        for client in idle:
            client.close()

    def test_few_descriptors(self):
        server = self.serve()
        s.end(server.process)
        self.server = s.Server({"segment": self.segment, "checks": [{"rule": "messages"}]}, preexec_fn=lambda:
                               resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
        clients = [self.server.connect() for _ in range(40)]
        self.assertIsNone(self.server.process.poll())
        for client in clients:
            client.close()
        s.eventually(lambda: self.server.ask(sasl_username="a") == "action=DUNNO", "there is room again")

    def test_reload(self):
        server = self.serve()
        with server.connect() as client:
            self.assertEqual(s.ask(client, sasl_username="a"), "action=DUNNO")
            s.write("policyd.json", {"segment": self.segment, "checks": [{"rule": "messages"}], "allow": "OK"})
            server.process.send_signal(signal.SIGHUP)
            s.eventually(lambda: "read again" in s.log(), "the settings are read")
            self.assertEqual(s.ask(client, sasl_username="a"), "action=OK")
            s.write("policyd.json", "{nonsense")
            server.process.send_signal(signal.SIGHUP)
            s.eventually(lambda: "the settings stay" in s.log(), "the bad settings are refused")
            self.assertEqual(s.ask(client, sasl_username="a"), "action=OK")

    def test_inet_and_activation(self):
        with socket.socket() as given:
            given.bind(("127.0.0.1", 0))
            given.listen()
            port = given.getsockname()[1]
            segment = s.make_segment(HOURLY)
            config = s.write("activated.json", {"segment": segment, "checks": [{"rule": "messages"}]})
            # What systemd does: the socket at descriptor 3, and whose it is.
            process = s.start(["sh", "-c", f'exec 3<&{given.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', "sh",
                               s.POLICYD, "--config", config], pass_fds=[given.fileno()])
        with socket.create_connection(("127.0.0.1", port), timeout=s.PATIENCE) as client:
            self.assertEqual(s.ask(client, sasl_username="a"), "action=DUNNO")
        self.assertEqual(s.end(process), 0)

    def test_own_inet(self):
        with socket.socket() as ours:  # as long as it does not listen, both may have the port, and nobody else
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ours.bind(("127.0.0.1", 0))
            port = ours.getsockname()[1]
            server = self.serve(listen=[f"inet:127.0.0.1:{port}", f"unix:{s.work}/socket"], mode="0600")
            self.assertEqual(os.stat(server.path).st_mode & 0o777, 0o600)
            with socket.create_connection(("127.0.0.1", port), timeout=s.PATIENCE) as client:
                self.assertEqual(s.ask(client, sasl_username="a"), "action=DUNNO")

    def test_settings_that_are_refused(self):
        check = {"rule": "messages"}
        for settings, text in (
                ({}, '"checks" is missing'), ({"checks": []}, "/checks: a list"), ({"checks": [{}]}, '"rule" is missing'),
                ({"checks": [check], "colour": 1}, "/colour: there is no such field"),
                ({"checks": [{**check, "colour": 1}]}, "/checks/0/colour: there is no such field"),
                ({"checks": [{**check, "key": []}]}, "/checks/0/key"),
                ({"checks": [{**check, "key": "a b"}]}, "'a b'"),
                ({"checks": [{**check, "key": "sasl_usernmae"}]},
                 "/checks/0/key: Postfix has no 'sasl_usernmae'; is 'sasl_username' meant?"),
                ({"checks": [check, {**check, "key": ["sender", "client_adress"]}]}, "/checks/1/key: Postfix has no 'client_adress'"),
                ({"checks": [{**check, "cost": "recipients_count"}]}, "/checks/0/cost: Postfix has no 'recipients_count'; is 'recipient_count'"),
                ({"checks": [{**check, "state": ["RCPT", "DATAA"]}]}, "/checks/0/state: Postfix has no 'DATAA'; is 'DATA' meant?"),
                ({"checks": [{**check, "state": "data"}]}, "/checks/0/state: Postfix has no 'data'"),
                ({"checks": [{**check, "key": ""}]}, "/checks/0/key: Postfix has no ''"),
                ({"checks": [{**check, "key": "domain(sendr)"}]}, "/checks/0/key: Postfix has no 'sendr'; is 'sender' meant?"),
                ({"checks": [{**check, "key": "domian(sender)"}]}, "'domian(sender)': domain(ATTRIBUTE), localpart("),
                ({"checks": [{**check, "key": "domain(sender"}]}, "'domain(sender': one attribute, and ')' at the end"),
                ({"checks": [{**check, "key": "network(sender)"}]}, "client_address and server_address have networks"),
                ({"checks": [{**check, "key": "network(client_address, 33, 64)"}]}, "network(ATTRIBUTE, BITS, BITS)"),
                ({"checks": [{**check, "key": "network(client_address, 24)"}]}, "network(ATTRIBUTE, BITS, BITS)"),
                ({"checks": [{**check, "key": "client(sender)"}]}, "client_address and server_address have networks"),
                ({"checks": [{**check, "key": "client(client_address, 24, 64)"}]}, "client(ATTRIBUTE, BITS)"),
                ({"checks": [{**check, "key": "client(client_address, 129)"}]}, "client(ATTRIBUTE, BITS)"),
                ({"checks": [{**check, "if": {}}]}, "/checks/0/if: an object of 1 to 8"),
                ({"checks": [{**check, "if": "x"}]}, "/checks/0/if: an object of 1 to 8"),
                ({"checks": [{**check, "if": {"sendr": "x"}}]}, "/checks/0/if: Postfix has no 'sendr'"),
                ({"checks": [{**check, "unless": {"sender": 1}}]}, "/checks/0/unless/sender: a text, or a list"),
                ({"checks": [{**check, "unless": {"sender": "file:/nowhere"}}]}, "/checks/0/unless/sender: 'file:/nowhere' it cannot be read"),
                ({"checks": [{**check, "if": {"client_address": ["10.0.0.0/8", "10.0.0"]}}]}, "'10.0.0' is no address and no network"),
                ({"checks": [check], "exempt": {"client_address": "10.0.0.0/x"}}, "/exempt/client_address: '10.0.0.0/x' is no address"),
                ({"checks": [check], "report": {}}, '/report: an object with "events"'),
                ({"checks": [check], "report": {"events": "/e", "mail": "x"}}, "/report/mail: there is no such field"),
                ({"checks": [{**check, "deny": "REJECT a\nb"}]}, "/checks/0/deny: control characters"),
                ({"checks": [{**check, "deny": "REJECT {user}"}]}, "{user}"),
                ({"checks": [{**check, "deny": ""}]}, "/checks/0/deny: it is empty"),
                ({"checks": [{**check, "deny": "x" * 500}]}, "at most 399 bytes"),
                ({"checks": [{**check, "lowercase": "no"}]}, "/checks/0/lowercase: true or false"),
                ({"checks": [check] * 17}, "1 to 16"), ({"checks": [check], "segment": "a/b"}, "'a/b'"),
                ({"checks": [check], "mode": "rw"}, "/mode"), ({"checks": [check], "listen": []}, "/listen"),
                ("{", "1:1"), ('{"checks": 1, "checks": 2}', "duplicate"), ("[]", "an object is expected")):
            path = s.write("bad.json", settings)
            done = subprocess.run([s.POLICYD, "--check", "--config", path], capture_output=True, text=True,
                                  env=s.environment(), timeout=s.PATIENCE, check=False)
            self.assertEqual(done.returncode, 1, settings)
            self.assertIn(text, done.stderr)

    def test_a_check_that_never_applies_is_told_once(self):
        server = self.serve(checks=[{"rule": "messages"}, {"rule": "messages", "key": "sasl_sender"},
                                    {"rule": "messages", "key": "sender", "state": "DATA"}])
        with server.connect() as client:
            for i in range(999):
                s.ask(client, sasl_username=f"u{i}", sender="x")
            self.assertNotIn("has applied to none", s.log())
            for _ in range(3):
                s.ask(client, sasl_username="u")
        told = [line for line in s.log().splitlines() if "has applied to none of 1000 requests" in line]
        self.assertEqual([line.split("/checks/")[1][0] for line in told], ["1", "2"])

    def test_command_lines(self):
        good = s.write("good.json", {"checks": [{"rule": "messages"}]})
        for arguments, status, text in ((["--check", "--config", good], 0, ""), (["--help"], 0, "usage"),
                                        (["--version"], 0, "rl-policyd 0"), (["--colour"], 2, "usage"),
                                        (["--check", "extra"], 2, "extra"), (["--config", "/nowhere"], 1, "/nowhere"),
                                        (["--config", "/dev/zero", "--check"], 1, "is no file"),
                                        (["--config", good], 1, "nothing to listen at"),
                                        (["--report", "--config", good], 1, 'no "report" with "events"'),
                                        (["--since", "0"], 2, "1 to 9999"), (["--since", "1h"], 2, "1 to 9999"),
                                        (["--config", good, "--stdin"], 1, "no connection")):
            done = subprocess.run([s.POLICYD, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                  env=s.environment(), timeout=s.PATIENCE, check=False)
            self.assertEqual(done.returncode, status, arguments)
            self.assertIn(text, done.stdout + done.stderr)


@unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server")
class Shares(unittest.TestCase):
    """A share of a cluster's limit is waited for, beside a real store and rld, while others are answered."""

    def setUp(self):
        self.host = lent.Host(f"postfix-lent-{os.getpid()}")
        self.addCleanup(self.host.close)
        checks = [{"rule": "five", "key": "sender"}, {"rule": "none", "key": "recipient"}]
        self.server = s.Server({"segment": self.host.name, "checks": checks})
        self.addCleanup(self.server.end)

    def five(self, sender, count):
        return [self.server.ask(sender=sender) == "action=DUNNO" for _ in range(count)]

    def test_five_of_five(self):
        lent.in_time(lambda key: self.assertEqual(self.five(key, 7), [True] * 5 + [False] * 2))

    def test_nobody_waits_where_the_limit_says_so(self):
        self.assertIn("DEFER", self.server.ask(recipient="b@example.org"))

    def test_others_are_answered_and_who_goes_is_not_charged(self):
        def is_answered(key):
            self.host.stop()
            try:
                began = time.monotonic()
                with self.server.connect() as waits, self.server.connect() as gone:
                    gone.sendall(s.request(sender=key))
                    waits.sendall(s.request(sender=f"c-{key}"))
                    self.assertEqual(self.server.ask(), "action=DUNNO")
                    self.assertEqual(select.select([waits, gone], [], [], 0)[0], [], "others are answered after the wait")
                    gone.close()
                    self.assertIn("DEFER", s.read_reply(waits))
                self.assertGreater(time.monotonic() - began, 0.9)
            finally:
                self.host.go_on()
            self.assertEqual(self.five(key, 6), [True] * 5 + [False])
        lent.in_time(is_answered)


if __name__ == "__main__":
    unittest.main()
