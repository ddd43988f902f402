#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Plays of bindings/table.json what SQL has calls for: a rule of one limit, checked, peeked at, banned and reset. The server
is preloaded with a clock that the test sets."""
import json
import os
import subprocess
import unittest

import support as s

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
/* The library asks these two, and PostgreSQL others. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int error = real(clock, t);
	long long ns;
	FILE *file = clock == CLOCK_BOOTTIME || clock == CLOCK_REALTIME ? fopen(getenv("RL_CLOCK"), "r") : NULL;
	if (file) {
		if (fscanf(file, "%lld", &ns) == 1)
			*t = (struct timespec){ns / 1000000000, ns % 1000000000};
		fclose(file);
	}
	return error;
}
"""
CALLS = {"check", "peek", "ban", "allow", "unban", "reset", "key_digest"}
OWN = {"capacity", "burst", "undelayed"}  # of a request; SQL has none
FIELDS = ("algorithm", "capacity", "granularity", "hard", "burst", "undelayed", "shadow", "count_denied")


def rule_text(name, limit):
    fields = {field: limit[field] for field in FIELDS if field in limit}
    if limit["algorithm"] == "sliding_window":
        fields.setdefault("granularity", 1)
    if limit.get("window_ns") == "never":
        fields["window"] = "never"
    elif "window_ns" in limit:
        fields["window_ns"] = limit["window_ns"]
    return " ".join([name, *(f"{field}={str(value).lower()}" for field, value in fields.items())])


def is_of_sql(case):
    rules = case.get("rules", [])
    return (rules and all(len(rule["limits"]) == 1 and not rule.get("keep") for rule in rules)
            and all(step["call"] in CALLS and not OWN & step.keys() for step in case["steps"]) and "options" not in case)


def key_of(step):
    """As text, or None: SQL has none for these bytes."""
    key = bytes.fromhex(step["key_hex"]) if "key_hex" in step else step.get("key", "").encode() * step.get("times", 1)
    try:
        return None if b"\0" in key else key.decode()
    except UnicodeDecodeError:
        return None


def literal(text):
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(s.TOP, "bindings/table.json"), encoding="utf-8") as file:
            cls.cases = [case for case in json.load(file)["cases"] if is_of_sql(case)]
        rules = [rule_text(f"{rule['name']}{i}", rule["limits"][0]) for i, case in enumerate(cls.cases) for rule in case["rules"]]
        cls.pg = s.Postgres(f"postgresql-table-{os.getpid()}", [f"rl.rules = '{'; '.join(rules)}'"])
        cls.addClassCleanup(cls.pg.remove)
        cls.clock, shim = os.path.join(cls.pg.root, "clock"), os.path.join(cls.pg.root, "clock.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", shim, "-"], input=CLOCK, text=True, check=True)
        cls.set_clock(10**18)
        cls.pg.more = {"LD_PRELOAD": shim, "RL_CLOCK": cls.clock}
        cls.pg.start()
        cls.pg.value("CREATE EXTENSION rl")

    @classmethod
    def set_clock(cls, ns):
        cls.now_ns = int(ns)
        with open(cls.clock, "w", encoding="ascii") as file:
            file.write(str(ns))

    def span(self, step):
        until = step.get("until_ns", "never")
        return "NULL" if until == "never" else f"'{(int(until) - self.now_ns) // 1000} us'"

    def about(self, step, number):
        return literal(f"{step['rule']}{number}" if "rule" in step else None)

    def peeked(self, rule, key):
        row = self.session.ask("SELECT allowed, reason, capacity, remaining, used,"
                               " extract(epoch FROM retry_after) * 1000000, extract(epoch FROM reset_after) * 1000000"
                               f" FROM rl_peek({rule}, {key})").split("|")
        allowed, reason, *numbers = row
        return allowed == "t", reason, *(n if n == "" else int(float(n)) for n in numbers)

    @staticmethod
    def said(answer):
        """What rl_peek() says where the table says so: microseconds, rounded up, or nothing for ever."""
        spans = [answer.get(name, 0) for name in ("retry_after_ns", "reset_after_ns")]
        return (answer["verdict"] == "allowed", answer.get("reason", "limit"), answer.get("limit", 0), answer.get("remaining", 0),
                answer.get("used", 0), *("" if ns == "never" else -(-int(ns) // 1000) for ns in spans))

    def play(self, number, step):
        key, rule, answer, call = literal(key_of(step)), self.about(step, number), step["answer"], step["call"]
        if "at_ns" in step:
            self.set_clock(step["at_ns"])
        if "error" in answer:
            sql = {"check": f"rl_check({rule}, {key})", "peek": f"rl_peek({rule}, {key})",
                   "ban": f"rl_ban({key}, {rule}, NULL, {literal(step.get('match', 'key'))})"}[call]
            self.assertIn("ERROR:  22023: rl: ", self.pg.error("SELECT " + sql))
        elif call == "peek":
            self.assertEqual(self.peeked(rule, key), self.said(answer))
        elif call == "check":
            allowed = self.session.ask(f"SELECT rl_check({rule}, {key}, {step.get('cost', 1)})") == "t"
            self.assertEqual(allowed, answer["verdict"] == "allowed")
            # What it leaves.
            self.assertEqual(self.peeked(rule, key)[2:5], self.said(answer)[2:5])
        elif call in ("ban", "allow"):
            name = {"ban": "rl_ban", "allow": "rl_exempt"}[call]
            self.assertEqual(self.session.ask(f"SELECT {name}({key}, {rule}, {self.span(step)}, {literal(step['match'])})"), "")
        elif call == "unban":
            self.assertEqual(self.session.ask(f"SELECT rl_unban({key}, {rule}, {literal(step['match'])})"), "ft"[answer["done"]])
        elif call == "reset":
            self.assertEqual(self.session.ask(f"SELECT rl_reset({rule}, {key})"), "ft"[answer["done"]])

    def test_table(self):
        self.session = s.Session(self.pg)
        played = 0
        for number, case in enumerate(self.cases):
            for i, step in enumerate(case["steps"]):
                if step["call"] == "key_digest" or key_of(step) is None:
                    continue
                with self.subTest(f"{case['name']}, step {i}: {step}"):
                    self.play(number, step)
                    played += 1
        self.session.end()
        self.assertGreater(len(self.cases), 9)
        self.assertGreater(played, 90, "it is not empty")


if __name__ == "__main__":
    unittest.main()
