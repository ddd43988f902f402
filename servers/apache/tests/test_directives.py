# SPDX-License-Identifier: BSD-2-Clause
"""Each directive: what it does, and what is said of one that is wrong."""
import base64
import http.client
import json
import os
import re
import subprocess
import time
import unittest

from server import TOP, Apache, Backend, eventually, rlctl, used


class Directives(unittest.TestCase):
    """One server for many sections: each test has its own."""

    @classmethod
    def setUpClass(cls):
        cls.backend = Backend()
        cls.backend.go()
        cls.apache = Apache(CONFIG.replace("@BACKEND@", str(cls.backend.port)), modules=("authn_anon", "cgid"),
                            options="bans=100", start=False)
        for name in ("page", "site", "a", "b", "sorry"):
            cls.apache.write(f"htdocs/{name}.html", f"{name}\n")
        cls.apache.write("htdocs/dir/index.html", "index\n")
        cls.apache.write("htdocs/dir/other.html", "other\n")
        cls.apache.write("htdocs/list/one.iso", "iso\n")
        cls.apache.write("htdocs/ssi/page.shtml", '<!--#include virtual="/ssi/part.html" -->|' * 3)
        cls.apache.write("htdocs/ssi/part.html", "part")
        cls.apache.write("htdocs/env/show.shtml", '<!--#echo var="RL_STATUS" --> <!--#echo var="RL_RULE" --> '
                                                  '<!--#echo var="RL_REMAINING" -->')
        cls.apache.write("htdocs/shown/show.shtml", cls.apache.read("htdocs/env/show.shtml"))
        cls.apache.write("passwords", "alice:$apr1$J77hJ4xi$nxZ.mPBHNGlYIOh0uzVhK.\n")
        cls.apache.start()

    @classmethod
    def tearDownClass(cls):
        cls.apache.close()
        cls.backend.stop()

    def statuses(self, count, path, **words):
        return self.apache.statuses(count, path, **words)

    def admitted(self, count, path, **words):
        return self.statuses(count, path, **words).count(200)

    # RLRule and RLLimit

    def test_several_limits_of_a_rule(self):
        self.assertEqual(self.admitted(5, "/two-limits"), 3)

    def test_several_limits_all_or_nothing(self):
        self.assertEqual(self.statuses(4, "/several"), [200, 200, 429, 429])
        self.assertEqual(used(self.apache.segment, "wide", "several"), 2)
        self.assertEqual(used(self.apache.segment, "narrow", "several"), 2)

    def test_key_by_header(self):
        for key in ("one", "two"):
            self.assertEqual(self.admitted(3, "/by-header", fields={"X-Key": key}), 2)

    def test_key_of_hostile_bytes(self):
        for key in ("%0d%0a", "\\x00", "a\tb", "'\"<>$(x)`", "é" * 10):
            self.assertEqual(self.admitted(3, "/by-header", fields={"X-Key": key.encode()}), 2)

    def test_long_keys(self):
        one, two = "k" * 5000 + "1", "k" * 5000 + "2"
        self.assertEqual(self.admitted(3, "/by-header", fields={"X-Key": one}), 2)
        self.assertEqual(self.admitted(3, "/by-header", fields={"X-Key": two}), 2)

    def test_empty_key(self):
        self.assertEqual(self.admitted(3, "/by-header"), 3)
        eventually(lambda: 'rule "two" (' in self.apache.log() and "Told at most once" in self.apache.log(), "the log")
        self.assertEqual(self.admitted(3, "/empty-deny"), 0)
        eventually(lambda: 'denied: rule "two": the key is empty' in self.apache.log(), "the log")
        self.assertEqual(self.admitted(3, "/empty-allow"), 3)
        self.assertEqual(self.statuses(2, "/empty-error-deny"), [503, 503])

    def test_key_of_client_is_its_address(self):
        self.assertEqual(self.admitted(3, "/by-client", source="127.0.0.21"), 2)
        self.assertEqual(self.admitted(3, "/by-client", source="127.0.0.22"), 2)
        self.assertEqual(used(self.apache.segment, "two", "127.0.0.22"), 2)

    def test_client_is_a_network(self):
        self.assertEqual(self.admitted(2, "/by-network", source="127.0.3.1"), 2)
        self.assertEqual(self.admitted(2, "/by-network", source="127.0.3.2"), 0)
        self.assertEqual(self.admitted(2, "/by-network", source="127.0.4.2"), 2)

    def test_variable_of_the_client(self):
        self.apache.get("/by-variable")
        self.assertEqual(used(self.apache.segment, "two", "127.0.0.0 /by-variable"), 1)

    def test_clients_behind_a_proxy(self):
        for address, key in (("203.0.113.7", "203.0.113.7"), ("2001:db8:1:2:3::4", "2001:db8:1:2::")):
            self.assertEqual(self.admitted(3, "/by-client", fields={"X-Forwarded-For": address}), 2)
            self.assertEqual(used(self.apache.segment, "two", key), 2)
        self.assertEqual(self.admitted(2, "/by-client", fields={"X-Forwarded-For": "2001:db8:1:2::9"}), 0)

    def test_rule_with_prefixes(self):
        self.assertEqual(self.admitted(3, "/prefixes", source="127.0.8.1"), 2)
        self.assertEqual(self.admitted(3, "/prefixes", source="127.0.8.2"), 1)
        self.assertEqual(self.statuses(1, "/prefixes-bad-key"), [200])
        eventually(lambda: "is no IP address" in self.apache.log() or "IP address" in self.apache.log(), "the log")

    def test_cost(self):
        self.assertEqual(self.statuses(3, "/cost", fields={"X-Cost": "4"}), [200, 200, 429])
        self.assertEqual(self.statuses(1, "/cost", fields={"X-Cost": "2"}), [200])
        never = self.apache.get("/cost", {"X-Cost": "11"})
        self.assertEqual(never.status, 403)
        self.assertNotIn("Retry-After", never.fields)

    def test_cost_that_is_no_number(self):
        """It switches no other limit off."""
        self.assertEqual(self.statuses(4, "/cost-and-more", fields={"X-Cost": "x"}), [200, 200, 429, 429])
        eventually(lambda: "429 /cost-and-more REJECTED two 0 " in self.apache.read("access.log"), "the access log")
        eventually(lambda: "200 /cost-and-more ERROR two " in self.apache.read("access.log"), "the access log")

    def test_capacity_by_tier(self):
        self.assertEqual(self.admitted(9, "/tiers", fields={"X-Tier": "gold"}), 6)
        self.assertEqual(self.admitted(9, "/tiers", fields={"X-Tier": "none"}), 2)

    def test_condition(self):
        self.assertEqual(self.admitted(4, "/if", method="POST", body=""), 2)
        self.assertEqual(self.admitted(4, "/if"), 4)

    def test_limits_do_not_vary_an_answer(self):
        answer = self.apache.get("/if-header", {"X-Robot": "yes"})
        self.assertIn("RateLimit", answer.fields)
        self.assertNotIn("Vary", answer.fields)

    def test_limit_by_user(self):
        alice = {"Authorization": "Basic " + base64.b64encode(b"alice:x").decode()}
        bob = {"Authorization": "Basic " + base64.b64encode(b"bob:x").decode()}
        self.assertEqual(self.admitted(3, "/by-user", fields=alice), 2)
        self.assertEqual(self.admitted(3, "/by-user", fields=bob), 2)

    def test_logins_are_limited_before_passwords_are_looked_at(self):
        wrong = {"Authorization": "Basic " + base64.b64encode(b"alice:wrong").decode()}
        self.assertEqual(self.statuses(4, "/login", fields=wrong), [401, 401, 429, 429])

    def test_logins_after_a_redirect_are_limited_before_passwords(self):
        wrong = {"Authorization": "Basic " + base64.b64encode(b"alice:wrong").decode()}
        self.assertEqual(self.statuses(4, "/redirect-login", fields=wrong), [401, 401, 429, 429])

    def test_satisfy_any_does_not_get_around(self):
        self.assertEqual(self.statuses(3, "/satisfy"), [200, 200, 429])

    def test_count_by_the_answer(self):
        for path in ("/refund", "/count"):
            self.assertEqual(self.admitted(8, path + "/good"), 8)
            self.assertEqual(self.statuses(4, path + "/fail"), [401, 401, 429, 429])
            self.assertEqual(self.statuses(1, path + "/good"), [429])

    def test_a_rule_charges_a_key_once(self):
        self.assertEqual(self.admitted(5, "/twice"), 2)

    def test_more_limits_than_are_decided_at_once(self):
        self.assertEqual(self.statuses(2, "/many"), [503, 503])
        self.assertTrue(re.search(r'rule "many\d" .* cannot decide', self.apache.log()))

    # Sections

    def test_limits_of_sections_add_up(self):
        self.assertEqual(self.admitted(4, "/outer/inner", fields={"X-Key": "add"}), 2)
        self.assertEqual(used(self.apache.segment, "wide", "outer"), 2)

    def test_off_drops_outer_limits(self):
        self.assertEqual(self.admitted(4, "/outer/off"), 4)

    def test_same_rule_and_key_takes_its_place(self):
        self.assertEqual(self.admitted(4, "/third/replaced"), 1)

    def test_directory_and_files(self):
        self.assertEqual(self.admitted(4, "/dir/other.html"), 2)

    def test_directory_index(self):
        """A limit of the file that a directory index leads to holds for the directory, too."""
        self.assertEqual(self.admitted(4, "/dir/"), 2)

    def test_a_listing_charges_nothing(self):
        self.assertEqual(self.admitted(4, "/list/"), 4)
        self.assertEqual(self.admitted(4, "/list/one.iso"), 2)

    def test_virtual_host(self):
        self.assertEqual(self.admitted(3, "/", fields={"Host": "other.example"}), 1)

    def test_if_section(self):
        self.assertEqual(self.admitted(3, "/if-section", fields={"User-Agent": "robot"}), 1)
        self.assertEqual(self.admitted(3, "/if-section"), 3)

    def test_redirect_to_a_limited_section(self):
        self.assertEqual(self.admitted(4, "/redirect"), 2)

    def test_redirect_is_charged_once(self):
        self.assertEqual(self.admitted(4, "/redirect-same"), 2)

    def test_subrequest(self):
        self.assertEqual(self.apache.get("/ssi/page.shtml").body, "part|part|part|")
        self.assertEqual(used(self.apache.segment, "one", "ssi"), 1)
        self.assertNotIn("part", self.apache.get("/ssi/page.shtml").body)

    def test_error_document(self):
        answers = [self.apache.get("/error-document") for _ in range(3)]
        self.assertEqual([a.status for a in answers], [200, 429, 429])
        self.assertEqual(answers[2].body, "page\n")
        self.assertIn("RateLimit", answers[2].fields)
        self.assertIn("Retry-After", answers[2].fields)

    # RLBlock, RLAllow

    def test_block(self):
        address = "127.0.0.31"
        self.assertEqual(self.statuses(3, "/block/a", source=address), [200, 200, 403])
        answer = self.apache.get("/block/b", source=address)
        self.assertEqual(answer.status, 403)
        self.assertEqual(answer.fields["Retry-After"], "3600")
        self.assertTrue(answer.fields["RateLimit"].startswith('"block";r=0;t=3600'))
        self.assertNotIn('"block"', answer.fields.get("RateLimit-Policy", ""))
        passed = self.apache.get("/block/b", source="127.0.0.32")
        self.assertEqual(passed.status, 200)
        self.assertNotIn('"block"', passed.fields["RateLimit"])
        self.assertIn(address, rlctl(self.apache.segment, "bans").stdout)
        rlctl(self.apache.segment, "unban", address, "--rule", "block")
        self.assertEqual(self.admitted(1, "/block/b", source=address), 1)

    def block_ends(self, address):
        text = rlctl(self.apache.segment, "bans", "--json").stdout
        return re.search(r'"%s".*?"until_ns": (\d+)' % re.escape(address), text, re.S) or \
            re.search(r'"until_ns": (\d+)[^{}]*"%s"' % re.escape(address), text, re.S)

    def test_each_hit_restarts_the_block(self):
        address = "127.0.0.33"
        self.statuses(3, "/block/a", source=address)
        before = int(self.block_ends(address).group(1))
        time.sleep(0.05)
        self.statuses(1, "/block/b", source=address)
        self.assertGreaterEqual(int(self.block_ends(address).group(1)) - before, 50_000_000)

    def test_a_longer_ban_is_left_alone(self):
        address = "127.0.0.34"
        rlctl(self.apache.segment, "ban", address, "--rule", "block", "--for", "30d")
        before = self.block_ends(address).group(1)
        self.assertEqual(self.statuses(1, "/block/b", source=address), [403])
        self.assertEqual(self.block_ends(address).group(1), before)

    def test_block_by_rule(self):
        address = "127.0.0.35"
        self.assertEqual(self.statuses(3, "/block-by/b", source=address), [200, 429, 429])
        self.assertEqual(self.statuses(1, "/block-by/other", source=address), [200])
        self.assertEqual(self.statuses(2, "/block-by/a", source=address), [200, 429])
        self.assertEqual(self.statuses(1, "/block-by/other", source=address), [429])

    def test_block_off(self):
        address = "127.0.0.36"
        self.statuses(3, "/block/a", source=address)
        self.assertEqual(self.statuses(1, "/block/off", source=address), [200])

    def test_allow(self):
        for address, count in (("127.0.0.41", 5), ("127.0.5.9", 5), ("127.0.6.9", 5), ("127.0.7.9", 2)):
            self.assertEqual(self.admitted(5, "/allow", source=address), count, address)
        self.assertEqual(self.admitted(5, "/allow/off", source="127.0.0.41"), 2)

    # RLStatus, RLDryRun, RLLogLevel, RLHeaders, RLOnError

    def test_status(self):
        self.assertEqual(self.statuses(3, "/status"), [200, 200, 503])

    def test_dry_run(self):
        answers = [self.apache.get("/dry") for _ in range(4)]
        self.assertEqual([a.status for a in answers], [200] * 4)
        self.assertNotIn("RateLimit", answers[3].fields)
        eventually(lambda: "/dry REJECTED_DRY_RUN" in self.apache.read("access.log"), "the access log")
        eventually(lambda: "would be denied (dry run) by rule" in self.apache.log(), "the error log")
        self.assertEqual(used(self.apache.segment, "two", "dry"), 2)

    def test_dry_run_bans_nobody(self):
        self.assertEqual(self.admitted(5, "/dry-block", source="127.0.0.51"), 5)

    def test_shadow(self):
        self.assertEqual(self.admitted(4, "/shadow"), 4)
        eventually(lambda: "/shadow REJECTED_DRY_RUN" in self.apache.read("access.log"), "the access log")

    def test_log_level(self):
        self.statuses(3, "/quiet")
        self.statuses(3, "/loud")
        eventually(lambda: re.search(r"rl:error.*denied by rule \"one\".*", self.apache.log()), "the log")
        self.assertEqual(self.apache.log().count("quiet"), 0)
        self.assertNotIn("rl:debug", self.apache.log())

    def test_headers(self):
        names = ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
                 "Retry-After")
        for kind, has in (("off", ()), ("ietf", names[:2] + names[5:]), ("x", names[2:]), ("x-unix", names[2:]),
                          ("retry-after", names[5:]), ("both", names)):
            answers = [self.apache.get(f"/headers/{kind}") for _ in range(2)]
            self.assertEqual([a.status for a in answers], [200, 429])
            self.assertEqual([n for n in names if n in answers[1].fields], [n for n in names if n in has], kind)
            self.assertEqual([n for n in names if n in answers[0].fields],
                             [n for n in names if n in has and n != "Retry-After"], kind)
            if "x-unix" in kind:
                self.assertGreater(int(answers[1].fields["X-RateLimit-Reset"]), 1_700_000_000)
            if kind == "x":
                self.assertLess(int(answers[1].fields["X-RateLimit-Reset"]), 40 * 86400)

    def test_headers_by_a_version_of_the_draft(self):
        answer = self.apache.get("/headers/ietf-7")
        self.assertEqual(answer.fields["RateLimit-Policy"].split(";")[0], "2")
        self.assertRegex(answer.fields["RateLimit"], r"^limit=2, remaining=1, reset=\d+$")
        self.assertRegex(self.apache.get("/headers/ietf-11").fields["RateLimit"], r'^"two";r=1;t=\d+$')

    def problem(self, answer, status, kind):
        self.assertEqual((answer.status, answer.fields["Content-Type"]), (status, "application/problem+json"))
        told = json.loads(answer.body)
        self.assertEqual((told["status"], told["type"]), (status, "https://iana.org/assignments/http-problem-types#" + kind))
        return told

    def test_problems(self):
        self.assertEqual(self.statuses(1, "/problem/quota"), [200])
        answer = self.apache.get("/problem/quota")
        told = self.problem(answer, 429, "quota-exceeded")
        self.assertEqual(told["violated-policies"], ["one"])
        self.assertIn(f"again in {answer.fields['Retry-After']} s.", told["detail"])
        self.assertTrue(answer.fields["RateLimit"].startswith('"one";r=0;t='))
        self.assertIn("admits", self.problem(self.apache.get("/problem/large"), 403, "quota-exceeded")["detail"])
        rlctl(self.apache.segment, "ban", "127.0.0.36", "--rule", "two", "--for", "1h")
        self.problem(self.apache.get("/problem/ban", source="127.0.0.36"), 429, "abnormal-usage-detected")
        self.assertNotIn("violated-policies", self.problem(self.apache.get("/problem/undecided"), 503, "temporary-reduced-capacity"))
        self.assertEqual(self.apache.get("/problem/off/x").fields["Content-Type"].split(";")[0], "text/html")

    def test_a_problem_and_the_next_request_of_its_connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.apache.port, timeout=20)
        told = []
        for method in ("POST", "POST", "HEAD", "GET"):
            connection.request(method, "/problem/kept", body=b"x" * 20000 if method == "POST" else None)
            answer = connection.getresponse()
            told.append((answer.status, answer.headers["Content-Type"], answer.read() != b""))
        connection.close()
        refused = (429, "application/problem+json")
        self.assertEqual(told[1:], [(*refused, True), (*refused, False), (*refused, True)])

    def test_notes_and_environment(self):
        self.assertEqual(self.apache.get("/env/show.shtml").body, "PASSED two 1")
        self.assertEqual(self.admitted(2, "/env/show.shtml"), 1)
        eventually(lambda: re.search(r" 429 /env/show.shtml REJECTED two 0 \d+\n", self.apache.read("access.log")),
                   "the access log")

    def test_environment_after_a_redirect(self):
        self.assertEqual(self.apache.get("/noted").body, "PASSED wide 999")

    def test_environment_of_a_backend(self):
        self.apache.get("/backend/env")
        seen = [fields for path, fields in self.backend.seen if path == "/env"]
        self.assertEqual(seen[0].get("X-Limit"), "PASSED 1")

    def test_delay(self):
        """Of three at once the last waits for 400 ms, and a fourth is too many, unless it comes 200 ms later."""
        statuses = []
        for _ in range(10):
            before = time.monotonic()
            requests = [self.apache.background("/delay") for _ in range(4)]
            for request in requests:
                request.join()
            statuses = sorted(r.answer.status for r in requests)
            if 429 in statuses:
                break
            eventually(lambda: used(self.apache.segment, "evenly", "delay") == 0, "an empty bucket")
        self.assertEqual(statuses, [200, 200, 200, 429])
        self.assertGreaterEqual(time.monotonic() - before, 0.4)
        eventually(lambda: "/delay DELAYED" in self.apache.read("access.log"), "the access log")

    def test_no_delay(self):
        found = self.statuses(5, "/nodelay")
        self.assertEqual(found, [200, 200, 200, 429, 429])
        self.assertNotIn("/nodelay DELAYED", self.apache.read("access.log"))

    def test_bursts_of_places_share_a_rate(self):
        self.assertEqual(self.statuses(3, "/burst/0"), [200, 429, 429])
        self.assertEqual(self.admitted(5, "/burst/3"), 3)

    def test_algorithms(self):
        for name, count in (("fixed_window", 2), ("sliding_log", 2), ("token_bucket", 4), ("anchored_window", 2),
                            ("sliding_window", 2)):
            self.assertEqual(self.admitted(6, f"/algorithm/{name}"), count, name)
        shown = rlctl(self.apache.segment, "status").stdout
        for what in ("fixed_window, 2 per 30d", "sliding_log, 2 per 30d", "anchored_window, 2 per 30d",
                     "sliding_window, 2 per 30d, 60 x 12h, hard", "token_bucket, 2 per 30d, burst 4"):
            self.assertIn(what, shown)

    def test_the_segment_is_as_asked(self):
        self.assertIn("bans       ", rlctl(self.apache.segment, "status").stdout)
        self.assertRegex(rlctl(self.apache.segment, "status").stdout, r"ring +128\b")  # for a log of 64


