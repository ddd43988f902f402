# SPDX-License-Identifier: BSD-2-Clause
"""Each call of the extension while the garbage collector runs at each object that is made. A debug build of Python, with
which asan.sh runs this, fills what is freed: what is read after that is wrong here."""

import gc
import os
import time
import types

import pytest
import rl
from rl import _rl

NOW = (time.time_ns() // 10**9 // 3600 + 1) * 3600 * 10**9


@pytest.fixture
def collector():
    """It runs as often as it can, and looks at what the test makes alone."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(1)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class Fresh:
    """A sequence whose items nobody but the caller refers to."""

    def __init__(self, *makers):
        self.makers = makers

    def __len__(self):
        return len(self.makers)

    def __getitem__(self, place):
        return self.makers[place]()


class Number:
    """An integer that makes objects as it is read."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return len([[] for _ in range(self.value)])


class Use:
    """What the calls are made with."""

    def __init__(self):
        self.segment = segment = rl.Segment(private=True, keys=64)
        self.now = NOW
        self.rule = segment.rule("login", "5/h", granularity=1)
        self.bucket = segment.rule("bucket", "5/h", algorithm="token_bucket")
        self.jobs = segment.rule("jobs", algorithm="in_flight", capacity=2)
        self.counters = segment.counters("c")
        self.proxies = rl.Proxies(["10.0.0.0/8"])
        self.result = self.rule.check(self.key("alice"), at_ns=self.now)
        self.count = self.counters.add(self.key("alice"), 1, None, at_ns=self.now)
        self.held = self.jobs.hold("alice")

    @staticmethod
    def key(text):
        return "".join(("key ", text))

    def items(self):
        return Fresh(
            lambda: (self.rule, self.key("größe"), Number(1), None, None, None),
            lambda: (self.bucket, self.key("b").encode(), Number(2), Number(9), Number(3)),
            lambda: (self.rule, memoryview(self.key("c").encode() * 900)),
        )

    def batch(self, call):
        """Who was charged, and not only what was said."""
        told = call(self.items(), at_ns=self.now)
        keys = [(self.rule, self.key("größe")), (self.bucket, self.key("b")), (self.rule, self.key("c") * 900)]
        assert [rule.peek(key, at_ns=self.now).used for rule, key in keys] == [1, 2, 1]
        return told


def entered(context):
    with context as inside:
        return inside is context


def everything(holder):
    """Of a type or module, the names that the extension gives it."""
    of_python = (types.FunctionType, types.ModuleType)
    return {
        name for name, what in vars(holder).items()
        if not isinstance(what, of_python) and (callable(what) or hasattr(what, "__get__")) and not isinstance(what, type)
    }  # fmt: skip


CALLS = {
    _rl: {
        "key_digest": lambda u: _rl.key_digest(u.key("a")),
        "_limit_of_key": lambda u: _rl._limit_of_key(u.key("/5/2/minute"), {"minute": 60}),
        "unlink": lambda u: pytest.raises(rl.NotFoundError, _rl.unlink, f"collector-{os.getpid()}").typename,
        "parse_rate": lambda u: _rl.parse_rate("".join(("5", "/min"))),
        "_duration_ns": lambda u: _rl._duration_ns(Number(5), "seconds"),
        "_check_limits": lambda u: _rl._check_limits(({"capacity": Number(5), "".join(("win", "dow")): 1},)),
        "_error_symbol": lambda u: _rl._error_symbol(Number(22)),
        "_problem": lambda u: _rl._problem(503),
        "place": lambda u: _rl.place(f"collector-{os.getpid()}")["is_there"],
    },
    rl.Segment: {
        "__new__": lambda u: rl.Segment(private=True, keys=Number(3), buffer=1.5, group=Number(os.getgid())).info()["on_full"],
        "__enter__": lambda u: entered(u.segment), "__exit__": lambda u: entered(u.segment),
        "close": lambda u: u.segment.close(),
        "_define": lambda u: u.segment.rule(u.key("x").replace(" ", "-"), "5/s", {"limit": "9/min"}).limits(),
        "_ban": lambda u: (u.segment.ban(u.key("x"), seconds=60), u.rule.unban(u.key("x")), u.segment.unban(u.key("x"))),
        "_reset": lambda u: u.segment.reset(prefix=u.key(""), rule=u.rule),
        "find": lambda u: u.segment.find("login"), "forget": lambda u: u.segment.forget("login"),
        "rules": lambda u: u.segment.rules(), "counters": lambda u: u.segment.counters("other"),
        "_check_all": lambda u: u.batch(u.segment._check_all), "_check_many": lambda u: u.batch(u.segment._check_many),
        "now_ns": lambda u: u.segment.now_ns() > 0, "give_back": lambda u: u.segment.give_back(),
        "settle": lambda u: u.segment.settle(u.result.charges, Number(0), at_ns=u.now),
        "info": lambda u: u.segment.info()["rules_used"], "sweep": lambda u: u.segment.sweep(at_ns=Number(3)),
        "is_current": lambda u: u.segment.is_current(), "is_closed": lambda u: u.segment.is_closed, "name": lambda u: u.segment.name,
    },
    rl.Rule: {
        "check": lambda u: u.rule.check(u.key("b"), Number(2), capacity=Number(3), at_ns=u.now),
        "_admits": lambda u: [u.rule._admits(u.key("b"), Number(1), Number(1), u.now) for _ in range(2)],
        "_used": lambda u: u.rule._used(u.key("b/5/1/minute"), Number(2), 60, {"minute": 60}, u.now),
        "check_limits": lambda u: u.rule.check_limits(u.key("b"), Number(2), at_ns=u.now),
        "peek": lambda u: u.rule.peek(u.key("alice"), at_ns=u.now),
        "reserve": lambda u: u.bucket.reserve(u.key("b"), 5, max_wait=Number(0).value, at_ns=u.now),
        "allows": lambda u: [u.rule.allows(u.key("b"), Number(3)) for _ in range(2)],
        "refund_key": lambda u: u.rule.refund_key(u.key("alice"), Number(1), at_ns=u.now),
        "reset": lambda u: u.rule.reset(u.key("alice")),
        "entries": lambda u: [entry["buckets"][0] for entry in u.rule.entries(u.key("alice"), at_ns=u.now)],
        "limits": lambda u: u.rule.limits(), "stats": lambda u: u.rule.stats()["allowed"],
        "__repr__": lambda u: repr(u.rule), "name": lambda u: u.rule.name,
        "segment": lambda u: u.rule.segment is u.segment, "handle": lambda u: u.rule.handle,
    },
    rl.Result: {
        "headers": lambda u: u.rule.check(u.key("alice"), 5, at_ns=u.now).headers(older=True)[-2:],
        "refund": lambda u: [u.result.refund(at_ns=u.now) for _ in range(2)], "release": lambda u: u.held.release(),
        "problem": lambda u: u.rule.check(u.key("alice"), 5, at_ns=u.now).problem(429),
        "settle": lambda u: u.rule.check(u.key("alice"), 2, at_ns=u.now).settle(Number(1), at_ns=u.now),
        "charges": lambda u: len(u.result.charges),
        "__enter__": lambda u: entered(u.held), "__exit__": lambda u: (entered(u.held), u.held.release()),
        "__repr__": lambda u: repr(u.held), "__bool__": lambda u: bool(u.held),
        "error": lambda u: [str(u.rule.check("a", 1, undelayed=Number(5)).error), u.result.error],
        "rule": lambda u: u.result.rule is u.rule, "at_ns": lambda u: u.result.at_ns == u.now,
        **{name: lambda u, name=name: getattr(u.result, name) for name in (
            "verdict", "reason", "is_shadow_denied", "retry_after", "reset_after", "delay", "window", "index", "limit",
            "remaining", "used", "_held", "retry_after_ns", "reset_after_ns", "delay_ns", "window_ns",
        )},
    },
    rl.Counters: {
        "add": lambda u: u.counters.add(u.key("b"), Number(2), 1.5, at_ns=u.now),
        "get": lambda u: u.counters.get(u.key("alice"), at_ns=u.now),
        "set": lambda u: u.counters.set(u.key("alice"), Number(7), at_ns=u.now),
        "set_new": lambda u: u.counters.set_new(u.key("b"), Number(7), None, at_ns=u.now),
        "touch": lambda u: u.counters.touch(u.key("alice"), lifetime=60, at_ns=u.now),
        "drop": lambda u: u.counters.drop(u.key("alice"), at_ns=u.now),
        "__repr__": lambda u: repr(u.counters), "name": lambda u: u.counters.name,
        "segment": lambda u: u.counters.segment is u.segment,
    },
    rl.Proxies: {
        "__new__": lambda u: rl.Proxies(Fresh(lambda: "".join(("10.", "0.0.0/8")), lambda: "".join(("unix", ":")))).client("unix:"),
        "client": lambda u: u.proxies.client("".join(("10.", "0.0.1")), Fresh(*[lambda: "".join(("192.0.2.", "1, 10.9.9.9"))] * 40)),
        "field": lambda u: u.proxies.field,
    },
}  # fmt: skip
EACH = [pytest.param(call, id=f"{holder.__name__}.{name}") for holder, calls in CALLS.items() for name, call in calls.items()]


@pytest.mark.parametrize("holder", CALLS, ids=lambda holder: holder.__name__)
def test_no_call_is_left_out(holder):
    assert everything(holder) == set(CALLS[holder])


@pytest.mark.parametrize("call", EACH)
def test_a_call_says_the_same_while_the_collector_runs(collector, call):
    said = repr(call(Use()))
    gc.disable()
    try:
        assert repr(call(Use())) == said
    finally:
        gc.enable()


@pytest.mark.parametrize("call", EACH)
def test_the_collector_closes_the_segment_meanwhile(collector, call):
    class Closing:
        """A circle, so that the collector ends it."""

        def __init__(self, segment):
            self.segment, self.own = segment, self

        def __del__(self):
            self.segment.close()

    gc.disable()
    use = Use()
    Closing(use.segment)
    gc.enable()
    try:
        call(use)
    except ValueError as error:
        assert "closed" in str(error)
    gc.collect()
    assert use.segment.is_closed
