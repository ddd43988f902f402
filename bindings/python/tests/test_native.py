# SPDX-License-Identifier: BSD-2-Clause
"""What the binding promises of its own: errors, keys, results, contexts, decorators."""

import asyncio
import datetime
import functools
import inspect
import os
import pickle
import re
import subprocess
import sys
import time

import pytest
import rl


def python(code, *arguments):
    """A process of its own."""
    return subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True).stdout


def test_the_key_of_a_client():
    clients = {"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:0:7::1": "2001:db8:0:7::", "host": "host"}
    assert {address: rl.client_key(address) for address in clients} == clients
    assert [rl.client_key("2001:db8:0:107::1", bits) for bits in (56, 128)] == ["2001:db8:0:100::", "2001:db8:0:107::1"]
    for bits in (129, 0):
        with pytest.raises(ValueError, match="v6"):
            rl.client_key("2001:db8::1", bits)


def test_five_lines():
    assert python(
        "import rl\n"
        "web = rl.Segment(private=True)\n"
        "login = web.rule('login', '5/min')\n"
        "print([bool(login.check('alice')) for _ in range(7)])\n"
    ) == "[True, True, True, True, True, False, False]\n"


# Errors


def test_an_empty_key_is_never_a_yes(private):
    rule, counters = private.rule("login", "5/min", algorithm="token_bucket"), private.counters("c")
    for call in (
        rule.check, rule.allows, rule.peek, rule.reserve, rule.check_limits, counters.add,
        lambda key: private.check_all([(rule, "a"), (rule, key)]), lambda key: private.check_many([(rule, key)]),
    ):  # fmt: skip
        for key in ("", b"", bytearray()):
            with pytest.raises(rl.EmptyKeyError) as error:
                call(key)
            assert error.value.symbol == "RL_EEMPTY" and isinstance(error.value, ValueError)
    assert rule.stats()["allowed"] == 0


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda s, r: r.check(5), "key: expected str or bytes"),
        (lambda s, r: r.check(None), "key: expected str or bytes"),
        (lambda s, r: r.check(), "check() needs 'key'"),
        (lambda s, r: r.check("a", 1, 2), "check() takes at most 2"),
        (lambda s, r: r.check("a", key="b"), "got 'key' twice"),
        (lambda s, r: r.check("a", prize=1), "check() has no argument 'prize'"),
        (lambda s, r: r.check("a", 1.5), "cost: expected an integer"),
        (lambda s, r: r.check("a", -1), "cost: expected an integer from 0"),
        (lambda s, r: r.check("a", 2**64), "cost: expected an integer from 0"),
        (lambda s, r: r.check("a", capacity=2**32), "capacity: expected an integer from 0"),
        (lambda s, r: r.check("a", at_ns="now"), "at_ns: expected an integer"),
        (lambda s, r: r.reserve("a", max_wait=-1), "max_wait: expected"),
        (lambda s, r: r.reserve("a", max_wait=float("nan")), "max_wait: expected seconds"),
        (lambda s, r: s.rule("x", "5/fortnight"), "5/fortnight"),
        (lambda s, r: s.rule("x", 5), "limit: expected a rate"),
        (lambda s, r: s.rule("x", limit="5/s", capacity=5), "limit: it says capacity and window"),
        (lambda s, r: s.rule("x", limit=5), "limit: expected a rate"),
        (lambda s, r: s.rule("x", capacity=5, window="1 hour"), "window: expected a duration"),
        (lambda s, r: s.rule("x", capacity=5, window=-1), "window: expected a duration"),
        (lambda s, r: s.rule("x", capacity="5", window=1), "capacity: expected an integer"),
        (lambda s, r: s.rule("x", capacity=-5, window=1), "capacity: expected an integer"),
        (lambda s, r: s.rule("x", "5/s", algorithm="magic"), 'algorithm: expected "sliding_window", '),
        (lambda s, r: s.rule("x", "5/s", granularty=5), "granularty: a limit has no such field"),
        (lambda s, r: s.rule("x", "5/s", prefix_v4=300), "prefix_v4: expected an integer from 0 to 32"),
        (lambda s, r: s.rule("x y", "5/s"), "name: "),
        (lambda s, r: s.rule("x", window=5), "limit.capacity: 0"),
        (lambda s, r: s.rule("x", *["5/s"] * 9), "limits: 9; 1 to 8"),
        (lambda s, r: s.check_all([]), "items: there is none"),
        (lambda s, r: s.check_all(["a"]), "items[0]: expected (rule, key"),
        (lambda s, r: s.check_all([(r, "a")] * 33), "items: 33; at most 32"),
        (lambda s, r: s.ban(), "give one of key, prefix and network"),
        (lambda s, r: s.ban("a", prefix="b"), "give one of key, prefix and network"),
        (lambda s, r: s.ban(network="nonsense"), "address"),
        (lambda s, r: s.reset("a", rule="login"), "rule: expected an rl.Rule"),
        (lambda s, r: s.find("nobody"), "no rule nobody"),
        (lambda s, r: s.counters("login"), "login: the name is a rule's"),
        (lambda s, r: rl.Segment("a/b"), "segment a/b: a name has 1 to 63 letters, digits and . _ -"),
        (lambda s, r: rl.Segment(private=True, on_full="panic"), 'on_full: expected "reserve"'),
        (lambda s, r: rl.Segment(private=True, keys=-1), "keys: expected an integer"),
        (lambda s, r: rl.Segment("x", group="no such group here"), "group: expected the name or the number of a group"),
        (lambda s, r: rl.Proxies("10.0.0.0/8"), "trusted: expected a list"),
        (lambda s, r: rl.Proxies(["nonsense"]), "trusted: expected"),
        (lambda s, r: rl.Proxies([], field="via"), "field: expected"),
        (lambda s, r: rl.Proxies([]).client("::1", 5), "lines: expected a list"),
        (lambda s, r: rl.Proxies([]).client("::1", "192.0.2.1"), "lines: expected a list"),
        (lambda s, r: rl.Proxies([]).client("::1", ["192.0.2.1", 5]), "lines: expected str or bytes"),
    ],
)
def test_bad_input_gets_an_error_that_names_it(private, call, text):
    rule = private.rule("login", "5/min")
    with pytest.raises((TypeError, ValueError, KeyError, OSError)) as error:
        call(private, rule)
    assert text in str(error.value)