CONFIG = """
RLRule one 1/30d
RLRule two 2/30d
RLRule wide 1000/30d
RLRule narrow 2/30d
RLRule three-of-two 3/30d 5/day
RLRule ten 10/30d
RLRule nets 2/30d v4=32 v6=64 3/30d v4=24 v6=48
RLRule shadow 1/30d mode=shadow
RLRule evenly 5/s algorithm=leaky_bucket burst=2
RLRule slowly 1/h algorithm=leaky_bucket
RLRule fixed_window 2/30d algorithm=fixed_window count_denied=on
RLRule sliding_log 2/30d algorithm=sliding_log
RLRule token_bucket 2/30d algorithm=token_bucket burst=4
RLRule anchored_window 2/30d algorithm=anchored_window
RLRule sliding_window 2/30d
RLRule long_log 64/30d algorithm=sliding_log
@MANY@RLRule estimate 10/min granularity=1 hard=off prefetch=0

RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1

"""


def locations():
    """Sections that answer with 200: an alias of one page each."""
    text = ""
    for path, body in SECTIONS.items():
        text += f'AliasMatch "^{path}$" "${{HTDOCS}}/page.html"\n<Location "{path}">\n{body}\n</Location>\n'
    return text


SECTIONS = {
    "/two-limits": "RLLimit three-of-two two-limits",
    "/several": "RLLimit wide several\nRLLimit narrow several",
    "/by-header": 'RLLimit two "%{req:X-Key}"',
    "/empty-deny": 'RLLimit two "%{req:X-Key}" empty=deny',
    "/empty-allow": 'RLLimit two "%{req:X-Key}" empty=allow',
    "/empty-error-deny": 'RLLimit two "%{req:X-Key}" empty=error\nRLOnError deny',
    "/by-client": "RLLimit two",
    "/by-network": "RLLimit two\nRLClientPrefix 24 56",
    "/by-variable": 'RLLimit two "%{RL_CLIENT} %{REQUEST_URI}"\nRLClientPrefix 24 56',
    "/prefixes": "RLLimit nets",
    "/prefixes-bad-key": "RLLimit nets nonsense",
    "/many": "RLOnError deny\n" + "".join(f"RLLimit many{i} many\n" for i in range(5)),
    "/cost": 'RLLimit ten cost cost=%{req:X-Cost}',
    "/cost-and-more": 'RLLimit ten cost-and-more cost=%{req:X-Cost}\nRLLimit two cost-and-more',
    "/tiers": 'SetEnvIf X-Tier gold tier=6\nRLLimit two "%{req:X-Tier}" capacity=%{reqenv:tier}',
    "/if": "RLLimit two if \"if=%{REQUEST_METHOD} == 'POST'\"",
    "/if-header": "RLLimit two if-header \"if=%{req:X-Robot} == 'yes'\"",
    "/twice": 'RLLimit two twice\nRLLimit two key=%{tolower:TWICE}',
    "/outer": "RLLimit wide outer\nRLLimit two outer2",
    "/outer/inner": "RLLimit two inner",
    "/outer/off": "RLLimit off",
    "/third": "RLLimit two third",
    "/third/replaced": "RLLimit two third cost=2",
    "/if-section": '<If "%{HTTP_USER_AGENT} == \'robot\'">\nRLLimit one robot\n</If>',
    "/target": "RLLimit two target",
    "/error-document": "RLLimit one error-document\nErrorDocument 429 /sorry",
    "/sorry": "RLLimit one error-document",
    "/block": "RLBlock 1h\nRLStatus 403",
    "/block/a": "RLLimit two",
    "/block/b": "RLLimit wide",
    "/block/off": "RLBlock off",
    "/block-by": "RLBlock 1h rule=box by=one",
    "/block-by/a": "RLLimit one block-by-a",
    "/block-by/b": "RLLimit two block-by-b cost=2",
    "/block-by/other": "RLLimit wide",
    "/allow": 'RLLimit two\nRLAllow 127.0.0.41 127.0.5.0/24 127.0.6.*',
    "/allow/off": "RLAllow off\nRLLimit two allow-off",
    "/status": "RLLimit two status\nRLStatus 503",
    "/dry": "RLLimit two dry\nRLDryRun on",
    "/dry-block": "RLLimit one dry-block\nRLDryRun on\nRLBlock 1h",
    "/shadow": "RLLimit shadow shadow",
    "/quiet": "RLLimit one quiet\nRLLogLevel debug",
    "/loud": "RLLimit one loud\nRLLogLevel error",
    "/headers/off": "RLLimit one headers-off\nRLHeaders off",
    "/headers/ietf": "RLLimit one headers-ietf\nRLHeaders ietf",
    "/headers/ietf-7": "RLLimit two headers-7\nRLHeaders ietf-7",
    "/headers/ietf-11": "RLLimit two headers-11\nRLHeaders ietf-11",
    "/headers/x": "RLLimit one headers-x\nRLHeaders x",
    "/headers/x-unix": "RLLimit one headers-x-unix\nRLHeaders x-unix",
    "/headers/retry-after": "RLLimit one headers-r\nRLHeaders retry-after",
    "/problem/quota": "RLLimit one problem\nRLProblem on\nErrorDocument 429 /page.html",
    "/problem/kept": "RLLimit one problem-kept\nRLProblem on",
    "/problem/large": "RLLimit two problem-large cost=5\nRLProblem on",
    "/problem/ban": "RLLimit two\nRLProblem on",
    "/problem/undecided": 'RLLimit two "%{req:X-Key}" empty=error\nRLOnError deny\nRLProblem on',
    "/problem/off": "RLLimit two problem-off cost=5\nRLProblem on",
    "/problem/off/x": "RLProblem off",
    "/headers/both": "RLLimit one headers-both\nRLHeaders ietf x",
    "/delay": "RLLimit evenly delay",
    "/nodelay": "RLLimit slowly nodelay burst=2 nodelay",
    "/burst/0": "RLLimit slowly burst",
    "/burst/3": "RLLimit slowly burst burst=3 delay=3",
}
for algorithm in ("fixed_window", "sliding_log", "token_bucket", "anchored_window", "sliding_window"):
    SECTIONS[f"/algorithm/{algorithm}"] = f"RLLimit {algorithm} key"

