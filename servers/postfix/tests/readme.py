#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What README.md shows is so: its files are good, its commands do what they say."""
import json
import os
import re
import subprocess
import unittest

import support as s

with open(os.path.join(s.TOP, "servers/postfix/README.md"), encoding="utf-8") as file:
    TEXT = file.read()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


class Readme(unittest.TestCase):
    def setUp(self):
        rules, settings, self.domains = (json.loads(text) for text in blocks("json"))
        rules["rules"]["one-report"] = json.loads("{%s}" % re.search(r'`("one-report": \{.*?\})`', TEXT).group(1))["one-report"]
        self.segment = s.make_segment(rules["rules"])
        self.server = s.Server({**settings, "segment": self.segment})
        self.addCleanup(lambda: self.server.end())

    def test_limits(self):
        data = {"protocol_state": "DATA", "recipient_count": "1"}
        with self.server.connect() as client:
            answers = [s.ask(client, sasl_username="alice", **data) for _ in range(105)]
            self.assertEqual(answers[:100], ["action=DUNNO"] * 100)
            for answer in answers[100:]:
                self.assertRegex(answer, r"^action=DEFER 4\.7\.1 Too many messages, try again in \d+ seconds$")
            self.assertEqual([s.ask(client, sasl_username="newsletter", **data) for _ in range(150)],
                             ["action=DUNNO"] * 150)
            self.assertEqual(s.ask(client, sasl_username="bob", protocol_state="DATA", recipient_count="501"),
                             "action=REJECT 5.7.1 More than is allowed at all")

    def test_domains(self):
        partners = s.write("partners", "# they send much\npartner.test\n")
        domains = json.loads(json.dumps(self.domains).replace("/etc/rl/partners", partners))
        self.server.end()
        self.server = s.Server({**domains, "segment": self.segment})
        with self.server.connect() as client:
            def send(domain, **more):
                return s.ask(client, sasl_username="alice", recipient=f"a@{domain}", client_address="192.0.2.1", **more)
            self.assertEqual([send("x.test") for _ in range(102)],
                             [f"action=PREPEND X-Remaining: {99 - i}" for i in range(100)] + ["action=HOLD more than 100 to one domain"] * 2)
            for domain in ("partner.test", "eu.partner.example"):
                self.assertEqual({send(domain) for _ in range(102)}, {"action=DUNNO"})
            self.assertEqual({s.ask(client, sasl_username="alice", recipient="a@x.test", client_address="127.0.0.1")}, {"action=DUNNO"})

    def test_report(self):
        name = re.search(r"`\"report\": (\{.*?\})`", TEXT).group(1)
        config = s.write("report.json", {"checks": [{"rule": "messages"}], "report": json.loads(name)})
        subprocess.run([s.POLICYD, "--check", "--config", config], check=True, env=s.environment(), timeout=s.PATIENCE)

    def test_commands(self):
        first, second = (text.replace("--segment mail", f"--segment {self.segment}") for text in blocks("sh"))
        path = f"{os.path.dirname(s.RLCTL)}:{os.environ['PATH']}"
        for command, text in ((first, "it may be sent\n"), (second, "the report\n")):
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=s.PATIENCE, check=True,
                                  env={**s.environment(), "PATH": path, "USER": "carol"})
            self.assertTrue(done.stdout.endswith(text), done)

    def test_shipped_files(self):
        for name in ("policyd.json",):
            subprocess.run([s.POLICYD, "--check", "--config", os.path.join(s.TOP, "servers/postfix", name)], check=True,
                           env=s.environment(), timeout=s.PATIENCE)

    def test_every_field_is_there(self):
        with open(os.path.join(s.TOP, "servers/postfix/src/settings.c"), encoding="utf-8") as file:
            fields = re.findall(r'strcmp\(name, "(\w+)"\)', file.read())
        self.assertGreater(len(fields), 10)
        with open(os.path.join(s.TOP, "servers/postfix/rl-policyd.8"), encoding="utf-8") as file:
            manual = file.read()
        for field in fields:
            self.assertIn(f"`{field}`", TEXT)
            self.assertRegex(manual, r"\.It Cm .*\b%s\b" % field)

    def test_files_are_there(self):
        for path in re.findall(r"`(tests/[\w./]+)`", TEXT):
            self.assertTrue(os.path.exists(os.path.join(s.TOP, "servers/postfix", path)), path)

    def test_main_cf(self):
        line = blocks("postfix")[0]
        with open(os.path.join(s.TOP, "servers/postfix/rl-policyd.socket"), encoding="utf-8") as file:
            self.assertIn("ListenStream=/var/spool/postfix/" + line.split("unix:")[1].strip(), file.read())


if __name__ == "__main__":
    unittest.main()