def test_the_reserve_of_a_full_table():
    with rl.Segment(private=True, keys=1, cells=128, reserves=2) as segment:
        info = segment.info()
        assert (info["cells"], info["reserves"]) == (128, 2)
        reasons = [{segment.rule(name, "5/h").check(f"key{i}").reason for i in range(200)} for name in "abc"]
        assert ["reserve" in of_a_rule for of_a_rule in reasons] == [True, True, False]
    for options, said in (({"cells": 128, "on_full": "deny"}, "cells: only a segment with on_full reserve has any"),
                          ({"cells": 100}, "cells: expected a power of two")):
        with pytest.raises(rl.Error, match=said + "$") as error:
            rl.Segment(private=True, **options)
        assert error.value.symbol == "EINVAL"
    with pytest.raises(ValueError, match="reserves"):
        rl.Segment(private=True, reserves=-1)
    for asked, kept in (({}, 4096), ({"events": 64}, 64), ({"events": None}, 0)):
        with rl.Segment(private=True, keys=1, **asked) as segment:
            assert segment.info()["events"] == kept
    with pytest.raises(ValueError, match="events"):
        rl.Segment(private=True, events=-1)


def test_a_ring_that_nobody_has_asked_for(name):
    with rl.Segment(private=True) as segment:
        assert segment.info()["ring"] == 64
    with rl.Segment(name, keys=100, ring=1) as segment:
        with pytest.raises(rl.Error, match="limit.granularity: 60; .* 'rlctl resize --ring 60'") as error:
            segment.rule("login", "5/min")
        assert error.value.symbol == "RL_ERING"
        assert segment.rules() == []
        assert segment.rule("login", "5/min", granularity=1).check("alice")


