# SPDX-License-Identifier: BSD-2-Clause
"""bindings/table.json, played by this binding: see bindings/README.md."""

import errno
import json
import os

import pytest
import rl

with open(os.path.join(os.environ["RL_TOP"], "bindings/table.json"), encoding="utf-8") as file:
    CASES = json.load(file)["cases"]

NUMBERS = ("index", "limit", "remaining", "used")
TIMES = ("retry_after_ns", "reset_after_ns", "delay_ns", "window_ns")
OWN = ("cost", "capacity", "burst", "undelayed")


def ns_of(text):
    return rl.NEVER_NS if text == "never" else int(text or 0)


def ns_text(ns):
    return "never" if ns == rl.NEVER_NS else str(ns)


def key_of(step):
    if "key_hex" in step:
        return bytes.fromhex(step["key_hex"])
    return step["key"] * step.get("times", 1)


def seconds_of(text):
    ns = ns_of(text)
    if ns == rl.NEVER_NS:
        return None
    assert ns % 10**9 == 0
    return ns // 10**9


def result_of(result):
    """As the table has it."""
    answer = {"verdict": result.verdict}
    if result.error is not None:
        answer["error"] = result.error.symbol
    if result.verdict == "undecided":
        assert not result
        return answer
    assert bool(result) == (result.verdict == "allowed")
    if result.reason != "limit":
        answer["reason"] = result.reason
    answer.update({name: getattr(result, name) for name in NUMBERS if getattr(result, name)})
    if result.is_shadow_denied:
        answer["is_shadow_denied"] = 1
    answer.update({name: ns_text(getattr(result, name)) for name in TIMES if getattr(result, name)})
    return answer


