# SPDX-License-Identifier: BSD-2-Clause
"""The fields are those of rl_http.h, byte for byte: a C program asks it of the same segment just after."""
import os
import subprocess
import unittest

from server import BUILD, Apache, Backend, rlctl

FIELDS = os.environ.get("RL_APACHE_FIELDS", os.path.join(BUILD, "apache", "fields"))
TRIES = 30  # a second that ends between the answer and the look changes t

RULES = {
    "window": "5/h",
    "fixed": "3/30d algorithm=fixed_window",
    "odd.name:x/y-z_1": "3/1500ms hard=off granularity=3",
    "log": "4/1h algorithm=sliding_log",
    "tokens": "4/1h algorithm=token_bucket",
    "burst": "4/1h algorithm=token_bucket burst=6",
    "leaky": "4/1h algorithm=leaky_bucket burst=3 undelayed=3",
    "held": "in_flight=2",
    "large": "268435455/400d algorithm=fixed_window",
}
RULES.update({f"long-{c * 55}": "5/h" for c in "mnopqr"})


def truth(apache, *pairs):
    done = subprocess.run([FIELDS, apache.segment, *pairs], capture_output=True, text=True, check=True)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


class Fields(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.backend = Backend()
        body = "".join(f"RLRule {name} {words}\n" for name, words in RULES.items())
        for i, name in enumerate(RULES):
            body += f'<Location "/{i}">\nRLLimit {name} key\nRLHeaders ietf x\n</Location>\n'
            body += f'<Location "/unix{i}">\nRLLimit {name} key\nRLHeaders x-unix\n</Location>\n'
        body += ('<Location "/several">\n' + "".join(f"RLLimit {name} several{i}\n" for i, name in enumerate(RULES)) +
                 f"</Location>\n<Location /slow>\nProxyPass http://127.0.0.1:{cls.backend.port}/\n"
                 "RLLimit held key\n</Location>\n")
        cls.apache = Apache(body)

    @classmethod
    def tearDownClass(cls):
        cls.backend.stop()
        cls.apache.close()

    def same(self, answer, expected, names):
        return all(answer.fields.get(name) == expected.get(name) for name in names)

    def check(self, rule, path, is_denied):
        names = ("RateLimit-Policy", "RateLimit") + (("Retry-After",) if is_denied else ())
        for _ in range(TRIES):
            answer = self.apache.get(path)
            expected = truth(self.apache, rule, "key")
            triple = " ".join(answer.fields.get(f"X-RateLimit-{n}", "") for n in ("Limit", "Remaining", "Reset"))
            if self.same(answer, expected, names) and triple == expected["X-RateLimit"]:
                self.assertIn("RateLimit", answer.fields)
                return answer
            rlctl(self.apache.segment, "reset", "key", "--rule", rule)
            if is_denied:
                self.use_up(rule, path)
        self.fail(f"{rule}: {dict(answer.fields)}, and rl_http.h says {expected}")

    def use_up(self, rule, path):
        while self.apache.get(path).status != 429:
            pass

    def test_allowed_and_denied(self):
        for i, rule in enumerate(RULES):
            if rule in ("held", "odd.name:x/y-z_1"):
                continue
            with self.subTest(rule):
                self.check(rule, f"/{i}", is_denied=False)
                if rule != "large":
                    self.use_up(rule, f"/{i}")
                    answer = self.check(rule, f"/{i}", is_denied=True)
                    self.assertEqual(answer.status, 429)

    def test_policy_of_a_window_of_parts_of_a_second(self):
        rule = "odd.name:x/y-z_1"
        answer = self.apache.get(f"/{list(RULES).index(rule)}")
        self.assertEqual(answer.fields["RateLimit-Policy"], truth(self.apache, rule, "key")["RateLimit-Policy"])

    def test_unix_time(self):
        i = list(RULES).index("fixed")
        for _ in range(TRIES):
            answer = self.apache.get(f"/unix{i}")
            triple = " ".join(answer.fields[f"X-RateLimit-{n}"] for n in ("Limit", "Remaining", "Reset"))
            if triple == truth(self.apache, "fixed", "key")["Unix-X-RateLimit"]:
                return
        self.fail(triple)

    def test_several_rules(self):
        """More than fits the buffer that a field is first written to, in the order of the configuration."""
        pairs = [word for i, name in enumerate(RULES) if name != "held" for word in (name, f"several{i}")]
        for _ in range(TRIES):
            for i, name in enumerate(RULES):
                rlctl(self.apache.segment, "reset", f"several{i}", "--rule", name)
            answer = self.apache.get("/several")
            expected = truth(self.apache, *pairs)
            found = answer.fields["RateLimit"].replace('"held";r=1, ', "")
            policy = answer.fields["RateLimit-Policy"].replace('"held";q=2;qu="concurrent-requests", ', "")
            self.assertGreater(len(policy), 512)
            self.assertEqual(policy, expected["RateLimit-Policy"])
            if found == expected["RateLimit"]:
                return
        self.fail(f"{found}, and rl_http.h says {expected['RateLimit']}")

    def test_in_flight(self):
        self.backend.go(False)
        requests = [self.apache.background("/slow/x") for _ in range(2)]
        self.backend.await_arrived(2)
        answer = self.apache.get("/slow/x")
        expected = truth(self.apache, "held", "key")
        self.backend.go()
        self.assertEqual(answer.status, 429)
        self.assertTrue(self.same(answer, expected, ("RateLimit", "RateLimit-Policy", "Retry-After")))
        for request in requests:
            request.join()

    def test_live_change_of_the_rule(self):
        """What an administrator configures is in the next answer."""
        path = self.apache.write("rl.json", '{"rules": {"window": {"limit": "9/h", "granularity": 60, "hard": true}}}')
        rlctl(self.apache.segment, "config", "reload", "--config", path)
        answer = self.apache.get("/0")
        self.assertIn('"window";q=9;w=3600', answer.fields["RateLimit-Policy"])
        self.apache.write("rl.json", '{"rules": {}}')
        rlctl(self.apache.segment, "config", "reload", "--config", path)
        self.assertIn('"window";q=5;w=3600', self.apache.get("/0").fields["RateLimit-Policy"])


if __name__ == "__main__":
    unittest.main()