CONFIG = CONFIG.replace("@MANY@", "".join(
    f"RLRule many{i} " + " ".join(f"100{j}/{j + 1}h" for j in range(8)) + "\n" for i in range(5)))
CONFIG += """
Define HTDOCS "@ROOT@/htdocs"
""" + locations() + """
<Directory "${HTDOCS}/dir">
    RLLimit wide dir
    <Files other.html>
        RLLimit two other
    </Files>
    <Files index.html>
        RLLimit two index
    </Files>
</Directory>
<Directory "${HTDOCS}/list">
    Options +Indexes
    DirectoryIndex disabled
    <Files "*.iso">
        RLLimit two iso
    </Files>
</Directory>
<Directory "${HTDOCS}/ssi">
    Options +Includes
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
    <Files part.html>
        RLLimit one ssi
    </Files>
</Directory>
<Directory "${HTDOCS}/env">
    Options +Includes
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
    RLLimit two env
</Directory>
<Location "/noted">
    RLLimit wide noted
    RewriteEngine on
    RewriteRule .* /shown/show.shtml [L]
</Location>
<Directory "${HTDOCS}/shown">
    Options +Includes
    AddType text/html .shtml
    AddOutputFilter INCLUDES .shtml
</Directory>
<Location "/backend">
    ProxyPass http://127.0.0.1:@BACKEND@
    RequestHeader set X-Limit "%{RL_STATUS}e %{RL_REMAINING}e"
    RLLimit two backend
</Location>
<Location "/refund">
    ProxyPass http://127.0.0.1:@BACKEND@
    RLLimit two refund "refund_if=%{REQUEST_STATUS} -ne 401"
</Location>
<Location "/count">
    ProxyPass http://127.0.0.1:@BACKEND@
    RLLimit two count "count_if=%{REQUEST_STATUS} -eq 401"
</Location>
<Location "/redirect">
    RewriteEngine on
    RewriteRule .* /target [L]
</Location>
<Location "/redirect-same">
    RLLimit two target-same
    RewriteEngine on
    RewriteRule .* /target-same [L]
</Location>
Alias "/target-same" "${HTDOCS}/page.html"
<Location "/target-same">
    RLLimit two target-same
</Location>
Alias "/by-user" "${HTDOCS}/page.html"
<Location "/by-user">
    AuthType Basic
    AuthName limits
    AuthBasicProvider anon
    Anonymous *
    Require valid-user
    RLLimit two "%{REMOTE_USER}" late
</Location>
Alias "/login" "${HTDOCS}/page.html"
<Location "/login">
    AuthType Basic
    AuthName limits
    AuthUserFile "@ROOT@/passwords"
    AuthBasicProvider file
    Require valid-user
    RLLimit two login
</Location>
<Location "/redirect-login">
    RewriteEngine on
    RewriteRule .* /login/again [L]
</Location>
<Location "/login/again">
    RLLimit off
    RLLimit two login-again
</Location>
Alias "/satisfy" "${HTDOCS}/page.html"
<Location "/satisfy">
    AuthType Basic
    AuthName limits
    AuthUserFile "@ROOT@/passwords"
    AuthBasicProvider file
    Require valid-user
    Require all granted
    Satisfy any
    RLLimit two satisfy
</Location>
<VirtualHost *>
    ServerName localhost
    DocumentRoot "${HTDOCS}"
</VirtualHost>
<VirtualHost *>
    ServerName other.example
    DocumentRoot "${HTDOCS}"
    RLLimit one other
</VirtualHost>
"""


