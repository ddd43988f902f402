#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A Postfix of our own, with its own directories, that asks rl-policyd: mail is sent and refused by user."""
import contextlib
import os
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import support as s

if not shutil.which("postfix") or os.geteuid() != 0:
    print("there is no postfix here, or it may not be started: that takes root")
    sys.exit(77)

MAIN = """
compatibility_level = 3.6
queue_directory = {work}/queue
data_directory = {work}/data
maillog_file = {work}/maillog
maillog_file_prefixes = {work}
myhostname = mail.test.invalid
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mydestination =
alias_maps =
default_transport = discard:
mynetworks = 127.0.0.0/8
smtpd_authorized_xclient_hosts = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_client_connection_count_limit = 0
smtpd_recipient_restrictions = check_policy_service {policy}
smtpd_data_restrictions = check_policy_service {policy}
smtpd_policy_service_timeout = 60s
"""

MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
discard unix - - n - - discard
error unix - - n - - error
retry unix - - n - - error
postlog unix-dgram n - n - 1 postlogd
rl-spawned unix - n n - 0 spawn user=nobody argv=/bin/sh {spawned}
"""

RULES = {"messages": {"algorithm": "fixed_window", "limit": "20/30d"},
         "slow": {"algorithm": "leaky_bucket", "limit": "1/s", "burst": 5}}


class Postfix(unittest.TestCase):
    def setUp(self):
        self.segment = s.make_segment(RULES)
        self.server = s.Server({"segment": self.segment, "mode": "0666", "checks": [
            {"rule": "messages", "state": "DATA"},
            {"rule": "slow", "key": "sender", "state": "RCPT", "lowercase": False}]})
        self.run_postfix(f"unix:{self.server.path}")

    def run_postfix(self, policy):
        config = os.path.join(s.work, "postfix")
        for name in ("postfix", "queue", "data"):
            shutil.rmtree(os.path.join(s.work, name), ignore_errors=True)
            os.makedirs(os.path.join(s.work, name), mode=0o755)
        shutil.chown(os.path.join(s.work, "data"), "postfix")
        port = socket.socket()  # as long as it does not listen, Postfix may have the port as well, and nobody else
        self.addCleanup(port.close)
        port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port.bind(("127.0.0.1", 0))
        self.port = port.getsockname()[1]
        spawned = s.write("spawned.sh", f"exec env LD_LIBRARY_PATH={s.LIBRARY} {s.POLICYD} --stdin"
                          f" --config {s.work}/policyd.json\n")
        s.write("postfix/main.cf", MAIN.format(work=s.work, policy=policy))
        s.write("postfix/master.cf", MASTER.format(port=self.port, spawned=spawned))
        self.postfix = s.start(["postfix", "-c", config, "start-fg"], start_new_session=True)
        self.addCleanup(self.stop)
        s.eventually(self.is_up, "Postfix listens")

    def stop(self):
        subprocess.run(["postfix", "-c", os.path.join(s.work, "postfix"), "stop"], capture_output=True, check=False,
                       timeout=s.PATIENCE)
        s.end(self.postfix)
        s.end(self.server.process)

    def is_up(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def maillog(self):
        with open(os.path.join(s.work, "maillog"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def session(self, user):
        smtp = smtplib.SMTP("127.0.0.1", self.port, local_hostname="client.test.invalid", timeout=s.PATIENCE)
        smtp.ehlo()
        self.assertEqual(smtp.docmd("XCLIENT", f"LOGIN={user}")[0], 220)
        smtp.ehlo()
        return smtp

    def send(self, user, count, sender=None):
        """What DATA is answered to each message of one session."""
        answers = []
        with self.session(user) as smtp:
            for i in range(count):
                smtp.mail(sender or f"sender{i}-{os.urandom(4).hex()}@test.invalid")
                smtp.rcpt("somebody@elsewhere.invalid")
                code, text = smtp.docmd("DATA")
                if code == 354:
                    smtp.send(b"Subject: test\r\n\r\ntext\r\n.\r\n")
                    code, text = smtp.getreply()
                answers.append((code, text.decode()))
                smtp.rset()
        return answers

    def test_every_attribute_may_be_a_key(self):
        self.stop()
        path = os.path.join(s.work, "recorder")
        with socket.socket(socket.AF_UNIX) as recorder, ThreadPoolExecutor(1) as pool:
            recorder.bind(path)
            os.chmod(path, 0o666)
            recorder.listen()
            recorder.settimeout(s.PATIENCE)
            seen = pool.submit(self.record, recorder)
            self.run_postfix(f"unix:{path}")
            self.send("alice", 1)
            names = seen.result()
        self.assertIn("sasl_username", names)
        for name in names:
            config = s.write("one.json", {"checks": [{"rule": "messages", "key": name}]})
            subprocess.run([s.POLICYD, "--check", "--config", config], env=s.environment(), timeout=s.PATIENCE, check=True)

    @staticmethod
    def record(recorder):
        """The names of the attributes of what is asked on one connection, each answered with DUNNO."""
        names = set()
        with recorder.accept()[0] as client:
            client.settimeout(s.PATIENCE)
            text = b""
            while more := client.recv(4096):
                text += more
                while b"\n\n" in text:
                    lines, text = text.split(b"\n\n", 1)
                    names |= {line.split(b"=")[0].decode() for line in lines.split(b"\n")}
                    client.sendall(b"action=DUNNO\n\n")
                    if b"protocol_state=DATA" in lines:
                        return names
        return names

    def count(self, user, sessions, messages):
        with ThreadPoolExecutor(sessions) as pool:
            all_of_them = sum(pool.map(lambda _: self.send(user, messages), range(sessions)), [])
        return [code for code, _ in all_of_them].count(250), all_of_them

    def test_messages_of_a_user(self):
        sent, answers = self.count("alice", 8, 8)
        self.assertEqual(sent, 20, (answers, self.maillog()[-2000:]))
        refused = [answer for answer in answers if answer[0] != 250]
        self.assertEqual(len(refused), 44)
        for code, text in refused:
            self.assertEqual(code, 450)
            self.assertRegex(text, r"4\.7\.1 <DATA>: Data command rejected: Too much mail, try again in \d+ seconds")
        self.assertEqual(self.send("bob", 1)[0][0], 250)
        self.assertIn("20", s.rlctl("--segment", self.segment, "get", "messages", "alice"))

    def test_killed_processes_lose_no_count(self):
        self.assertEqual([code for code, _ in self.send("alice", 15)], [250] * 15)
        s.end(self.server.process, signal.SIGKILL)
        for pid in self.smtpds():
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(pid, signal.SIGKILL)
        self.server = s.Server({"segment": self.segment, "mode": "0666", "checks": [
            {"rule": "messages", "state": "DATA"}]})
        self.assertEqual([code for code, _ in self.send("alice", 10)], [250] * 5 + [450] * 5)

    def smtpds(self):
        """Of this Postfix alone: the children of its master that are smtpd."""
        found = subprocess.run(["pgrep", "-s", str(self.postfix.pid), "smtpd"], capture_output=True, text=True,
                               check=False)
        return [int(pid) for pid in found.stdout.split()]

    def test_domains_lists_and_actions(self):
        """By the recipient's domain, but not to partners; who is over the limit is held, and each mail tells what is left."""
        self.stop()
        partners = s.write("partners", ".partner.invalid\n")
        self.server = s.Server({"segment": self.segment, "mode": "0666", "exempt": {"sasl_username": "backup"}, "checks": [
            {"rule": "messages", "state": "RCPT", "key": ["sasl_username", "domain(recipient)"],
             "if": {"network(client_address, 8, 64)": "127.0.0.0/8"}, "unless": {"domain(recipient)": f"file:{partners}"},
             "deny": "HOLD more than {limit} a day", "allow": "PREPEND X-Remaining: {remaining}"}]})
        self.run_postfix(f"unix:{self.server.path}")
        with self.session("erin") as smtp:
            for domain, count in (("Elsewhere.invalid", 21), ("x.partner.invalid", 3)):
                for i in range(count):
                    smtp.mail("a@test.invalid")
                    self.assertEqual(smtp.rcpt(f"u{i}@{domain}")[0], 250)
                    self.assertEqual(smtp.docmd("DATA")[0], 354)
                    smtp.send(b"Subject: test\r\n\r\ntext\r\n.\r\n")
                    self.assertEqual(smtp.getreply()[0], 250)
        with self.session("backup") as smtp:
            for i in range(25):
                smtp.mail("a@test.invalid")
                self.assertEqual(smtp.rcpt("a@elsewhere.invalid")[0], 250)
                smtp.rset()
        held = os.path.join(s.work, "queue/hold")
        s.eventually(lambda: os.path.isdir(held) and len(os.listdir(held)) == 1, "one is held, the 21st")
        queue_id = os.listdir(held)[0]
        text = subprocess.run(["postcat", "-c", os.path.join(s.work, "postfix"), "-q", queue_id], capture_output=True, text=True,
                              check=True, timeout=s.PATIENCE).stdout
        self.assertIn("u20@Elsewhere.invalid", text)
        self.assertNotIn("X-Remaining", text)
        self.assertEqual(len([line for line in self.maillog().splitlines() if "more than 20 a day" in line]), 1)
        self.assertIn("erin|elsewhere.invalid", s.rlctl("--segment", self.segment, "list", "--json"))

    def test_postfix_waits_as_it_is_told(self):
        with self.session("carol") as smtp:
            before = time.monotonic()
            for _ in range(4):
                smtp.mail("one@test.invalid")
                self.assertEqual(smtp.rcpt("somebody@elsewhere.invalid")[0], 250)
                smtp.rset()
        self.assertGreaterEqual(time.monotonic() - before, 2.9)
        said = [line for line in self.maillog().splitlines() if "/smtpd[" in line and ("unknown" in line or "warning" in line)]
        self.assertEqual(said, [])  # others of Postfix warn of the machine's clocks

    def test_spawned_by_postfix(self):
        self.stop()
        self.server = s.Server({"segment": self.segment, "checks": [{"rule": "messages", "state": "DATA"}]})
        os.chmod(f"/dev/shm/rl.{self.segment}", 0o600)
        shutil.chown(f"/dev/shm/rl.{self.segment}", "nobody")
        self.run_postfix("unix:private/rl-spawned")
        sent, answers = self.count("dave", 4, 8)
        self.assertEqual(sent, 20, (answers, self.maillog()[-2000:]))


if __name__ == "__main__":
    unittest.main()
