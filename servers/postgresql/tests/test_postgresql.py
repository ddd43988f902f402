#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A real PostgreSQL with the extension: what sessions share, what a transaction does to it, who may do what, and logins."""
import os
import shutil
import signal
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import support as s

sys.path.insert(0, os.path.join(s.TOP, "tests", "support"))
from ports import free_port  # noqa: E402

RULES = ("rl.rules = 'many algorithm=anchored_window capacity=50 window=never; three limit=3/hour; jobs algorithm=in_flight capacity=2;"
         " small limit=5/day; address limit=3/hour; user limit=6/hour'")


class Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.segment = f"postgresql-{os.getpid()}"
        cls.pg = s.Postgres(cls.segment, [RULES])
        cls.addClassCleanup(cls.pg.remove)
        cls.port = free_port()
        cls.pg.settings += ["listen_addresses = '127.0.0.1'", f"port = {cls.port}"]
        cls.pg.port = cls.port
        with open(os.path.join(cls.pg.data, "pg_hba.conf"), "w", encoding="utf-8") as file:
            file.write("local all all trust\nhost all all 127.0.0.0/8 password\n")
        cls.pg.start()
        cls.pg.value("CREATE EXTENSION rl; CREATE ROLE alice LOGIN PASSWORD 'right'; CREATE ROLE bob LOGIN PASSWORD 'right'")

    def checks(self, rule, key, count, **more):
        return int(self.pg.value(f"SELECT count(*) FILTER (WHERE rl_check('{rule}', '{key}')) FROM generate_series(1, {count})", **more))

    def test_eight_sessions(self):
        with ThreadPoolExecutor(8) as pool:
            admitted = list(pool.map(lambda _: self.checks("many", "eight", 100), range(8)))
        self.assertEqual(sum(admitted), 50)

    def test_transactions(self):
        self.pg.value("BEGIN; SELECT rl_check('three', 'back', 2); ROLLBACK")
        self.assertEqual(self.pg.value("SELECT remaining, used FROM rl_peek('three', 'back')"), "1|2")
        self.assertEqual(self.pg.value("BEGIN READ ONLY; SELECT rl_check('three', 'read'); COMMIT"), "t")
        self.assertEqual(self.pg.value("SELECT remaining FROM rl_peek('three', 'read')"), "2")
        self.assertIn("ERROR:  25006", self.pg.error("BEGIN READ ONLY; CREATE TABLE t ()"), "it was read only")

    def test_answers(self):
        self.assertEqual(self.pg.value("SELECT rl_check('three', 'a', 3), rl_check('three', 'a')"), "t|f")
        self.assertEqual(self.pg.value("SELECT allowed, reason, capacity, remaining, used, retry_after > '59 min',"
                                       " reset_after > '59 min' FROM rl_peek('three', 'a')"), "f|limit|3|0|3|t|t")
        self.assertEqual(s.rlctl(self.segment, "peek", "three", "a").returncode, 1, "rlctl sees the same")
        self.assertEqual(self.pg.value("SELECT rl_enforce('three', 'e')"), "")
        error = self.pg.error("SELECT rl_enforce('three', 'a')")
        self.assertIn('ERROR:  PT429: too many requests under the rule "three"', error)
        self.assertRegex(error, r"DETAIL:  The next one is allowed in 3\d\d\d seconds\.")
        self.assertEqual(self.pg.value("SELECT rl_reset('three', 'a'), rl_check('three', 'a')"), "t|t")

    def test_errors(self):
        for call, want in (("rl_check('none', 'a')", '42704: rl: rule "none": '), ("rl_check(NULL, 'a')", "22004: rl: rule is null"),
                           ("rl_check('three', NULL)", "22004: rl: key is null"), ("rl_enforce('three', NULL)", "22004: rl: key is null"),
                           ("rl_check('three', 'a', -1)", "22023: rl: a cost of -1 is negative"),
                           ("rl_check('three', '')", '22023: rl: rule "three": '), ("rl_check('jobs', 'a')", '22023: rl: rule "jobs": '),
                           ("rl_hold('three', 'h')", '22023: rl: rule "three": it limits rates'),
                           ("rl_ban('a', match => 'star')", '22023: rl: match "star" is none of key, prefix, network'),
                           ("rl_ban('a', span => '-1 s')", "22023: rl: the span is not above 0"),
                           ("rl_ban('nonsense', match => 'network')", '22023: rl: key "nonsense": '),
                           (f"rl_check('{'x' * 100}', 'a')", "22023: rl: rule ")):
            self.assertIn("ERROR:  " + want, self.pg.error("SELECT " + call), call)
        self.assertEqual(self.pg.value("SELECT used FROM rl_peek('three', 'h')"), "0", "what was no hold is given back")
        self.assertEqual(self.pg.value("SET rl.on_error = 'allow'; SELECT rl_check('none', 'a')"), "t")
        self.assertEqual(self.pg.value("SET rl.on_error = 'deny'; SELECT rl_check('none', 'a')"), "f")

    def test_keys(self):
        self.assertEqual(self.pg.value("SET client_encoding = 'LATIN1'; SELECT rl_check('three', chr(233))"), "t")
        self.pg.value("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        self.pg.value("CREATE EXTENSION rl", database="latin")
        self.assertEqual(self.pg.value("SELECT rl_check('three', chr(233))", database="latin"), "t")
        self.assertEqual(self.pg.value("SELECT used FROM rl_peek('three', chr(233))"), "2", "text counts as UTF-8 in any database")
        self.assertRegex(s.rlctl(self.segment, "get", "three", "é").stdout, r"used +2\b", "as it does for others")
        self.assertEqual(self.pg.value("SELECT rl_check('three', repeat('x', 5000)), used FROM rl_peek('three', repeat('x', 5000))"), "t|0")

    def test_holds(self):
        one, two = s.Session(self.pg), s.Session(self.pg)
        one.tell("BEGIN")
        self.assertEqual(one.ask("SELECT rl_hold('jobs', 'h')"), "t")
        self.assertEqual(two.ask("SELECT rl_hold('jobs', 'h', session => true)"), "t")
        self.assertEqual(two.ask("SELECT rl_hold('jobs', 'h')"), "f", "two at once")
        one.tell("ROLLBACK")
        self.assertEqual(self.pg.value("SELECT remaining FROM rl_peek('jobs', 'h')"), "1", "until the transaction ends")
        self.assertEqual(one.ask("SELECT rl_release('jobs', 'h')"), "f", "another's")
        self.assertEqual(two.ask("SELECT rl_release('jobs', 'h')"), "t")
        self.assertEqual(two.ask("SELECT rl_release('jobs', 'h')"), "f", "once")
        self.assertEqual(two.ask("SELECT rl_hold('jobs', 'h', 2, true)"), "t")
        self.assertEqual(self.pg.value("SELECT remaining FROM rl_peek('jobs', 'h')"), "0")
        two.end()
        one.end()
        self.assertEqual(self.pg.value("SELECT remaining FROM rl_peek('jobs', 'h')"), "2", "until the session ends")

    def test_killed(self):
        """PostgreSQL ends all sessions when one is killed, and starts anew: counts stay, what was held comes back."""
        session = s.Session(self.pg)
        self.assertEqual(session.ask("SELECT rl_hold('jobs', 'k', 2, true)"), "t")
        self.assertEqual(session.ask("SELECT count(*) FILTER (WHERE rl_check('many', 'killed')) FROM generate_series(1, 20)"), "20")
        busy = s.Session(self.pg)
        pid = busy.pid()
        busy.process.stdin.write("DO $$ BEGIN LOOP PERFORM rl_check('small', 'busy'); END LOOP; END $$;\n")
        busy.process.stdin.flush()
        s.wait_for("it counts", lambda: s.rlctl(self.segment, "peek", "small", "busy").returncode == 1)
        os.kill(pid, signal.SIGKILL)
        session.process.communicate()
        busy.process.communicate()
        self.pg.wait_ready()
        self.assertEqual(self.pg.value("SELECT used FROM rl_peek('small', 'busy')"), "5")
        self.assertEqual(self.checks("many", "killed", 100), 30)
        self.assertEqual(self.pg.value("SELECT rl_hold('jobs', 'k', 2)"), "t")

    def test_privileges(self):
        self.assertEqual(self.pg.value("SELECT rl_check('three', 'p'), used FROM rl_peek('three', 'q')", user="bob"), "t|0")
        for call in ("rl_ban('a')", "rl_exempt('a')", "rl_unban('a')", "rl_reset('three', 'p')"):
            self.assertIn("ERROR:  42501: permission denied for function", self.pg.error("SELECT " + call, user="bob"), call)
        self.assertIn("ERROR:  42501", self.pg.error("SET rl.on_error = 'allow'", user="bob"))
        self.assertIn("ERROR:  55P02", self.pg.error("SET rl.rules = ''", user="bob"))
        self.pg.value("GRANT EXECUTE ON FUNCTION rl_unban(text, text, text) TO bob")
        self.assertEqual(self.pg.value("SELECT rl_unban('a')", user="bob"), "f")

    def test_bans(self):
        self.pg.value("SELECT rl_ban('198.51.100.0/24', 'three', match => 'network', span => '1 hour')")
        self.assertEqual(self.pg.value("SELECT allowed, reason FROM rl_peek('three', '198.51.100.7')"), "f|ban")
        self.assertEqual(self.pg.value("SELECT allowed FROM rl_peek('small', '198.51.100.7')"), "t", "of one rule")
        self.assertIn("198.51.100.0/24", s.rlctl(self.segment, "bans").stdout)
        self.assertEqual(self.pg.value("SELECT rl_unban('198.51.100.0/24', 'three', 'network')"), "t")
        self.pg.value("SELECT rl_exempt('monitor')")
        self.assertEqual(self.checks("three", "monitor", 10), 10)
        self.pg.value("SELECT rl_ban('brief', span => '0.2 s')")
        s.wait_for("the end of a ban", lambda: self.checks("small", "brief", 1) == 1)
        self.pg.value("SELECT rl_ban('long', span => '300000 years')")  # of more microseconds than 64 bits have
        self.assertRegex(s.rlctl(self.segment, "bans").stdout, r"(?m)^ *never .* long")
        self.assertIn("above 0", self.pg.error("SELECT rl_ban('short', span => '-300000 years')"))

    def test_rules(self):
        self.pg.set("rl.rules = 'three limit=often'")
        self.assertIn('rule three: limit: expected a rate', self.pg.logged())
        self.assertEqual(self.checks("small", "still", 9), 5, "those before stay")
        for text, want in (("a b", "rule a: b: a field has a value"), ("a nothing=5", "rule a: nothing: "), ("a capacity=5", "rule a: "),
                           ("x" * 80 + " limit=1/s", "the name is too long"), ("a limit=1/s hard=maybe", "rule a: hard: ")):
            self.pg.set(f"rl.rules = '{text}'")
            self.assertIn(want, self.pg.logged(), text)
        self.pg.set(RULES.replace("small limit=5/day", "small limit=7/day"))
        self.assertEqual(self.checks("small", "anew", 9), 7)
        self.pg.set(RULES)

    def test_replaced(self):
        session = s.Session(self.pg)
        self.assertEqual(session.ask("SELECT rl_check('three', 'r', 3)"), "t")
        self.assertEqual(s.rlctl(self.segment, "unlink", "--yes").returncode, 0)
        s.wait_for("another segment", lambda: session.ask("SELECT rl_check('three', 'r')") == "t")
        session.end()

    def login(self, password, **more):
        return s.login(self.port, password, **more)

    def test_logins(self):
        wrong, over = 'password authentication failed for user "alice"', "too many failed logins, try again later"
        self.pg.set("rl.auth_rule = 'address'", "rl.auth_user_rule = 'user'")
        s.wait_for("the rules", lambda: self.pg.value("SHOW rl.auth_rule") == "address")
        for source in ("127.0.1.1", "127.0.1.2"):
            self.assertEqual([self.login("right", source=source) for _ in range(5)], ["ok"] * 5, "who gets in spends nothing")
            self.assertEqual([self.login("", source=source, leave=True) for _ in range(5)], ["gone"] * 5, "nor who asks what is wanted")
            self.assertEqual([self.login("wrong", source=source) for _ in range(5)], [wrong] * 3 + [over] * 2)
            self.assertEqual(self.login("right", source=source), over, "the right password tells nothing, either")
        self.assertEqual(self.login("right", source="127.0.1.3"), over, "six failures of one user, from two addresses")
        self.assertEqual(self.login("right", source="127.0.1.3", user="bob"), "ok", "another's")
        self.assertEqual(self.pg.value("SELECT 1", user="alice"), "1", "by the unix socket nobody is locked out")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: self.login("wrong", source="127.0.1.4", user="bob"), range(24)))
        self.assertEqual([answers.count(wrong.replace("alice", "bob")), answers.count(over)], [3, 21], "exactly, at once")
        self.pg.value("SELECT rl_reset('user', 'bob'), rl_ban('127.0.1.5', 'address')")
        self.assertEqual(self.login("right", source="127.0.1.5", user="bob"), over, "banned")
        self.assertIn('Rule "address", key "127.0.1.5".', self.pg.logged())
        self.pg.set("rl.auth_rule = 'no rule'", "rl.auth_user_rule = ''")
        s.wait_for("the rule", lambda: self.login("right", source="127.0.1.5", user="bob") == "ok")
        self.assertIn('under the rule "no rule": ', self.pg.logged(), "what cannot be decided is logged")
        self.pg.set("rl.on_error = 'deny'")
        s.wait_for("denied", lambda: self.login("right", source="127.0.1.6", user="bob") == over)
        self.pg.set("rl.on_error = 'error'", "rl.auth_rule = ''")

    def test_standby(self):
        """Last, for the primary stops: it becomes a standby, without one to follow."""
        self.assertEqual(self.checks("three", "standby", 1), 1)
        self.pg.stop()
        data = self.pg.data + ".standby"
        shutil.copytree(self.pg.data, data)
        open(os.path.join(data, "standby.signal"), "w", encoding="utf-8").close()
        for path, folders, files in os.walk(data):
            for name in [".", *folders, *files] if self.pg.who else []:
                os.chown(os.path.join(path, name), self.pg.who["user"], self.pg.who["group"])
        self.pg.start(data)
        try:
            self.assertEqual(self.pg.value("SELECT pg_is_in_recovery()"), "t")
            self.assertEqual(self.checks("three", "standby", 5), 2, "what was counted before counts")
            self.assertEqual(self.pg.value("SELECT rl_hold('jobs', 's')"), "t")
        finally:
            self.pg.stop()
            self.pg.start()


if __name__ == "__main__":
    unittest.main()