class Wrong(unittest.TestCase):
    """Each mistake is named by configtest, with its place, and nothing is made."""

    CASES = (
        ("RLSegment a/b", "is no name of a segment"),
        ("RLSegment a keys=x", 'bad value or unknown word "keys=x"'),
        ("RLSegment a keys=0", '"keys=0"'),
        ("RLSegment a group=nobody-at-all", '"group=nobody-at-all"'),
        ("RLSegment a mode=999", '"mode=999"'),
        ("RLSegment a colour=red", '"colour=red"'),
        ("RLSegment a cells=100", "cells: expected a power of two"),
        ("RLSegment a reserves=0", '"reserves=0": reserves: expected a number from 1 to '),
        ("RLSegment a readonly", "unknown word"),
        ("RLSegment a mode=0066", "with 6 for the owner"),
        ("RLSegment a events=1048577", '"events=1048577"'),
        ("RLSegment a cells=64 on_full=deny", "cells: only a segment with on_full reserve has any"),
        ("RLSegment a\nRLSegment b", "stands at"),
        ("<Location />\nRLSegment a\n</Location>", "RLSegment"),
        ("RLRule", "needs a name"),
        ("RLRule x", "needs a name"),
        ("RLRule x! 5/s", '"x!" is no name of a rule'),
        ("RLRule x 5", 'no limit: "5"'),
        ("RLRule x 0/s", 'no limit: "0/s"'),
        ("RLRule x 5/parsec", 'no limit: "5/parsec"'),
        ("RLRule x 5/500d", "5/500d"),
        ("RLRule x 5/s 5/s hard=maybe", 'in "hard=maybe": hard: expected on or off'),
        ("RLRule x 5/s colour=red", 'in "colour=red": colour: unknown word'),
        ("RLRule x burst=5 5/s", 'a limit such as 5/min comes first, not "burst=5"'),
        ("RLRule x 5/s burst=5", "burst"),
        ("RLRule x 5/s algorithm=magic", '"algorithm=magic"'),
        ("RLRule x in_flight=0", '"in_flight=0"'),
        ("RLRule x in_flight=5 burst=3", "burst"),
        ("RLRule x 5000/h algorithm=sliding_log", "capacity"),
        ("RLRule x 5/s v4=33", 'in "v4=33": v4: expected a number from 1 to 32'),
        ("RLRule x 5/s scope=cluster", "scope: shares of a cluster come from rld(8)"),
        ("RLRule x 5/s granularity=7ms", "RLRule x: granularity: its length divides"),
        ("RLRule x 5/s 6/s v4=24", "x"),
        ("RLRule x " + "5/s " * 9, "more than 8 limits"),
        ("RLRule x 5/s\nRLRule x 6/s", "defined at"),
        ("RLLimit nothing", 'no RLRule defines "nothing"'),
        ("RLRule x 5/s\nRLLimit", "needs the name of a rule"),
        ("RLRule x 5/s\nRLLimit x %{", "in the expression"),
        ("RLRule x 5/s\nRLLimit x key if=((", "in the expression"),
        ("RLRule x 5/s\nRLLimit x key count_if=true refund_if=true", "one count_if=, or one refund_if="),
        ("RLRule x 5/s\nRLLimit x key colour=red", '"colour=red"'),
        ("RLRule x 5/s\nRLLimit x key nodelay", '"nodelay"'),
        ("RLRule x 5/s\nRLLimit x key burst=1 delay=2", "delay= is above burst="),
        ("RLRule x 5/s\nRLLimit x key empty=maybe", '"empty=maybe"'),
        ("RLRule x 5/s\nRLLimit x key burst=5", "burst: 5; sliding_window has none, leaky_bucket and token_bucket have one"),
        ("RLRule x 5/s\nRLLimit x key burst=0", "burst: 0; sliding_window has none"),
        ("RLLimit x key burst=5 nodelay\nRLRule x 5/s algorithm=fixed_window", "burst: 5; fixed_window has none"),
        ("RLRule x 5/s algorithm=token_bucket\nRLLimit x key burst=2 nodelay", "undelayed: 2; token_bucket has none"),
        ("RLRule x 5/s 9/h algorithm=leaky_bucket\nRLLimit x key burst=5", "burst: 5; sliding_window has none"),
        ("RLRule x 5/s algorithm=leaky_bucket burst=2\nRLLimit x key delay=3", "undelayed: 3; at most the burst is allowed, 2"),
        ("RLRule x in_flight=3\nRLLimit x key capacity=100000000", "capacity: 100000000; 1 to "),
        ("RLRule x 5/s\nRLLimit x key cost=abc", '"abc" is no whole number from 0 to'),
        ("RLRule x 5/s\nRLLimit x key capacity=0", '"0" is no whole number from 1 to 268435455'),
        ("RLRule x 5/s\nRLLimit x key\nRLLimit x key cost=2", "it stands in this section already, with the same key, at"),
        ("RLSettle nothing cost=1", 'no RLRule defines "nothing"'),
        ("RLRule x 5/s\nRLSettle x 5", '"5"'),
        ("RLBlock", "needs a period"),
        ("RLBlock 10", "needs a period"),
        ("RLBlock 10s by=nothing", 'no RLRule defines "nothing"'),
        ("RLBlock 10s colour=red", '"colour=red"'),
        ("RLAllow 300.0.0.1", '"300.0.0.1" is no address'),
        ("RLAllow 10.0.0.0/99", '"10.0.0.0/99"'),
        ("RLStatus 200", '"200"'),
        ("RLStatus 600", '"600"'),
        ("RLDryRun maybe", "RLDryRun"),
        ("RLLogLevel whisper", '"whisper"'),
        ("RLHeaders", "RLHeaders needs"),
        ("RLHeaders y", '"y"'),
        ("RLHeaders x x-unix", "choose one"),
        ("RLHeaders ietf off", '"off"'),
        ("RLHeaders ietf ietf-7", "two forms of the same fields"),
        ("RLHeaders ietf-12", '"ietf-12"'),
        ("RLOnError maybe", '"maybe"'),
        ("RLClientPrefix 33 64", '"33"'),
        *((f"RLRule x 5/s\n<Location />\n<{of}>\n{inside}\n</{of.split()[0]}>\n</Location>", "within <Limit> or <LimitExcept>")
          for of in ("Limit POST", "LimitExcept GET")
          for inside in ("RLLimit x", "RLLimit off", "RLSettle x cost=1", "RLBlock 10s", "RLBlock off", "RLAllow 10.0.0.0/8", "RLDryRun on")),
        ("RLClientPrefix 32 0", '"0"'),
    )

    def test_each(self):
        with Apache("", options=None, start=False) as apache:
            for text, says in self.CASES:
                apache.configure(text + "\n")
                done = apache.test_config()
                said = done.stderr + apache.log()
                self.assertNotEqual(done.returncode, 0, text)
                self.assertIn(says, said, text)
                self.assertIn("httpd.conf", said, text)
                apache.write("error.log", "")

    def test_one_rule_and_key_under_two_conditions(self):
        with Apache("RLRule x 5/s\nRLLimit x key \"if=%{REQUEST_METHOD} == 'GET'\"\n"
                    "RLLimit x key cost=2 \"if=%{REQUEST_METHOD} == 'POST'\"\n<Location />\nRLLimit x key\n</Location>\n",
                    start=False) as apache:
            self.assertIn("Syntax OK", apache.test_config().stderr)

    def test_rules_may_come_after_their_use(self):
        with Apache("<Location />\nRLLimit x\n</Location>\nRLRule x 5/s\nRLRule x 5/s\n", start=False) as apache:
            self.assertIn("Syntax OK", apache.test_config().stderr)