def test_errors_of_opening(name):
    with pytest.raises(rl.NotFoundError, match=name) as error:
        rl.Segment(name, existing=True)
    assert isinstance(error.value, FileNotFoundError)
    copy = pickle.loads(pickle.dumps(error.value))
    assert (type(copy), copy.errno) == (rl.NotFoundError, error.value.errno)
    with rl.Segment(name, keys=1000, ring=64):
        with pytest.raises(rl.Error, match="keys: .* and 1000000 were asked for; ring: 64, and 1000 were") as error:
            rl.Segment(name, keys=1_000_000, ring=1000, at_least=True)
        assert error.value.symbol == "RL_ELESS"
    os.chmod(rl.place(name)["path"], 0o666)
    with pytest.raises(rl.AccessError) as error:
        rl.Segment(name)
    assert error.value.symbol == "RL_EPUBLIC" and isinstance(error.value, PermissionError)
    os.truncate(rl.place(name)["path"], 4096)
    os.chmod(rl.place(name)["path"], 0o600)
    with pytest.raises(rl.Error) as error:
        rl.Segment(name)
    assert error.value.symbol == "RL_ETRUNCATED"


def test_a_refusal_goes_to_another_process(private):
    rule = private.rule("login", "1/h", granularity=1)
    rule.check("alice")
    error = rl.Limited(rule.check("alice"))
    copy = error
    for _ in range(2):
        copy = pickle.loads(pickle.dumps(copy))
        assert type(copy) is rl.Limited and str(copy) == str(error) and not copy.result and copy.result.rule.name == "login"
        for name in ("verdict", "reason", "error", "limit", "used", "remaining", "retry_after", "reset_after_ns", "at_ns", "index"):
            assert getattr(copy.result, name) == getattr(error.result, name), name


def test_a_result_goes_to_another_process(private):
    result = private.rule("login", "1/h", granularity=1).check("alice")
    for copy in (pickle.loads(pickle.dumps(result)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(result))))):
        assert copy and repr(copy) == repr(result) and copy.rule.name == "login"
        assert (copy.limit, copy.remaining, copy.at_ns) == (1, 0, result.at_ns)


def test_the_version_is_that_of_librl():
    with open(os.path.join(os.environ["RL_TOP"], "Makefile"), encoding="utf-8") as file:
        assert f"\nVERSION := {rl.__version__}\n" in re.sub(r"[ \t]+", " ", file.read())


def test_a_reader_is_undecided_about_charges(segment):
    segment.rule("login", "5/min").check("alice")
    with rl.Segment(segment.name, readonly=True) as reader:
        rule = reader.find("login")
        assert rule.peek("alice").used == 1
        result = rule.check("alice")
        assert not result and result.verdict == "undecided" and result.error.symbol == "EROFS"
        with pytest.raises(rl.Error):
            rule.allows("alice")
        with pytest.raises(rl.Error):
            rule.hold("alice")


def test_a_word_of_before_is_taken_with_a_warning():
    with pytest.warns(DeprecationWarning, match='"evict" is gone, taken as "reserve"'):
        with rl.Segment(private=True, on_full="evict") as segment:
            assert segment.info()["on_full"] == "reserve"


def test_a_full_table_says_so():
    with rl.Segment(private=True, keys=16, on_full="deny") as segment:
        rule = segment.rule("login", "5/h")
        results = [rule.check(f"key {i}") for i in range(2000)]
        full = [result for result in results if not result]
        assert full and all(result.error.symbol == "ENOSPC" for result in full)


def test_a_rule_whose_row_went_to_another_is_found_again(name):
    with rl.Segment(name, rules=4) as segment:
        old = segment.rule("login", "5/h")
        segment.forget("login")
        for i in range(8):
            segment.rule(f"other{i}", "9/h")
            segment.forget(f"other{i}")
        assert old.check("alice").error.symbol == "RL_EREMOVED"
        segment.rule("login", "1/h")
        assert old.check("bob") and not old.check("bob")
        assert not old.allows("bob")


# Keys


def test_keys_are_the_bytes_of_their_text(private):
    rule = private.rule("login", "1/h")
    for text, raw in [("größe", "größe".encode()), ("\udcff", b"\xff"), ("a\0b", b"a\0b"), ("x" * 5000, b"x" * 5000)]:
        assert rule.check(text) and not rule.check(raw)
    assert rule.check("\ud800")
    assert rule.check(memoryview(b"abc")) and not rule.check(bytearray(b"abc"))
    assert rl.key_digest("x" * 5000).startswith("S256:")
    assert not rule.check(rl.key_digest("x" * 5000))


