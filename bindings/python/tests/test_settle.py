# SPDX-License-Identifier: BSD-2-Clause
"""What a request has cost is said afterwards: by its result, in another process, by a stream that is cut off."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
import rl
from serving import PATIENCE

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../tests/support"))
from ports import listens  # noqa: E402


def test_settled(private):
    tokens = private.rule("tokens", capacity=1000, window=60)
    with tokens.spend("alice", estimate=800) as s:
        assert s and s.settle(300)
    assert tokens.peek("alice").used == 300
    with pytest.raises(rl.Error, match="settled before"):
        s.settle(300)
    assert not s.refund() and tokens.peek("alice").used == 300
    over = tokens.spend("alice", estimate=700)
    assert over.settle(2000)
    denied = tokens.spend("alice")
    assert not denied and denied.used == 2300 and denied.remaining == 0 and denied.retry_after > 0
    assert not denied.settle(5) and tokens.peek("alice").used == 2300
    with pytest.raises(rl.Limited):
        tokens.spend("alice", raises=True)


@pytest.mark.parametrize("actual", [-1, 2**28, 2**64, "3", 1.5, None])
def test_refused(private, actual):
    tokens = private.rule("tokens", capacity=1000, window=60)
    s = tokens.spend("alice", estimate=800)
    with pytest.raises((ValueError, TypeError, OverflowError, rl.Error), match="actual"):
        s.settle(actual)
    assert tokens.peek("alice").used == 800 and s.settle(1)


def test_one_rule_for_requests_tokens_and_what_runs(private):
    llm = private.rule(
        "llm",
        {"limit": "60/min", "counts": "requests"},
        {"limit": "1000/min"},
        {"algorithm": "in_flight", "capacity": 1, "counts": "requests"},
    )
    with llm.spend("alice", estimate=600) as s:
        assert s and not llm.spend("alice", estimate=1)
        s.settle(100)
    with llm.spend("alice", estimate=900) as s:
        assert s
    assert [limit["counts"] for limit in llm.limits()] == ["requests", "cost", "requests"]
    assert sorted(entry["used"] for entry in llm.entries("alice")) == [0, 2, 1000]


def test_streams(private):
    tokens = private.rule("tokens", capacity=1000, window=60)
    chunks = ["one", "three", "five"]
    assert list(tokens.spend("alice", estimate=900).stream(chunks, len)) == chunks
    assert tokens.peek("alice").used == 12
    cut = tokens.spend("bob", estimate=900).stream(chunks, len)
    assert next(cut) == "one"
    cut.close()  # the client is gone
    assert tokens.peek("bob").used == 3

    async def cut_off():
        async def source():
            for chunk in chunks:
                yield chunk

        async with tokens.spend("carol", estimate=900) as s:
            stream = s.stream_async(source(), len)
            assert await stream.__anext__() == "one"
            await stream.aclose()

    asyncio.run(cut_off())
    assert tokens.peek("carol").used == 3


@pytest.fixture
def asked(private):
    """A decorator by which a call is charged 900 and told to cost what it has answered, its rule, and (used, in flight)."""
    llm = private.rule("llm", {"limit": "10000/min"}, {"algorithm": "in_flight", "capacity": 9, "counts": "requests"})

    def used():
        return tuple(sorted((entry["used"] for entry in llm.entries("alice")), reverse=True))

    return llm.limit("alice", cost=900, actual=lambda answer: answer), llm, used


def fails(error):
    raise error


def test_a_decorated_function(asked):
    limited, llm, used = asked
    assert limited(lambda: 300)() == 300 and used() == (300, 0)
    assert limited(lambda: None)() is None and used() == (1200, 0)
    with pytest.raises(ZeroDivisionError):
        limited(fails)(ZeroDivisionError())
    assert used() == (2100, 0)
    assert limited(lambda: 9000)() == 9000 and used() == (11100, 0)
    with pytest.raises(rl.Limited):
        limited(fails)(AssertionError())
    llm.reset("alice")
    with pytest.raises(ZeroDivisionError):  # what tells the cost does not
        llm.limit("alice", cost=900, actual=fails)(ZeroDivisionError)()
    assert used() == (900, 0)


def test_a_decorated_coroutine(asked):
    limited, _llm, used = asked

    @limited
    async def coroutine(answer):
        await asyncio.sleep(0)
        return answer if isinstance(answer, int) else fails(answer)

    future = limited(lambda answer: asyncio.ensure_future(coroutine.__wrapped__(answer)))
    awaitable = limited(coroutine.__wrapped__)
    returned = limited(lambda answer: coroutine.__wrapped__(answer))

    async def play():
        counted = 0
        for ask in coroutine, future, awaitable, returned:
            assert await ask(100) == 100
            await asyncio.sleep(0)
            counted += 100
            assert used() == (counted, 0)
            with pytest.raises(ZeroDivisionError):
                await ask(ZeroDivisionError())
            await asyncio.sleep(0)
            counted += 900
            assert used() == (counted, 0)
        gone = future(7)
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        await asyncio.sleep(0)
        assert used() == (counted + 900, 0)

    asyncio.run(play())


def test_a_decorated_generator(asked):
    limited, _llm, used = asked
    closed = []

    @limited
    def words(*costs):
        yield from costs

    @limited
    async def events(*costs):
        try:
            for cost in costs:
                yield cost
        finally:
            closed.append(costs)

    assert list(words(1, 20, 300)) == [1, 20, 300] and used() == (321, 0)
    cut = words(1, 20, 300)
    assert next(cut) == 1 and used() == (1221, 1)
    cut.close()
    assert used() == (322, 0)

    async def play():
        assert [cost async for cost in events(1, 20)] == [1, 20] and used() == (343, 0)
        cut = events(2, 40)
        assert await cut.__anext__() == 2 and used() == (1243, 1)
        await cut.aclose()
        assert used() == (345, 0) and closed == [(1, 20), (2, 40)]

    asyncio.run(play())


def test_elsewhere(segment):
    tokens = segment.rule("tokens", capacity=1000, window=60)
    s = tokens.spend("alice", estimate=800)
    charges = s.charges
    assert len(charges) == 32
    child = os.fork()
    if child == 0:
        with rl.Segment(segment.info()["name"]) as there:
            os._exit(0 if there.settle(charges, 1200) is True else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert tokens.peek("alice").used == 1200
    with pytest.raises(ValueError, match="charges"):
        segment.settle(charges[:-1], 1)


@contextlib.contextmanager
def scraped(name, tmp_path):
    """A function that asks rld for the metrics of a segment."""
    socket_path, config = tmp_path / "metrics", tmp_path / "rl.json"
    config.write_text(json.dumps({"segment": {"name": name}}))
    rld = subprocess.Popen(["build/rld", "--config", config, "--metrics-listen", f"unix:{socket_path}"])

    def scrape():
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(socket_path))
            one.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b"".join(iter(lambda: one.recv(1 << 16), b"")).decode()

    try:
        until = time.monotonic() + PATIENCE
        while not listens(socket_path):
            assert rld.poll() is None and time.monotonic() < until
            time.sleep(0.01)
        yield scrape
    finally:
        rld.terminate()
        rld.wait()


def test_metrics(segment, tmp_path):
    """Each number of a scrape, and what they make together."""
    name = segment.info()["name"]
    tokens = segment.rule("tokens", capacity=1000, window=3600)
    for estimate, actual in ((300, 100), (200, 200), (100, 150), (50, None), (30, 0)):
        spent = tokens.spend("alice", estimate)
        assert actual is None or spent.settle(actual) == (estimate != actual)
    now = segment.now_ns()
    windows = segment.rule("gone", algorithm="fixed_window", capacity=1000, window=3600)
    gone = windows.check("alice", 40, at_ns=now)
    assert windows.check("alice", at_ns=now + 3600 * 10**9) and not gone.settle(0)
    with scraped(name, tmp_path) as scrape:
        told = scrape()
    for rule, numbers in (("tokens", (630, 230, 50, 0)), ("gone", (40, 0, 0, 40))):
        for what, number in zip(("charged", "given", "debt", "late"), numbers):
            assert f'rl_settle_{what}_total{{segment="{name}",rule="{rule}"}} {number}\n' in told, (rule, what)
    assert tokens.peek("alice").used == 630 - 230 + 50 + 50


def test_killed(segment):
    tokens = segment.rule("tokens", capacity=1000, window=60)
    child = os.fork()
    if child == 0:
        tokens.spend("alice", estimate=800)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert tokens.peek("alice").used == 800