class Player:
    """A case: its segment, and what steps refer to."""

    def __init__(self, segment, case):
        self.segment, self.requests, self.last = segment, {}, None
        for rule in case.get("rules", ()):
            self.define(rule)
        self.spaces = {name: segment.counters(name) for name in case.get("spaces", ())}

    def define(self, rule):
        limits = [self.exact(limit) for limit in rule["limits"]]
        return self.segment.rule(rule["name"], *limits, keep=rule.get("keep", False))

    @staticmethod
    def exact(limit):
        """Windows that are no whole seconds go as text."""
        fields = dict(limit)
        ns = ns_of(fields.pop("window_ns", 0))
        fields["window"] = None if ns == rl.NEVER_NS else f"{ns}ns"
        if limit["algorithm"] == "sliding_window":
            fields.setdefault("granularity", 0)
            fields.setdefault("hard", False)
        return fields

    def rule(self, step):
        if "rule" not in step:
            return None
        return self.segment.find(step["rule"])

    def play(self, step):
        return getattr(self, step["call"])(step)

    def at(self, step):
        return {"at_ns": ns_of(step["at_ns"])} if "at_ns" in step else {}

    def own(self, step):
        return {name: step[name] for name in OWN if name in step}

    def told(self, step, result):
        self.last = result
        if "request" in step:
            self.requests[step["request"]] = result
        return result_of(result)

    def asked(self, step, call, **more):
        """What a call says; an empty key is an exception here, and the limit that it tells is nobody's."""
        try:
            rule = self.rule(step)
        except KeyError:
            return {"verdict": "undecided", "error": "EINVAL"}
        return getattr(rule, call)(key_of(step), **self.at(step), **more)

    def check(self, step):
        if step["rule"] in self.spaces:
            with pytest.raises(KeyError):
                self.rule(step)
            return {"verdict": "undecided", "error": "EINVAL"}
        result = self.asked(step, "check", **self.own(step))
        if isinstance(result, dict):
            return result
        rule = self.segment.find(step["rule"])
        if rule.limits()[0]["algorithm"] == "in_flight" and "request" not in step:
            return {"verdict": "undecided", "error": "RL_ECHARGES"}  # a Result always has a place for what is held
        return self.told(step, result)

    def peek(self, step):
        return self.told(step, self.asked(step, "peek"))

    def reserve(self, step):
        wait = seconds_of(step.get("max_wait_ns"))
        return self.told(step, self.asked(step, "reserve", max_wait=wait, **self.own(step)))

    def check_limits(self, step):
        result, limits = self.asked(step, "check_limits", **self.own(step))
        return dict(self.told(step, result), limits=[result_of(one) for one in limits])

    def items(self, step):
        return [
            (self.rule(item), key_of(item), *(item.get(name) for name in OWN)) for item in step["items"]
        ]

    def check_all(self, step):
        verdict, decided, results = self.segment._check_all(self.items(step), **self.at(step))
        answer = {"verdict": verdict, "results": [result_of(one) for one in results]}
        if decided < len(results):
            answer["decided"] = decided
        assert self.segment.check_all([(i[0], i[1], 0) for i in self.items(step)], **self.at(step))
        return answer

    def check_many(self, step):
        return {"results": [result_of(one) for one in self.segment.check_many(self.items(step), **self.at(step))]}

    def refund(self, step):
        return {"done": int(self.requests[step["request"]].refund(**self.at(step)))}

    def release(self, step):
        return {"done": int(self.requests[step["request"]].release())}

    def settle(self, step):
        return {"done": int(self.requests[step["request"]].settle(step["actual"], **self.at(step)))}

    def refund_key(self, step):
        return {"done": self.rule(step).refund_key(key_of(step), **self.own(step), **self.at(step))}

    def counter(self, step, call, **more):
        if step["space"] not in self.spaces:
            with pytest.raises(rl.Error, match="name is a rule"):
                self.segment.counters(step["space"])
            return {"error": "EINVAL"}
        count = getattr(self.spaces[step["space"]], call)(key_of(step), **more, **self.at(step))
        if count is None:
            return {"done": 0}
        answer = {"done": 0 if call == "set_new" and not count.is_new else 1}
        answer.update({"value": count.value} if count.value else {})
        answer.update({"expires_after_ns": ns_text(count.expires_after_ns)} if count.expires_after_ns else {})
        answer.update({"is_new": 1} if count.is_new else {})
        return answer

    def counter_add(self, step):
        return self.counter(step, "add", amount=step["value"], lifetime=seconds_of(step.get("lifetime_ns")))

    def counter_get(self, step):
        return self.counter(step, "get")

    def counter_set(self, step):
        return self.counter(step, "set", value=step["value"], lifetime=seconds_of(step.get("lifetime_ns")))

    def counter_set_new(self, step):
        return self.counter(step, "set_new", value=step["value"], lifetime=seconds_of(step.get("lifetime_ns")))

    def counter_touch(self, step):
        return self.counter(step, "touch", lifetime=seconds_of(step.get("lifetime_ns")))

    def counter_drop(self, step):
        return {"done": int(self.spaces[step["space"]].drop(key_of(step), **self.at(step)))}

    def pattern(self, step):
        return {"key" if step["match"] == "key" else step["match"]: key_of(step)}

    def ban(self, step):
        where = self.segment if "rule" not in step else self.rule(step)
        getattr(where, step["call"])(**self.pattern(step), until_ns=ns_of(step["until_ns"]))
        return {"done": 0}

    allow = ban

    def unban(self, step):
        where = self.segment if "rule" not in step else self.rule(step)
        return {"done": int(where.unban(**self.pattern(step)))}

    def reset(self, step):
        if step["rule"] in self.spaces:  # the same by a pattern
            forgotten, _unknown = self.segment.reset(key_of(step), rule=self.spaces[step["rule"]])
            return {"done": int(forgotten > 0)}
        return {"done": int(self.rule(step).reset(key_of(step)))}

    def reset_matching(self, step):
        pattern = self.pattern(step) if "match" in step else {}
        forgotten, unknown = self.segment.reset(**pattern, rule=self.rule(step))
        answer = {"done": 0, "forgotten": forgotten, "unknown": unknown}
        return {name: value for name, value in answer.items() if value or name == "done"}

    def define_step(self, step):
        self.define(step["define"])
        return {"done": 0}

    def forget(self, step):
        try:
            return {"done": int(self.segment.forget(step["rule"]))}
        except KeyError:
            return {"error": "ENOENT"}

    def key_digest(self, step):
        return {"text": rl.key_digest(key_of(step))}

    def headers(self, step):
        return dict(self.last.headers(standard=step.get("set", True), older=True))

    def client(self, step):
        prefixes = {name: step[name] for name in ("prefix_v4", "prefix_v6") if name in step}
        try:
            proxies = rl.Proxies(step["trusted"], field=step["field"], **prefixes)
            address, end, hops = proxies.client(step["peer"], step["lines"])
        except ValueError:
            return {"error": "EINVAL"}
        return {"address": address, "end": end, "hops": hops}

    def rate(self, step):
        try:
            capacity, window_ns = rl.parse_rate(step["rate"])
        except ValueError:
            return {"error": "EINVAL"}
        return {"capacity": capacity, "window_ns": ns_text(window_ns)}


def expected(step):
    """What is told otherwise here, and where."""
    answer = step["answer"]
    if any(one.get("error") == "RL_EEMPTY" for one in [answer, *answer.get("results", ())]):
        return {"error": "RL_EEMPTY"}  # an exception
    return answer


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case):
    options = case.get("options", {})
    with rl.Segment(private=True, **options) as segment:
        player = Player(segment, case)
        for number, step in enumerate(case["steps"]):
            call = "define_step" if step["call"] == "define" else step["call"]
            try:
                answer = getattr(player, call)(step)
            except rl.Error as error:
                answer = {"error": error.symbol}
                if "text" in step["answer"]:
                    assert step["answer"]["text"] in str(error), f"step {number}"
                    answer["text"] = step["answer"]["text"]
            except (TypeError, ValueError) as error:  # refused before librl is asked
                assert step["answer"].get("error") == "EINVAL", f"step {number}: {error}"
                answer = step["answer"]
            assert answer == expected(step), f"step {number}: {step}"


def test_each_error_has_its_name():
    with open(os.path.join(os.environ["RL_TOP"], "include/rl.h"), encoding="utf-8") as header:
        text = header.read()
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2 and words[0] == "#define" and words[2].startswith("(-E") and words[1].startswith("RL_E"):
            number = getattr(errno, words[2].strip("(-)"))
            assert rl.Error(number, "").symbol == words[1]