# Results


def test_a_result_tells_all(private):
    rule = private.rule("login", "2/min", "3/h", granularity=1, hard=False)
    now = private.now_ns()
    first = rule.check("alice", at_ns=now)
    assert (first.limit, first.remaining, first.used, first.index, first.reason) == (2, 1, 1, 0, "limit")
    assert first.retry_after == 0.0 and first.window == 60.0 and first.error is None and first.at_ns == now
    assert first.rule is rule and rule.segment is private and rule.name == "login"
    rule.check("alice", at_ns=now)
    denied = rule.check("alice", at_ns=now)
    assert denied.retry_after == denied.retry_after_ns / 1e9 > 0 and denied.reset_after > 0
    assert rule.check("alice", 9).retry_after == float("inf")
    assert rule.peek("alice", at_ns=now).used == 2
    (entry, hour) = rule.entries("alice", at_ns=now)
    assert entry["used"] == 2 and entry["buckets"][0] == 2 and hour["limit"] == 1
    assert denied.refund() is False and "denied by login" in repr(denied)
    with pytest.raises(TypeError):
        rl.Result()


def test_none_is_as_if_absent(private):
    bucket = private.rule("bucket", capacity=5, window=60, burst=2, algorithm="token_bucket")
    assert bucket.check("alice", None, capacity=None, burst=None, undelayed=None, at_ns=None).limit == 2
    assert private.rule("login", "5/min").check("alice", burst=None, undelayed=None)


def test_refund_and_reset(private):
    rule = private.rule("mail", capacity=3, window="1h", algorithm="sliding_log")
    result = rule.check("alice", 3)
    assert not rule.check("alice") and result.refund() and not result.refund()
    assert rule.check("alice", 3) and rule.reset("alice") and not rule.reset("alice")
    assert rule.refund_key("alice") == 0
    rule.check("a:1"), rule.check("a:2"), rule.check("b:1")
    assert private.reset(prefix="a:", rule=rule) == (2, 0)
    assert private.reset() == (1, 0)
    assert private.reset(count=False) == (0, 0)


def test_windows_in_all_forms(private):
    for window in (90, 90.0, "90s", "1m30s", "1.5m", datetime.timedelta(seconds=90)):
        assert private.rule("x", capacity=5, window=window).limits()[0]["window_ns"] == 90 * 10**9
    assert private.rule("y", capacity=5, window=None, algorithm="anchored_window").check("a").window == float("inf")


def test_bans(private):
    rule, other = private.rule("login", "5/min"), private.rule("other", "5/min")
    rule.ban("alice", seconds=60)
    denied = rule.check("alice")
    assert denied.reason == "ban" and 30 < denied.retry_after <= 60.001 and other.check("alice")
    assert rule.unban("alice") and not rule.unban("alice") and rule.check("alice")
    private.ban(network="192.0.2.0/24")
    assert other.check("192.0.2.9").retry_after == float("inf")
    private.allow(prefix="user:")
    assert all(rule.check("user:1").reason == "exemption" for _ in range(9))
    assert private.unban(prefix="user:")


def test_a_rule_of_another_segment(private):
    mine, theirs = private.rule("mine", "5/min"), rl.Segment(private=True).rule("theirs", "5/min")
    for call in (private.ban, private.allow, private.unban, private.reset):
        for which in ({"key": "alice"}, {"prefix": "a"}):
            with pytest.raises(ValueError, match="<rl.Rule theirs> is of another segment"):
                call(rule=theirs, **which)
    with pytest.raises(ValueError, match="another segment"):
        private.reset(rule=theirs.segment.counters("space"))
    assert mine.peek("alice").reason == "limit"


# Holding and waiting


def test_hold(private):
    jobs = private.rule("jobs", algorithm="in_flight", capacity=1)
    with jobs.hold("alice") as held:
        assert held.remaining == 0
        with pytest.raises(rl.Limited) as refused:
            jobs.hold("alice")
        assert refused.value.result.verdict == "denied" and refused.value.result.retry_after is None
        assert str(refused.value) == "limited by jobs"
    with pytest.raises(ZeroDivisionError), jobs.hold("alice"):
        1 / 0
    held = jobs.hold("alice")
    del held
    assert jobs.check("alice")

    async def asynchronous():
        async with jobs.hold("alice"):
            assert not jobs.peek("alice")
        return bool(jobs.peek("alice"))

    assert asyncio.run(asynchronous())