class Upgrade(unittest.TestCase):
    """What the package's postinst says after it is upgraded; it never fails."""

    def upgrade(self, config, *arguments):
        with Apache(config, start=False) as apache:
            command, env = apache.command("-t")
            apache.write("apache2ctl", f'#!/bin/sh\n[ "$*" = configtest ] && exec {" ".join(command)}\n', 0o755)
            done = subprocess.run(["sh", os.path.join(TOP, "debian/libapache2-mod-rl.postinst"), "configure", *arguments],
                                  capture_output=True, text=True, check=True,
                                  env=dict(env, PATH=apache.root + ":" + os.environ["PATH"]))
            return done.stdout + done.stderr

    def test_what_is_refused_is_told(self):
        bad = "RLRule x 5/s\nRLLimit x burst=5\n"
        said = self.upgrade(bad, "0.1.0-1")
        self.assertIn("burst: 5; sliding_window has none", said)
        self.assertIn("libapache2-mod-rl: Apache refuses this configuration now", said)
        self.assertEqual(self.upgrade("RLRule x 5/s\nRLLimit x\n", "0.1.0-1"), "")
        self.assertEqual(self.upgrade(bad), "")


class Htaccess(unittest.TestCase):
    def test_users_cannot_switch_limits_off(self):
        with Apache("RLRule one 1/30d\n<Location />\nRLLimit one\n</Location>\n"
                    "<Directory />\nAllowOverride All\n</Directory>\n") as apache:
            apache.write("htdocs/.htaccess", "RLLimit off\n")
            self.assertEqual(apache.get().status, 500)


if __name__ == "__main__":
    unittest.main()