def test_units_of_a_rule_with_a_rate_come_back_too(private):
    both = private.rule("both", {"algorithm": "in_flight", "capacity": 2}, {"limit": "1000/h"})
    for _ in range(50):
        with both.hold("alice", 2):
            pass
    held = both.check("alice", 2)
    assert held.refund() and both.check("alice", 2)


def test_wait(private):
    bucket = private.rule("bucket", capacity=100, window=1, burst=1, algorithm="token_bucket")
    start = time.monotonic()
    for _ in range(11):
        assert bucket.wait("alice")
    assert time.monotonic() - start > 0.09
    slow = private.rule("slow", "1/h")
    assert slow.wait("alice")
    for timeout in (0, 0.01):
        with pytest.raises(rl.Limited):
            slow.wait("alice", timeout=timeout)
    with pytest.raises(rl.Limited, match="never"):
        slow.wait("alice", 2)

    async def together():
        return await asyncio.gather(*(bucket.wait_async("bob") for _ in range(5)))

    assert all(asyncio.run(together()))


def test_a_wait_that_is_cancelled_gives_its_place_back(private):
    bucket = private.rule("bucket", capacity=1, window=3600, algorithm="token_bucket")
    assert bucket.check("alice")

    async def cancelled():
        task = asyncio.ensure_future(bucket.wait_async("alice"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = bucket.reserve("alice", max_wait=None)
    before.refund()
    asyncio.run(cancelled())
    after = bucket.reserve("alice", max_wait=None)
    assert abs(after.delay - before.delay) < 600


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, TimeoutError])
def test_a_wait_that_is_interrupted_gives_its_place_back(private, monkeypatch, interrupt):
    bucket = private.rule("bucket", capacity=1, window=3600, algorithm="token_bucket")
    assert bucket.check("alice")

    def interrupted(seconds):
        raise interrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    before = bucket.reserve("alice", max_wait=None)
    before.refund()
    for _ in range(3):
        with pytest.raises(interrupt):
            bucket.wait("alice")
    after = bucket.reserve("alice", max_wait=None)
    assert abs(after.delay - before.delay) < 600


def test_decorators(private):
    rule = private.rule("login", "2/h")

    @rule.limit(key=lambda user: user, cost=lambda user: 1)
    def view(user):
        """A view."""
        return f"hello {user}"

    assert view("alice") == view("alice") == "hello alice" and view.__doc__ == "A view."
    with pytest.raises(rl.Limited):
        view("alice")

    @rule.limit("fixed", on_limited=lambda result: result.verdict)
    def other():
        return "yes"

    assert [other() for _ in range(3)] == ["yes", "yes", "denied"]

    @rule.limit(key=lambda user: user, on_limited=lambda result, user: asyncio.sleep(0, "late"))
    async def asynchronous(user):
        return "yes"

    async def thrice():
        return [await asynchronous("bob") for _ in range(3)]

    assert asyncio.run(thrice()) == ["yes", "yes", "late"]
    jobs = private.rule("jobs", algorithm="in_flight", capacity=1)

    @jobs.limit("one")
    def outer():
        return bool(jobs.peek("one"))

    assert outer() is False and jobs.peek("one")


@pytest.fixture
def one(private):
    """A decorator by which one call is in flight, and how many are."""
    jobs = private.rule("jobs", algorithm="in_flight", capacity=1)
    return jobs.limit("one"), lambda: jobs.peek("one").used


def test_a_generator_holds_until_it_ends(one):
    limited, used = one

    @limited
    def numbers():
        try:
            got = yield used()
        except KeyError:
            got = "thrown"
        yield got
        return used()

    def all_of():
        return (yield from numbers())

    running = numbers()
    assert used() == 1 and next(running) == 1
    with pytest.raises(rl.Limited):
        numbers()
    assert running.send("sent") == "sent" and used() == 1
    with pytest.raises(StopIteration) as ended:
        next(running)
    assert ended.value.value == 1 and used() == 0
    assert list(all_of()) == [1, None] and used() == 0
    running = numbers()
    assert next(running) == 1 and running.throw(KeyError()) == "thrown"
    with pytest.raises(ZeroDivisionError):
        running.throw(ZeroDivisionError())
    assert used() == 0
    for end in (lambda running: running.close(), lambda running: None):
        for begins in (True, False):
            running = numbers()
            assert not begins or next(running) == 1
            assert used() == 1
            end(running)
            del running
            assert used() == 0


def test_an_asynchronous_generator_holds_until_it_ends(one):
    limited, used = one

    @limited
    async def numbers():
        try:
            got = yield used()
        except KeyError:
            got = "thrown"
        await asyncio.sleep(0)
        yield got

    async def play():
        assert [item async for item in numbers()] == [1, None] and used() == 0
        running = numbers()
        assert await running.__anext__() == 1 and await running.asend("sent") == "sent" and used() == 1
        with pytest.raises(StopAsyncIteration):
            await running.__anext__()
        assert used() == 0
        running = numbers()
        assert await running.__anext__() == 1 and await running.athrow(KeyError()) == "thrown"
        with pytest.raises(ZeroDivisionError):
            await running.athrow(ZeroDivisionError())
        assert used() == 0
        running = numbers()
        assert await running.__anext__() == 1 and used() == 1
        await running.aclose()
        assert used() == 0
        running = numbers()
        assert used() == 1
        del running
        assert used() == 0

    asyncio.run(play())


def test_what_is_awaited_holds_until_it_ends(one):
    limited, used = one

    async def work(fails=False):
        await asyncio.sleep(0)
        if fails:
            raise ZeroDivisionError
        return used()

    class Object:
        async def __call__(self):
            return await work()

    class Failing:
        def __call__(self, fails=True):
            return work(fails)

    async def play():
        for function in (work, Object(), functools.partial(Object()), lambda: work(), lambda: asyncio.ensure_future(work())):
            call = limited(function)
            assert await call() == 1 and used() == 0
        assert inspect.iscoroutinefunction(limited(Object()))
        for function in (Failing(), lambda: asyncio.ensure_future(work(True))):
            with pytest.raises(ZeroDivisionError):
                await limited(function)()
            assert used() == 0
        task = limited(lambda: asyncio.ensure_future(asyncio.sleep(60)))()
        await asyncio.sleep(0)
        assert used() == 1 and task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert used() == 0

    asyncio.run(play())


def test_a_function_that_fails_holds_nothing(one):
    limited, used = one
    kept = None
    try:
        limited(lambda: 1 / 0)()
    except ZeroDivisionError as error:
        kept = error
    assert kept is not None and used() == 0
    with pytest.raises(TypeError, match="limit: expected a function, got 5"):
        limited(5)


def test_several_rules_are_all_or_nothing(private):
    short, long = private.rule("short", "2/min"), private.rule("long", "3/h")
    for _ in range(2):
        decided, results = private.check_all([(short, "alice"), (long, "alice", 1, None)])
        assert decided and decided.rule is short and [bool(one) for one in results] == [True, True]
    decided, _results = private.check_all([(short, "alice"), (long, "alice")])
    assert not decided and decided.rule is short and long.peek("alice").used == 2
    assert [bool(one) for one in private.check_many([(short, "bob")] * 3)] == [True, True, False]
    with rl.Segment(private=True) as other, pytest.raises(ValueError, match="another segment"):
        other.check_all([(short, "alice")])


def test_info_and_names(segment):
    segment.rule("login", "5/min")
    segment.counters("c")
    info = segment.info()
    assert info["name"] == segment.name and info["rules_used"] == 2 and info["on_full"] == "reserve"
    assert segment.rules() == ["login"]
    assert segment.is_current() and rl.place(segment.name)["is_there"]
    rl.unlink(segment.name)
    assert not segment.is_current()
    with rl.Segment(segment.name):
        assert not segment.is_current()


def test_a_segment_for_a_group(name):
    import grp

    group = grp.getgrgid(os.getgid()).gr_name
    with rl.Segment(name, mode=0o660, group=group) as segment:
        status = os.stat(rl.place(name)["path"])
        assert (status.st_mode & 0o777, status.st_gid) == (0o660, os.getgid()) and segment.info()["mode"] == 0o660


def test_live_segments_follow_the_name(name, monkeypatch):
    from rl import _live

    monkeypatch.setattr(_live, "_EVERY", 0.0)
    live = rl.LiveSegment(name)
    first = live.get()
    assert live.get() is first
    rl.unlink(name)
    second = live.get()
    assert second is not first and second.is_current() and not first.is_current()
    rl.unlink(name)
    missing = rl.LiveSegment(name, existing=True)
    with pytest.raises(rl.NotFoundError):
        missing.get()
    with rl.Segment(name):
        assert missing.get().is_current()
    private = rl.LiveSegment(private=True)
    assert private.get() is private.get() and private.get().is_current()


def test_a_live_segment_that_was_replaced_as_it_was_opened_is_not_kept(name, monkeypatch):
    from types import SimpleNamespace

    from rl import _live

    def replaced(*args, **options):
        segment = rl.Segment(*args, **options)
        rl.unlink(name)
        rl.Segment(name).close()
        return segment

    monkeypatch.setattr(_live, "_EVERY", 0.0)
    live = rl.LiveSegment(name)
    with monkeypatch.context() as patch:
        patch.setattr(_live, "_rl", SimpleNamespace(Segment=replaced, place=rl.place))
        assert not live.get().is_current()
    assert live.get().is_current()


def test_nothing_leaks():
    """Every call many times: neither references nor memory grow."""
    code = """
import gc, resource, rl
s = rl.Segment(private=True)
def all_calls():
    r = s.rule("login", "5/min"); j = s.rule("jobs", algorithm="in_flight", capacity=1); c = s.counters("c")
    x = r.check("a"); r.check("a", 1, capacity=9); r.peek("a"); r.check_limits("a"); r.entries("a"); x.headers(older=True)
    x.refund(); repr(x); x.error; x.reason; x.verdict; r.limits(); r.stats(); s.info(); s.rules()
    s.check_all([(r, "a"), (j, "b")]); s.check_many([(r, "a")] * 3); s.ban("z"); s.unban("z"); s.reset()
    c.add("a", 1, 60); c.get("a"); c.set("a", 2, 5); c.set_new("a", 1, 5); c.touch("a", lifetime=5); c.drop("a"); c.get("a")
    r._used("L/a/5/1/minute", 1, 60, {"minute": 60}, None); r._admits("a", 1, 5, None); r.allows("a"); r.check(b"a" * 5000)
    rl.key_digest("x"); rl.place("x"); rl.Proxies(["10.0.0.0/8"]).client("10.0.0.1", ["1.2.3.4", b"::1"]); r.check("\\udcff")
    with j.hold("a"): pass
    for bad in (lambda: r.check(""), lambda: r.check(5), lambda: r.check("a", -1), lambda: s.rule("x", "5"),
                lambda: s.rule("a b", "5/s"), lambda: s.check_all([(r, "a"), (r, "")]), lambda: s.check_all([1]), lambda: c.add(""),
                lambda: rl.Segment("a/b"), lambda: rl.Proxies(["x"]), lambda: rl.Proxies([]).client("x"),
                lambda: rl.Proxies([]).client("::1", [5]), lambda: s.find("x"), lambda: r.check("a", prize=1),
                lambda: s.counters("login"), lambda: r.check_limits("", 1), lambda: s.reset("x", rule=5)):
        try: bad()
        except (ValueError, TypeError, KeyError, OSError): pass
        else: raise AssertionError
    rl.Segment(private=True, keys=16).close(); rl.Segment(private=True, keys=16)
import sys
def references():
    gc.collect()
    return sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else 0
for _ in range(300): all_calls()
blocks, refs, peak = sys.getallocatedblocks(), references(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(1500): all_calls()
gc.collect()
assert sys.getallocatedblocks() - blocks < 100, sys.getallocatedblocks() - blocks
assert references() - refs < 100, references() - refs
assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 2048
assert s.rule("login", "5/min").name
"""
    python(code)
